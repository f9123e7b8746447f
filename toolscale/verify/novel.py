"""The gate `novel`: no task is told twice, and none was taken from a benchmark.

It is the one gate that looks at other candidates. It is applied in the order of their numbers, after all of them were
judged, so that the number of workers never changes what is novel. Only candidates that passed every other gate are
remembered.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.resources import files
from pathlib import Path

from toolscale.canonical import canonical_json, content_hash
from toolscale.config import BENCHMARK_GRAM_WORDS, SHARED_RUN_WORDS, SKELETON_LIMIT
from toolscale.environment.builtins import HANDOVERS
from toolscale.language.marks import MASK
from toolscale.patterns import regex
from toolscale.records import GateResult, Judged, Task

HASHES = "benchmark_ngrams.txt"

_WORDS = regex(r"[^\W_]+(?:['’][^\W_]+)?")


@dataclass
class Novelty:
    """What was accepted so far. `check` answers for the next candidate and remembers it if it is novel."""

    _tasks: dict[str, int] = field(default_factory=dict)
    _forms: Counter[tuple[str, tuple[str, ...]]] = field(default_factory=Counter)
    _runs: dict[int, int] = field(default_factory=dict)
    _skeletons: dict[int, str] = field(default_factory=dict)

    def check(self, judged: Judged) -> GateResult:
        """Judge the candidate against all that were remembered before it."""
        task = judged.task
        if task is None:
            return GateResult(gate="novel", status="not_run", finding="nothing was recorded")
        number = judged.candidate.number
        key, skeleton = _deed(task), judged.candidate.skeleton
        form = (skeleton, tuple(call.name for call in task.golden_calls))
        runs = {hash_run(run): run for run in runs_of(skeleton, SHARED_RUN_WORDS)}
        found = self._objection(task.candidate.heard, key, form, runs)
        if found:
            return GateResult(gate="novel", status="fail", finding=found)
        if judged.verdict.accepted:
            self._tasks[key] = number
            self._forms[form] += 1
            self._runs.update(dict.fromkeys(runs, number))
            self._skeletons[number] = skeleton
        return GateResult(gate="novel", status="pass", finding="unlike every task before it")

    def _objection(self, request: str, key: str, form: tuple[str, tuple[str, ...]], runs: dict[int, str]) -> str | None:
        if key in self._tasks:
            return f"does and tells the same as candidate {self._tasks[key]}"
        if self._forms[form] >= SKELETON_LIMIT:
            return f"{SKELETON_LIMIT} tasks before it have the same words around other facts, and the same calls"
        if (shared := next((run for run in runs if run in self._runs), None)) is not None:
            other = self._runs[shared]
            return (
                f"shares {SHARED_RUN_WORDS} words, {runs[shared]!r}, with candidate {other}, "
                f"where they stand in {self._skeletons[other]!r}"
            )
        if overlap := benchmark_overlap(request):
            return f"shares the words {overlap!r} with a text of a benchmark"
        return None


def benchmark_overlap(text: str) -> str | None:
    """Return the first run of words of `text` that stands in a benchmark, or None."""
    known = _benchmark_hashes()
    return next((run for run in runs_of(text, BENCHMARK_GRAM_WORDS) if hash_run(run) in known), None)


def hash_run(run: str) -> int:
    """Return 64 bits of BLAKE2b of a run of words."""
    return int.from_bytes(hashlib.blake2b(run.encode(), digest_size=8).digest(), "big")


def hash_benchmarks(texts: Iterable[str]) -> str:
    """Return the content of `benchmark_ngrams.txt` for the texts of benchmarks: one hash a line, sorted. The texts
    cannot be read back from it."""
    hashes = {hash_run(run) for text in texts for run in runs_of(text, BENCHMARK_GRAM_WORDS)}
    return "".join(f"{value:016x}\n" for value in sorted(hashes))


def _deed(task: Task) -> str:
    """Identify what a task does and tells, apart from its words and from the order of its parts: the row changes and
    the facts. Where no row is changed, or none but that of a hand-over, the calls count too: refusals of different
    things are all told with a no."""
    changes = [change.model_dump() for change in task.row_changes]
    writes = any(change.table != HANDOVERS for change in task.row_changes)
    calls = [] if writes else [[call.name, call.arguments] for call in task.golden_calls]
    facts = [fact.model_dump() for fact in task.communicate]
    return content_hash([sorted(map(canonical_json, parts)) for parts in (calls, changes, facts)])


def runs_of(text: str, size: int) -> Iterator[str]:
    """Yield every run of so many words of a text, in lower case, without what stands between them; masked facts part
    runs."""
    for part in text.split(MASK):
        words = [word.lower() for word in _WORDS.findall(part)]
        for start in range(len(words) - size + 1):
            yield " ".join(words[start : start + size])


@lru_cache(maxsize=1)
def _benchmark_hashes() -> frozenset[int]:
    return frozenset(int(line, 16) for line in files("toolscale.verify").joinpath(HASHES).read_text().split())


def _texts(path: Path) -> Iterator[str]:
    """Every text of eight words or more in a JSON or JSON-lines file."""
    content = path.read_text()
    values = (
        [json.loads(line) for line in content.split("\n") if line.strip()]
        if path.suffix == ".jsonl"
        else [json.loads(content)]
    )
    while values:
        value = values.pop()
        if isinstance(value, dict):
            values.extend(value.values())
        elif isinstance(value, list):
            values.extend(value)
        elif isinstance(value, str):
            yield value


if __name__ == "__main__":
    sys.stdout.write(hash_benchmarks(text for argument in sys.argv[1:] for text in _texts(Path(argument))))
