"""The SQL of the tools: a portable subset, compiled for SQLite and DuckDB, with all that can be known before it runs."""

from toolscale.sql.compiled import Column, CompiledReturn, CompiledStep, CompiledTool, Statement
from toolscale.sql.statements import compile_condition, compile_select, compile_write
from toolscale.sql.tools import compile_tool

__all__ = [
    "Column", "CompiledReturn", "CompiledStep", "CompiledTool", "Statement", "compile_condition", "compile_select", "compile_tool",
    "compile_write",
]  # fmt: skip
