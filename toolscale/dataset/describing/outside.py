"""Texts from outside that a dataset is measured against: a file of a benchmark, or of another dataset."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from toolscale.config import BENCHMARK_GRAM_WORDS
from toolscale.errors import UsageError
from toolscale.text_files import printable
from toolscale.verify.novel import runs_of

MOST_BYTES = 500_000_000
KINDS = ".json, .jsonl, .parquet, .txt or .md"


@dataclass(frozen=True)
class Outside:
    """The texts of a file, one for each of its records."""

    name: str
    """Its folder and its name, without the ending: `airline/tasks`."""
    texts: tuple[str, ...]
    runs: frozenset[str]
    """Every run of eight words in them."""

    def overlap(self, texts: Sequence[str]) -> tuple[float, str | None]:
        """Return the share of texts that have eight words in a row in common with the file, and the first such run."""
        runs = (runs_of(text, BENCHMARK_GRAM_WORDS) for text in texts)
        shared = (next((run for run in of_text if run in self.runs), None) for of_text in runs)
        found = [run for run in shared if run is not None]
        return (round(len(found) / len(texts), 4) if texts else 0.0), (found[0] if found else None)


def read_outside(place: str) -> Outside:
    """Return the texts of `FILE` or `FILE#path.to.the.text`.

    A record is an element of the list of a JSON document (or the document), a line of JSONL, a row of Parquet, a
    paragraph of text; its text is all strings in it, or those under the path, one a line. UsageError if the file cannot
    be read, or if no text in it has eight words.
    """
    file, _, inner = place.partition("#")
    path = Path(file)
    records = _records(path)
    for name in filter(None, inner.split(".")):
        records = [record[name] for record in records if isinstance(record, dict) and record.get(name) is not None]
    texts = tuple(text for record in records if (text := "\n".join(_strings(record)).strip()))
    runs = frozenset(run for text in texts for run in runs_of(text, BENCHMARK_GRAM_WORDS))
    if not runs:
        under = f" under {inner!r}" if inner else ""
        raise UsageError(
            f"{path}: no text{under} has {BENCHMARK_GRAM_WORDS} words, so nothing can be compared with it; "
            "name another file, or FILE#path.to.the.text"
        )
    return Outside("/".join((*path.resolve().parent.parts[-1:], path.stem)), texts, runs)


def _records(path: Path) -> list[Any]:
    try:
        if path.stat().st_size > MOST_BYTES:
            raise UsageError(f"{path} has more than {MOST_BYTES:,} bytes; give a part of it")
        if path.suffix == ".parquet":
            rows: list[Any] = pq.read_table(path).to_pylist()
            return rows
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".json":
            value = json.loads(text)
            return value if isinstance(value, list) else [value]
        if path.suffix == ".jsonl":
            return [json.loads(line) for line in text.split("\n") if line.strip()]
    except (OSError, ValueError, RecursionError, pa.ArrowException) as error:
        told = error.strerror if isinstance(error, OSError) and error.strerror else str(error).split("\n")[0]
        raise UsageError(f"{path} cannot be read: {printable(told)}; give a file ({KINDS})") from error
    if path.suffix not in (".txt", ".md"):
        raise UsageError(f"{path} ends in {path.suffix or 'nothing'}; give a file that ends in {KINDS}")
    return text.split("\n\n")


def _strings(record: Any) -> Iterator[str]:
    """Yield the strings of a record, in the order in which they stand."""
    waiting = [record]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            waiting.extend(reversed(list(value.values())))
        elif isinstance(value, list):
            waiting.extend(reversed(value))
