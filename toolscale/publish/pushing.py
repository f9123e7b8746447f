"""A dataset becomes a version on the Hub: one commit and its tag, or nothing.

validate -> look at main -> release (card, manifest and changes against the version that is there) -> one commit on top of what was looked at -> tag

What main holds is a whole version at any time. An interrupted push is run again: objects that were uploaded are not sent again, and a commit that
has no tag gets it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

from toolscale.dataset.folder import CARD
from toolscale.dataset.manifest import MANIFEST
from toolscale.dataset.storage import make_folder, storage_errors, write_file
from toolscale.dataset.versions import content_id, release, tag_of
from toolscale.errors import HubUnavailableError, PublishError
from toolscale.publish.checks import check_publishable
from toolscale.publish.connection import PATIENCE, TOKENS, Progress, connected, token_of
from toolscale.publish.hub import Head, Hub
from toolscale.publish.pulling import download, local_files, published
from toolscale.records import Manifest

State = Literal["new", "changed", "unchanged", "deleted"]
ATTRIBUTES = ".gitattributes"
"""What the Hub itself puts into every repo."""


@dataclass(frozen=True)
class FileChange:
    """What publishing does to one file of the repo."""

    path: str
    bytes: int
    state: State


@dataclass(frozen=True)
class Publication:
    """What publishing did, or (not `pushed`) would do."""

    repo: str
    url: str
    tag: str
    pushed: bool
    already_published: bool
    files: tuple[FileChange, ...]
    commit: str | None = None
    """The commit that holds this version; None if there is none yet."""
    tagged: bool = False
    """Whether the tag points to it."""
    not_asked: str = ""
    """Why the repo could not be asked, so that all files count as new."""

    @property
    def uploaded(self) -> tuple[FileChange, ...]:
        """The files of the commit."""
        return tuple(file for file in self.files if file.state in ("new", "changed"))

    def count(self, state: State) -> int:
        """Return how many files are in a state."""
        return sum(file.state == state for file in self.files)


def publish_dataset(
    folder: Path, repo: str, *, push: bool = False, endpoint: str | None = None, token: str | None = None, private: bool = False,
    patience: float = PATIENCE, progress: Progress = lambda act, done, total: None,
) -> Publication:  # fmt: skip
    """Publish a dataset folder in the dataset repo `repo`, or, without `push`, find out what that would do and write nothing.

    A version that is there already is not sent again. PublishError names all that must be changed first; HubUnavailableError: the same call may
    succeed later. In either case main holds what it held before, or the whole version, which then gets its tag with the next call.
    """
    manifest = check_publishable(folder, repo, endpoint)
    with connected(endpoint, token_of(token), patience if push else 0, progress) as connection:
        if push and not connection.token:
            raise PublishError(f"no token to push to {repo} with: set HF_TOKEN to one with write access from {TOKENS}")
        hub = Hub(connection, repo)
        try:
            head = hub.head()
        except HubUnavailableError as error:
            if push:
                raise
            return _first(hub, folder, str(error))
        if head is None:
            if kind := hub.other_kind():
                raise PublishError(f"{repo} is a {kind}, no dataset; choose another name, or make a dataset repo of that name on the Hub yourself")
            if not push:
                return _first(hub, folder)
            hub.create(private=private)
            head = _there(hub)
        before = published(hub, head.commit)[1]
        if before is None and (foreign := sorted(head.files.keys() - {ATTRIBUTES, CARD})):
            raise PublishError(f"{hub.url} holds {foreign[0]!r} but no {MANIFEST}: it is no dataset of ours; choose another repo, or empty it")
        if before is not None and content_id(before) == content_id(manifest) and _is_whole(folder, manifest, before, head):
            return _already(hub, head, before, push)
        with _released(hub, head, before, folder, progress) as (staged, released):
            return _publish(hub, head, staged, released, push, progress)


def _publish(hub: Hub, head: Head, staged: Path, released: Manifest, push: bool, progress: Progress) -> Publication:
    tag, changes = tag_of(released), tuple(_compare(staged, released, head))
    _check_tag(hub, head.tags, tag, content_id(released))
    if ".gitignore" in head.files:
        raise PublishError(f"{hub.url} has a .gitignore, by which the Hub leaves files out of a commit; delete it there")
    if not push:
        return Publication(hub.repo, hub.url, tag, False, False, changes)
    progress("uploading", 0, 1)
    added = [file.path for file in changes if file.state in ("new", "changed")]
    deleted = [file.path for file in changes if file.state == "deleted"]
    commit = _commit(hub, head, staged, added, deleted, tag)
    after = _there(hub)
    if after.commit == commit and any(change.state != "unchanged" for change in _compare(staged, released, after)):
        raise PublishError(f"{hub.url}: commit {commit[:8]} does not hold what was sent; look at it there before anybody uses it")
    _tag(hub, tag, commit, content_id(released))
    return Publication(hub.repo, hub.url, tag, True, False, changes, commit, True)


def _commit(hub: Hub, head: Head, staged: Path, added: list[str], deleted: list[str], tag: str) -> str:
    """Make the commit and return it. If the answer was lost, main says whether it was made."""
    try:
        return hub.commit(staged, added, deleted, title=f"Publish {tag}", parent=head.commit)
    except HubUnavailableError:
        now = hub.head()
        if now and now.commit != head.commit and MANIFEST in now.files and now.files[MANIFEST].holds(staged / MANIFEST):
            return now.commit
        raise


def _tag(hub: Hub, tag: str, commit: str, content: str) -> None:
    """Tag a commit that is on main; whatever fails, the next run finds the commit and tags it."""
    try:
        hub.tag(tag, commit)
        _check_tag(hub, hub.tags(), tag, content)
    except HubUnavailableError as error:
        raise HubUnavailableError(f"{error}; the version is on main, and only its tag {tag} is missing") from error


def _check_tag(hub: Hub, tags: dict[str, str], tag: str, content: str) -> None:
    """PublishError if the tag of a version points to something else."""
    if tag in tags:
        tagged = published(hub, tags[tag])[1]
        if tagged is None or content_id(tagged) != content:
            raise PublishError(
                f"{hub.url}: the tag {tag} exists and points to {tags[tag][:8]}, which is not this version; delete the tag there, "
                f"or raise `version` in environment.yaml and make the dataset again"
            )


def _already(hub: Hub, head: Head, before: Manifest, push: bool) -> Publication:
    tag = tag_of(before)
    _check_tag(hub, head.tags, tag, content_id(before))
    tagged = tag in head.tags
    if push and not tagged:
        _tag(hub, tag, head.commit, content_id(before))
    files = tuple(FileChange(path, head.files[path].size, "unchanged") for path in sorted([*(entry.path for entry in before.files), MANIFEST]))
    return Publication(hub.repo, hub.url, tag, push, True, files, head.tags.get(tag, head.commit), tagged or push)


def _is_whole(folder: Path, local: Manifest, before: Manifest, head: Head) -> bool:
    """Whether main holds every file that its manifest names, and those that are the same here as they are here."""
    same = set(local.files) & set(before.files)
    return all(entry.path in head.files for entry in before.files) and all(head.files[entry.path].holds(folder / entry.path) for entry in same)


def _there(hub: Hub) -> Head:
    head = hub.head()
    if head is None:
        raise PublishError(f"{hub.url} is there, but this token may not see it; set HF_TOKEN to one with write access to it")
    return head


@contextmanager
def _released(hub: Hub, head: Head | None, before: Manifest | None, folder: Path, progress: Progress) -> Iterator[tuple[Path, Manifest]]:
    """Yield a temporary folder with the dataset as it is to be published after the version `before`."""
    with storage_errors("make a temporary folder for", folder):
        made = TemporaryDirectory(prefix="toolscale-publish-")
    with made as temporary:
        previous = None if head is None or before is None else Path(temporary) / "previous"
        if head is not None and before is not None and previous is not None:
            _snapshot(hub, head, before, previous, local_files(folder), progress)
        staged = Path(temporary) / "release"
        progress("writing the release", 0, 1)
        yield staged, release(folder, previous, make_folder(staged))


def _snapshot(hub: Hub, head: Head, before: Manifest, into: Path, have: dict[str, Path], progress: Progress) -> None:
    """Download the version before as it was published: from its tag, since people may have edited main."""
    commit = head.tags.get(tag_of(before), head.commit)
    content, manifest = published(hub, commit)
    if content is None or manifest is None or content_id(manifest) != content_id(before):
        commit = head.commit
        content, manifest = published(hub, commit)
    if content is not None and manifest is not None:
        download(hub, manifest, commit, into, have=have, progress=progress)
        write_file(into / MANIFEST, content)


def _compare(folder: Path, manifest: Manifest, head: Head | None) -> Iterator[FileChange]:
    there = head.files if head else {}
    ours = sorted([MANIFEST, *(entry.path for entry in manifest.files)])
    for path in ours:
        state: State = "new" if path not in there else "unchanged" if there[path].holds(folder / path) else "changed"
        yield FileChange(path, (folder / path).stat().st_size, state)
    for path in sorted(there.keys() - set(ours) - {ATTRIBUTES}):
        yield FileChange(path, there[path].size, "deleted")


def _first(hub: Hub, folder: Path, not_asked: str = "") -> Publication:
    with _released(hub, None, None, folder, lambda act, done, total: None) as (staged, released):
        return Publication(hub.repo, hub.url, tag_of(released), False, False, tuple(_compare(staged, released, None)), not_asked=not_asked)
