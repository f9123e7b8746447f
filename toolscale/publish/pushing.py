"""A dataset becomes a version on the Hub: one commit and its tag, or nothing.

validate -> look at main -> release (card, manifest and changes against the version that is there) -> one commit on top
of what was looked at -> tag

A version that has its tag is never released again: if main holds something else, or was edited, the tagged files are
committed as they are.

What main holds is a whole version at any time. An interrupted push is run again: objects that were uploaded are not
sent again, and a commit that has no tag gets it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from toolscale.dataset.checking.signing import sign, signing_key
from toolscale.dataset.comparing.versions import content_id, release, tag_of
from toolscale.dataset.manifest import MANIFEST, render_manifest
from toolscale.dataset.storage import make_folder, write_file
from toolscale.errors import HubUnavailableError, PublishError
from toolscale.publish.checks import check_publishable
from toolscale.publish.connection import PATIENCE, TOKENS, Progress, connected, token_of
from toolscale.publish.earlier import ATTRIBUTES, download_previous, is_same, is_whole, on_main, restore, tagged_as
from toolscale.publish.hub import Head, Hub
from toolscale.publish.pulling import local_files
from toolscale.records import Manifest
from toolscale.temporary_folders import temporary_folder

State = Literal["new", "changed", "unchanged", "deleted"]


@dataclass(frozen=True)
class FileChange:
    """What publishing does to one file of the repo."""

    path: str
    bytes: int
    state: State


@dataclass(frozen=True)
class Compared:
    """How many tasks of a version are other ones than in the version before it."""

    previous: str
    """The tag of that version."""
    added: int
    removed: int
    changed: int


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
    restored: bool = False
    """Whether the version has its tag already, so that its files are put on main as they are there."""
    note: str = ""
    """Why the version on main could not be read, and what is taken for it."""
    compared: Compared | None = None
    """What the version says of itself against the one before it; None for a first one."""

    @property
    def uploaded(self) -> tuple[FileChange, ...]:
        """The files of the commit."""
        return tuple(file for file in self.files if file.state in ("new", "changed"))

    def count(self, state: State) -> int:
        """Return how many files are in a state."""
        return sum(file.state == state for file in self.files)


def publish_dataset(
    folder: Path,
    repo: str,
    *,
    push: bool = False,
    endpoint: str | None = None,
    token: str | None = None,
    private: bool = False,
    patience: float = PATIENCE,
    progress: Progress = lambda act, done, total: None,
) -> Publication:
    """Publish a dataset folder in the dataset repo `repo`, or, without `push`, find out what that would do and write
    nothing.

    A version that is there already is not sent again. PublishError names all that must be changed first;
    HubUnavailableError: the same call may succeed later. In either case main holds what it held before, or the whole
    version, which then gets its tag with the next call.
    """
    manifest = check_publishable(folder, repo, endpoint)
    key = signing_key()
    with connected(endpoint, token_of(token), patience if push else 0, progress) as connection:
        if push and not connection.token:
            raise PublishError(f"no token to push to {repo} with: set HF_TOKEN to one with write access from {TOKENS}")
        hub = Hub(connection, repo)
        try:
            head = hub.head()
        except HubUnavailableError as error:
            if push:
                raise
            return _first(hub, folder, key, str(error))
        if head is None:
            if kind := hub.other_kind():
                raise PublishError(
                    f"{repo} is a {kind}, no dataset; choose another name, "
                    "or make a dataset repo of that name on the Hub yourself"
                )
            if not push:
                return _first(hub, folder, key)
            hub.create(private=private)
            head = _there(hub)
        return _after(hub, head, folder, manifest, key, push, progress)


def _after(
    hub: Hub,
    head: Head,
    folder: Path,
    manifest: Manifest,
    key: Ed25519PrivateKey | None,
    push: bool,
    progress: Progress,
) -> Publication:
    """Publish to a repo that exists. If main holds this version, no files are sent; if this version was published
    earlier, its tagged files are put on main again; else a new release is made."""
    before, unread = on_main(hub, head)
    tagged = tagged_as(hub, head.tags, manifest)
    if before is not None:
        have = local_files(folder)
        if content_id(before.manifest) == content_id(manifest):
            if (tagged is None or is_same(head.files, hub.files(tagged.commit))) and is_whole(
                hub, before, head.files, have
            ):
                return _already(hub, head, before.manifest, push)
        elif push and tag_of(before.manifest) not in head.tags and is_whole(hub, before, head.files, have):
            _tag(hub, before.manifest, head.commit)  # its own push could not do it, and soon it is on main no more
    with temporary_folder("publish") as place:
        staged = place / "release"
        if tagged is not None:
            released = restore(hub, tagged, folder, staged, progress)
        else:
            previous, problem = download_previous(hub, head, before, folder, place / "previous", progress)
            if unread or problem:
                instead = (
                    f"{previous} is taken as the version before" if previous else "this is published as a first version"
                )
                unread = f"{unread or problem}; {instead}"
            progress("writing the release", 0, 1)
            released = _signed(
                staged, release(folder, place / "previous" if previous else None, make_folder(staged)), key
            )
        return _publish(hub, head, staged, released, push, progress, restored=tagged is not None, note=unread)


def _publish(
    hub: Hub, head: Head, staged: Path, released: Manifest, push: bool, progress: Progress, *, restored: bool, note: str
) -> Publication:
    tag, changes = tag_of(released), tuple(_compare(staged, released, head))
    if ".gitignore" in head.files:
        raise PublishError(
            f"{hub.url} has a .gitignore, by which the Hub leaves files out of a commit; delete it there"
        )
    plan = Publication(
        hub.repo, hub.url, tag, False, False, changes, restored=restored, note=note, compared=_compared(released)
    )
    if not push:
        return plan
    progress("uploading", 0, 1)
    added = [file.path for file in changes if file.state in ("new", "changed")]
    deleted = [file.path for file in changes if file.state == "deleted"]
    title = f"Restore {tag}" if restored else f"Publish {tag}"
    commit = _commit(hub, head, staged, added, deleted, title) if added or deleted else head.commit
    after = _there(hub)
    if after.commit == commit and any(change.state != "unchanged" for change in _compare(staged, released, after)):
        raise PublishError(
            f"{hub.url}: commit {commit[:8]} does not hold what was sent; look at it there before anybody uses it"
        )
    tagged = after.tags.get(tag) == commit if restored else _tag(hub, released, commit)
    return replace(plan, pushed=True, commit=commit, tagged=tagged)


def _commit(hub: Hub, head: Head, staged: Path, added: list[str], deleted: list[str], title: str) -> str:
    """Make the commit and return it. If the answer was lost, main says whether it was made."""
    try:
        return hub.commit(staged, added, deleted, title=title, parent=head.commit)
    except HubUnavailableError:
        now = hub.head()
        if now and now.commit != head.commit and MANIFEST in now.files and now.files[MANIFEST].holds(staged / MANIFEST):
            return now.commit
        raise


def _tag(hub: Hub, manifest: Manifest, commit: str) -> bool:
    """Tag a commit that is on main, and say whether the tag is on it: somebody else may have given it to another commit
    of the same data.

    Whatever fails, the next run finds the commit and tags it.
    """
    tag = tag_of(manifest)
    try:
        hub.tag(tag, commit)
        tagged = tagged_as(hub, hub.tags(), manifest)
    except HubUnavailableError as error:
        raise HubUnavailableError(f"{error}; the version is on main, and only its tag {tag} is missing") from error
    if tagged is None:
        raise HubUnavailableError(
            f"{hub.url}: it accepted the tag {tag} and has none; "
            "the version is on main: run the same command again to tag it"
        )
    return tagged is not None and tagged.commit == commit


def _already(hub: Hub, head: Head, before: Manifest, push: bool) -> Publication:
    tag = tag_of(before)
    tagged = tag in head.tags or (push and _tag(hub, before, head.commit))
    files = tuple(
        FileChange(path, head.files[path].size, "unchanged")
        for path in sorted([*(entry.path for entry in before.files), MANIFEST])
    )
    commit = head.tags.get(tag, head.commit)
    return Publication(hub.repo, hub.url, tag, push, True, files, commit, tagged, compared=_compared(before))


def _there(hub: Hub) -> Head:
    head = hub.head()
    if head is None:
        raise PublishError(
            f"{hub.url} is there, but this token may not see it; set HF_TOKEN to one with write access to it"
        )
    return head


def _compare(folder: Path, manifest: Manifest, head: Head | None) -> Iterator[FileChange]:
    there = head.files if head else {}
    ours = sorted([MANIFEST, *(entry.path for entry in manifest.files)])
    for path in ours:
        state: State = "new" if path not in there else "unchanged" if there[path].holds(folder / path) else "changed"
        yield FileChange(path, (folder / path).stat().st_size, state)
    for path in sorted(there.keys() - set(ours) - {ATTRIBUTES}):
        yield FileChange(path, there[path].size, "deleted")


def _compared(manifest: Manifest) -> Compared | None:
    release = manifest.release
    if release is None or release.previous is None:
        return None
    domains = release.domains.values()
    return Compared(
        release.previous,
        sum(one.added for one in domains),
        sum(one.removed for one in domains),
        sum(one.changed for one in domains),
    )


def _signed(staged: Path, released: Manifest, key: Ed25519PrivateKey | None) -> Manifest:
    """Sign a release, if there is a key, and return its manifest."""
    if key is not None:
        released = sign(released, key)
        write_file(staged / MANIFEST, render_manifest(released))
    return released


def _first(hub: Hub, folder: Path, key: Ed25519PrivateKey | None, not_asked: str = "") -> Publication:
    with temporary_folder("publish") as place:
        released = _signed(place / "release", release(folder, None, make_folder(place / "release")), key)
        changes = tuple(_compare(place / "release", released, None))
    return Publication(hub.repo, hub.url, tag_of(released), False, False, changes, not_asked=not_asked)
