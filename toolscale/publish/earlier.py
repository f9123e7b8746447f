"""The versions that a repo holds: the one on main and whether it is whole, the one that a tag names, and the one that a
new version follows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from toolscale.dataset.comparing.versions import content_id, tag_of
from toolscale.dataset.making.folder import CARD
from toolscale.dataset.manifest import MANIFEST
from toolscale.dataset.storage import remove_folder, write_file
from toolscale.errors import DatasetError, PublishError
from toolscale.publish.connection import Progress
from toolscale.publish.hub import Head, Hub, RemoteFile
from toolscale.publish.pulling import download, local_files, published
from toolscale.records import Manifest
from toolscale.temporary_folders import temporary_folder
from toolscale.text_files import printable

ATTRIBUTES = ".gitattributes"
"""What the Hub itself puts into every repo."""

TRIES = 20
"""How many earlier versions are looked at for one that can be read."""


@dataclass(frozen=True)
class Version:
    """A commit that has a manifest, as bytes and read."""

    commit: str
    content: bytes
    manifest: Manifest


def on_main(hub: Hub, head: Head) -> tuple[Version | None, str]:
    """Return the version on main, or None and why it cannot be read, if it should be there. PublishError if the repo
    holds something else."""
    try:
        found = _version(hub, head.commit)
    except DatasetError as error:
        return None, str(error).splitlines()[0]
    if found is None and (foreign := sorted(head.files.keys() - {ATTRIBUTES, CARD})):
        raise PublishError(
            f"{hub.url} holds {printable(foreign[0])!r} but no {MANIFEST}: it is no dataset of ours; "
            "choose another repo, or empty it"
        )
    return found, ""


def tagged_as(hub: Hub, tags: dict[str, str], manifest: Manifest) -> Version | None:
    """Return the version of these data that has their tag, None if there is no such tag. PublishError if it points to
    something else."""
    tag = tag_of(manifest)
    if tag not in tags:
        return None
    try:
        found = _version(hub, tags[tag])
    except DatasetError:
        found = None
    if found is None or content_id(found.manifest) != content_id(manifest):
        raise PublishError(
            f"{hub.url}: the tag {tag} exists and points to {tags[tag][:8]}, which is not this version; "
            "delete the tag there, or raise `version` in environment.yaml and make the dataset again"
        )
    return found


def is_whole(hub: Hub, version: Version, files: dict[str, RemoteFile], have: dict[str, Path]) -> bool:
    """Whether the files of a commit are those that its manifest means, and no others. `have`: SHA-256 -> a file here
    that has it.

    Only small files that are not here are downloaded: the Hub tells the SHA-256 of large ones.
    """
    if files.keys() - {ATTRIBUTES} != {MANIFEST, *(entry.path for entry in version.manifest.files)}:
        return False
    with temporary_folder("look") as temporary:
        for entry in version.manifest.files:
            there, here = files[entry.path], have.get(entry.sha256)
            if there.size != entry.bytes or (there.sha256 or entry.sha256) != entry.sha256:
                return False
            if there.sha256:
                continue
            if here is not None and here.is_file():
                if not there.holds(here):
                    return False
                continue
            try:
                hub.fetch(entry, version.commit, temporary / "file")
            except DatasetError:
                return False
    return True


def is_same(files: dict[str, RemoteFile], others: dict[str, RemoteFile]) -> bool:
    """Whether two commits hold the same files."""
    kept, meant = ({path: file.oid for path, file in found.items() if path != ATTRIBUTES} for found in (files, others))
    return kept == meant


def restore(hub: Hub, tagged: Version, folder: Path, into: Path, progress: Progress) -> Manifest:
    """Download a tagged version as it is. PublishError if its tag points to a commit that is not whole: nothing can be
    restored from it."""
    have = local_files(folder)
    if not is_whole(hub, tagged, hub.files(tagged.commit), have):
        tag = tag_of(tagged.manifest)
        raise PublishError(
            f"{hub.url}: the tag {tag} points to {tagged.commit[:8]}, which is not whole; "
            "delete the tag there and run this again"
        )
    download(hub, tagged.manifest, tagged.commit, into, have=have, progress=progress)
    write_file(into / MANIFEST, tagged.content)
    return tagged.manifest


def download_previous(
    hub: Hub, head: Head, before: Version | None, folder: Path, into: Path, progress: Progress
) -> tuple[str, str]:
    """Download the version that a new one follows: the one on main, else the newest tagged one that is whole.

    Returns its tag, or "" if there is none and `into` is left empty, and why the one on main could not be had.
    """
    have, problem = local_files(folder), ""
    for commit in islice(_candidates(hub, head, before), TRIES):
        try:
            found = _version(hub, commit)
            if found is None:
                continue
            download(hub, found.manifest, found.commit, into, have=have, progress=progress)
            write_file(into / MANIFEST, found.content)
        except DatasetError as error:
            problem = problem or str(error).splitlines()[0]
            remove_folder(into)
        else:
            return tag_of(found.manifest), problem
    return "", problem


def _candidates(hub: Hub, head: Head, before: Version | None) -> Iterator[str]:
    """Yield commits in which the version before may be found, in the order to try them. For the version on main the
    commit of its tag comes before main itself, since people may have edited main."""
    tag = None if before is None else tag_of(before.manifest)
    if before is not None and tag in head.tags:
        try:
            tagged_as(hub, head.tags, before.manifest)
        except PublishError:
            pass  # the tag is of other data: what is on main is what the new version follows
        else:
            yield head.tags[tag]
    if before is not None and head.tags.get(tag or "") != head.commit:
        yield head.commit
    if head.tags:
        history = hub.history()
        places = {commit: place for place, commit in enumerate(history)}
        others = {commit for name, commit in head.tags.items() if name != tag} - {head.commit}
        yield from sorted(others, key=lambda commit: (places.get(commit, len(history)), commit))


def _version(hub: Hub, commit: str) -> Version | None:
    content, manifest = published(hub, commit)
    return None if content is None or manifest is None else Version(commit, content, manifest)
