"""Folders by URL: the same code reads and writes a local folder and one on `s3://` or `gs://`.

A place on an object store is a `UPath`, which behaves like a `Path` for all that is done with it here, and is typed as
one. What needs a real file system (SQLite, renaming a folder) works on a local copy.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import cast
from urllib.parse import urlsplit
from uuid import uuid4

from toolscale.dataset.storage import (
    make_folder,
    put_back,
    read_file,
    remove_folder,
    replace_folder,
    storage_errors,
    write_file,
)
from toolscale.errors import DatasetError, UsageError
from toolscale.temporary_folders import temporary_folder


def open_place(url: str | Path) -> Path:
    """Return a folder or file by its path or URL. UsageError if the scheme is unknown or its driver is not
    installed."""
    if isinstance(url, Path) or "://" not in url:
        return Path(url)
    from upath import UPath

    if urlsplit(url).password:
        raise UsageError(
            "a URL of a folder holds a password, which would show in logs and pages; "
            "give it to the driver by its environment variables"
        )
    try:
        place = UPath(url)
        place.fs  # noqa: B018 - the driver is loaded here, or never
    except (ImportError, ValueError) as error:
        raise UsageError(
            f"{url} cannot be opened: {error}; use a path, or a URL whose driver is installed (requirements-scale.txt)"
        ) from error
    return Path(place.path) if url.startswith("file://") else cast(Path, place)


def is_local(place: Path) -> bool:
    """Whether a place is a path of this machine."""
    return isinstance(place, Path)


def look_anew(place: Path) -> Path:
    """Let the driver forget what it remembers of folders, since other processes write there too. Return the place."""
    if not is_local(place):
        place.fs.invalidate_cache()  # type: ignore[attr-defined]
    return place


def url_of(place: Path) -> str:
    """Return what `open_place` opens again."""
    return str(place)


@contextmanager
def local_copy(folder: Path) -> Iterator[Path]:
    """Yield a local folder with the content of `folder`, under the same name: itself, or a copy that is removed
    afterwards."""
    if is_local(folder):
        yield folder
        return
    with temporary_folder("copy") as temporary:
        copy = make_folder(temporary / folder.name)
        for path in files_in(folder):
            write_file(copy / path, read_file(folder / path))
        yield copy


@contextmanager
def fresh_folder(beside: Path, name: str) -> Iterator[Path]:
    """Yield an empty local folder for `deliver`. It lies in `beside` if that is local, so that it can be renamed. What
    is left of it at the end is removed.

    Nobody else writes there: an earlier attempt may still be running although it is taken for dead, and has a folder of
    its own.
    """
    with temporary_folder("staged") as temporary:
        staged = (beside if is_local(beside) else temporary) / f"{name}.{uuid4().hex}"
        try:
            yield make_folder(staged)
        finally:
            remove_folder(staged)


def deliver(staged: Path, target: Path, marker: str) -> None:
    """Put the local folder `staged` where `target` is, `marker` last; `staged` is gone then.

    A local target is renamed, never half of each. A remote one is without its marker, and so not complete, while its
    files are replaced.
    """
    if is_local(target):
        make_folder(target.parent)
        replace_folder(staged, target, _aside(target))
        return
    wanted = files_in(staged)
    with storage_errors("write", target):
        (target / marker).unlink(missing_ok=True)
        for path in set(files_in(target)) - set(wanted):
            (target / path).unlink()
    for path in sorted(wanted, key=lambda path: path == marker):
        write_file(target / path, read_file(staged / path))
    remove_folder(staged)


def settle(target: Path) -> Path:
    """Put back what a killed `deliver` had taken away and not yet replaced; return the place. For who makes a folder
    again out of itself."""
    if is_local(target):
        put_back(_aside(target), target)
    return target


def _aside(target: Path) -> Path:
    return target.parent / f".{target.name}.replaced"


def files_in(folder: Path) -> list[str]:
    """Return the paths of all files below a folder, relative to it, sorted; none if it is not there.

    Hidden ones are not ours, or were left by a process that was killed. DatasetError if a path leads out of the folder,
    as a key on S3 may.
    """
    with storage_errors("list", folder):
        found = (
            [path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()]
            if folder.exists()
            else []
        )
    for path in found:
        if path.startswith("/") or "\\" in path or {"", ".", ".."} & set(path.split("/")):
            raise DatasetError(f"{folder} holds {path!r}, which is not a path inside the folder; remove it")
    return sorted(path for path in found if not any(part.startswith(".") for part in path.split("/")))
