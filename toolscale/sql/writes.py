"""Read INSERT, UPDATE and DELETE: what they write, and whether the table can take it."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from toolscale.records import SchemaSpec
from toolscale.sql.compiled import Column
from toolscale.sql.queries import QueryReader, conjuncts
from toolscale.sql.rendering import CLOCKED, TEXT_TYPES
from toolscale.sql.report import Report, choices, closest
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
            known = list(self.schema.tables)
            edit = closest(node.name, known)
            self.report.add(f"unknown table {node.name!r}", choices(node.name, known, what), edit=edit)
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
                    self.infer(value, scope)
                    self._assign(table, column, value)
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
                self._fits(table, column, info, f"{table}.{column}")
                if output is not None:
                    self._check_value(table, column, output.this if isinstance(output, exp.Alias) else output)

    def _check_columns(self, table: str, columns: list[str]) -> None:
        known = self.schema.tables[table].columns
        for name in columns:
            if name not in known:
                edit = closest(name, list(known))
                self.report.add(f"unknown column {name!r} of {table}", choices(name, list(known)), edit=edit)
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
            self.infer(item.expression, scope)
            self.writes.add((table, name))
            if name not in known:
                edit = closest(name, list(known))
                self.report.add(f"unknown column {name!r} of {table}", choices(name, list(known)), edit=edit)
                continue
            if known[name].pk:
                self.report.add(
                    f"UPDATE changes {name}, the key of {table}", "a row keeps its key: DELETE it and INSERT another"
                )
            self._assign(table, name, item.expression)
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
            self._condition(where.this, scope, "WHERE")
            self.note_equalities(conjuncts(where.this), scope)

    def _assign(self, table: str, column: str, value: exp.Expr) -> None:
        if column not in self.schema.tables[table].columns:
            return
        self._fits(table, column, self.infos[id(value)], self.show(value))
        self._check_value(table, column, value)

    def _fits(self, table: str, column: str, info: Info, what: str) -> None:
        if column not in self.schema.tables[table].columns:
            return
        kind = self.schema.tables[table].columns[column].type
        if info.type is None:
            return
        if (kind in TEXT_TYPES) != (info.type in TEXT_TYPES):
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

    def _check_value(self, table: str, column: str, value: exp.Expr) -> None:
        """Report a constant that the column cannot hold, on any branch of a CASE."""
        spec = self.schema.tables[table].columns.get(column)
        if spec is None:
            return
        if isinstance(value, exp.Case):
            branches = [item.args["true"] for item in value.args["ifs"]]
            for branch in [*branches, *([value.args["default"]] if value.args.get("default") is not None else [])]:
                self._check_value(table, column, branch)
        elif isinstance(value, exp.Null) and (spec.pk or not spec.nullable):
            self.report.add(f"{table}.{column} cannot be NULL", "give it a value, or make it nullable in schema.yaml")
        elif (
            isinstance(value, exp.Literal)
            and value.is_string
            and spec.values is not None
            and str(value.this) not in spec.values
        ):
            self.report.add(f"{table}.{column} is never '{value.this}'", choices(str(value.this), spec.values))
