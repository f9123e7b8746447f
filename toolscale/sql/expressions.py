"""Resolve the names of expressions, infer their types, and note what is read and what is compared."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlglot import exp

from toolscale.records import ColumnType, SchemaSpec
from toolscale.records.schema import TEXT_TYPES
from toolscale.sql.compiled import Column
from toolscale.sql.macros import AGGREGATES, MACROS, RANKINGS
from toolscale.sql.rendering import ARITHMETIC, CLOCKED, Renderer, macro_name
from toolscale.sql.report import Report, choices, shorten
from toolscale.sql.scopes import UNKNOWN, Info, Names, Place, Query, Scope, Source, shown

INT = Info("int")
BOOL = Info("bool")
TEXT = Info("text")


class ExpressionReader:
    """Reads the expressions of one statement. Everything found out about the statement gathers here."""

    def __init__(self, schema: SchemaSpec, names: Names, report: Report):
        self.schema = schema
        self.names = names
        self.report = report
        self.reads: set[Column] = set()
        self.binds: dict[str, None] = {}
        self.relations: dict[str, None] = {}
        self.consumes: set[tuple[str, Column]] = set()
        self.uses_ord: set[str] = set()
        self.resolved: dict[int, tuple[Scope, Source, str]] = {}
        """id of a column node -> what it is."""
        self.infos: dict[int, Info] = {}
        self._plain = Renderer("sqlite", {})

    def query(self, node: exp.Expr, scope: Scope | None, queries: Any) -> Query:
        """Read a SELECT inside an expression; the reader of whole queries does it."""
        raise NotImplementedError

    def infer(self, node: exp.Expr, scope: Scope) -> Info:
        """Return what is known about the value of a node, after reading all of it."""
        info = self.infos[id(node)] = _METHODS[type(node)](self, node, scope)
        return info

    def condition(self, node: exp.Expr, scope: Scope, where: str = "") -> None:
        """Read a node that must be true or false; `where` it stands is said if it is text."""
        if self.infer(node, scope).type in TEXT_TYPES:
            self.report.add(f"{where}{self.show(node)} is text, not a condition", "compare it with something")

    def column(self, node: exp.Expr, scope: Scope) -> Info:
        """Resolve a column, innermost SELECT first."""
        name, table = node.name, node.text("table")
        level: Scope | None = scope
        while level is not None:
            holders = [
                source for alias, source in level.sources.items() if name in source.columns and table in ("", alias)
            ]
            if len(holders) > 1:
                self.report.add(
                    f"{name} could be a column of {' or '.join(source.alias for source in holders)}",
                    "write table.column",
                )
            if holders:
                return self._found(node, level, holders[0])
            if table in level.sources:
                break
            if not table and name in level.aliases:
                # DuckDB would take the output column of this SELECT, SQLite that of the SELECT around it.
                self.report.add(
                    f"{name} could mean the output column or one further out",
                    "write table.column, or another name after AS",
                )
            level = level.outer
        self._report_unknown_column(name, table, scope)
        return UNKNOWN

    def _found(self, node: exp.Expr, level: Scope, source: Source) -> Info:
        source.is_used = True
        self.resolved[id(node)] = (level, source, node.name)
        if source.table is not None:
            self.reads.add((source.table, node.name))
        if source.relation is not None and node.name == "ord":
            self.uses_ord.add(source.relation)
        return source.columns[node.name]

    def _report_unknown_column(self, name: str, table: str, scope: Scope) -> None:
        sources: dict[str, Source] = {}
        level: Scope | None = scope
        while level is not None:
            sources = {**level.sources, **sources}
            level = level.outer
        if table and table in sources:
            self.report.unknown(
                f"unknown column {name!r} of {table}", name, list(sources[table].columns), shape=f"{table}.{{}}"
            )
        elif table:
            remedy = choices(table, list(sources), "in FROM stand")
            if any(flat.startswith(f"{table}__") for flat in self.names.values):
                remedy = f"a let is written :{table}.{name}"
            self.report.add(f"{table}.{name}: no {table} in FROM", remedy)
        elif name in self.names.values:
            self.report.add(f"unknown column {name!r}", f"a parameter is written :{name}")
        else:
            known = list(dict.fromkeys(column for source in sources.values() for column in source.columns))
            self.report.unknown(f"unknown column {name!r}", name, known)

    def _placeholder(self, node: exp.Expr, scope: Scope) -> Info:
        name = str(node.this)
        if name in self.names.relations:
            self.report.add(f":{name} is a relation", f"read it with a sub-select: (SELECT ... FROM {name})")
            return UNKNOWN
        if name not in self.names.values:
            known = [shown(value) for value in self.names.values]
            self.report.unknown(f"unknown parameter {shown(name)}", shown(name), known)
            return UNKNOWN
        self.binds[name] = None
        return self.names.values[name]

    def _literal(self, node: exp.Expr, scope: Scope) -> Info:
        return TEXT if node.args.get("is_string") else INT

    def _pass(self, node: exp.Expr, scope: Scope) -> Info:
        return self.infer(node.this, scope)

    def _number(self, node: exp.Expr, scope: Scope) -> Info:
        infos = [self.infer(child, scope) for child in node.iter_expressions()]
        for info in infos:
            if info.type in TEXT_TYPES:
                remedy = _INSTEAD.get(str(info.type), "cast it: CAST(x AS INTEGER)")
                self.report.add(f"{self.show(node)} calculates with {info.type}", remedy)
        return Info("cents" if any(info.type == "cents" for info in infos) else "int")

    def _parts(self, node: exp.Expr, scope: Scope) -> Info:
        for side in node.iter_expressions():
            self.infer(side, scope)
        return BOOL if isinstance(node, exp.Predicate) else TEXT

    def _logic(self, node: exp.Expr, scope: Scope) -> Info:
        for side in node.iter_expressions():
            self.condition(side, scope)
        return BOOL

    def _compare(self, node: exp.Expr, scope: Scope) -> Info:
        self._parts(node, scope)
        is_equal = isinstance(node, (exp.EQ, exp.NullSafeEQ, exp.NEQ, exp.NullSafeNEQ))
        self.meet(node.this, node.expression, node, is_equality=is_equal)
        return BOOL

    def _between(self, node: exp.Expr, scope: Scope) -> Info:
        self._parts(node, scope)
        for part in ("low", "high"):
            self.meet(node.this, node.args[part], node, is_equality=False)
        return BOOL

    def _in(self, node: exp.Expr, scope: Scope) -> Info:
        self.infer(node.this, scope)
        for item in node.expressions:
            self.infer(item, scope)
            self.meet(node.this, item, node, is_equality=True)
        inner = node.args.get("query")
        if inner is not None:
            query = self.query(inner.this if isinstance(inner, exp.Subquery) else inner, scope, scope.queries)
            if len(query.infos) != 1:
                self.report.add(f"IN (SELECT ...) gives {len(query.infos)} columns", "select one column")
            else:
                self.infos[id(inner)] = query.infos[0]
                self.meet(node.this, inner, node, is_equality=True)
        return BOOL

    def _exists(self, node: exp.Expr, scope: Scope) -> Info:
        self.query(node.this, scope, scope.queries)
        return BOOL

    def _subquery(self, node: exp.Expr, scope: Scope) -> Info:
        query = self.query(node.this, scope, scope.queries)
        if len(query.infos) != 1:
            self.report.add(f"{self.show(node)} gives {len(query.infos)} columns", "select one column")
            return UNKNOWN
        if not query.is_single:
            remedy = "look it up by a unique key, use MIN, MAX, SUM or COUNT, or ORDER BY a unique key with LIMIT 1"
            self.report.add(f"{self.show(node)} may give several rows", remedy)
        return query.infos[0]

    def _case(self, node: exp.Expr, scope: Scope) -> Info:
        subject, default = node.args.get("this"), node.args.get("default")
        if subject is not None:
            self.infer(subject, scope)
        results = []
        for item in node.args["ifs"]:
            if subject is None:
                self.condition(item.this, scope)
            else:
                self.infer(item.this, scope)
                self.meet(subject, item.this, node, is_equality=True)
            results.append(item.args["true"])
        if default is not None:
            results.append(default)
        return self._common(results, node, scope)

    def _cast(self, node: exp.Expr, scope: Scope) -> Info:
        self.infer(node.this, scope)
        return TEXT if node.args["to"].this in (exp.DType.TEXT, exp.DType.VARCHAR) else INT

    def _common(self, nodes: list[exp.Expr], whole: exp.Expr, scope: Scope) -> Info:
        """Return the type that all values have, after checking that they agree."""
        infos = [self.infer(node, scope) for node in nodes]
        known = [info.type for info in infos if info.type is not None]
        if len({kind in TEXT_TYPES for kind in known}) > 1:
            self.report.add(f"{self.show(whole)} mixes text and numbers", "cast one of them: CAST(x AS TEXT)")
        found: ColumnType | None = next(
            (kind for kind in known if kind not in ("text", "int")), known[0] if known else None
        )
        return Info(found)

    def _function(self, node: exp.Expr, scope: Scope) -> Info:
        name, arguments = str(node.this).upper(), node.expressions
        if name.lower() in MACROS:
            return self._macro(node, scope)
        if name in RANKINGS or (name == "COUNT" and isinstance(arguments[0], exp.Star)):
            return INT
        if name in ("COALESCE", "NULLIF"):
            if name == "NULLIF":
                for item in arguments:
                    self.infer(item, scope)
                self.meet(arguments[0], arguments[1], node, is_equality=True)
                return Info(self.infos[id(arguments[0])].type)
            return self._common(arguments, node, scope)
        infos = [
            self.infer(item.expressions[0] if isinstance(item, exp.Distinct) else item, scope) for item in arguments
        ]
        if name in ("COUNT", "LENGTH", "INSTR"):
            self._want_text(node, infos if name != "COUNT" else [])
            return INT
        if name in ("SUM", "ABS"):
            if infos[0].type in TEXT_TYPES:
                self.report.add(f"{self.show(node)} calculates with {infos[0].type}", "use whole numbers")
            return Info("cents" if infos[0].type == "cents" else "int")
        if name in AGGREGATES:
            return Info(infos[0].type)
        self._want_text(node, infos[: 3 if name == "REPLACE" else 1])
        if name in ("SUBSTR", "SUBSTRING") and any(info.type in TEXT_TYPES for info in infos[1:]):
            self.report.add(f"{self.show(node)} takes a place and a length", "write SUBSTR(text, 1, 4)")
        return TEXT

    def _want_text(self, node: exp.Expr, infos: list[Info]) -> None:
        if any(info.type is not None and info.type not in TEXT_TYPES for info in infos):
            self.report.add(f"{self.show(node)} takes text", "cast it: CAST(x AS TEXT)")

    def _macro(self, node: exp.Expr, scope: Scope) -> Info:
        macro = MACROS[macro_name(node)]
        infos = [self.infer(item, scope) for item in node.expressions]
        for kind, info, item in zip(macro.kinds, infos, node.expressions, strict=True):
            if info.type is None or kind == "any":
                continue
            fits = (info.type in TEXT_TYPES) is (kind != "int")
            if kind in _OF_TIME and info.type in CLOCKED and info.type not in _OF_TIME[kind]:
                if {kind, info.type} == {"date", "datetime"}:
                    remedy = f"write date_of({self.show(item)})" if kind == "date" else "a date needs no date_of"
                else:
                    remedy = f"write {macro.signature}"
                wanted = " or a ".join(_OF_TIME[kind])
                self.report.add(f"{self.show(node)}: {self.show(item)} is a {info.type}, not a {wanted}", remedy)
            elif not fits:
                self.report.add(f"{self.show(node)}: {self.show(item)} is {info.type}", f"write {macro.signature}")
        if macro.kinds == ("moment", "moment"):
            self.meet(node.expressions[0], node.expressions[1], node, is_equality=False)
        if macro.result is not None:
            return Info(macro.result)
        self.meet(node.expressions[0], node.expressions[1], node, is_equality=False)
        return Info(next((info.type for info in infos if info.type not in (None, "int")), infos[0].type))

    def _window(self, node: exp.Expr, scope: Scope) -> Info:
        for item in node.args.get("partition_by") or ():
            self.infer(item, scope)
        order = node.args.get("order")
        for item in order.expressions if order is not None else ():
            self.infer(item.this, scope)
        if order is None and macro_name(node.this) in ("row_number", "rank", "dense_rank"):
            self.report.add(f"{self.show(node)} has no order", "write OVER (ORDER BY ...)")
        return self.infer(node.this, scope)

    def meet(self, left: exp.Expr, right: exp.Expr, whole: exp.Expr, *, is_equality: bool) -> None:
        """Check that two compared values fit together, and note which parameter is compared with which column."""
        one, two = self.infos[id(left)], self.infos[id(right)]
        if one.type is not None and two.type is not None:
            if (one.type in TEXT_TYPES) != (two.type in TEXT_TYPES):
                problem = f"{self.show(whole)} compares {one.type} with {two.type}"
                self.report.add(
                    problem, "compare text with text ('...') and numbers with numbers, or cast one: CAST(x AS TEXT)"
                )
            elif is_equality and {one.type, two.type} == {"date", "datetime"}:
                self.report.add(f"{self.show(whole)} compares a date with a datetime", "use date_of(datetime)")
            elif one.type != two.type and "time" in (one.type, two.type) and {one.type, two.type} <= CLOCKED:
                other = two.type if one.type == "time" else one.type
                remedy = "use time_of(datetime)" if other == "datetime" else "a day has no time: compare other columns"
                self.report.add(f"{self.show(whole)} compares a time with a {other}", remedy)
        if is_equality:
            for column, value in ((one, right), (two, left)):
                if column.base is not None:
                    self.check_literal(column.base, value)
            first, second = self.infos[id(_bare(left))], self.infos[id(_bare(right))]
            for column_info, value_info in ((first, second), (second, first)):
                if column_info.base is not None and value_info.parameter is not None:
                    self.consumes.add((value_info.parameter, column_info.base))

    def check_literal(self, column: Column, value: exp.Expr) -> None:
        """Report a literal that the column cannot hold."""
        table, name = column
        allowed = self.schema.tables[table].columns[name].values
        if allowed is not None and value.is_string and str(value.this) not in allowed:
            self.report.add(f"{table}.{name} is never '{value.this}'", choices(str(value.this), allowed))

    def show(self, node: exp.Expr) -> str:
        """Return a node as an author would write it."""
        return shorten(node.sql("sqlite").replace("__", "."), 70)

    def key(self, node: exp.Expr) -> str:
        """Return a text that is equal for equal expressions, however their columns are qualified."""
        found = self.resolved.get(id(node))
        if found is not None:
            return f"{found[1].alias}.{found[2]}"
        return self._plain.sql(node)

    def places(self, node: exp.Expr, scope: Scope) -> set[Place]:
        """Return the columns of this scope's own sources that stand anywhere in the node."""
        found = set()
        for column in node.find_all(exp.Column):
            known = self.resolved.get(id(column))
            if known is not None and known[0] is scope:
                found.add((known[1].alias, known[2]))
        return found


_OF_TIME = {"date": ("date",), "datetime": ("datetime",), "moment": ("datetime", "time")}
"""Kind of an argument -> the types of days and times that it takes."""

_INSTEAD = {
    **dict.fromkeys(("date", "datetime"), "use add_days or days_between"),
    "time": "use minutes_between, or add_minutes on a datetime",
}


def _bare(node: exp.Expr) -> exp.Expr:
    """Return what is folded or trimmed: LOWER(email) stands for email."""
    while True:
        if isinstance(node, exp.Paren):
            node = node.this
        elif macro_name(node) in ("lower", "upper", "trim") and len(node.expressions) == 1:
            node = node.expressions[0]
        else:
            return node


_COMPARISONS: tuple[type[exp.Expr], ...] = (
    exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.NullSafeEQ, exp.NullSafeNEQ,
)  # fmt: skip
_METHODS: dict[type[exp.Expr], Callable[[ExpressionReader, Any, Scope], Info]] = {
    exp.Column: ExpressionReader.column, exp.Placeholder: ExpressionReader._placeholder,
    exp.Literal: ExpressionReader._literal, exp.Paren: ExpressionReader._pass, exp.Alias: ExpressionReader._pass,
    **dict.fromkeys(ARITHMETIC, ExpressionReader._number), **dict.fromkeys(_COMPARISONS, ExpressionReader._compare),
    exp.And: ExpressionReader._logic, exp.Or: ExpressionReader._logic, exp.Not: ExpressionReader._logic,
    exp.Is: ExpressionReader._parts, exp.DPipe: ExpressionReader._parts,
    exp.Between: ExpressionReader._between, exp.In: ExpressionReader._in, exp.Exists: ExpressionReader._exists,
    exp.Subquery: ExpressionReader._subquery, exp.Case: ExpressionReader._case, exp.Cast: ExpressionReader._cast,
    exp.Anonymous: ExpressionReader._function, exp.Window: ExpressionReader._window,
    exp.Null: lambda self, node, scope: UNKNOWN, exp.Boolean: lambda self, node, scope: BOOL,
}  # fmt: skip
