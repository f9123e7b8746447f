"""Answers that no Hub should give, and those that only look like an end: each is one line that a terminal can show, or
is waited out."""

from __future__ import annotations

import json
import time
from email.utils import formatdate
from pathlib import Path
from threading import Event, Thread

import pytest

from tests.publish.command import Command
from tests.publish.hub_server import Fault, Hub
from toolscale.dataset.manifest import MANIFEST
from toolscale.dataset.storage import only_writer
from toolscale.errors import HubUnavailableError, UsageError
from toolscale.publish import publish_dataset

PAGE = b"<!doctype html><title>Welcome</title>"


@pytest.mark.parametrize(
    ("method", "path", "status"), [("PUT", "^/lfs/", 403), ("PUT", "^/lfs/", 400), ("POST", "lfs/verify", 422)]
)
def test_an_object_that_the_storage_refuses_is_one_line(
    method: str, path: str, status: int, dataset: Path, toolscale: Command, hub: Hub
) -> None:
    hub.faults.append(Fault(method, path, 99, status=status))
    line = (
        f"HUB while uploading to me/x: the storage of the Hub refused an object ({status}: planted), "
        "nothing of this version is on main; "
    )
    line += "run the same command again, and if it stays so, ask whoever runs this Hub"
    assert toolscale("publish", dataset, "me/x", "--push") == (2, "", f"toolscale: {line}\n")
    assert hub.titles("me/x") == ["initial commit"]


def test_an_upload_may_take_longer_than_our_patience(dataset: Path, server: tuple[str, Hub]) -> None:
    endpoint, hub = server
    slow = Fault("PUT", "^/lfs/", read=1000, hold=Event())
    hub.faults.append(slow)
    assert slow.hold
    # A Timer would wait for ever under a clock that was set for the tests.
    let_go = Thread(target=lambda: (time.sleep(1), slow.hold.set()))
    let_go.start()
    assert publish_dataset(dataset, "me/x", push=True, endpoint=endpoint, token="hf_write", patience=0.6).tagged
    assert hub.writes().count("PUT object 0") == 1
    let_go.join()


def test_a_wait_of_no_seconds_is_still_a_pause(dataset: Path, server: tuple[str, Hub]) -> None:
    endpoint, hub = server
    hub.faults.append(Fault("POST", "/repos/create", 10**6, status=503, headers={"Retry-After": "0"}))
    with pytest.raises(HubUnavailableError, match="it answered 503, still after 1 s of trying"):
        publish_dataset(dataset, "me/x", push=True, endpoint=endpoint, token="hf_write", patience=1)
    assert hub.writes() == ["POST repos/create 503"] * 2


def test_a_date_to_wait_for_is_understood(dataset: Path, server: tuple[str, Hub]) -> None:
    endpoint, hub = server
    headers = {"Retry-After": formatdate(time.time() + 3600, usegmt=True)}
    hub.faults.append(Fault("POST", "/repos/create", 99, status=429, headers=headers))
    # An hour, less what it took to get there.
    asked = r"it asks to wait \d{4} s, longer than the 120 s that we wait; try again then"
    with pytest.raises(HubUnavailableError, match=asked):
        publish_dataset(dataset, "me/x", push=True, endpoint=endpoint, token="hf_write")
    assert hub.writes() == ["POST repos/create 429"]


@pytest.mark.parametrize("content", [PAGE, b"[]", b"{}", b"null"])
@pytest.mark.parametrize("verb", ["publish", "pull"])
def test_what_does_not_answer_like_a_hub_is_told(
    verb: str, content: bytes, dataset: Path, toolscale: Command, hub: Hub
) -> None:
    hub.faults.append(Fault("GET", "", 99, status=200, content=content))
    out = dataset.parent / "pulled"
    status, told, err = toolscale(
        *(("publish", dataset, "me/x", "--push") if verb == "publish" else ("pull", "me/x", "--out", out))
    )
    assert (status, told, err.count("\n")) == (2, "", 1)
    assert (
        err.startswith("toolscale: HUB")
        and "it does not answer like a Hub" in err
        and err.endswith("; check the endpoint\n")
    )


@pytest.mark.parametrize("commit", ["../../outside", "A" * 40, "", "\x1b[2J\n"])
def test_a_commit_that_is_none_is_used_nowhere(commit: str, toolscale: Command, hub: Hub, tmp_path: Path) -> None:
    content = json.dumps({"id": "me/x", "sha": commit, "siblings": [], "tags": []}).encode()
    hub.faults.append(Fault("GET", "/revision/main", status=200, content=content))
    status, out, err = toolscale("pull", "me/x", "--out", tmp_path / "a" / "pulled")
    assert (status, out, err.count("\n"), len(hub.log)) == (2, "", 1, 1)
    assert "it does not answer like a Hub: " in err and err[:-1].isprintable()
    assert not (tmp_path / "a").exists()


@pytest.mark.parametrize("token", ["hf_ü", "hf_a b", "hf_\x07"])
def test_a_token_that_can_be_none_is_not_sent(token: str, dataset: Path, toolscale: Command, hub: Hub) -> None:
    line = (
        "the token has a character that no token has; "
        "set HF_TOKEN to one from https://huggingface.co/settings/tokens, or run `hf auth login` again"
    )
    assert toolscale("publish", dataset, "me/x", "--push", token=token) == (2, "", f"toolscale: {line}\n")
    assert toolscale("pull", "me/x", "--out", dataset.parent / "pulled", token=token) == (2, "", f"toolscale: {line}\n")
    assert hub.log == []


@pytest.mark.parametrize(
    "change",
    [{"\x1b[31mred\nline": 1}, {"version": "\x1b]0;title\x07"}, {"x" * 10_000: 1}, {"domains": {"\u202e": {}}}],
)
def test_words_of_a_foreign_manifest_cannot_control_the_terminal(
    change: dict[str, object], published: str, dataset: Path, toolscale: Command, hub: Hub
) -> None:
    content = json.dumps(json.loads(hub.files("me/x")[MANIFEST]) | change).encode()
    hub.put_file("me/x", MANIFEST, content)
    out = dataset.parent / "pulled"
    status, _, err = toolscale("pull", "me/x", "--out", out)
    assert (status, err.count("\n"), err[:-1].isprintable(), len(err) < 1000) == (2, 1, True, True)
    (dataset / MANIFEST).write_bytes(content)
    status, _, err = toolscale("publish", dataset, "me/x")
    assert (status, err.count("\n"), err[:-1].isprintable(), len(err) < 1000) == (2, 1, True, True)


def test_names_of_foreign_files_cannot_control_the_terminal(
    published: str, dataset: Path, toolscale: Command, hub: Hub
) -> None:
    hub.put_file("me/x", "\x1b[2J\nnothing to see", b"")
    hub.put_file("me/x", "long" * 1000, b"")
    out = toolscale("publish", dataset, "me/x")[1]
    deleted = [line for line in out.splitlines() if line.startswith("deleted")]
    assert [line.split(maxsplit=3)[3] for line in deleted] == ["�[2J nothing to see", ("long" * 1000)[:299] + "…"]
    assert all(line.isprintable() for line in out.splitlines())


def test_tags_of_a_foreign_repo_cannot_control_the_terminal(dataset: Path, toolscale: Command, hub: Hub) -> None:
    repo = hub.create("dataset", "me/x")
    repo.tags |= {f"\x1b[{number}m": repo.main for number in range(1000)}
    status, _, err = toolscale("pull", "me/x", "--revision", "v9", "--out", dataset.parent / "pulled")
    assert (status, err.count("\n"), err[:-1].isprintable(), len(err) < 1000) == (2, 1, True, True)


def test_what_fails_under_a_lock_is_not_the_lock(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="thesis"), only_writer(tmp_path):
        (tmp_path / "thesis").read_text()
    with (
        only_writer(tmp_path),
        pytest.raises(UsageError, match=f"another run is writing {tmp_path};"),
        only_writer(tmp_path),
    ):
        raise AssertionError
