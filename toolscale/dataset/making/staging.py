"""A dataset folder that appears whole or not at all: written beside its place under a hidden name, and renamed when it
is complete."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from toolscale.dataset.manifest import MANIFEST, read_manifest
from toolscale.dataset.storage import (
    make_folder,
    make_work_folder,
    only_writer,
    read_file,
    remove_folder,
    replace_folder,
    write_file,
)
from toolscale.errors import DatasetError, UsageError
from toolscale.records import FileEntry


@contextmanager
def staged(out: Path, sources: Iterable[Path]) -> Iterator[Path]:
    """Yield an empty folder that takes the place of `out` if nothing goes wrong.

    UsageError if `out` holds what is not a dataset, or is one of the folders that are read.
    """
    place = out.resolve()
    for source in sources:
        if place == source.resolve():
            raise UsageError(f"{out} is read and cannot be written as well; choose another folder")
    if place.exists() and not place.is_dir():
        raise UsageError(f"{out} is a file; choose a folder")
    if place.is_dir() and any(place.iterdir()):
        try:
            read_manifest(place)
        except DatasetError as error:
            raise UsageError(
                f"{out} holds other files and no dataset of ours; choose an empty or a new folder"
            ) from error
    work = make_work_folder(place, "work")
    with only_writer(work):
        try:
            for name in ("dataset", "replaced"):  # of a run that was killed
                remove_folder(work / name)
            yield make_folder(work / "dataset")
            replace_folder(work / "dataset", place, work / "replaced")
        finally:
            remove_folder(work)


def copy_files(folder: Path, files: Iterable[FileEntry], out: Path) -> None:
    """Copy these files of a dataset into `out`."""
    for entry in files:
        write_file(out / entry.path, read_file(folder / entry.path))


def copy_dataset(folder: Path, files: Iterable[FileEntry], out: Path) -> None:
    """Copy a whole dataset into `out`, its manifest last."""
    copy_files(folder, files, out)
    write_file(out / MANIFEST, read_file(folder / MANIFEST))
