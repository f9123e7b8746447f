"""Parquet shards: the same rows give the same bytes, and a reader sees all of them or none."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from toolscale.config import ROWS_PER_FILE
from toolscale.dataset.columns import Row
from toolscale.dataset.storage import read_file, write_file
from toolscale.errors import DatasetError


def write_shards(folder: Path, split: str, rows: Sequence[Row], schema: pa.Schema) -> list[Path]:
    """Write rows as `split-00000-of-0000N.parquet`, at least one file, and return their paths."""
    count = max(1, -(-len(rows) // ROWS_PER_FILE))
    parts = [rows[number * ROWS_PER_FILE : (number + 1) * ROWS_PER_FILE] for number in range(count)]
    return [write_file(folder / f"{split}-{number:05d}-of-{count:05d}.parquet", encode_rows(part, schema)) for number, part in enumerate(parts)]


def read_shard(path: Path, schema: pa.Schema) -> list[Row]:
    """Return the rows of a file. DatasetError if it is no Parquet or has other columns than `schema`."""
    try:
        table = pq.read_table(pa.BufferReader(read_file(path)))
    except (pa.ArrowException, OSError) as error:
        raise DatasetError(f"{path}: not a readable Parquet file: {str(error).splitlines()[0]}") from error
    if table.schema != schema:
        names = {field.name for field in set(table.schema) ^ set(schema)}
        raise DatasetError(f"{path}: the columns differ from those of a ToolScale dataset: {', '.join(sorted(names)) or 'their order'}")
    rows: list[Row] = table.to_pylist()
    return rows


def encode_rows(rows: Sequence[Row], schema: pa.Schema) -> bytes:
    """Return rows as one Parquet file: the same rows give the same bytes."""
    buffer = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(list(rows), schema=schema), buffer, compression="zstd", row_group_size=1_000)
    return buffer.getvalue()
