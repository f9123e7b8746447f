"""What the compiler makes of the SQL of a tool: texts for both engines, and what they read and write."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from toolscale.records import ColumnType, ToolSpec

EngineName = Literal["sqlite", "duckdb"]
Column = tuple[str, str]
"""(table, column)."""


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement, rendered for both engines.

    `binds` names the values it needs, in the flat form of a call's environment: a parameter `amount_cents`, a let
    `src__available_cents`, a relation (array parameter, `let_rows`) as JSON text under its own name, `now`, `today`.
    """

    source: str
    sqlite: str
    duckdb: str
    binds: tuple[str, ...]
    columns: tuple[str, ...]
    """Names of the output columns of a SELECT."""
    types: tuple[ColumnType | None, ...]
    """Their types where lineage tells."""
    lineage: tuple[Column | None, ...]
    """The base column of each output column, or None if it is computed."""
    reads: frozenset[Column]
    writes: frozenset[Column]
    """UPDATE: the columns set; INSERT and DELETE: `(table, "*")`."""
    consumes: frozenset[tuple[str, Column]] = frozenset()
    """(parameter, column it is compared with for equality); a field of an array of objects is `parameter.field`."""
    equalities: frozenset[tuple[str, tuple[str, ...]]] = frozenset()
    """(table, columns) looked up by equality that no unique key serves."""


@dataclass(frozen=True, slots=True)
class CompiledStep:
    """One step, ready to run."""

    kind: Literal["let", "let_rows", "check", "forbid", "new_id", "exec"]
    place: str
    """Where it stands: `transfer_funds.steps[3]`."""
    name: str | None
    """What it binds."""
    statement: Statement | None
    """A SELECT of one row and one column for `check`; None for `new_id`."""
    error: str | None
    prefix: str = ""
    from_: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CompiledReturn:
    """One named part of the result."""

    name: str
    mode: Literal["value", "row", "rows"]
    statement: Statement


@dataclass(frozen=True, slots=True)
class CompiledTool:
    """A tool that a sandbox can call."""

    spec: ToolSpec
    steps: tuple[CompiledStep, ...]
    returns: tuple[CompiledReturn, ...]
    mutates_state: bool
    reads: frozenset[Column]
    writes: frozenset[Column]
    consumes: dict[str, frozenset[Column]]
    """Parameter -> the columns it is compared with for equality."""
    produces: dict[str, Column]
    """`return.column` -> base column."""
    equalities: frozenset[tuple[str, tuple[str, ...]]]
    """(table, columns) that some statement looks up by equality: each becomes an index."""
