"""A published version comes back whole and holds, or nothing comes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.publish.command import Command
from tests.publish.hub_server import Fault, Hub
from toolscale.cli import main
from toolscale.dataset.describing.reading import read_dataset
from toolscale.dataset.manifest import MANIFEST, read_manifest, tag_of
from toolscale.publish import pull_dataset

LOAD = """
import json, os, sys
from datasets import load_dataset
tasks, rejects = load_dataset("me/x", "mock"), load_dataset("me/x", sys.argv[1])
print(json.dumps([{split: part.to_list() for split, part in tasks.items()},\
 rejects["rejected"].to_list()], default=str))
sys.stdout.flush()
os._exit(0)  # pyarrow's threads now and then abort an interpreter that is ending (apache/arrow issue 45214)
"""


def files_of(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def forge(hub: Hub, **changes: object) -> None:
    """Change the manifest that main holds."""
    manifest = json.loads(hub.files("me/x")[MANIFEST]) | changes
    hub.put_file("me/x", MANIFEST, json.dumps(manifest).encode())


def test_what_was_published_is_pulled_whole_and_holds(
    published: str, toolscale: Command, hub: Hub, tmp_path: Path
) -> None:
    out = tmp_path / "pulled"
    commit = hub.repos["dataset", "me/x"].main
    status, told, err = toolscale("pull", "me/x", "--out", out)
    assert (status, err) == (0, "")
    assert told.startswith(f"{out}: me/x at main (commit {commit[:8]}): 20 files, 20 of them downloaded (")
    assert files_of(out) == {path: content for path, content in hub.files("me/x").items() if path != ".gitattributes"}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mock", "pulled"]
    assert main(["verify", str(out), "--workers", "1"]) == 0


def test_a_folder_that_holds_the_version_is_left_as_it_is(
    published: str, toolscale: Command, hub: Hub, tmp_path: Path
) -> None:
    out = tmp_path / "pulled"
    toolscale("pull", "me/x", "--out", out, "--revision", published)
    hub.log.clear()
    commit = hub.repos["dataset", "me/x"].main[:8]
    told = f"{out} holds me/x at {published} (commit {commit}) already; nothing was downloaded\n"
    assert toolscale("pull", "me/x", "--out", out, "--revision", published) == (0, told, "")
    assert [path.split("/")[-1] for _, path, _ in hub.log] == [published, MANIFEST]
    (out / "README.md").write_text("changed")
    # The card, and the manifest that names it.
    assert json.loads(toolscale("pull", "me/x", "--out", out, "--json")[1])["downloaded"] == 2


def test_another_version_replaces_the_one_that_is_there(
    published: str, later_dataset: Path, toolscale: Command, hub: Hub, tmp_path: Path
) -> None:
    out = tmp_path / "pulled"
    toolscale("publish", later_dataset, "me/x", "--push")
    assert toolscale("pull", "me/x", "--out", out, "--revision", published)[0] == 0
    assert tag_of(read_manifest(out)) == published
    hub.log.clear()
    assert toolscale("pull", "me/x", "--out", out)[0] == 0
    assert tag_of(read_manifest(out)) == tag_of(read_manifest(later_dataset))
    # What is the same here is not downloaded again.
    assert not [path for _, path, _ in hub.log if path.endswith("database.sqlite")]


def test_the_librarys_own_loader_sees_the_same_rows(
    published: str, dataset: Path, apart: dict[str, str], tmp_path: Path
) -> None:
    configs = [
        line.split()[-1]
        for line in (dataset / "README.md").read_text().splitlines()
        if line.startswith("- config_name: ")
    ]
    rejects = next(name for name in configs if "reject" in name)
    done = subprocess.run(
        [sys.executable, "-c", LOAD, rejects], env=apart, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    rows = read_dataset(dataset).rows
    assert json.loads(done.stdout) == json.loads(json.dumps([rows.splits, rows.rejects], default=str))


def test_a_private_dataset_needs_a_token_that_may_see_it(
    dataset: Path, toolscale: Command, hub: Hub, tmp_path: Path
) -> None:
    toolscale("publish", dataset, "me/x", "--push", "--private")
    line = (
        "HUB/datasets/me/x is not there, or this token may not see it; "
        "check the name, and set HF_TOKEN if it is private"
    )
    assert toolscale("pull", "me/x", "--out", tmp_path / "pulled", token="hf_other") == (2, "", f"toolscale: {line}\n")
    assert toolscale("pull", "me/x", "--out", tmp_path / "pulled", token="hf_read")[0] == 0


def test_what_cannot_be_pulled_is_one_line_and_no_folder(
    published: str, toolscale: Command, hub: Hub, tmp_path: Path
) -> None:
    out = tmp_path / "pulled"
    hub.create("model", "me/model")
    hub.create("dataset", "me/empty")
    told = {
        ("me/none", "main"): (
            "HUB/datasets/me/none is not there, or this token may not see it; "
            "check the name, and set HF_TOKEN if it is private"
        ),
        ("me/model", "main"): "me/model is a model, no dataset; pull one that `toolscale publish` made",
        ("me/x", "v9"): f"HUB/datasets/me/x has no version 'v9'; it has main, {published}",
        (
            "me/empty",
            "main",
        ): "HUB/datasets/me/empty at 'main' has no manifest.json: it was not published by `toolscale publish`; "
        "choose another --revision",
    }
    found = {key: toolscale("pull", key[0], "--revision", key[1], "--out", out) for key in told}
    assert found == {key: (2, "", f"toolscale: {line}\n") for key, line in told.items()}
    assert not out.exists()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("thesis.txt", b"years of work"),
        (MANIFEST, b"{}"),
        (MANIFEST, b"not json"),
        (MANIFEST, b'{"name": "a page", "icons": []}'),
    ],
)
def test_a_folder_of_somebody_else_is_not_touched(
    name: str, content: bytes, toolscale: Command, hub: Hub, tmp_path: Path
) -> None:
    out = tmp_path / "home"
    out.mkdir()
    (out / name).write_bytes(content)
    line = f"{out} is there and is no dataset; choose another --out, or remove it"
    assert toolscale("pull", "me/x", "--out", out) == (2, "", f"toolscale: {line}\n")
    assert (files_of(out), hub.log) == ({name: content}, [])


def test_what_somebody_put_into_a_dataset_is_not_lost(
    published: str, later_dataset: Path, toolscale: Command, hub: Hub, tmp_path: Path
) -> None:
    out = tmp_path / "pulled"
    toolscale("pull", "me/x", "--out", out)
    toolscale("publish", later_dataset, "me/x", "--push")
    (out / "mock/notes.txt").write_text("years of work")
    there, asked = files_of(out), len(hub.log)
    line = (
        f"{out} holds 'mock/notes.txt', which is not of the dataset there "
        "(manifest.json does not name it); move it away, or choose another --out"
    )
    assert toolscale("pull", "me/x", "--out", out) == (2, "", f"toolscale: {line}\n")
    assert (files_of(out), len(hub.log)) == (there, asked)


@pytest.mark.parametrize(
    "path",
    [
        "../outside", "/etc/outside", "a/../../outside", "a\\..\\outside", "", "a//b", ".git/config", ".cache/x",
        MANIFEST, "mock", "b" * 256,
    ],
)  # fmt: skip
def test_hostile_names_are_refused(path: str, published: str, toolscale: Command, hub: Hub, tmp_path: Path) -> None:
    files = json.loads(hub.files("me/x")[MANIFEST])["files"]
    forge(hub, files=[*files, {"path": path, "sha256": "0" * 64, "bytes": 1}])
    status, out, err = toolscale("pull", "me/x", "--out", tmp_path / "pulled")
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("toolscale: HUB/datasets/me/x at ") and repr(path) in err
    assert sorted(found.name for found in tmp_path.iterdir()) == ["mock"]
    assert not [requested for _, requested, _ in hub.log if "outside" in requested]


def test_a_file_that_is_not_the_published_one_is_refused(
    published: str, toolscale: Command, hub: Hub, tmp_path: Path
) -> None:
    policy = hub.files("me/x")["environments/mock/policy.md"]
    commit = hub.put_file("me/x", "environments/mock/policy.md", b"%" + policy[1:])[:8]
    status, _, err = toolscale("pull", "me/x", "--out", tmp_path / "pulled")
    assert status == 2 and err.count("\n") == 1
    assert err.startswith(f"toolscale: HUB/datasets/me/x at {commit}: environments/mock/policy.md: sha256 is ")
    hub.put_file("me/x", "environments/mock/policy.md", policy + bytes(10**6))
    assert (
        f"policy.md is larger than the {len(policy)} bytes that it may have"
        in toolscale("pull", "me/x", "--out", tmp_path / "pulled")[2]
    )
    assert [path.name for path in tmp_path.iterdir()] == ["mock"]
    assert toolscale("pull", "me/x", "--out", tmp_path / "pulled", "--revision", published)[0] == 0


def test_a_download_that_drops_is_made_again(published: str, toolscale: Command, hub: Hub, tmp_path: Path) -> None:
    hub.faults += [
        Fault("GET", "train-00000", sent=1000),
        Fault("GET", "database.sqlite", sent=-1),
        Fault("GET", "README.md", status=503),
    ]
    assert toolscale("pull", "me/x", "--out", tmp_path / "pulled")[0] == 0
    assert [path.split("/")[-1] for method, path, status in hub.log if status in (0, 503)] == [
        "README.md",
        "database.sqlite",
        "train-00000-of-00001.parquet",
    ]


def test_a_pull_that_was_interrupted_goes_on(published: str, server: tuple[str, Hub], tmp_path: Path) -> None:
    endpoint, hub = server
    hub.faults.append(Fault("GET", "outcomes/mock.parquet", status=403))
    with pytest.raises(Exception, match="403: planted"):
        pull_dataset("me/x", tmp_path / "pulled", endpoint=endpoint)
    assert not (tmp_path / "pulled").exists()
    hub.log.clear()
    pulled = pull_dataset("me/x", tmp_path / "pulled", endpoint=endpoint)
    assert pulled.downloaded == 3  # this plot, what comes after it, and the manifest
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mock", "pulled"]


def test_a_full_disk_leaves_what_was_there(
    published: str, toolscale: Command, apart: dict[str, str], tmp_path: Path
) -> None:
    out = tmp_path / "pulled"
    toolscale("pull", "me/x", "--out", out)
    whole = files_of(out)
    (out / "outcomes/mock.parquet").write_bytes(b"damaged")
    code = (
        "import resource, sys; from toolscale.cli import main; "
        "resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, 30_000)); "
        f"sys.exit(main(['pull', 'me/x', '--out', {str(out)!r}]))"
    )
    done = subprocess.run([sys.executable, "-c", code], env=apart, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    assert done.stderr.startswith(f"toolscale: cannot write {tmp_path}/.pulled.pull/")
    assert done.stderr.endswith(": file too large; free space or choose a place that can be written\n")
    assert files_of(out) == whole | {"outcomes/mock.parquet": b"damaged"}
    assert toolscale("pull", "me/x", "--out", out)[0] == 0
    assert files_of(out) == whole
