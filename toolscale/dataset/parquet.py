"""Parquet shards: the same rows give the same bytes, and a reader sees all of them or none."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from toolscale.config import ROWS_PER_FILE
from toolscale.dataset.arrow import ADDED_LATER
from toolscale.dataset.columns import Row
from toolscale.dataset.storage import read_file, write_file
from toolscale.errors import DatasetError

MOST_BYTES = 1_000_000_000
"""Of one file, packed or not. The 333 rows of finance's training split unpack to 11 MB, a full shard of 5,000 like them
would to 170 MB."""

MOST_ROWS = 10_000_000
BATCH_ROWS = 16
"""Rows that are unpacked at once."""

OPTIONAL = {
    "scenario.persona",
    "scenario.instructions",
    "communicate.about",
    "provenance.model",
    "solved",
    "expected_row_changes",
    "actual_row_changes",
    "survivor",
}
"""The cells that may hold nothing."""


def write_shards(folder: Path, split: str, rows: Sequence[Row], schema: pa.Schema) -> list[Path]:
    """Write rows as `split-00000-of-0000N.parquet`, at least one file, and return their paths."""
    count = max(1, -(-len(rows) // ROWS_PER_FILE))
    parts = [rows[number * ROWS_PER_FILE : (number + 1) * ROWS_PER_FILE] for number in range(count)]
    return [
        write_file(folder / f"{split}-{number:05d}-of-{count:05d}.parquet", encode_rows(part, schema))
        for number, part in enumerate(parts)
    ]


def read_shard(path: Path, schema: pa.Schema) -> list[Row]:
    """Return the rows of a file.

    DatasetError if it is not Parquet, if its columns are not those of `schema`, if a cell is null that must not be, if
    a number is not finite, or if it unpacks to more than a shard may hold: a few kilobytes can name one long text a
    million times.
    """
    return [row for batch in read_batches(path, schema) for row in batch.rows()]


@dataclass(frozen=True)
class Batch:
    """A few rows of a file, not unpacked yet."""

    path: Path
    first: int
    """The number of its first row in the file."""
    packed: pa.RecordBatch
    schema: pa.Schema

    def rows(self, place: int = 0, count: int | None = None) -> list[Row]:
        """Return its rows, or `count` of them from `place` on. DatasetError as `read_shard` says."""
        missing = dict.fromkeys(set(self.schema.names) - set(self.packed.schema.names))
        rows = [row | missing for row in self.packed.slice(place, count).to_pylist()]
        for number, row in enumerate(rows, self.first + place):
            for field in self.schema:
                if (problem := _problem(row[field.name], field.type, field.name)) is not None:
                    raise DatasetError(f"{self.path}: row {number}: {problem}; make the dataset, or pull it, again")
        return rows

    def ids(self) -> list[Any]:
        """Return the ids of its rows."""
        return list(self.packed.column("id").to_pylist())


def read_batches(path: Path, schema: pa.Schema) -> list[Batch]:
    """Return the rows of a file in batches, for who wants few of them. DatasetError as `read_shard` says, but for
    single cells."""
    try:
        return _read_bounded(path, schema)
    except (pa.ArrowException, OSError, ValueError) as error:
        told = (str(error) or type(error).__name__).splitlines()[0]
        raise DatasetError(f"{path}: not a readable Parquet file: {told}") from error


def count_rows(path: Path) -> int:
    """Return how many rows the footer of a file tells. ArrowException or OSError if it has none."""
    with path.open("rb") as file:  # a path would have to be UTF-8
        return int(pq.read_metadata(file).num_rows)


def _read_bounded(path: Path, schema: pa.Schema) -> list[Batch]:
    """Look at what the file says of its size, then read it in small batches and stop where it is more."""
    if path.stat().st_size > MOST_BYTES:
        raise DatasetError(f"{path}: it has more than {MOST_BYTES:,} bytes; write smaller shards")
    file = pq.ParquetFile(pa.BufferReader(read_file(path)))
    if file.schema_arrow not in (schema, before_additions(schema)):
        names = {field.name for field in set(file.schema_arrow) ^ set(schema)}
        raise DatasetError(
            f"{path}: the columns differ from those of a ToolScale dataset: {', '.join(sorted(names)) or 'their order'}"
        )
    footer = file.metadata
    unpacked = sum(footer.row_group(group).total_byte_size for group in range(footer.num_row_groups))
    if footer.num_rows > MOST_ROWS or not 0 <= unpacked <= MOST_BYTES:
        raise DatasetError(
            f"{path}: it unpacks to {footer.num_rows:,} rows of {unpacked:,} bytes, "
            f"at most {MOST_ROWS:,} of {MOST_BYTES:,} are read"
        )
    batches, rows, size = list[Batch](), 0, 0
    for batch in file.iter_batches(batch_size=BATCH_ROWS, use_threads=False):
        batch.validate(full=True)
        size += batch.nbytes
        if size > MOST_BYTES:
            raise DatasetError(
                f"{path}: its rows have more than {MOST_BYTES:,} bytes once they are unpacked; "
                "nothing of ToolScale wrote it"
            )
        batches.append(Batch(path, rows, batch, schema))
        rows += batch.num_rows
    return batches


def before_additions(schema: pa.Schema) -> pa.Schema:
    """Return a schema without the columns that were added to it later."""
    return pa.schema([field for field in schema if field.name not in ADDED_LATER])


def encode_rows(rows: Sequence[Row], schema: pa.Schema) -> bytes:
    """Return rows as one Parquet file: the same rows give the same bytes. Where there are no rows there is no row
    group: the library `datasets` cannot read one that is empty."""
    buffer = io.BytesIO()
    with pq.ParquetWriter(buffer, schema, compression="zstd") as writer:
        if rows:
            writer.write_table(pa.Table.from_pylist(list(rows), schema=schema), row_group_size=1_000)
    return buffer.getvalue()


def _problem(value: Any, kind: pa.DataType, place: str) -> str | None:
    """Return which cell of a value lacks what it must hold, if one does."""
    if value is None:
        return None if place in OPTIONAL else f"the column {place} is null"
    if pa.types.is_list(kind):
        return next(
            (problem for item in value if (problem := _problem(item, kind.value_type, place)) is not None), None
        )
    if pa.types.is_struct(kind):
        return next(
            (
                problem
                for item in kind
                if (problem := _problem(value[item.name], item.type, f"{place}.{item.name}")) is not None
            ),
            None,
        )
    return (
        f"the column {place} is {value}, which is no number"
        if isinstance(value, float) and not math.isfinite(value)
        else None
    )
