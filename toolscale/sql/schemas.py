"""Check what SQL and comparison ask of a schema: names that can be written plainly, and nothing volatile that must be compared."""

from __future__ import annotations

from collections.abc import Iterator

from toolscale.errors import SpecIssue
from toolscale.records import ColumnSpec, SchemaSpec
from toolscale.sql.allowlist import IDENTIFIER

_RESERVED = (
    "add all alter analyze and any array as asc at both by case cast check collate column commit constraint create cross current_date "
    "current_time current_timestamp default deferrable delete desc describe distinct drop else end escape except exists false fetch filter "
    "for foreign from full glob grant group having if in index inner insert intersect into is isnull join lateral leading left like limit "
    "match natural no not notnull null offset on only or order outer over partition pivot placing pragma primary qualify references regexp "
    "returning right row rows select set show some symmetric table then to top trailing transaction true union unique unpivot update user "
    "using values when where window with"
)  # fmt: skip
RESERVED_WORDS = frozenset(_RESERVED.split())
"""Words that one of the engines, or the parser, would not take for a name."""


def lint_schema(schema: SchemaSpec, *, file: str = "schema.yaml") -> list[SpecIssue]:
    """Return the names that cannot be written plainly, and the volatile columns that wrong results would hide in."""
    issues: list[SpecIssue] = []
    for name, table in schema.tables.items():
        issues += [SpecIssue(file, f"tables.{name}", problem, remedy) for problem, remedy in _name_problems(name, "table")]
        for column, spec in table.columns.items():
            found = [*_name_problems(column, "column"), *_volatile_problems(name, column, spec)]
            issues += [SpecIssue(file, f"tables.{name}.columns.{column}", problem, remedy) for problem, remedy in found]
    return issues


def _name_problems(name: str, what: str) -> Iterator[tuple[str, str]]:
    if not IDENTIFIER.match(name) or "__" in name:
        yield f"{name!r} cannot name a {what}", "use small letters, digits and single underscores"
    elif name in RESERVED_WORDS or name == "ord":
        yield f"{name!r} is a word of SQL", f"choose another name, {name}_{'rows' if what == 'table' else 'value'} say"


def _volatile_problems(table: str, name: str, spec: ColumnSpec) -> Iterator[tuple[str, str]]:
    if spec.volatile and spec.type == "cents":
        yield f"money in {table}.{name} is volatile: wrong amounts would pass", "compare it: remove volatile"
    elif spec.volatile and spec.pk:
        yield f"the key {table}.{name} is volatile: wrong rows would pass", "compare it: remove volatile"
