"""The files in which admissions are kept: `admission.json` in the folder of a domain, or one of a cache."""

from __future__ import annotations

from pathlib import Path

from pydantic import ValidationError

from toolscale.errors import StorageError
from toolscale.records import Admission
from toolscale.whole_files import write_whole

FILE = "admission.json"


def read_admission(folder: Path) -> Admission | None:
    """Return the admission kept in the folder, or None if there is none that can be read."""
    return read_kept(folder / FILE)


def write_admission(folder: Path, admission: Admission) -> Path:
    """Write `admission.json` into the folder and return its path."""
    return write_kept(folder / FILE, admission)


def read_kept(path: Path) -> Admission | None:
    """Return an admission, or None if there is none that can be read."""
    try:
        return Admission.model_validate_json(path.read_bytes())
    except (FileNotFoundError, ValidationError):
        return None
    except OSError as error:
        raise StorageError(f"cannot read {path}: {error}") from error


def write_kept(path: Path, admission: Admission) -> Path:
    """Write an admission, whole or not at all, and return its path."""
    try:
        return write_whole(path, f"{admission.model_dump_json(indent=1)}\n".encode())
    except OSError as error:
        raise StorageError(f"cannot write {path}: {error}") from error
