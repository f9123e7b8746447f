"""A dataset folder that appears whole or not at all: written beside its place under a hidden name, and renamed when it
is complete."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from toolscale.dataset.manifest import MANIFEST, read_manifest
from toolscale.dataset.storage import (
    REPLACED,
    make_folder,
    put_back,
    read_file,
    remove_folder,
    remove_work_folder,
    replace_folder,
    work_folder,
    write_file,
)
from toolscale.dataset.world import DATABASE
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
    check_place(out)
    with work_folder(out, "work") as work:
        try:
            remove_folder(work / "dataset")  # of a run that was killed
            yield make_folder(work / "dataset")
            replace_folder(work / "dataset", place, work / REPLACED)
        except BaseException:
            put_back(work / REPLACED, place)
            remove_work_folder(work)
            raise


def check_place(out: Path) -> None:
    """UsageError if `out` is a file, or a folder that holds what is not a dataset: it would be lost. A dataset whose
    manifest cannot be read, as after a crash, is one if an environment with its database is in it."""
    if out.exists() and not out.is_dir():
        raise UsageError(f"{out} is a file; choose a folder")
    if not out.is_dir() or not any(out.iterdir()):
        return
    try:
        read_manifest(out)
    except DatasetError as error:
        if not (out / MANIFEST).is_file() or not any((out / "environments").glob(f"*/{DATABASE}")):
            raise UsageError(
                f"{out} holds other files and no dataset of ours; choose an empty or a new folder"
            ) from error


def copy_files(folder: Path, files: Iterable[FileEntry], out: Path) -> None:
    """Copy these files of a dataset into `out`."""
    for entry in files:
        write_file(out / entry.path, read_file(folder / entry.path))


def copy_dataset(folder: Path, files: Iterable[FileEntry], out: Path) -> None:
    """Copy a whole dataset into `out`, its manifest last."""
    copy_files(folder, files, out)
    write_file(out / MANIFEST, read_file(folder / MANIFEST))
