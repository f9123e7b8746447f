"""Files of questions that others publish: JSON lines, TSV, CSV or Parquet."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from toolscale.errors import UsageError
from toolscale.strict_json import read_json


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
