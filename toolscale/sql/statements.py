"""Compile one SQL text: parse, check, resolve, render for both engines."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TypedDict, Unpack

from sqlglot import exp

from toolscale.errors import SpecError
from toolscale.records import ColumnType, SchemaSpec
from toolscale.records.schema import TEXT_TYPES
from toolscale.sql.allowlist import check_nodes
from toolscale.sql.compiled import EngineName, Statement
from toolscale.sql.parsing import parse_statement
from toolscale.sql.rendering import Renderer
from toolscale.sql.report import Report, choices
from toolscale.sql.scopes import Info, Names, Query
from toolscale.sql.weight import check_weight
from toolscale.sql.writes import WriteReader

LONGEST_RENDERED = 45_000
CLOCK: dict[str, Info] = {"now": Info("datetime"), "today": Info("date")}
"""Values that are always bound."""

NamesAndTypes = Collection[str] | Mapping[str, ColumnType | None]
"""Names, with their types if they are known."""


@dataclass(frozen=True, slots=True)
class Compiled:
    """A statement, and what a tool needs to know about it besides."""

    statement: Statement
    query: Query | None
    """None for writes."""
    uses_ord: frozenset[str]
    """Relations whose order it reads."""


class Given(TypedDict, total=False):
    """What a statement may use besides the tables, and where it stands.

    `params` are bound as `:name`, `lets` as `:let.column` (their columns), `relations` can be read in FROM (their
    columns; `ord` is added).
    """

    params: NamesAndTypes
    lets: Mapping[str, NamesAndTypes]
    relations: Mapping[str, Mapping[str, ColumnType]]
    place: str
    file: str


def compile_select(text: str, schema: SchemaSpec, **given: Unpack[Given]) -> Statement:
    """Compile a SELECT. Raises SpecError with all that is wrong with it."""
    return _compile(read_select, text, schema, given)


def compile_condition(text: str, schema: SchemaSpec, *, table: str | None = None, **given: Unpack[Given]) -> Statement:
    """Compile a condition as a SELECT of one column `holds`; with `table`, over all its rows, after the columns of
    their key.

    In the condition the columns of the table are written bare or as `table.column`. Raises SpecError with all that is
    wrong.
    """
    return _compile(partial(read_condition, table=table), text, schema, given)


def compile_write(text: str, schema: SchemaSpec, **given: Unpack[Given]) -> Statement:
    """Compile one INSERT, UPDATE or DELETE. Raises SpecError with all that is wrong with it."""
    return _compile(read_write, text, schema, given)


def _compile(
    read: Callable[[str, SchemaSpec, Names, Report], Compiled | None], text: str, schema: SchemaSpec, given: Given
) -> Statement:
    report = Report(given.get("file", ""), given.get("place", ""))
    compiled = read(text, schema, _names(given), report)
    if compiled is None or report.issues:
        raise SpecError(report.issues)
    return compiled.statement


def _names(given: Given) -> Names:
    """Return the names of a statement, the clock included."""
    values = {**CLOCK, **{name: Info(kind, None, name) for name, kind in _typed(given.get("params", ())).items()}}
    for let, columns in given.get("lets", {}).items():
        values |= {f"{let}__{column}": Info(kind) for column, kind in _typed(columns).items()}
    relations = given.get("relations", {}).items()
    return Names(values, {name: {column: Info(kind) for column, kind in fields.items()} for name, fields in relations})


def read_select(text: str, schema: SchemaSpec, names: Names, report: Report) -> Compiled | None:
    """Compile a SELECT, or report all that is wrong and return None."""
    tree = _checked(text, report)
    return None if tree is None else _read(tree, text, schema, names, report)


def read_condition(
    text: str, schema: SchemaSpec, names: Names, report: Report, table: str | None = None
) -> Compiled | None:
    """Compile a condition, or report all that is wrong and return None."""
    prefix, suffix = "SELECT ", ""
    if table is not None:
        if table not in schema.tables:
            report.add(f"unknown table {table!r}", choices(table, list(schema.tables)))
            return None
        prefix = "".join(["SELECT ", *(f"{name}, " for name in schema.tables[table].key)])
        suffix = f" FROM {table}"
    before = len(report.issues)
    tree = _checked(f"{prefix}({text}\n) AS holds{suffix}", report)
    if tree is None or not _is_one_condition(tree, prefix.count(",") + 1, suffix):
        if len(report.issues) == before:
            report.add(f"{text!r} is not one condition", "write an SQL condition such as a = b AND c > 0")
        return None
    return _read(tree, text, schema, names, report)


def read_write(text: str, schema: SchemaSpec, names: Names, report: Report) -> Compiled | None:
    """Compile an INSERT, UPDATE or DELETE, or report all that is wrong and return None."""
    tree = _checked(text, report, is_write=True)
    return None if tree is None else _read(tree, text, schema, names, report)


def _typed(names: NamesAndTypes) -> Mapping[str, ColumnType | None]:
    return names if isinstance(names, Mapping) else dict.fromkeys(names)


def _is_one_condition(tree: exp.Expr, outputs: int, suffix: str) -> bool:
    """Return whether the text stayed inside the parentheses put around it."""
    if not isinstance(tree, exp.Select) or any(
        tree.args.get(part) for part in ("where", "group", "having", "order", "limit", "joins", "with_")
    ):
        return False
    last = tree.expressions[-1]
    if len(tree.expressions) != outputs or tree.args.get("distinct"):
        return False
    if bool(suffix) != (tree.args.get("from_") is not None) or not isinstance(last, exp.Alias):
        return False
    return isinstance(last.this, (exp.Paren, exp.Subquery)) and not (
        isinstance(last.this, exp.Subquery) and last.this.args.get("alias")
    )


def _checked(text: str, report: Report, *, is_write: bool = False) -> exp.Expr | None:
    before = len(report.issues)
    tree = parse_statement(text, report, is_write=is_write)
    if tree is not None and check_weight(tree, text, report):
        check_nodes(tree, report)
    return None if len(report.issues) > before else tree


def _read(tree: exp.Expr, text: str, schema: SchemaSpec, names: Names, report: Report) -> Compiled | None:
    before = len(report.issues)
    reader = WriteReader(schema, names, report)
    query: Query | None = None
    if isinstance(tree, (exp.Select, exp.Union)):
        query = reader.query(tree, None, {})
    else:
        reader.write(tree)
    if len(report.issues) > before:
        return None
    statement = Statement(
        source=text,
        sqlite=_render(tree, "sqlite", reader, names),
        duckdb=_render(tree, "duckdb", reader, names),
        binds=(*reader.binds, *reader.relations),
        columns=tuple(name or f"column_{number}" for number, name in enumerate(query.names, 1))
        if query is not None
        else (),
        types=tuple(info.type for info in query.infos) if query is not None else (),
        lineage=tuple(info.base for info in query.infos) if query is not None else (),
        reads=frozenset(reader.reads),
        writes=frozenset(reader.writes),
        consumes=frozenset(reader.consumes),
        equalities=frozenset(reader.equalities),
    )
    if max(len(statement.sqlite), len(statement.duckdb)) > LONGEST_RENDERED:
        report.add("nested macros make the statement too long", "compute the inner values in a let step")
        return None
    return Compiled(statement, query, frozenset(reader.uses_ord))


def _render(tree: exp.Expr, engine: EngineName, reader: WriteReader, names: Names) -> str:
    text = Renderer(engine, {name: info.type for name, info in names.values.items()}).sql(tree)
    if not reader.relations:
        return text
    queries = [_relation_query(name, names.relations[name], engine) for name in reader.relations]
    return f"WITH {', '.join(queries)}" + (
        f", {text.removeprefix('WITH ')}" if text.startswith("WITH ") else f" {text}"
    )


def _relation_query(name: str, columns: Mapping[str, Info], engine: EngineName) -> str:
    """Return the WITH query that makes rows of the JSON text bound under the relation's name."""
    bind = f":{name}" if engine == "sqlite" else f"CAST(${name} AS VARCHAR)"
    whole = "INTEGER" if engine == "sqlite" else "BIGINT"
    text = "TEXT" if engine == "sqlite" else "VARCHAR"
    fields = [f"CAST(key AS {whole}) AS ord"]
    for column, info in columns.items():
        if column != "ord":
            fields.append(f"CAST(value ->> '$.{column}' AS {text if info.type in TEXT_TYPES else whole}) AS {column}")
    return f"{name} AS (SELECT {', '.join(fields)} FROM json_each({bind}))"
