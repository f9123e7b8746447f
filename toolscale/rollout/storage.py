"""Rollouts in files: one JSON object a line, everything that is needed to grade them again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from pydantic import ValidationError

from toolscale.errors import StorageError, UsageError
from toolscale.records import Rollout


def write_rollouts(path: Path, rollouts: Iterable[Rollout]) -> int:
    """Write rollouts as JSON lines and return how many. The file appears when it is whole, in place of an earlier one.
    StorageError if it cannot."""
    count, draft = 0, path.with_name(f".{path.name}.writing")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with draft.open("w", encoding="utf-8") as file:
            for rollout in rollouts:
                file.write(rollout.model_dump_json())
                file.write("\n")
                count += 1
        draft.replace(path)
    except OSError as error:
        raise StorageError(f"{path} cannot be written: {error.strerror or error}") from error
    finally:
        with suppress(OSError):
            draft.unlink(missing_ok=True)
    return count


def read_rollouts(path: Path) -> Iterator[Rollout]:
    """Yield the rollouts of a file. StorageError if it cannot be read, UsageError if a line is none."""
    try:
        with path.open(encoding="utf-8") as file:
            for number, line in enumerate(file, start=1):
                yield _read(line, f"{path}: line {number}")
    except (OSError, UnicodeDecodeError) as error:
        raise StorageError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from error


def _read(line: str, place: str) -> Rollout:
    try:
        return Rollout.model_validate_json(line)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise UsageError(
            f"{place}: {f'{where}: ' if where else ''}{first['msg']}; write the file again with write_rollouts"
        ) from error
