"""The folder of one policy on one benchmark: header.json, results.jsonl and rollouts.jsonl, which only grow.

A line is written when all lines before it are: whoever is killed loses what was under way, and nothing else, and a run
that goes on ends with the bytes of one that was never stopped.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from eval.records import Header, Kept, Line
from toolscale.dataset.storage import make_folder, only_writer, read_file, storage_errors, write_file
from toolscale.errors import UsageError
from toolscale.records import Rollout

Parsed = TypeVar("Parsed", Line, Kept)

HEADER, RESULTS, ROLLOUTS = "header.json", "results.jsonl", "rollouts.jsonl"


class Results:
    """A folder that is open for writing. `lines`: key -> the last line of that key."""

    def __init__(self, folder: Path, header: Header, lines: Sequence[Line]) -> None:
        self.folder, self.header = folder, header
        self.lines = {line.key: line for line in lines}
        self._results = (folder / RESULTS).open("ab")
        self._rollouts = (folder / ROLLOUTS).open("ab")

    @classmethod
    @contextmanager
    def opened(cls, folder: Path, header: Header) -> Iterator[Results]:
        """Open a folder, new or not, and drop what a kill has left half written. UsageError if it holds results of
        another policy or benchmark, or if another process writes it."""
        make_folder(folder)
        with only_writer(folder):
            with storage_errors("write", folder):
                _check(folder, header)
                results = cls(folder, header, _aligned(folder))
            try:
                yield results
            finally:
                results.close()

    def wants(self, key: str) -> bool:
        """Whether this key has no line yet, or one that says that it failed."""
        line = self.lines.get(key)
        return line is None or line.status == "error"

    def append(self, line: Line, rollout: Rollout) -> None:
        """Write a rollout, then its line. Tokens are left out: they are not needed to grade it again."""
        kept = Kept(key=line.key, rollout=rollout.model_copy(update={"trace": None}))
        with storage_errors("write", self.folder):
            for file, record in ((self._rollouts, kept), (self._results, line)):
                file.write(record.model_dump_json().encode() + b"\n")
                file.flush()
        self.lines[line.key] = line

    def clear(self) -> None:
        """Drop all lines: what comes takes their place."""
        for file in (self._results, self._rollouts):
            file.truncate(0)
        self.lines.clear()

    def close(self) -> None:
        """Close the files."""
        self._results.close()
        self._rollouts.close()


def read_results(folder: Path) -> tuple[Header, list[Line]]:
    """Return the header and the lines of a folder, the last one of each key, in the order in which keys first came. A
    line that was cut off at the end is left out. UsageError if the folder holds no results."""
    header = _header(folder)
    if header is None:
        raise UsageError(f"{folder}: holds no results ({HEADER} is missing); give a folder that an evaluation wrote")
    lines = _lines(folder / RESULTS)
    return header, list({line.key: line for line in lines}.values())


def read_rollouts(folder: Path) -> Iterator[tuple[Line, Rollout]]:
    """Yield every line of a folder with its rollout, in the order in which they were written, those too that a later
    one of the same key has replaced. UsageError if a rollout is of another line."""
    rollouts = enumerate(_whole_lines(folder / ROLLOUTS), start=1)
    for line, (number, raw) in zip(_lines(folder / RESULTS), rollouts, strict=False):
        kept = _parsed(Kept, raw, folder / ROLLOUTS, number)
        if kept.key != line.key:
            raise UsageError(
                f"{folder / ROLLOUTS}: line {number}: is the rollout {kept.key}, and {RESULTS} has {line.key} there; "
                "remove the folder and run again"
            )
        yield line, kept.rollout


def replace_lines(folder: Path, lines: Iterable[Line]) -> None:
    """Write the lines of a folder anew, all at once; as many as there were, in the same order."""
    with only_writer(folder):
        write_file(folder / RESULTS, b"".join(line.model_dump_json().encode() + b"\n" for line in lines))


def _check(folder: Path, header: Header) -> None:
    """Write the header, or compare it with the one that is there."""
    known = _header(folder)
    if known is None:
        write_file(folder / HEADER, (header.model_dump_json(indent=1) + "\n").encode())
        return
    for name in ("policy_hash", "benchmark"):
        if getattr(known, name) != getattr(header, name):
            raise UsageError(
                f"{folder}: holds results of {known.policy} {known.policy_hash} on {known.benchmark}, not of "
                f"{header.policy} {header.policy_hash} on {header.benchmark}; "
                "give another --out, or remove the folder"
            )


def _header(folder: Path) -> Header | None:
    path = folder / HEADER
    if not path.is_file():
        return None
    try:
        return Header.model_validate_json(read_file(path))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise UsageError(f"{path}: {where or 'it'}: {first['msg'].lower()}; remove the folder and run again") from error


def _aligned(folder: Path) -> list[Line]:
    """Cut both files to what stands in both of them, and return the lines. Rollouts are written first, so that there is
    at most one more of them."""
    results, rollouts = folder / RESULTS, folder / ROLLOUTS
    lines = _lines(results)
    kept = list(_whole_lines(rollouts))
    count = min(len(lines), len(kept))
    for path, whole in ((results, list(_whole_lines(results))), (rollouts, kept)):
        size = sum(len(line) + 1 for line in whole[:count])
        if path.exists() and path.stat().st_size != size:
            with path.open("r+b") as file:
                file.truncate(size)
    return lines[:count]


def _lines(path: Path) -> list[Line]:
    return [_parsed(Line, line, path, number) for number, line in enumerate(_whole_lines(path), start=1)]


def _whole_lines(path: Path) -> Iterator[bytes]:
    """Yield the lines that end in a line break, without it."""
    if not path.is_file():
        return
    for line in io.BytesIO(read_file(path)):
        if line.endswith(b"\n"):
            yield line[:-1]


def _parsed(kind: type[Parsed], line: bytes, path: Path, number: int) -> Parsed:
    try:
        return kind.model_validate_json(line)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise UsageError(
            f"{path}: line {number}: {where or 'it'}: {first['msg'].lower()}; remove the line, and run again"
        ) from error
