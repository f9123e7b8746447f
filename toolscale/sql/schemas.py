"""Check what SQL and comparison ask of a schema: names that can be written plainly, and nothing volatile that must be
compared."""

from __future__ import annotations

from collections.abc import Iterator

from toolscale.errors import SpecIssue
from toolscale.forbidden_names import OWN, refusals
from toolscale.records import ColumnSpec, SchemaSpec
from toolscale.sql.allowlist import IDENTIFIER


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
