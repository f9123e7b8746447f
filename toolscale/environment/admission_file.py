"""Keep admissions: `admission.json` in the folder of a domain, or a file of a cache named by the hash of the
environment."""

from __future__ import annotations

import os
from pathlib import Path

from pydantic import ValidationError

from toolscale.canonical import content_hash
from toolscale.environment.admission import admit
from toolscale.environment.environment import Environment
from toolscale.environment.kept_tools import versions
from toolscale.errors import StorageError
from toolscale.records import Admission

FILE = "admission.json"


def read_admission(folder: Path) -> Admission | None:
    """Return the admission kept in the folder, or None if there is none that can be read."""
    return _read(folder / FILE)


def write_admission(folder: Path, admission: Admission) -> Path:
    """Write `admission.json` into the folder and return its path."""
    return _write(folder / FILE, admission)


def ensure_admitted(environment: Environment, cache_dir: Path) -> Admission:
    """Return the admission of the environment: the one in its folder, one from the cache, or a new one, which goes into
    the cache, as do its tools.

    A kept admission counts only for the same content and the same versions. SpecError if the environment cannot be
    admitted.
    """
    cached = cache_dir / f"{content_hash([environment.hash, versions()])[:32]}.json"
    for path in (environment.folder / FILE, cached):
        kept = _read(path)
        if kept is not None and kept.environment_hash == environment.hash and kept.versions == versions():
            return kept
    admission = admit(environment, cache_dir)
    _write(cached, admission)
    return admission


def _read(path: Path) -> Admission | None:
    try:
        return Admission.model_validate_json(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValidationError):
        return None
    except OSError as error:
        raise StorageError(f"cannot read {path}: {error}") from error


def _write(path: Path, admission: Admission) -> Path:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f".{path.name}.{os.getpid()}")
        temporary.write_text(admission.model_dump_json(indent=1) + "\n", encoding="utf-8")
        temporary.replace(path)
    except OSError as error:
        raise StorageError(f"cannot write {path}: {error}") from error
    return path
