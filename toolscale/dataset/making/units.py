"""Units of judging: a range of candidate numbers whose outcome is one file."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from toolscale.canonical import content_hash
from toolscale.config import UNIT_NUMBERS
from toolscale.dataset.making.judging import Place, kept_judge_at
from toolscale.dataset.storage import read_file, write_file
from toolscale.errors import DatasetError
from toolscale.records import Judged


@dataclass(frozen=True, slots=True)
class Unit:
    """Candidate numbers that are judged and written at once."""

    at: Place
    seed: int
    numbers: tuple[int, ...]
    out: Path

    @property
    def path(self) -> Path:
        """The file of the judged candidates."""
        first, last = (self.numbers[0], self.numbers[-1]) if self.numbers else (0, 0)
        return self.out / f"{first:08d}-{last:08d}-{content_hash(self.numbers)[:8]}.jsonl"


def units_of(at: Place, seed: int, numbers: Sequence[int], out: Path) -> list[Unit]:
    """Divide numbers into units, in order. The same numbers always give the same units, and so the same files."""
    return [
        Unit(at, seed, tuple(numbers[start : start + UNIT_NUMBERS]), out)
        for start in range(0, len(numbers), UNIT_NUMBERS)
    ]


def judge_unit(unit: Unit) -> Path:
    """Judge a unit, unless its file is there and whole, and return its file: a line with the numbers, then one judged
    candidate a line."""
    if not unit.path.exists() or _content(unit.path) is None:
        kept = kept_judge_at(unit.at)
        candidates = {number: kept.draw(unit.seed, number) for number in unit.numbers}
        body = "".join(
            f"{kept.judged(candidate).model_dump_json()}\n"
            for candidate in candidates.values()
            if candidate is not None
        )
        without = [number for number, candidate in candidates.items() if candidate is None]
        head = json.dumps({"numbers": len(candidates), "no_case": without, "sha256": sha256(body.encode()).hexdigest()})
        write_file(unit.path, f"{head}\n{body}".encode())
    return unit.path


def read_judged(paths: Iterable[Path]) -> tuple[list[int], list[Judged]]:
    """Return the numbers without a case, and the judged candidates of all files. DatasetError if a file is damaged."""
    no_case, judged = list[int](), list[Judged]()
    for path in paths:
        if (content := _content(path)) is None:
            raise DatasetError(f"{path} is damaged; run the same command again, which judges its candidates again")
        head, body = content
        no_case += head["no_case"]
        # Splitlines would cut at U+2028 in a text as well.
        judged += [Judged.model_validate_json(line) for line in body.split("\n") if line]
    return no_case, judged


def _content(path: Path) -> tuple[dict[str, Any], str] | None:
    """Return the first line of a file and the rest, or None if its content is not what was written: after a crash a
    renamed file may be there and its content lost."""
    try:
        first, _, body = read_file(path).decode().partition("\n")
        head = json.loads(first)
        return (head, body) if head["sha256"] == sha256(body.encode()).hexdigest() else None
    except (KeyError, TypeError, ValueError):
        return None
