"""The SQL of the tools: a portable subset, compiled for SQLite and DuckDB, with all that can be known before it
runs."""

from toolscale.sql.audit import audit_tools, bind_on_duckdb, lint_scans, memory_database, second_opinion, statements_of
from toolscale.sql.compiled import Column, CompiledReturn, CompiledStep, CompiledTool, Statement
from toolscale.sql.macros import SQLITE_FUNCTIONS
from toolscale.sql.schemas import lint_schema
from toolscale.sql.statements import compile_condition, compile_select, compile_write
from toolscale.sql.tools import compile_tool

__all__ = [
    "SQLITE_FUNCTIONS", "Column", "CompiledReturn", "CompiledStep", "CompiledTool", "Statement", "audit_tools",
    "bind_on_duckdb", "compile_condition", "compile_select", "compile_tool", "compile_write", "lint_scans",
    "lint_schema", "memory_database", "second_opinion", "statements_of",
]  # fmt: skip
