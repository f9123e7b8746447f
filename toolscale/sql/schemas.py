"""Check what SQL and comparison ask of a schema: names that can be written plainly, conditions that a table can have,
and nothing volatile that must be compared."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from toolscale.errors import SpecError, SpecIssue
from toolscale.forbidden_names import OWN, refusals
from toolscale.records import ColumnSpec, SchemaSpec
from toolscale.sql.allowlist import IDENTIFIER
from toolscale.sql.parsing import parse_statement
from toolscale.sql.report import Report, shorten
from toolscale.sql.statements import compile_condition

_AS_WRITTEN = frozenset(("COALESCE", "NULLIF", "ABS", "LENGTH", "SUBSTR", "INSTR", "REPLACE"))
"""Functions that mean the same on both engines, written alike."""


def lint_schema(schema: SchemaSpec, *, file: str = "schema.yaml") -> list[SpecIssue]:
    """Return the names that cannot be written plainly, and the volatile columns that wrong results would hide in."""
    issues: list[SpecIssue] = []
    for name, table in schema.tables.items():
        issues += [
            SpecIssue(file, f"tables.{name}", problem, remedy) for problem, remedy in _name_problems(name, "table")
        ]
        for column, spec in table.columns.items():
            found = [*_name_problems(column, "column"), *_volatile_problems(name, column, spec)]
            issues += [SpecIssue(file, f"tables.{name}.columns.{column}", problem, remedy) for problem, remedy in found]
    return issues


def lint_check(text: str, schema: SchemaSpec, *, table: str, place: str) -> list[SpecIssue]:
    """Return what is wrong with a condition that a table is to have. It stands in CREATE TABLE as it is written, for
    both engines: so it reads no other row and no clock, and has only functions that mean the same on both."""
    file = "schema.yaml"
    try:
        statement = compile_condition(text, schema, table=table, place=place, file=file)
    except SpecError as error:
        return list(error.issues)
    tree = parse_statement(f"SELECT ({text}\n)", Report(file, place))
    assert tree is not None  # it was compiled
    (condition,) = tree.expressions
    if condition.find(exp.Select):
        found = ["a sub-select"]
    else:
        called = [function.name for function in condition.find_all(exp.Anonymous)]
        found = [f":{name}" for name in statement.binds]
        found += [f"{name}()" for name in called if name.upper() not in _AS_WRITTEN]
    remedy = "write it as an invariant in rules.yaml, or as a check step of the tools that write it"
    return [
        SpecIssue(file, place, f"{shorten(text)!r} has {each}, which a check of a table cannot have", remedy)
        for each in found
    ]


def _name_problems(name: str, what: str) -> Iterator[tuple[str, str]]:
    if not IDENTIFIER.match(name) or "__" in name:
        yield f"{name!r} cannot name a {what}", "use small letters, digits and single underscores"
        return
    for found in refusals(name, what, but=(OWN,)):  # the tables that are built in are among those of a schema here
        another = f", {name}_{'rows' if what == 'table' else 'value'} say" if name in found.words else ""
        yield f"{name!r} {found.why}", f"choose another name{another}"


def _volatile_problems(table: str, name: str, spec: ColumnSpec) -> Iterator[tuple[str, str]]:
    if spec.volatile and spec.type == "cents":
        yield f"money in {table}.{name} is volatile: wrong amounts would pass", "compare it: remove volatile"
    elif spec.volatile and spec.pk:
        yield f"the key {table}.{name} is volatile: wrong rows would pass", "compare it: remove volatile"
