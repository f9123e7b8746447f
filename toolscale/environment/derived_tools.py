"""Look-ups that nobody has to write: `lookups` of toolset.yaml, derived from the schema and from how rows are named.

    find_member          members by what people say of themselves (describe.members.identity in language.yaml)
    find_plan            plans by what people call them (describe.plans.name), where no row belongs to a person; where
                         there are several such descriptions, find_plan_by_name and find_plan_by_price
    list_loans           the loans of a member, by the foreign key; list_cards_by_account where a table has several
    get_loan             one loan by its key

They are tools like any others: compiled, admitted and judged as if they stood in the file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from toolscale.environment.complaints import unknown
from toolscale.errors import SpecIssue
from toolscale.forbidden_names import LONGEST
from toolscale.records import LanguageSpec, SchemaSpec, TableSpec, ToolsetSpec, ToolSpec
from toolscale.records.tool import Lookup

FILE = "toolset.yaml"
IDENTITY = "identity"
"""The description by which people name themselves, or what is theirs."""

MOST_FOUND = 20
"""Rows that a name finds, where capitals do not count: a statement that cannot use an index must end somewhere."""

_TYPES = {
    "text": {"type": "string"},
    "date": {"type": "string", "format": "date"},
    "time": {"type": "string", "format": "time"},
    "int": {"type": "integer"},
    "cents": {"type": "integer"},
}
"""Type of a column -> JSON Schema of a parameter that is compared with it."""


def with_lookups(
    toolset: ToolsetSpec, schema: SchemaSpec, language: LanguageSpec
) -> tuple[ToolsetSpec, list[SpecIssue]]:
    """Return the toolset with its look-ups before its own tools, and what is wrong with `lookups`. A tool that the file
    declares takes the place of a derived one of its name."""
    own, derived, issues = {tool.name for tool in toolset.tools}, dict[str, ToolSpec](), list[SpecIssue]()
    wanted: dict[str, Sequence[Lookup]] = (
        dict.fromkeys(schema.tables, ("find", "list", "get")) if toolset.lookups == "auto" else dict(toolset.lookups)
    )
    for table, kinds in wanted.items():
        place = f"lookups.{table}"
        if table not in schema.tables:
            issues.append(unknown("table", table, schema.tables, FILE, place, is_key=True))
            continue
        for kind in kinds:
            tools = [ToolSpec.model_validate(tool) for tool in _MAKERS[kind](table, schema, language)]
            for name in (tool.name for tool in tools if tool.name in derived and tool.name not in own):
                remedy = f"call their keys so that they differ, or write {name}"
                issues.append(SpecIssue(FILE, place, f"{name} is derived of another table too", remedy))
            derived |= {tool.name: tool for tool in tools if tool.name not in own}
            if not tools and toolset.lookups != "auto":
                issues.append(SpecIssue(FILE, place, *_MISSING[kind](table)))
    return toolset.model_copy(update={"tools": (*derived.values(), *toolset.tools)}), issues


def _find(table: str, schema: SchemaSpec, language: LanguageSpec) -> Iterator[dict[str, Any]]:
    spec = schema.tables[table]
    names = {IDENTITY} if table not in _nobodys(schema, language) else set(language.describe.get(table, {}))
    ways = {
        each.cols: name
        for name, each in language.describe.get(table, {}).items()
        if name in names and each.cols and _comparable(spec, each.cols)
    }
    for columns, name in ways.items():
        yield {
            "name": f"find_{_singular(table, spec)}" + (f"_by_{name}" if len(ways) > 1 and name != IDENTITY else ""),
            "description": f"Find {_words(table)} by {_listed(columns)}. Returns all that fit; none is no error.",
            "parameters": {name: _parameter(spec, name) for name in columns},
            "returns": {
                table: {
                    "rows": f"{_select(table, spec)} WHERE "
                    + " AND ".join(_equal(spec, name, exact=IDENTITY in names) for name in columns)
                    + f" ORDER BY {', '.join(spec.key)}"
                    + ("" if IDENTITY in names else f" LIMIT {MOST_FOUND}")
                }
            },
        }


def _comparable(spec: TableSpec, columns: Sequence[str]) -> bool:
    return all(name in spec.columns and spec.columns[name].type in _TYPES for name in columns)


def _equal(spec: TableSpec, column: str, *, exact: bool) -> str:
    """Return the condition that a column is what is asked for: of things, whatever the capitals."""
    if exact or spec.columns[column].type != "text":
        return f"{column} = :{column}"
    return f"LOWER({column}) = LOWER(:{column})"


def _nobodys(schema: SchemaSpec, language: LanguageSpec) -> set[str]:
    """Return the tables of which no row belongs to somebody who is found by an identity: plans, services."""
    theirs = {table for table, ways in language.describe.items() if IDENTITY in ways}
    while more := {
        name
        for name, spec in schema.tables.items()
        if name not in theirs
        and any(column.fk and column.fk.split(".")[0] in theirs for column in spec.columns.values())
    }:
        theirs |= more
    return set(schema.tables) - theirs


def _list(table: str, schema: SchemaSpec, language: LanguageSpec) -> Iterator[dict[str, Any]]:
    spec = schema.tables[table]
    linked = [(name, (column.fk or "").partition(".")) for name, column in spec.columns.items()]
    links = [(name, parent, key) for name, (parent, _, key) in linked if parent in schema.tables and key]
    parents = [parent for _, parent, _ in links]
    days = [name for name, column in spec.columns.items() if column.type in _DAYS and not column.nullable][:1]
    order = ", ".join([*days, *spec.key])
    for column, parent, key in links:
        owner = _singular(parent, schema.tables[parent])
        by = owner if parents.count(parent) == 1 else column.removesuffix("_id") or column
        sorted_by = f", by {_words(days[0])}" if days else ""
        yield {
            "name": f"list_{table}" if len(links) == 1 else f"list_{table}_by_{by}"[:LONGEST].rstrip("_"),
            "description": f"List all {_words(table)} of {_article(by)}{sorted_by}.",
            "parameters": {column: _parameter(spec, column)},
            "steps": [_guard(owner, f"SELECT {key} FROM {parent} WHERE {key} = :{column}", column)],
            "returns": {table: {"rows": f"{_select(table, spec)} WHERE {column} = :{column} ORDER BY {order}"}},
        }


def _get(table: str, schema: SchemaSpec, language: LanguageSpec) -> Iterator[dict[str, Any]]:
    spec = schema.tables[table]
    if len(spec.key) != 1 or spec.columns[spec.key[0]].type not in _TYPES:
        return
    (key,), name = spec.key, _singular(table, spec)
    yield {
        "name": f"get_{name}",
        "description": f"Show one {_words(name)}.",
        "parameters": {key: _parameter(spec, key)},
        "steps": [_guard(name, f"SELECT {key} FROM {table} WHERE {key} = :{key}", key)],
        "returns": {name: {"row": f"{_select(table, spec)} WHERE {key} = :{key}"}},
    }


_DAYS = ("date", "datetime", "time")
_MAKERS: dict[Lookup, Callable[[str, SchemaSpec, LanguageSpec], Iterator[dict[str, Any]]]] = {
    "find": _find,
    "list": _list,
    "get": _get,
}
_MISSING: dict[Lookup, Callable[[str], tuple[str, str]]] = {
    "find": lambda table: (
        f"{table} cannot be found: nothing says how people name one",
        f"describe it in language.yaml: describe.{table}.{IDENTITY} with cols of texts, dates, times or numbers",
    ),
    "list": lambda table: (f"{table} belongs to no other table", "give it a foreign key (fk), or leave list out"),
    "get": lambda table: (f"{table} has no key of one column", "leave get out, or write the tool"),
}
"""Kind -> what is wrong, and what to do, where no such look-up can be made of a table."""


def _guard(name: str, sql: str, parameter: str) -> dict[str, str]:
    return {"let": name, "sql": sql, "error": f"No {_words(name)} {{{parameter}}}"}


def _select(table: str, spec: TableSpec) -> str:
    return f"SELECT {', '.join(spec.columns)} FROM {table}"


def _parameter(spec: TableSpec, column: str) -> dict[str, str]:
    description = spec.columns[column].description
    return {**_TYPES[spec.columns[column].type], **({"description": description} if description else {})}


def _singular(table: str, spec: TableSpec) -> str:
    """Return what one row is called in the names of tools: the key without `_id`, else the table without its s (as
    where the key is that of another table, of which each row has one)."""
    if len(spec.key) == 1 and spec.key[0].endswith("_id") and spec.key[0] != "_id" and not spec.columns[spec.key[0]].fk:
        return spec.key[0].removesuffix("_id")
    return table.removesuffix("s") or table


def _words(name: str) -> str:
    return name.replace("_", " ")


def _article(name: str) -> str:
    return f"{'an' if name[0] in 'aeiou' else 'a'} {_words(name)}"


def _listed(columns: Sequence[str]) -> str:
    *first, last = map(_words, columns)
    return f"{', '.join(first)} and {last}" if first else last
