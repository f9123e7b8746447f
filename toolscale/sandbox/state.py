"""The state hash: the identity of a set of rows, whichever engine holds them."""

from __future__ import annotations

from toolscale.canonical import canonical_json, content_hash
from toolscale.records import SchemaSpec
from toolscale.sandbox.base import Row, Rows, key_positions


def state_hash(schema: SchemaSpec, rows: Rows) -> str:
    """Return the content hash of all tables of the schema with their rows sorted by key."""
    return content_hash({table: sort_rows(schema, table, rows.get(table, [])) for table in schema.tables})


def sort_rows(schema: SchemaSpec, table: str, rows: list[Row]) -> list[Row]:
    """Return rows ordered by primary key, or by everything if the table has none."""
    place = key_positions(schema, table)
    if not place:
        return sorted(rows, key=canonical_json)
    return sorted(rows, key=lambda row: tuple(row[i] for i in place))
