"""A version goes to the Hub as one commit and one tag, once, however often it is interrupted."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from threading import Event

import pytest

from tests.publish.command import Command
from tests.publish.hub_server import ATTRIBUTES, Fault, Hub
from toolscale.dataset.manifest import read_manifest, tag_of
from toolscale.publish import publish_dataset

TRAIN = "mock/train-00000-of-00001.parquet"
DATA = ("mock/", "rejects/", "outcomes/", "environments/")
OBJECTS = 5
"""Files of the mock dataset that are stored as LFS: three of rows, the outcomes, the database."""


def data_of(files: dict[str, bytes]) -> dict[str, bytes]:
    return {path: content for path, content in files.items() if path.startswith(DATA)}


def files_of(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def kill_at(held: Fault, dataset: Path, hub: Hub, environment: dict[str, str]) -> None:
    """Push in a process of its own, and kill it when it has sent the request that is held."""
    held.hold = Event()
    hub.faults.append(held)
    command = [sys.executable, "-m", "toolscale", "publish", str(dataset), "me/x", "--push"]
    running = subprocess.Popen(command, env=environment | {"HF_TOKEN": "hf_write"}, stdout=subprocess.DEVNULL)
    assert held.reached.wait(60)
    running.send_signal(signal.SIGKILL)
    running.wait()
    held.hold.set()


def test_a_first_push_makes_one_commit_and_one_tag(dataset: Path, toolscale: Command, hub: Hub) -> None:
    tag = tag_of(read_manifest(dataset))
    status, out, err = toolscale("publish", dataset, "me/x", "--push")
    assert (status, err) == (0, "")
    assert out.startswith(f"{dataset}: 20 files (")
    assert out.endswith(f" uploaded, 0 unchanged, 0 deleted; published as {tag}: HUB/datasets/me/x/tree/{tag}\n")
    repo, files = hub.repos["dataset", "me/x"], hub.files("me/x")
    assert (hub.titles("me/x"), repo.tags, repo.private) == (
        [f"Publish {tag}", "initial commit"],
        {tag: repo.main},
        False,
    )
    assert data_of(files) == data_of(files_of(dataset))
    assert files.keys() == files_of(dataset).keys() | {".gitattributes", "changes.json"}
    assert files[".gitattributes"] == ATTRIBUTES
    assert {path for path, entry in repo.commits[repo.main].files.items() if entry.sha256} == {
        path for path in files if path.endswith((".parquet", ".sqlite"))
    }


def test_a_second_push_uploads_nothing(published: str, dataset: Path, toolscale: Command, hub: Hub) -> None:
    main = hub.repos["dataset", "me/x"].main
    told = f"{dataset}: already published as {published}: HUB/datasets/me/x/tree/{published}\n"
    assert toolscale("publish", dataset, "me/x", "--push") == (0, told, "")
    assert (hub.writes(), hub.repos["dataset", "me/x"].main) == ([], main)


def test_a_new_version_is_one_commit_with_what_changed(
    published: str, dataset: Path, later_dataset: Path, toolscale: Command, hub: Hub
) -> None:
    hub.put_file("me/x", "mock/train-00009-of-00001.parquet", b"not ours")
    before, repo = hub.files("me/x"), hub.repos["dataset", "me/x"]
    status, out, _ = toolscale("publish", later_dataset, "me/x", "--push", "--json")
    publication, after, tag = json.loads(out), hub.files("me/x"), tag_of(read_manifest(later_dataset))
    assert (status, hub.titles("me/x")[:2], repo.tags[tag]) == (0, [f"Publish {tag}", "edited on the web"], repo.main)
    states = {file["path"]: file["state"] for file in publication["files"]}
    assert states == {
        path: "deleted" if path not in after else "unchanged" if content == after[path] else "changed"
        for path, content in before.items()
        if path != ".gitattributes"
    }
    changed = [path for path, state in states.items() if state == "changed"]
    assert TRAIN in changed and "environments/mock/database.sqlite" not in changed
    large = [path for path in changed if path.endswith((".parquet", ".png"))]
    assert sorted(hub.writes()) == sorted(
        [
            "POST validate-yaml",
            "POST preupload",
            "POST objects/batch",
            *["PUT object", "POST lfs/verify"] * len(large),
            "POST commit",
            "POST tag",
        ]
    )
    assert len(repo.tags) == 2


def test_a_card_that_was_edited_on_the_hub_is_no_obstacle(
    published: str, dataset: Path, later_dataset: Path, toolscale: Command, hub: Hub
) -> None:
    hub.put_file("me/x", "README.md", hub.files("me/x")["README.md"] + b"\nA remark.\n")
    assert toolscale("publish", later_dataset, "me/x", "--push")[0] == 0
    assert b"A remark." not in hub.files("me/x")["README.md"]


def test_data_that_were_damaged_on_the_hub_are_put_right(
    published: str, dataset: Path, toolscale: Command, hub: Hub
) -> None:
    whole = hub.files("me/x")
    hub.put_file("me/x", "environments/mock/policy.md", b"anything goes")
    assert toolscale("publish", dataset, "me/x", "--push")[0] == 0
    assert hub.files("me/x") == whole


def test_a_private_repo_is_private(dataset: Path, toolscale: Command, hub: Hub) -> None:
    assert toolscale("publish", dataset, "me/x", "--push", "--private")[0] == 0
    assert hub.repos["dataset", "me/x"].private


def test_a_push_that_was_killed_while_uploading_goes_on(
    dataset: Path, toolscale: Command, hub: Hub, apart: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    kill_at(Fault("PUT", "^/lfs/", read=5000), dataset, hub, apart | {"TMPDIR": str(temporary)})
    assert list(temporary.rglob("*.parquet"))  # the release was there
    assert "/api/agent-harnesses" not in {path for _, path, _ in hub.log}  # the Hub is not told which program runs us
    stored = len(hub.large)
    assert hub.titles("me/x") == ["initial commit"] and stored < OBJECTS
    hub.log.clear()
    assert toolscale("publish", dataset, "me/x", "--push")[0] == 0
    assert hub.writes().count("PUT object") == OBJECTS - stored
    assert len(hub.titles("me/x")) == 2
    assert list(temporary.iterdir()) == []


def test_a_push_that_was_killed_before_its_tag_gets_the_tag(
    dataset: Path, toolscale: Command, hub: Hub, apart: dict[str, str]
) -> None:
    kill_at(Fault("POST", "/tag/", read=0), dataset, hub, apart)
    repo, tag = hub.repos["dataset", "me/x"], tag_of(read_manifest(dataset))
    assert (hub.titles("me/x"), repo.tags) == ([f"Publish {tag}", "initial commit"], {})
    hub.log.clear()
    assert "its tag is missing; --push sets it" in toolscale("publish", dataset, "me/x")[1]
    assert "already published as" in toolscale("publish", dataset, "me/x", "--push")[1]
    assert (hub.writes(), repo.tags) == (["POST tag"], {tag: repo.main})


def test_a_connection_that_drops_during_an_upload_is_made_again(dataset: Path, toolscale: Command, hub: Hub) -> None:
    hub.faults.append(Fault("PUT", "^/lfs/", read=5000))
    assert toolscale("publish", dataset, "me/x", "--push")[0] == 0
    assert (hub.writes().count("PUT object 0"), hub.writes().count("PUT object")) == (1, OBJECTS)


@pytest.mark.parametrize("act", ["commit", "tag"])
def test_an_answer_that_is_lost_doubles_nothing(
    act: str, published: str, later_dataset: Path, toolscale: Command, hub: Hub
) -> None:
    later = tag_of(read_manifest(later_dataset))
    hub.put_file("me/x", "extra.txt", b"to be deleted")
    hub.faults.append(Fault("POST", f"/{act}/", sent=-1))
    assert toolscale("publish", later_dataset, "me/x", "--push")[0] == 0
    assert hub.titles("me/x") == [f"Publish {later}", "edited on the web", f"Publish {published}", "initial commit"]
    assert hub.repos["dataset", "me/x"].tags.keys() == {published, later}


@pytest.mark.parametrize(
    "headers",
    [{"Retry-After": "1"}, {"RateLimit": '"api";r=0;t=1', "RateLimit-Policy": '"fixed window";"api";q=500;w=300'}],
)
def test_a_rate_limit_is_waited_for_as_told(headers: dict[str, str], dataset: Path, server: tuple[str, Hub]) -> None:
    endpoint, hub = server
    hub.faults.append(Fault("POST", "/preupload/", status=429, headers=headers))
    told: list[str] = []
    publication = publish_dataset(
        dataset,
        "me/x",
        push=True,
        endpoint=endpoint,
        token="hf_write",
        progress=lambda act, done, total: told.append(act),
    )
    assert "uploading to me/x: waiting 1 s for the Hub" in told
    assert publication.commit == hub.repos["dataset", "me/x"].main
    assert hub.writes().count("POST preupload 429") == 1
