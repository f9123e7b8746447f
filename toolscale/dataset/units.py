"""Units of judging: a range of candidate numbers whose outcome is one file."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from toolscale.canonical import content_hash
from toolscale.config import UNIT_NUMBERS
from toolscale.dataset.judging import Place, bench_at
from toolscale.dataset.storage import read_file, write_file
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
    return [Unit(at, seed, tuple(numbers[start : start + UNIT_NUMBERS]), out) for start in range(0, len(numbers), UNIT_NUMBERS)]


def judge_unit(unit: Unit) -> Path:
    """Judge a unit, unless its file is there, and return its file: a line with counts, then one judged candidate a line."""
    if not unit.path.exists():
        bench = bench_at(unit.at)
        candidates = [bench.draw(unit.seed, number) for number in unit.numbers]
        lines = [bench.judge.judge(candidate).model_dump_json() for candidate in candidates if candidate is not None]
        head = json.dumps({"numbers": len(candidates), "no_case": candidates.count(None)})
        write_file(unit.path, "\n".join([head, *lines, ""]).encode())
    return unit.path


def read_judged(paths: Iterable[Path]) -> tuple[int, list[Judged]]:
    """Return how many numbers had no case, and the judged candidates of all files."""
    no_case, judged = 0, []
    for path in paths:
        head, *lines = read_file(path).decode().removesuffix("\n").split("\n")  # splitlines would cut at U+2028 in a text as well
        no_case += json.loads(head)["no_case"]
        judged += [Judged.model_validate_json(line) for line in lines]
    return no_case, judged
