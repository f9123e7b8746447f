"""From a checked tree to the texts of both engines: sqlglot's generator, and what is ours.

Only what `allowlist.NODES` admits is written, so nothing can slip through. The two texts differ where the
engines do: parameters, macros, places of NULLs in an order, folding of case, and types, which DuckDB takes seriously (a
literal has 32 bits there, a comparison is a BOOLEAN).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from sqlglot import exp
from sqlglot.generator import Generator

from toolscale.records import ColumnType
from toolscale.records.schema import TEXT_TYPES
from toolscale.sql.allowlist import NODES
from toolscale.sql.compiled import EngineName
from toolscale.sql.macros import MACROS, lower_duckdb, upper_duckdb

CLOCKED = frozenset(("date", "datetime", "time"))
"""Types of text that are days or times: only those of one type can be compared."""

_ATOM = re.compile(r"[\w.:$]+\Z|'[^']*'\Z|CAST\([\w.:$]+ AS \w+\)\Z")
ARITHMETIC: tuple[type[exp.Expr], ...] = (exp.Add, exp.Sub, exp.Mul, exp.Neg)


def macro_name(node: exp.Expr) -> str:
    """Return the name of a function call in small letters, or nothing."""
    return str(node.this).lower() if isinstance(node, exp.Anonymous) else ""


def is_predicate(node: exp.Expr) -> bool:
    """Return whether the node gives true, false or NULL."""
    name = macro_name(node)
    return isinstance(node, (exp.Predicate, exp.Connector, exp.Not)) or (name in MACROS and MACROS[name].is_predicate)


def _is_condition(node: exp.Expr) -> bool:
    """Return whether the node stands where a truth value is wanted, not a number; or is an assignment, which the parser
    gives the node of a comparison."""
    parent = node.parent
    if isinstance(parent, exp.Paren):
        return _is_condition(parent)
    if isinstance(parent, exp.If):
        case = parent.parent
        return node.arg_key == "this" and isinstance(case, exp.Case) and case.args.get("this") is None
    return isinstance(parent, (exp.Where, exp.Having, exp.And, exp.Or, exp.Not, exp.Update)) or (
        isinstance(parent, exp.Join) and node.arg_key == "on"
    )


class Renderer(Generator):
    """Writes trees as text for one engine."""

    def __init__(self, engine: EngineName, types: Mapping[str, ColumnType | None]):
        super().__init__(comments=False)
        self._is_duckdb = engine == "duckdb"
        self._types = types

    def sql(self, expression: Any, key: str | None = None, comment: bool = True) -> str:
        """Return the text of a node, or of a part of it."""
        node = expression if key is None else expression.args.get(key)
        if not isinstance(node, exp.Expr):
            return str(node or "")
        if type(node) not in NODES:
            raise AssertionError(f"no way to write {type(node).__name__}")
        written = super().sql(node)
        if self._is_duckdb and is_predicate(node) and not _is_condition(node):
            # SQLite counts truth as 1 and 0; as a number it must be one here too.
            return f"CAST({written} AS BIGINT)"
        return written

    def binary(self, expression: exp.Binary, op: str) -> str:
        return f"{self.sql(expression.this)} {op} {self.sql(expression.expression)}"

    def join_sql(self, expression: exp.Join, join_op: str | None = None) -> str:
        side, on = expression.args.get("side"), expression.args.get("on")
        word = "LEFT JOIN" if side == "LEFT" else "JOIN" if on is not None else "CROSS JOIN"
        return f" {word} {self.sql(expression.this)}" + (f" ON {self.sql(on)}" if on is not None else "")

    def ordered_sql(self, expression: exp.Ordered) -> str:
        descending, first = bool(expression.args.get("desc")), bool(expression.args.get("nulls_first"))
        text = self.sql(expression.this) + (" DESC" if descending else "")
        # SQLite puts NULL below everything; DuckDB puts it last in both directions, so there we always say where.
        if self._is_duckdb or first == descending:
            text += " NULLS FIRST" if first else " NULLS LAST"
        return text

    def literal_sql(self, expression: exp.Literal) -> str:
        if expression.is_string:
            return super().literal_sql(expression)
        number = str(int(expression.this))
        is_typed = self._is_duckdb and not isinstance(expression.parent, exp.Limit)
        return f"CAST({number} AS BIGINT)" if is_typed else number

    def boolean_sql(self, expression: exp.Boolean) -> str:
        number = 1 if expression.this else 0
        return f"CAST({number} AS BIGINT)" if self._is_duckdb else str(number)

    def placeholder_sql(self, expression: exp.Placeholder) -> str:
        name = str(expression.this)
        if not self._is_duckdb:
            return f":{name}"
        kind = self._types.get(name)
        if kind is None and not isinstance(expression.parent, ARITHMETIC):
            return f"${name}"
        return f"CAST(${name} AS {'VARCHAR' if kind in TEXT_TYPES else 'BIGINT'})"

    def neg_sql(self, expression: exp.Neg) -> str:
        inner = self.sql(expression.this)
        return f"-({inner})" if inner.startswith("-") else f"-{inner}"  # two in a row would begin a comment

    def not_sql(self, expression: exp.Not) -> str:
        inner = expression.this
        if isinstance(inner, exp.Is):
            return f"{self.sql(inner.this)} IS NOT NULL"
        if isinstance(inner, (exp.In, exp.Between)):
            left = self.sql(inner.this)
            return f"{left} NOT{self.sql(inner).removeprefix(left)}"
        return super().not_sql(expression)

    def exists_sql(self, expression: exp.Exists) -> str:
        return f"EXISTS {self.wrap(expression)}"

    def cast_sql(self, expression: exp.Cast, safe_prefix: str | None = None) -> str:
        inner, to_text = self.sql(expression.this), expression.args["to"].this in (exp.DType.TEXT, exp.DType.VARCHAR)
        word = "VARCHAR" if self._is_duckdb else "TEXT"
        if to_text:
            return f"CAST({inner} AS {word})"
        # Text that is not exactly a whole number gives NULL: SQLite alone would take '12abc' for 12, and DuckDB would
        # fail.
        number = f"TRY_CAST({inner} AS BIGINT)" if self._is_duckdb else f"CAST({inner} AS INTEGER)"
        return f"CASE WHEN CAST({number} AS {word}) = CAST({inner} AS {word}) THEN {number} END"

    def anonymous_sql(self, expression: exp.Anonymous) -> str:
        name, arguments = str(expression.this).upper(), [self.sql(item) for item in expression.expressions]
        macro = MACROS.get(name.lower())
        if macro is not None:
            shielded = [item if _ATOM.match(item) else f"({item})" for item in arguments]
            text = (macro.duckdb if self._is_duckdb else macro.sqlite)(*shielded)
            return f"({text})" if text.startswith("CASE") else text
        if name in ("LOWER", "UPPER") and self._is_duckdb:
            return (lower_duckdb if name == "LOWER" else upper_duckdb)(arguments[0])
        if name == "TRIM":
            return f"TRIM({arguments[0]}, ' ')"  # alone, DuckDB's TRIM takes away every kind of space
        return f"{'SUBSTR' if name == 'SUBSTRING' else name}({', '.join(arguments)})"
