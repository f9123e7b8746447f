"""Read INSERT, UPDATE and DELETE: what they write, and whether the table can take it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sqlglot import exp

from toolscale.records import SchemaSpec
from toolscale.records.schema import TEXT_TYPES
from toolscale.sql.compiled import Column
from toolscale.sql.queries import QueryReader, chained
from toolscale.sql.rendering import CLOCKED
from toolscale.sql.report import Report, choices
from toolscale.sql.scopes import Info, Names, Query, Scope, table_source


class WriteReader(QueryReader):
    """Reads statements that change rows."""

    def __init__(self, schema: SchemaSpec, names: Names, report: Report):
        super().__init__(schema, names, report)
        self.writes: set[Column] = set()

    def write(self, node: exp.Expr) -> None:
        """Read a statement that changes rows."""
        queries = self.read_with(node, None, {})
        if isinstance(node, exp.Insert):
            self._insert(node, queries)
        elif isinstance(node, exp.Update):
            self._update(node, queries)
        elif isinstance(node, exp.Delete):
            self._delete(node, queries)

    def _target(self, node: exp.Expr) -> str | None:
        """Return the table written to."""
        if not isinstance(node, exp.Table):
            self.report.add(f"{self.show(node)} is not a table", choices("", list(self.schema.tables)))
            return None
        if node.args.get("alias") is not None:
            self.report.add(f"{self.show(node)}: the table written to has an alias", "use its own name")
        if node.name not in self.schema.tables:
            what = "a relation is read only; tables are" if node.name in self.names.relations else "tables are"
            self.report.unknown(f"unknown table {node.name!r}", node.name, list(self.schema.tables), what)
            return None
        return node.name

    def _insert(self, node: exp.Expr, queries: Mapping[str, Query]) -> None:
        target, source = node.args["this"], node.args["expression"]
        table = self._target(target.this if isinstance(target, exp.Schema) else target)
        if table is None:
            return
        self.writes.add((table, "*"))
        if not isinstance(target, exp.Schema):
            self.report.add(
                f"INSERT INTO {table} names no columns",
                f"write INSERT INTO {table} ({', '.join(self.schema.tables[table].columns)})",
            )
            return
        columns = [str(item.this) for item in target.expressions]
        self._check_columns(table, columns)
        if isinstance(source, exp.Values):
            scope = Scope({}, None, queries)
            for row in source.expressions:
                if len(row.expressions) != len(columns):
                    problem = (
                        f"INSERT INTO {table} names {len(columns)} columns and gives {len(row.expressions)} values"
                    )
                    self.report.add(problem, "give one value a column")
                    continue
                for column, value in zip(columns, row.expressions, strict=True):
                    self._assign(table, column, self.infer(value, scope), self.show(value), value)
        else:
            query = self.query(source, None, queries)
            if len(query.infos) != len(columns):
                self.report.add(
                    f"INSERT INTO {table} names {len(columns)} columns and selects {len(query.infos)}",
                    "select one value a column",
                )
                return
            outputs = source.expressions if isinstance(source, exp.Select) else [None] * len(columns)
            for column, info, output in zip(columns, query.infos, outputs, strict=True):
                self._assign(table, column, info, f"{table}.{column}", output)

    def _check_columns(self, table: str, columns: list[str]) -> None:
        known = self.schema.tables[table].columns
        for name in columns:
            if name not in known:
                self.report.unknown(f"unknown column {name!r} of {table}", name, list(known))
            elif columns.count(name) > 1:
                self.report.add(f"INSERT INTO {table} names {name} twice", "name it once")
        lacking = [name for name, column in known.items() if name not in columns and not column.nullable]
        if lacking:
            self.report.add(
                f"INSERT INTO {table} leaves out {', '.join(lacking)}", "give every column that is not nullable a value"
            )

    def _update(self, node: exp.Expr, queries: Mapping[str, Query]) -> None:
        table = self._target(node.args["this"])
        if table is None:
            return
        scope = Scope({table: table_source(table, table, self.schema)}, None, queries)
        known = self.schema.tables[table].columns
        for item in node.expressions:
            if not isinstance(item, exp.EQ) or not isinstance(item.this, exp.Column) or item.this.text("table"):
                self.report.add(f"{self.show(item)} is no assignment", "write SET column = value")
                continue
            name = item.this.name
            info = self.infer(item.expression, scope)
            self.writes.add((table, name))
            if name not in known:
                self.report.unknown(f"unknown column {name!r} of {table}", name, list(known))
                continue
            if known[name].pk:
                self.report.add(
                    f"UPDATE changes {name}, the key of {table}", "a row keeps its key: DELETE it and INSERT another"
                )
            self._assign(table, name, info, self.show(item.expression), item.expression)
        self._where(node, scope)

    def _delete(self, node: exp.Expr, queries: Mapping[str, Query]) -> None:
        table = self._target(node.args["this"])
        if table is None:
            return
        self.writes.add((table, "*"))
        self._where(node, Scope({table: table_source(table, table, self.schema)}, None, queries))

    def _where(self, node: exp.Expr, scope: Scope) -> None:
        where = node.args.get("where")
        if where is not None:
            self.condition(where.this, scope, "WHERE ")
            self.note_equalities(chained(where.this, exp.And), scope)

    def _assign(self, table: str, column: str, info: Info, what: str, value: exp.Expr | None) -> None:
        """Report a value that a column cannot hold; `value` is its expression where there is one."""
        spec = self.schema.tables[table].columns.get(column)
        if spec is None:
            return
        kind = spec.type
        if info.type is not None and (kind in TEXT_TYPES) != (info.type in TEXT_TYPES):
            self.report.add(
                f"{table}.{column} is {kind}, {what} is {info.type}", "cast it: CAST(x AS TEXT) or CAST(x AS INTEGER)"
            )
        elif kind != info.type and {kind, info.type} <= CLOCKED:
            remedy = {
                "date": "use date_of(datetime), or :today",
                "datetime": "use a datetime such as :now",
                "time": "use time_of(datetime)",
            }[kind]
            self.report.add(f"{table}.{column} is a {kind}, {what} is a {info.type}", remedy)
        for constant in _branches(value) if value is not None else ():
            if isinstance(constant, exp.Null) and (spec.pk or not spec.nullable):
                self.report.add(
                    f"{table}.{column} cannot be NULL", "give it a value, or make it nullable in schema.yaml"
                )
            self.check_literal((table, column), constant)


def _branches(value: exp.Expr) -> Iterator[exp.Expr]:
    """Yield what a value may be: a CASE gives each of its results."""
    value = value.unalias()
    if isinstance(value, exp.Case):
        for item in value.args["ifs"]:
            yield from _branches(item.args["true"])
        if value.args.get("default") is not None:
            yield from _branches(value.args["default"])
    else:
        yield value
