"""Everything that can stand in the way of a push: one line that says what is needed, an exit status, and a main that is
what it was."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.publish.command import Command
from tests.publish.hub_server import Fault, Hub
from toolscale.dataset.manifest import MANIFEST, read_manifest, tag_of
from toolscale.errors import HubUnavailableError
from toolscale.publish import publish_dataset

TOKENS = "https://huggingface.co/settings/tokens"
SHA = "0" * 64


def test_a_dry_run_writes_nothing_and_says_what_would_be_uploaded(
    dataset: Path, later_dataset: Path, toolscale: Command, hub: Hub
) -> None:
    status, out, err = toolscale("publish", dataset, "me/x")
    rows, last = out.splitlines()[:-2], out.splitlines()[-2:]
    assert (status, err, hub.repos, hub.writes()) == (0, "", {}, [])
    assert {row.split()[0] for row in rows} == {"new"} and len(rows) == 20
    tag = tag_of(read_manifest(dataset))
    assert last[0].endswith(f" to upload, 0 unchanged, 0 deleted; to be published as {tag}: HUB/datasets/me/x")
    assert last[1] == "nothing was written; --push (make: PUSH=1) does it"
    toolscale("publish", dataset, "me/x", "--push")
    hub.log.clear()
    _, out, _ = toolscale("publish", later_dataset, "me/x")
    states = {row.split()[-1]: row.split()[0] for row in out.splitlines()[:-2]}
    assert (states["README.md"], states["environments/mock/policy.md"], hub.writes()) == ("changed", "unchanged", [])


def test_a_dry_run_needs_no_network(dataset: Path, capsys: pytest.CaptureFixture[str]) -> None:
    publication = publish_dataset(dataset, "me/x", endpoint="http://127.0.0.1:9", token="hf_write")
    assert publication.not_asked.startswith("http://127.0.0.1:9 while looking at me/x: it cannot be reached (")
    assert (publication.tag, len(publication.uploaded), publication.commit) == (
        tag_of(read_manifest(dataset)),
        20,
        None,
    )


def test_all_that_is_wrong_with_a_dataset_is_told_before_anything_is_asked(
    dataset: Path, toolscale: Command, hub: Hub
) -> None:
    card = dataset / "README.md"
    card.write_text(card.read_text().replace("license: apache-2.0\n", ""))
    (dataset / "notes.txt").write_text("mine")
    (dataset / "fixtures/mock.jsonl").unlink()
    status, out, err = toolscale("publish", dataset, "me--x", "--push")
    lines = err.splitlines()
    assert (status, out, hub.log) == (2, "", [])
    assert lines[:4] == [
        "toolscale: the repo 'me--x' is no valid name: Cannot have -- or .. in repo_id: 'me--x'.; "
        "use e.g. me/finance-tasks",
        f"toolscale: {card} names no licence; "
        "say `license: apache-2.0` (or another) in environment.yaml and make the dataset again",
        f"toolscale: {dataset}: fixtures/mock.jsonl: integrity: the file is in manifest.json but not in the folder",
        f"toolscale: {dataset}: notes.txt: integrity: the file is not in manifest.json",
    ]
    assert lines[4].startswith(f"toolscale: {dataset}: README.md: integrity: sha256 is ") and len(lines) == 5


@pytest.mark.parametrize(
    ("repo", "endpoint", "line"),
    [
        ("x", "https://huggingface.co", "the repo 'x' does not say whose it is; use e.g. me/x"),
        ("a/b/c", "https://huggingface.co", "the repo 'a/b/c' is no valid name: Repo id must be in the form "),
        *(
            ("me/x", endpoint, f"the endpoint {endpoint.rstrip('/')!r} is no URL; use e.g. https://huggingface.co")
            for endpoint in (
                "huggingface.co",
                "http://[",
                "http://127.0.0.1:abc",
                "http://127.0.0.1:99999",
                "http://a b/",
                "http://a/?b",
                "http://\x1b[2J",
            )
        ),
    ],
)
def test_an_address_that_cannot_be_right_is_refused(
    repo: str, endpoint: str, line: str, dataset: Path, toolscale: Command
) -> None:
    toolscale.endpoint = endpoint
    status, _, err = toolscale("publish", dataset, repo)
    assert toolscale("pull", repo, "--out", dataset.parent / "pulled")[::2] == (status, err)
    assert status == 2 and err.replace("HUB", endpoint).startswith(f"toolscale: {line}") and err.count("\n") == 1


def test_a_folder_that_is_no_dataset_is_refused(tmp_path: Path, toolscale: Command, hub: Hub) -> None:
    status, _, err = toolscale("publish", tmp_path, "me/x")
    line = (
        f"{tmp_path} has no manifest.json: it is no dataset, or was never finished; make it with `toolscale synthesize`"
    )
    assert (status, err, hub.log) == (2, f"toolscale: {line}\n", [])


def test_a_push_without_a_token_says_where_to_get_one(dataset: Path, hub: Hub, apart: dict[str, str]) -> None:
    arguments = [sys.executable, "-m", "toolscale", "publish", str(dataset), "me/x", "--push"]
    done = subprocess.run(arguments, env=apart, capture_output=True, text=True, check=False)
    line = f"no token to push to me/x with: set HF_TOKEN to one with write access from {TOKENS}"
    assert (done.returncode, done.stderr, hub.log) == (2, f"toolscale: {line}\n", [])


def somebody_commits(hub: Hub) -> None:
    hub.faults.append(Fault("POST", "/commit/", meanwhile=lambda: hub.put_file("me/x", "README.md", b"theirs")))


def fault(method: str, path: str, **what: int | dict[str, str]) -> Callable[[Hub], None]:
    return lambda hub: hub.faults.append(Fault(method, path, times=99, **what))  # type: ignore[arg-type]


def limited(path: str) -> Callable[[Hub], None]:
    return fault("POST", path, status=429, headers={"Retry-After": "3600"})


HOUR = "the rate limit is reached (429) and it asks to wait 3600 s, longer than the 120 s that we wait; try again then"
REFUSED = "the token may not do that (403: planted); set HF_TOKEN to one that may write there"


@pytest.mark.parametrize(
    ("token", "happens", "status", "line"),
    [
        (
            "hf_nobody",
            None,
            2,
            "HUB while looking at me/x: it does not know this token (401); "
            f"set HF_TOKEN to one from {TOKENS}; pushing needs write access",
        ),
        (
            "hf_read",
            None,
            2,
            "HUB while uploading to me/x: the token may not do that (403: "
            "You don't have the rights to create or change anything under the namespace 'me'); "
            "set HF_TOKEN to one that may write there",
        ),
        ("hf_write", fault("POST", "/commit/", status=403), 2, f"HUB while uploading to me/x: {REFUSED}"),
        ("hf_write", fault("POST", "/tag/", status=403), 2, f"HUB while tagging me/x: {REFUSED}"),
        ("hf_write", limited("/preupload/"), 1, f"HUB while uploading to me/x: {HOUR}"),
        ("hf_write", limited("objects/batch"), 1, f"HUB while uploading to me/x: {HOUR}"),
        ("hf_write", limited("/commit/"), 1, f"HUB while uploading to me/x: {HOUR}"),
        (
            "hf_write",
            somebody_commits,
            1,
            "HUB while uploading to me/x: somebody else committed meanwhile (412), "
            "nothing of this version is on main; run the same command again",
        ),
        (
            "hf_write",
            fault("POST", "/validate-yaml", status=400),
            2,
            "HUB/datasets/me/x: Invalid metadata in README.md.; change it and make the dataset again",
        ),
        (
            "hf_write",
            fault("POST", "/preupload/", status=418, headers={"X-Error-Message": "your token hf_write is a teapot"}),
            2,
            "HUB while uploading to me/x: refused (418: your token … is a teapot planted); change what it names",
        ),
        (
            "hf_write",
            lambda hub: hub.put_file("me/x", ".gitignore", b"*.parquet"),
            2,
            "HUB/datasets/me/x has a .gitignore, by which the Hub leaves files out of a commit; delete it there",
        ),
        (
            "hf_write",
            lambda hub: hub.put_file("me/x", MANIFEST, None),
            2,
            "HUB/datasets/me/x holds 'changes.json' but no manifest.json: "
            "it is no dataset of ours; choose another repo, or empty it",
        ),
    ],
)
def test_what_stops_a_push_leaves_main_as_it_was(
    token: str,
    happens: Callable[[Hub], None] | None,
    status: int,
    line: str,
    published: str,
    dataset: Path,
    later_dataset: Path,
    toolscale: Command,
    hub: Hub,
) -> None:
    repo = hub.repos["dataset", "me/x"]
    tags = dict(repo.tags)
    if happens:
        happens(hub)
    before, theirs = repo.main, happens is somebody_commits
    exit_status, out, err = toolscale("publish", later_dataset, "me/x", "--push", token=token)
    assert (exit_status, out, err, repo.tags) == (status, "", f"toolscale: {line}\n", tags)
    if "tagging" in line:  # the version is whole and on main; only its tag is missing
        assert repo.commits[repo.main].parent == before
    else:
        assert (repo.commits[repo.main].parent if theirs else repo.main) == before
    hub.faults.clear()
    if status == 1 or "tagging" in line:
        assert toolscale("publish", later_dataset, "me/x", "--push")[0] == 0
        assert repo.tags[tag_of(read_manifest(later_dataset))] == repo.main


@pytest.mark.parametrize(
    ("planted", "line"),
    [
        (Fault("GET", "/api/", 99, status=500), "while looking at me/x: it answered 500, still after 1 s of trying"),
        (
            Fault("POST", "/repos/create", 99, status=503),
            "while making the repo me/x: it answered 503, still after 1 s of trying",
        ),
        (Fault("PUT", "^/lfs/", 99, status=502), "while uploading to me/x: it answered 502, still after 1 s of trying"),
        (
            Fault("POST", "/commit/", 99, status=500),
            "while uploading to me/x: it answered 500, still after 1 s of trying",
        ),
    ],
    ids=lambda value: value.path if isinstance(value, Fault) else "",
)
def test_a_hub_that_stays_broken_is_given_up_and_gone_on_with(
    planted: Fault, line: str, dataset: Path, server: tuple[str, Hub]
) -> None:
    endpoint, hub = server
    hub.faults.append(planted)
    with pytest.raises(HubUnavailableError) as raised:
        publish_dataset(dataset, "me/x", push=True, endpoint=endpoint, token="hf_write", patience=1)
    assert str(raised.value) == f"{endpoint} {line}; run the same command again, it goes on where it was"
    assert all(hub.titles(name) == ["initial commit"] for _, name in hub.repos)
    hub.faults.clear()
    assert publish_dataset(dataset, "me/x", push=True, endpoint=endpoint, token="hf_write").tagged


def test_a_connection_that_always_drops_is_given_up(dataset: Path, server: tuple[str, Hub]) -> None:
    endpoint, hub = server
    hub.faults.append(Fault("PUT", "^/lfs/", 99, read=5000))
    with pytest.raises(
        HubUnavailableError,
        match=r"while uploading to me/x: the connection was lost \(.*\), still after 1 s of trying; run",
    ):
        publish_dataset(dataset, "me/x", push=True, endpoint=endpoint, token="hf_write", patience=1)
    assert hub.titles("me/x") == ["initial commit"]


def test_a_tag_that_fails_is_said_to_be_all_that_is_missing(dataset: Path, server: tuple[str, Hub]) -> None:
    endpoint, hub = server
    hub.faults.append(Fault("POST", "/tag/", 99, status=500))
    tag = tag_of(read_manifest(dataset))
    with pytest.raises(HubUnavailableError, match=f"the version is on main, and only its tag {tag} is missing$"):
        publish_dataset(dataset, "me/x", push=True, endpoint=endpoint, token="hf_write", patience=1)
    hub.faults.clear()
    hub.log.clear()
    assert publish_dataset(dataset, "me/x", push=True, endpoint=endpoint, token="hf_write").already_published
    assert hub.writes() == ["POST tag"]


def test_a_tag_that_points_elsewhere_is_not_moved(dataset: Path, toolscale: Command, hub: Hub) -> None:
    repo, tag = hub.create("dataset", "me/x"), tag_of(read_manifest(dataset))
    repo.tags[tag] = first = repo.main
    line = (
        f"HUB/datasets/me/x: the tag {tag} exists and points to {first[:8]}, which is not this version; "
        "delete the tag there, "
    )
    line += "or raise `version` in environment.yaml and make the dataset again"
    assert toolscale("publish", dataset, "me/x", "--push") == (2, "", f"toolscale: {line}\n")
    assert (hub.writes(), repo.main, repo.tags) == ([], first, {tag: first})


@pytest.mark.parametrize("push", [(), ("--push",)])
def test_a_repo_of_another_type_is_refused(push: tuple[str, ...], dataset: Path, toolscale: Command, hub: Hub) -> None:
    hub.create("model", "me/x")
    line = "me/x is a model, no dataset; choose another name, or make a dataset repo of that name on the Hub yourself"
    assert toolscale("publish", dataset, "me/x", *push) == (2, "", f"toolscale: {line}\n")
    assert hub.writes() == []


def test_a_repo_of_somebody_else_is_refused(dataset: Path, toolscale: Command, hub: Hub) -> None:
    line = "You don't have the rights to create or change anything under the namespace 'you'"
    line = (
        f"HUB while making the repo you/x: the token may not do that (403: {line}); "
        "set HF_TOKEN to one that may write there"
    )
    assert toolscale("publish", dataset, "you/x", "--push") == (2, "", f"toolscale: {line}\n")
    hub.create("dataset", "you/y", private=True)
    line = "HUB/datasets/you/y is there, but this token may not see it; set HF_TOKEN to one with write access to it"
    assert toolscale("publish", dataset, "you/y", "--push", token="hf_write")[0] == 2
    assert hub.titles("you/y") == ["initial commit"]


def test_a_manifest_with_bad_names_is_not_published(dataset: Path, toolscale: Command, hub: Hub) -> None:
    manifest = json.loads((dataset / MANIFEST).read_text())
    (dataset / ".git").mkdir()
    shutil.copyfile(dataset / "README.md", dataset / ".git/config")
    card = next(entry for entry in manifest["files"] if entry["path"] == "README.md")
    manifest["files"].append(card | {"path": ".git/config"})
    (dataset / MANIFEST).write_text(json.dumps(manifest))
    line = f"{dataset}: manifest.json: '.git/config' is a name that a dataset cannot use; it is refused"
    assert toolscale("publish", dataset, "me/x", "--push") == (2, "", f"toolscale: {line}\n")
    assert hub.log == []
