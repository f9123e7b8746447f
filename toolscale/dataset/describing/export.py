"""Rejects as a table of plain columns, for spreadsheets and notebooks: CSV or Parquet, by the ending of the file's
name."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from toolscale.dataset.columns import Row
from toolscale.dataset.parquet import encode_rows
from toolscale.dataset.storage import write_file
from toolscale.errors import UsageError

EXPORT_SCHEMA = pa.schema(
    [
        pa.field("domain", pa.string(), nullable=False),
        pa.field("number", pa.int64(), nullable=False),
        pa.field("intent", pa.string(), nullable=False),
        pa.field("request", pa.string(), nullable=False),
        pa.field("failed_gates", pa.string(), nullable=False),
        pa.field("findings", pa.string(), nullable=False),
        pa.field("reproduce", pa.string(), nullable=False),
    ]
)
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
"""Beginnings of cells that a spreadsheet runs, or strips until it finds something to run."""


def check_export(path: Path, dataset: Path) -> None:
    """UsageError if the rejects of a dataset cannot be exported to `path`: another ending, or a file of the dataset
    itself."""
    if path.suffix.lower() not in WRITERS:
        raise UsageError(f"--export is {str(path)!r}; give a file whose name ends in .csv or .parquet")
    if path.resolve().is_relative_to(dataset.resolve()):
        raise UsageError(f"--export is {str(path)!r}, which lies in the dataset; choose a place outside of it")


def export_rejects(rows: Sequence[Row], path: Path) -> None:
    """Write a row for each reject, whole or not at all, in the format that the ending of the name says."""
    write_file(path, WRITERS[path.suffix.lower()]([_plain(row) for row in rows]))


def _plain(row: Row) -> Row:
    return {
        "domain": row["domain"],
        "number": row["number"],
        "intent": row["intent_id"],
        "request": row["request"],
        "failed_gates": ", ".join(failed["gate"] for failed in row["failed"]),
        "findings": "; ".join(failed["finding"] for failed in row["failed"]),
        "reproduce": row["reproduce"],
    }


def _csv(rows: Iterable[Row]) -> bytes:
    text = io.StringIO()
    # All texts are quoted: where cells end at a semicolon, a request could otherwise begin a cell of its own.
    writer = csv.writer(text, quoting=csv.QUOTE_NONNUMERIC)
    writer.writerow(EXPORT_SCHEMA.names)
    writer.writerows([_defused(row[name]) for name in EXPORT_SCHEMA.names] for row in rows)
    return text.getvalue().encode()


def _parquet(rows: Sequence[Row]) -> bytes:
    return encode_rows(rows, EXPORT_SCHEMA)


def _defused(cell: Any) -> Any:
    """Return a cell that no spreadsheet runs: a text that begins like a formula gets an apostrophe, as people write it
    there."""
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(FORMULA) else cell


WRITERS = {".csv": _csv, ".parquet": _parquet}
"""Ending -> what makes the content of such a file."""
