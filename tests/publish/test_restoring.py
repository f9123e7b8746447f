"""A main that was edited, broken or left without its tag is put right by the next push; what was published before comes
back as it was."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.publish.command import Command
from tests.publish.hub_server import Fault, Hub
from toolscale.dataset.manifest import MANIFEST, read_manifest, tag_of


def holds(toolscale: Command, out: Path) -> bool:
    """Whether main can be pulled."""
    return toolscale("pull", "me/x", "--out", out)[0] == 0


def without_tag(dataset: Path, toolscale: Command, hub: Hub) -> str:
    """Publish a dataset whose tag the Hub refuses; return the tag."""
    hub.faults.append(Fault("POST", "/tag/", status=403))
    assert toolscale("publish", dataset, "me/x", "--push")[0] == 2
    assert hub.repos["dataset", "me/x"].tags == {}
    return tag_of(read_manifest(dataset))


@pytest.mark.parametrize(
    ("path", "content"),
    [
        ("README.md", b"---\nlicense: mit\n---\nmine\n"),
        ("changes.json", b"{}"),
        ("notes.txt", b"mine"),
        ("outcomes/mock.parquet", b"no rows"),
    ],
)
def test_what_was_changed_on_the_hub_is_put_back_as_it_was_tagged(
    path: str, content: bytes, published: str, dataset: Path, toolscale: Command, hub: Hub
) -> None:
    whole, repo, tag = hub.files("me/x"), hub.repos["dataset", "me/x"], published
    tagged = repo.main
    hub.put_file("me/x", path, content)
    plan = toolscale("publish", dataset, "me/x")
    assert plan[0] == 0 and plan[1].splitlines()[-2].endswith(f"; main is to go back to {tag}: HUB/datasets/me/x")
    status, out, _ = toolscale("publish", dataset, "me/x", "--push")
    assert (status, hub.titles("me/x")[0], hub.files("me/x")) == (0, f"Restore {tag}", whole)
    assert out.endswith(f"; main is back at {tag}: HUB/datasets/me/x/tree/{tag}\n")
    assert repo.tags == {tag: tagged} and holds(toolscale, dataset.parent / "pulled")
    assert "already published as" in toolscale("publish", dataset, "me/x", "--push")[1]


@pytest.mark.parametrize("path", ["README.md", "mock/train-00000-of-00001.parquet"])
def test_a_broken_commit_does_not_get_the_tag(path: str, dataset: Path, toolscale: Command, hub: Hub) -> None:
    tag, repo = without_tag(dataset, toolscale, hub), hub.repos["dataset", "me/x"]
    broken = hub.put_file("me/x", path, b"---\nlicense: mit\n---\nmine\n")
    assert toolscale("publish", dataset, "me/x", "--push")[0] == 0
    assert repo.tags == {tag: repo.main} and repo.commits[repo.main].parent == broken
    assert holds(toolscale, dataset.parent / "pulled")


def test_a_tag_of_a_broken_commit_is_told(published: str, dataset: Path, toolscale: Command, hub: Hub) -> None:
    repo, tag = hub.repos["dataset", "me/x"], published
    repo.tags[tag] = broken = hub.put_file("me/x", "README.md", b"mine")
    line = (
        f"HUB/datasets/me/x: the tag {tag} points to {broken[:8]}, which is not whole; "
        "delete the tag there and run this again"
    )
    assert toolscale("publish", dataset, "me/x", "--push") == (2, "", f"toolscale: {line}\n")
    del repo.tags[tag]
    assert toolscale("publish", dataset, "me/x", "--push")[0] == 0
    assert repo.tags == {tag: repo.main} and holds(toolscale, dataset.parent / "pulled")


def test_a_version_without_its_tag_gets_it_before_the_next_one(
    dataset: Path, later_dataset: Path, toolscale: Command, hub: Hub
) -> None:
    first, later = without_tag(dataset, toolscale, hub), tag_of(read_manifest(later_dataset))
    repo = hub.repos["dataset", "me/x"]
    untagged = repo.main
    assert toolscale("publish", later_dataset, "me/x")[0] == 0 and repo.tags == {}  # a dry run tags nothing
    assert toolscale("publish", later_dataset, "me/x", "--push")[0] == 0
    assert repo.tags == {first: untagged, later: repo.main}


def test_a_broken_version_without_its_tag_does_not_get_it_later(
    dataset: Path, later_dataset: Path, toolscale: Command, hub: Hub
) -> None:
    without_tag(dataset, toolscale, hub)
    broken = hub.put_file("me/x", "README.md", b"mine")
    status, out, _ = toolscale("publish", later_dataset, "me/x", "--push")
    repo = hub.repos["dataset", "me/x"]
    assert (status, repo.tags) == (0, {tag_of(read_manifest(later_dataset)): repo.main})
    told = out.splitlines()[0]
    assert told.startswith(f"HUB/datasets/me/x at {broken[:8]}: README.md")
    assert told.endswith("; somebody changed it there; this is published as a first version")


def test_a_manifest_that_cannot_be_read_does_not_block_the_repo(
    published: str, dataset: Path, later_dataset: Path, toolscale: Command, hub: Hub
) -> None:
    repo, later = hub.repos["dataset", "me/x"], tag_of(read_manifest(later_dataset))
    bad = hub.put_file("me/x", MANIFEST, b"{}")
    status, out, err = toolscale("publish", later_dataset, "me/x", "--push")
    why = (
        f"HUB/datasets/me/x at {bad[:8]}: manifest.json is not a manifest: name: field required; nothing of it is used"
    )
    assert (status, err, out.splitlines()[0]) == (0, "", f"{why}; {published} is taken as the version before")
    assert json.loads(hub.files("me/x")["changes.json"])["previous"] == published
    assert repo.tags[later] == repo.main and holds(toolscale, dataset.parent / "pulled")


def test_the_newest_version_that_can_be_read_is_the_one_before(
    dataset: Path, later_dataset: Path, toolscale: Command, hub: Hub
) -> None:
    toolscale("publish", later_dataset, "me/x", "--push")
    toolscale("publish", dataset, "me/x", "--push")
    repo, later = hub.repos["dataset", "me/x"], tag_of(read_manifest(later_dataset))
    del repo.tags[tag_of(read_manifest(dataset))]
    repo.tags |= {"notes": hub.put_file("me/x", MANIFEST, b"[]"), "start": repo.commits[repo.tags[later]].parent or ""}
    assert f"{later} is taken as the version before" in toolscale("publish", dataset, "me/x", "--push")[1]
    assert json.loads(hub.files("me/x")["changes.json"])["previous"] == later


def test_without_any_version_that_can_be_read_a_push_is_the_first(dataset: Path, toolscale: Command, hub: Hub) -> None:
    hub.create("dataset", "me/x")
    hub.put_file("me/x", MANIFEST, b"not json")
    status, out, _ = toolscale("publish", dataset, "me/x", "--push")
    assert status == 0 and out.splitlines()[0].endswith("; nothing of it is used; this is published as a first version")
    assert json.loads(hub.files("me/x")["changes.json"])["previous"] is None


def test_earlier_data_come_back_as_they_were_published(
    published: str, dataset: Path, later_dataset: Path, toolscale: Command, hub: Hub
) -> None:
    repo, tag, whole = hub.repos["dataset", "me/x"], published, hub.files("me/x")
    first = repo.main
    toolscale("publish", later_dataset, "me/x", "--push")
    status, out, _ = toolscale("publish", dataset, "me/x", "--push", "--json")
    told = json.loads(out)
    assert (status, told["commit"], told["tagged"], told["restored"], told["already_published"]) == (
        0,
        repo.main,
        False,
        True,
        False,
    )
    assert (hub.files("me/x"), hub.titles("me/x")[0], repo.tags[tag], len(repo.tags)) == (
        whole,
        f"Restore {tag}",
        first,
        2,
    )
    told = json.loads(toolscale("publish", dataset, "me/x", "--push", "--json")[1])
    assert (told["commit"], told["tagged"], told["already_published"]) == (first, True, True)


def test_a_push_says_what_changed_since_the_version_before(
    published: str, later_dataset: Path, toolscale: Command, hub: Hub
) -> None:
    out = toolscale("publish", later_dataset, "me/x", "--push")[1]
    changes = json.loads(hub.files("me/x")["changes.json"])["domains"]["mock"]
    counts = {kind: len(changes[kind]) for kind in ("added", "removed", "changed")}
    assert counts["added"] > 0
    assert (
        out.splitlines()[-1]
        == f"{counts['added']} added, {counts['removed']} removed, {counts['changed']} changed since {published}"
    )
    compared = json.loads(toolscale("publish", later_dataset, "me/x", "--push", "--json")[1])["compared"]
    assert compared == {"previous": published, **counts}
