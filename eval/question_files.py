"""Files of questions that others publish: JSON lines, TSV, CSV or Parquet."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from eval.ground import Ground
from toolscale.errors import UsageError
from toolscale.records import Question, RolloutTask
from toolscale.rollout.offering import offer
from toolscale.strict_json import read_json

_OTHERS = 4
"""Answers of other questions that a simulated expert may give."""


@dataclass(frozen=True)
class Row:
    """One question of a file."""

    id: str
    question: str
    answer: str
    kind: str
    """Its kind, as the file has it."""


def read_cells(path: Path, remedy: str) -> Iterator[Mapping[str, Any]]:
    """Yield the cells of each row. UsageError, in one line, for a file that is missing or cannot be read; `remedy`: how
    to get it."""
    number = 0
    try:
        for cells in _rows(path):
            yield cells
            number += 1
    except FileNotFoundError as error:
        raise UsageError(f"{path}: is missing; {remedy}") from error
    except (OSError, ValueError, csv.Error, pa.ArrowException) as error:
        reason = " ".join(str(error).split())[:200]
        raise UsageError(f"{path}: row {number}: cannot be read ({reason}); get the file again") from error


def cell_of(cells: Mapping[str, Any], names: Sequence[str]) -> str:
    """Return the first cell that is there under one of these names, as text; nothing if none is."""
    return next((str(cells[name]).strip() for name in names if cells.get(name) not in (None, "")), "")


def task_of(ground: Ground, rows: Sequence[Row], number: int, text: str, category: str, source: str) -> RolloutTask:
    """Return the task of a question, asked as `text`, with what is offered to it. What a simulated expert says wrongly
    are the answers of the next questions."""
    row = rows[number]
    others = [rows[(number + step) % len(rows)].answer for step in range(1, min(_OTHERS, len(rows)) + 1)]
    wrong = tuple(other for other in dict.fromkeys(others) if other != row.answer) or ("I do not know.",)
    question = Question(
        id=row.id, category=category, text=text, answer=row.answer, answer_kind="text", wrong=wrong, source=source
    )
    drawn = ground.source
    task = offer(drawn.offering, number, "test", drawn.seed, question=question)
    return task.model_copy(update={"id": f"{source}-{row.id}"})


def _rows(path: Path) -> Iterator[Mapping[str, Any]]:
    if path.suffix == ".parquet":
        with pq.ParquetFile(path) as file:
            for batch in file.iter_batches():
                yield from batch.to_pylist()
    elif path.suffix in (".tsv", ".csv"):
        with path.open(encoding="utf-8", newline="") as text:
            yield from csv.DictReader(text, delimiter="\t" if path.suffix == ".tsv" else ",")
    else:
        with path.open(encoding="utf-8") as text:
            for line in filter(str.strip, text):
                cells = read_json(line)
                if not isinstance(cells, dict):
                    raise ValueError("it is no object")
                yield cells
