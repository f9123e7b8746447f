"""Whether files hold what is read from them and nothing besides: each is written again from that, and compared byte by
byte.

Free pages of a database, metadata of Parquet, a key that stands twice in JSON: nobody reads them, and whoever publishes
a dataset would publish them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import BaseModel

from toolscale.dataset.arrow import OUTCOME_SCHEMA, REJECT_SCHEMA, TASK_SCHEMA
from toolscale.dataset.checking.integrity import Finding
from toolscale.dataset.columns import Row
from toolscale.dataset.manifest import MANIFEST, is_made_here, render_manifest
from toolscale.dataset.parquet import before_additions, encode_rows
from toolscale.dataset.storage import read_file
from toolscale.dataset.world import ADMISSION, DATABASE, render_database
from toolscale.environment.admission_file import read_admission
from toolscale.environment.environment import Environment
from toolscale.records import Manifest, Part
from toolscale.sandbox.base import Rows

LIBRARY_VERSION = slice(96, 100)
"""Where an SQLite file has the version of the library that wrote it (https://www.sqlite.org/fileformat2.html, 1.3)."""

OWN_METADATA = {b"ARROW:schema"}
"""What Arrow writes into the metadata of a Parquet file beside the columns."""

SCHEMAS = {"rejects": REJECT_SCHEMA, "outcomes": OUTCOME_SCHEMA}
"""Top folder -> columns; the folders of the domains hold tasks."""

MORE = "the file has bytes that are not what is read from it"


def check_manifest(folder: Path, manifest: Manifest) -> Iterator[Finding]:
    """Yield a finding if `manifest.json` is not written as ToolScale writes it."""
    if read_file(folder / MANIFEST) != render_manifest(manifest):
        yield Finding(MANIFEST, "integrity", f"{MORE}: a key that stands twice, or another layout")


def check_environment_bytes(environment: Environment, database: Rows, world: Path) -> Iterator[Finding]:
    """Yield what the database and the admission record of an environment in a dataset hold besides what they say."""
    place = f"environments/{environment.domain}"
    found, expected = (
        _unversioned(content) for content in (read_file(world / DATABASE), render_database(environment, database))
    )
    if found != expected:
        yield Finding(
            f"{place}/{DATABASE}", "integrity", f"{MORE}: free pages, settings such as user_version, another schema"
        )
    admission: BaseModel | None = read_admission(world)
    if admission is not None and read_file(world / ADMISSION) != (admission.model_dump_json(indent=1) + "\n").encode():
        yield Finding(f"{place}/{ADMISSION}", "integrity", f"{MORE}: a key that stands twice, or another layout")


def check_parquet_bytes(folder: Path, part: Part, files: Mapping[str, Sequence[Row]]) -> Iterator[Finding]:
    """Yield the Parquet files (path in the folder -> their rows) that hold more than the rows. Another version of Arrow
    may write other bytes."""
    same = is_made_here(part.versions, "pyarrow")
    for path, rows in files.items():
        yield from _check_parquet(folder, path, rows, SCHEMAS.get(path.split("/")[0], TASK_SCHEMA), same)


def _check_parquet(
    folder: Path, path: str, rows: Sequence[Row], schema: pa.Schema, same_arrow: bool
) -> Iterator[Finding]:
    content = read_file(folder / path)
    metadata = set(pq.read_metadata(pa.BufferReader(content)).metadata or {}) - OWN_METADATA
    if metadata:
        names = ", ".join(sorted(key.decode(errors="replace") for key in metadata))
        yield Finding(path, "integrity", f"{MORE}: metadata {names}")
    elif same_arrow and content != encode_rows(rows, _schema_of(content, schema)):
        yield Finding(path, "integrity", MORE)


def _schema_of(content: bytes, schema: pa.Schema) -> pa.Schema:
    """Return the schema as it was when a file was written."""
    names = pq.read_schema(pa.BufferReader(content)).names
    return schema if names == schema.names else before_additions(schema)


def _unversioned(database: bytes) -> bytes:
    return database[: LIBRARY_VERSION.start] + bytes(4) + database[LIBRARY_VERSION.stop :]
