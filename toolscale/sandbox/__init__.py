"""Two engines that run tools: SQLite executes, DuckDB audits."""

from toolscale.sandbox.base import Equality, Key, Limits, NetChanges, Row, Rows, Sandbox, compare_rows, to_row_changes
from toolscale.sandbox.ddl import create_indexes, create_tables, indexed_columns
from toolscale.sandbox.duckdb import DuckdbSandbox
from toolscale.sandbox.sqlite import SqliteSandbox
from toolscale.sandbox.state import sort_rows, state_hash

__all__ = [
    "DuckdbSandbox",
    "Equality",
    "Key",
    "Limits",
    "NetChanges",
    "Row",
    "Rows",
    "Sandbox",
    "SqliteSandbox",
    "compare_rows",
    "create_indexes",
    "create_tables",
    "indexed_columns",
    "sort_rows",
    "state_hash",
    "to_row_changes",
]
