"""A published version becomes a folder again: whole or absent, every file the one that the manifest means."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from toolscale.dataset.checking.integrity import check_files
from toolscale.dataset.checking.signing import check_signature
from toolscale.dataset.manifest import MANIFEST, parse_manifest, read_manifest
from toolscale.dataset.storage import (
    REPLACED,
    clear_work_folder,
    file_hash,
    make_folder,
    read_file,
    remove_folder,
    remove_leftovers,
    remove_work_folder,
    replace_folder,
    storage_errors,
    work_folder,
    write_file,
)
from toolscale.errors import DatasetError, PublishError
from toolscale.publish.checks import check_address, check_paths
from toolscale.publish.connection import PATIENCE, Progress, connected, token_of
from toolscale.publish.hub import Hub
from toolscale.records import FileEntry, Manifest
from toolscale.text_files import printable

PROBLEMS = 20
"""How many things that are wrong with somebody else's manifest are told."""


@dataclass(frozen=True)
class Pulled:
    """What pulling did."""

    repo: str
    revision: str
    commit: str
    folder: str
    files: int
    downloaded: int
    downloaded_bytes: int
    already_there: bool


def pull_dataset(
    repo: str,
    out: Path,
    *,
    revision: str = "main",
    endpoint: str | None = None,
    token: str | None = None,
    patience: float = PATIENCE,
    key: Ed25519PublicKey | None = None,
    progress: Progress = lambda act, done, total: None,
) -> Pulled:
    """Download a version of a dataset repo into the folder `out`, whole or not at all; with a `key`, only one that is
    signed with it.

    A folder that holds this version already is left as it is; one that holds another version of a dataset is replaced,
    and anything else is refused. A pull that was interrupted goes on where it was.
    """
    problems = [*check_address(repo, endpoint)]
    place = out.resolve()
    problems += _check_place(out, place)
    if problems:
        raise PublishError("\n".join(problems))
    with connected(endpoint, token_of(token), patience, progress) as connection:
        hub = Hub(connection, repo)
        commit, content, manifest = _wanted(hub, revision, key)
        entries = len(manifest.files) + 1
        if _holds(place, content, manifest):
            clear_work_folder(place, "pull")
            return Pulled(repo, revision, commit, str(out), entries, 0, 0, True)
        with work_folder(place, "pull") as work:
            stage = work / commit
            for stale in (path for path in work.iterdir() if path.is_dir() and path != stage):
                remove_folder(stale)
            remove_leftovers(stage)
            try:
                fetched = download(hub, manifest, commit, stage, have=local_files(place), progress=progress)
                write_file(stage / MANIFEST, content)
                _check_downloaded(hub, commit, stage, manifest)
            except DatasetError:
                remove_work_folder(work)  # what the repo holds is wrong: there is nothing to go on with
                raise
            replace_folder(stage, place, work / REPLACED)
    moved = sum(entry.bytes for entry in fetched) + len(content)
    return Pulled(repo, revision, commit, str(out), entries, len(fetched) + 1, moved, False)


def _wanted(hub: Hub, revision: str, key: Ed25519PublicKey | None) -> tuple[str, bytes, Manifest]:
    """The commit of a revision, its manifest as bytes and read; signed with `key` if one is given."""
    commit = hub.find(revision)
    if commit is None:
        raise PublishError(_missing(hub))
    content, manifest = published(hub, commit)
    if content is None or manifest is None:
        raise PublishError(
            f"{hub.url} at {revision!r} has no {MANIFEST}: it was not published by `toolscale publish`; "
            "choose another --revision"
        )
    if unsigned := [f"{hub.at(commit)}: {finding}" for finding in check_signature(manifest, key)]:
        raise DatasetError(unsigned[0])
    return commit, content, manifest


def _check_downloaded(hub: Hub, commit: str, stage: Path, manifest: Manifest) -> None:
    findings = islice(check_files(stage, manifest), PROBLEMS)
    if told := [f"{hub.at(commit)}: {printable(str(finding))}" for finding in findings]:
        raise DatasetError("\n".join(told))


def _check_place(out: Path, place: Path) -> Iterator[str]:
    """Yield why a folder must not be replaced: it would be lost with all that is in it."""
    if not place.exists() or (place.is_dir() and not any(place.iterdir())):
        return
    try:
        listed = {MANIFEST, *(entry.path for entry in read_manifest(place).files)}
    except DatasetError:
        yield f"{out} is there and is no dataset; choose another --out, or remove it"
        return
    present = (
        path.relative_to(place).as_posix() for path in place.rglob("*") if path.is_symlink() or not path.is_dir()
    )
    if foreign := sorted(path for path in present if path not in listed):
        name = printable(foreign[0])
        yield (
            f"{out} holds {name!r}, which is not of the dataset there ({MANIFEST} does not name it); "
            "move it away, or choose another --out"
        )


def published(hub: Hub, commit: str) -> tuple[bytes | None, Manifest | None]:
    """Return the manifest of a commit, as bytes and read; (None, None) if it has none. DatasetError if it cannot be
    read or names bad files."""
    content = hub.read_manifest(commit)
    if content is None:
        return None, None
    where = hub.at(commit)
    manifest = parse_manifest(content, f"{where}: {MANIFEST}", "nothing of it is used")
    if problems := [f"{where}: {printable(problem)}" for problem in islice(check_paths(manifest), PROBLEMS)]:
        raise DatasetError("\n".join(problems))
    return content, manifest


def download(
    hub: Hub, manifest: Manifest, commit: str, into: Path, *, have: Mapping[str, Path], progress: Progress
) -> list[FileEntry]:
    """Put the files of a version into a folder and return those that came over the network. `have`: SHA-256 -> a file
    here that may have it."""
    fetched: list[FileEntry] = []
    for number, entry in enumerate(manifest.files):
        progress("downloading", number, len(manifest.files))
        target = into / entry.path
        if _is_right(target, entry):
            continue
        if (same := have.get(entry.sha256)) and _is_right(same, entry):
            with storage_errors("write", target):
                make_folder(target.parent)
                shutil.copyfile(same, target)
            continue
        hub.fetch(entry, commit, target)
        fetched.append(entry)
    return fetched


def local_files(folder: Path) -> dict[str, Path]:
    """Return SHA-256 -> file of a dataset folder, as its manifest says; nothing of it is believed."""
    if not (folder / MANIFEST).is_file():
        return {}
    try:
        return {entry.sha256: folder / entry.path for entry in read_manifest(folder).files}
    except DatasetError:
        return {}  # it is replaced by what is downloaded


def _is_right(path: Path, entry: FileEntry) -> bool:
    return path.is_file() and path.stat().st_size == entry.bytes and file_hash(path) == entry.sha256


def _holds(folder: Path, content: bytes, manifest: Manifest) -> bool:
    return (
        (folder / MANIFEST).is_file()
        and read_file(folder / MANIFEST) == content
        and not any(check_files(folder, manifest))
    )


def _missing(hub: Hub) -> str:
    if kind := hub.other_kind():
        return f"{hub.repo} is a {kind}, no dataset; pull one that `toolscale publish` made"
    return f"{hub.url} is not there, or this token may not see it; check the name, and set HF_TOKEN if it is private"
