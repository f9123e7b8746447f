"""From a checked tree to the texts of both engines.

Only what `allowlist.NODES` admits has a method here, so nothing can slip through. The two texts differ where the
engines do: parameters, macros, places of NULLs in an order, folding of case, and types, which DuckDB takes seriously (a
literal has 32 bits there, a comparison is a BOOLEAN).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Literal

from sqlglot import exp

from toolscale.records import ColumnType
from toolscale.sql.macros import MACROS, lower_duckdb, upper_duckdb

EngineName = Literal["sqlite", "duckdb"]
TEXT_TYPES = frozenset(("text", "date", "datetime", "time"))
CLOCKED = frozenset(("date", "datetime", "time"))
"""Types of text that are days or times: only those of one type can be compared."""

_ATOM = re.compile(r"[\w.:$]+\Z|'[^']*'\Z|CAST\([\w.:$]+ AS \w+\)\Z")
_OPERATORS: dict[type[exp.Expr], str] = {
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.DPipe: "||",
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.NullSafeEQ: "IS NOT DISTINCT FROM",
    exp.NullSafeNEQ: "IS DISTINCT FROM",
    exp.Is: "IS",
    exp.And: "AND",
    exp.Or: "OR",
}
_ARITHMETIC = (exp.Add, exp.Sub, exp.Mul, exp.Neg)
_PREDICATES = (
    exp.EQ,
    exp.NEQ,
    exp.GT,
    exp.GTE,
    exp.LT,
    exp.LTE,
    exp.NullSafeEQ,
    exp.NullSafeNEQ,
    exp.Is,
    exp.And,
    exp.Or,
    exp.Not,
    exp.In,
    exp.Between,
    exp.Exists,
)


def macro_name(node: exp.Expr) -> str:
    """Return the name of a function call in small letters, or nothing."""
    return str(node.this).lower() if isinstance(node, exp.Anonymous) else ""


def is_predicate(node: exp.Expr) -> bool:
    """Return whether the node gives true, false or NULL."""
    name = macro_name(node)
    return isinstance(node, _PREDICATES) or (name in MACROS and MACROS[name].is_predicate)


def _is_condition(node: exp.Expr) -> bool:
    """Return whether the node stands where a truth value is wanted, not a number."""
    parent = node.parent
    if isinstance(parent, exp.Paren):
        return _is_condition(parent)
    if isinstance(parent, exp.If):
        case = parent.parent
        return node.arg_key == "this" and isinstance(case, exp.Case) and case.args.get("this") is None
    return isinstance(parent, (exp.Where, exp.Having, exp.And, exp.Or, exp.Not)) or (
        isinstance(parent, exp.Join) and node.arg_key == "on"
    )


class Renderer:
    """Writes trees as text for one engine."""

    def __init__(self, engine: EngineName, types: Mapping[str, ColumnType | None]):
        self._is_duckdb = engine == "duckdb"
        self._types = types

    def text(self, node: exp.Expr) -> str:
        """Return the text of a node."""
        kind = type(node)
        operator = _OPERATORS.get(kind)
        written = (
            f"{self.text(node.this)} {operator} {self.text(node.expression)}"
            if operator is not None
            else _METHODS[kind](self, node)
        )
        if self._is_duckdb and is_predicate(node) and not _is_condition(node):
            # SQLite counts truth as 1 and 0; as a number it must be one here too.
            return f"CAST({written} AS BIGINT)"
        return written

    def _list(self, nodes: list[Any]) -> str:
        return ", ".join(self.text(node) for node in nodes)

    def _select(self, node: exp.Expr) -> str:
        args = node.args
        distinct = "DISTINCT " if args.get("distinct") else ""
        parts = [self._with(node), f"SELECT {distinct}{self._list(node.expressions)}"]
        if args.get("from_"):
            parts.append(f"FROM {self.text(args['from_'].this)}")
        parts += [self._join(join) for join in args.get("joins") or ()]
        for part, word in (("where", "WHERE"), ("group", "GROUP BY"), ("having", "HAVING")):
            found = args.get(part)
            if found is not None:
                parts.append(f"{word} {self._list(found.expressions) if part == 'group' else self.text(found.this)}")
        return " ".join([*filter(None, parts), *self._tail(node)])

    def _union(self, node: exp.Expr) -> str:
        body = f"{self.text(node.args['this'])} UNION ALL {self.text(node.args['expression'])}"
        return " ".join([*filter(None, [self._with(node)]), body, *self._tail(node)])

    def _tail(self, node: exp.Expr) -> list[str]:
        order, limit = node.args.get("order"), node.args.get("limit")
        parts = [self._order(order)] if order is not None else []
        return [*parts, f"LIMIT {limit.expression.this}"] if limit is not None else parts

    def _with(self, node: exp.Expr) -> str:
        found = node.args.get("with_")
        if found is None:
            return ""
        return "WITH " + ", ".join(
            f"{cte.args['alias'].this.this} AS ({self.text(cte.this)})" for cte in found.expressions
        )

    def _join(self, node: exp.Expr) -> str:
        side, on = node.args.get("side"), node.args.get("on")
        word = "LEFT JOIN" if side == "LEFT" else "JOIN" if on is not None else "CROSS JOIN"
        return f"{word} {self.text(node.this)}" + (f" ON {self.text(on)}" if on is not None else "")

    def _aliased(self, node: exp.Expr, body: str) -> str:
        alias = node.args.get("alias")
        name = alias.this.this if isinstance(alias, exp.TableAlias) else alias.this if alias is not None else ""
        return f"{body} AS {name}" if name else body

    def _order(self, node: exp.Expr) -> str:
        return "ORDER BY " + ", ".join(self._ordered(item) for item in node.expressions)

    def _ordered(self, node: exp.Expr) -> str:
        descending = bool(node.args.get("desc"))
        text = self.text(node.this) + (" DESC" if descending else "")
        first = bool(node.args.get("nulls_first"))
        # SQLite puts NULL below everything; DuckDB puts it last in both directions, so there we always say where.
        if self._is_duckdb or first == descending:
            text += " NULLS FIRST" if first else " NULLS LAST"
        return text

    def _column(self, node: exp.Expr) -> str:
        table = node.args.get("table")
        return f"{table.this}.{node.this.this}" if table is not None else str(node.this.this)

    def _literal(self, node: exp.Expr) -> str:
        if node.args.get("is_string"):
            return "'" + str(node.this).replace("'", "''") + "'"
        return f"CAST({int(node.this)} AS BIGINT)" if self._is_duckdb else str(int(node.this))

    def _boolean(self, node: exp.Expr) -> str:
        number = 1 if node.this else 0
        return f"CAST({number} AS BIGINT)" if self._is_duckdb else str(number)

    def _placeholder(self, node: exp.Expr) -> str:
        name = str(node.this)
        if not self._is_duckdb:
            return f":{name}"
        kind = self._types.get(name)
        if kind is None and not isinstance(node.parent, _ARITHMETIC):
            return f"${name}"
        return f"CAST(${name} AS {'VARCHAR' if kind in TEXT_TYPES else 'BIGINT'})"

    def _negative(self, node: exp.Expr) -> str:
        inner = self.text(node.this)
        return f"-({inner})" if inner.startswith("-") else f"-{inner}"  # two in a row would begin a comment

    def _not(self, node: exp.Expr) -> str:
        inner = node.this
        if isinstance(inner, exp.Is):
            return f"{self.text(inner.this)} IS NOT NULL"
        if isinstance(inner, exp.In):
            return self._in(inner, "NOT IN")
        if isinstance(inner, exp.Between):
            return self._between(inner, "NOT BETWEEN")
        return f"NOT {self.text(inner)}"

    def _in(self, node: exp.Expr, word: str = "IN") -> str:
        query = node.args.get("query")
        inner = (
            self.text(query.this if isinstance(query, exp.Subquery) else query)
            if query is not None
            else self._list(node.expressions)
        )
        return f"{self.text(node.this)} {word} ({inner})"

    def _between(self, node: exp.Expr, word: str = "BETWEEN") -> str:
        return f"{self.text(node.this)} {word} {self.text(node.args['low'])} AND {self.text(node.args['high'])}"

    def _case(self, node: exp.Expr) -> str:
        subject, default = node.args.get("this"), node.args.get("default")
        parts = [f"CASE {self.text(subject)}" if subject is not None else "CASE"]
        parts += [f"WHEN {self.text(item.this)} THEN {self.text(item.args['true'])}" for item in node.args["ifs"]]
        return " ".join([*parts, *([f"ELSE {self.text(default)}"] if default is not None else []), "END"])

    def _cast(self, node: exp.Expr) -> str:
        inner, to_text = self.text(node.this), node.args["to"].this in (exp.DType.TEXT, exp.DType.VARCHAR)
        word = "VARCHAR" if self._is_duckdb else "TEXT"
        if to_text:
            return f"CAST({inner} AS {word})"
        # Text that is not exactly a whole number gives NULL: SQLite alone would take '12abc' for 12, and DuckDB would
        # fail.
        number = f"TRY_CAST({inner} AS BIGINT)" if self._is_duckdb else f"CAST({inner} AS INTEGER)"
        return f"CASE WHEN CAST({number} AS {word}) = CAST({inner} AS {word}) THEN {number} END"

    def _function(self, node: exp.Expr) -> str:
        name, arguments = str(node.this).upper(), [self.text(item) for item in node.expressions]
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

    def _distinct(self, node: exp.Expr) -> str:
        return f"DISTINCT {self._list(node.expressions)}"

    def _window(self, node: exp.Expr) -> str:
        parts = []
        if node.args.get("partition_by"):
            parts.append(f"PARTITION BY {self._list(node.args['partition_by'])}")
        if node.args.get("order"):
            parts.append(self._order(node.args["order"]))
        return f"{self.text(node.this)} OVER ({' '.join(parts)})"

    def _insert(self, node: exp.Expr) -> str:
        schema, source = node.args["this"], node.args["expression"]
        columns = ", ".join(str(item.this) for item in schema.expressions)
        body = f"INSERT INTO {self.text(schema.this)} ({columns}) {self.text(source)}"
        return " ".join([*filter(None, [self._with(node)]), body])

    def _values(self, node: exp.Expr) -> str:
        return "VALUES " + ", ".join(f"({self._list(row.expressions)})" for row in node.expressions)

    def _update(self, node: exp.Expr) -> str:
        # Written by hand: an assignment is no comparison, though the parser gives both the same node.
        changes = ", ".join(f"{item.this.name} = {self.text(item.expression)}" for item in node.expressions)
        body = f"UPDATE {self.text(node.this)} SET {changes}"
        return " ".join([*filter(None, [self._with(node)]), body, *self._where(node)])

    def _delete(self, node: exp.Expr) -> str:
        return " ".join([*filter(None, [self._with(node)]), f"DELETE FROM {self.text(node.this)}", *self._where(node)])

    def _where(self, node: exp.Expr) -> list[str]:
        where = node.args.get("where")
        return [f"WHERE {self.text(where.this)}"] if where is not None else []


_METHODS: dict[type[exp.Expr], Callable[[Renderer, Any], str]] = {
    exp.Select: Renderer._select, exp.Union: Renderer._union, exp.Column: Renderer._column,
    exp.Literal: Renderer._literal, exp.Boolean: Renderer._boolean, exp.Placeholder: Renderer._placeholder,
    exp.Not: Renderer._not, exp.In: Renderer._in, exp.Between: Renderer._between, exp.Case: Renderer._case,
    exp.Cast: Renderer._cast, exp.Anonymous: Renderer._function, exp.Distinct: Renderer._distinct,
    exp.Window: Renderer._window, exp.Insert: Renderer._insert, exp.Values: Renderer._values,
    exp.Update: Renderer._update, exp.Delete: Renderer._delete,
    exp.Null: lambda self, node: "NULL", exp.Star: lambda self, node: "*",
    exp.Paren: lambda self, node: f"({self.text(node.this)})", exp.Neg: Renderer._negative,
    exp.Exists: lambda self, node: f"EXISTS ({self.text(node.this)})",
    exp.Table: lambda self, node: self._aliased(node, str(node.this.this)),
    exp.Subquery: lambda self, node: self._aliased(node, f"({self.text(node.this)})"),
    exp.Alias: lambda self, node: self._aliased(node, self.text(node.this)),
}  # fmt: skip
