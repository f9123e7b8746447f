"""Expressions of `population.yaml`: SQL over the columns of a row that is being made."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from toolscale.errors import SpecError, SpecIssue
from toolscale.records import SchemaSpec
from toolscale.sql.compiled import Statement
from toolscale.sql.statements import compile_select

FILE = "population.yaml"


class RowExpression:
    """A compiled expression over the columns of one row, and of other rows by name (`parent.column`)."""

    def __init__(
        self,
        text: str,
        schema: SchemaSpec,
        own: Collection[str],
        others: Mapping[str, Collection[str]],
        *,
        place: str,
        aliases: tuple[str, ...] = (),
    ):
        bound, self.others = _bind_columns(text, frozenset(own), others, aliases, place)
        used = {name: tuple(others[name]) for name in self.others}
        self.statement: Statement = compile_select(
            f"SELECT {bound} AS value", schema, params=tuple(own), lets=used, place=place, file=FILE
        )
        self._own = tuple(name for name in self.statement.binds if name in own)
        self._pairs = tuple((f"{name}__{column}", name, column) for name, columns in used.items() for column in columns)
        self._pairs = tuple(pair for pair in self._pairs if pair[0] in self.statement.binds)

    def binds(
        self, row: Mapping[str, Any], others: Mapping[str, Mapping[str, Any]], clock: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Return the values that the statement needs."""
        values = {name: row.get(name) for name in self._own}
        for flat, name, column in self._pairs:
            values[flat] = others[name].get(column)
        values.update(clock)
        return values


def has_subselect(text: str) -> bool:
    """Return whether the condition reads tables (unreadable text has none: compiling it says why)."""
    try:
        return sqlglot.parse_one(text, read="sqlite").find(exp.Select) is not None
    except SqlglotError:
        return False


def _bind_columns(
    text: str, own: frozenset[str], others: Mapping[str, Collection[str]], aliases: tuple[str, ...], place: str
) -> tuple[str, frozenset[str]]:
    """Write `:column` for each column of the row and `:parent.column` for each of another row, leaving the rest of the
    text as it is."""
    try:
        tree = sqlglot.parse_one(text, read="sqlite")
    except SqlglotError as error:
        raise SpecError(
            [SpecIssue(FILE, place, f"cannot read {text!r}: {str(error).splitlines()[0]}", "write an SQL expression")]
        ) from error
    edits: list[tuple[int, int, str]] = []
    used: set[str] = set()
    issues: list[SpecIssue] = []
    for column in tree.find_all(exp.Column):
        name, table, span = column.name, column.table, column.this.meta
        start = column.args["table"].meta["start"] if table else span.get("start", 0)
        known = others.get(table) if table else own
        inside = column.find_ancestor(exp.Select) is not None
        if table in others or (not inside and (not table or table in aliases)):
            columns = known if known is not None else own
            if name not in columns:
                issues.append(
                    SpecIssue(
                        FILE,
                        place,
                        f"{column.sql()} is not a column made before this one",
                        f"known here: {', '.join(sorted(columns))}",
                    )
                )
            used.update({table} & set(others))
            edits.append((start, span["end"] + 1, f":{table}.{name}" if table in others else f":{name}"))
    if issues:
        raise SpecError(issues)
    for start, end, new in sorted(edits, reverse=True):
        text = text[:start] + new + text[end:]
    return text, frozenset(used)
