"""Check what SQL and comparison ask of a schema: names that can be written plainly, and nothing volatile that must be
compared."""

from __future__ import annotations

from collections.abc import Iterator

from toolscale.errors import SpecIssue
from toolscale.records import ColumnSpec, SchemaSpec
from toolscale.sql.allowlist import IDENTIFIER

_RESERVED = (
    "add all alter analyse analyze and anti any array as asc asof asymmetric at authorization autoincrement between "
    "binary both by case cast check collate collation column commit concurrently constraint create cross current_date "
    "current_time current_timestamp default deferrable delete desc describe distinct do drop else end escape except "
    "exclude exists false fetch for foreign freeze from full glob grant group having if ilike in index initially "
    "inner insert intersect into is isnull join lambda lateral leading left like limit natural not nothing notnull "
    "null offset on only or order outer overlaps pivot pivot_longer pivot_wider placing positional primary qualify "
    "raise references regexp returning revoke right rollback select semi set show similar some summarize symmetric "
    "table tablesample then to trailing transaction true union unique unpack unpivot update using values variadic "
    "verbose when where window with"
)
RESERVED_WORDS = frozenset(_RESERVED.split())
"""Words that SQLite, DuckDB or sqlglot does not take for the name of a table and of a column everywhere (tried, all
three)."""


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
    elif name.startswith("sqlite_") and what == "table":
        yield f"{name!r} cannot name a table: SQLite keeps such names for itself", "choose another name"
    elif name in RESERVED_WORDS or name == "ord":
        yield f"{name!r} is a word of SQL", f"choose another name, {name}_{'rows' if what == 'table' else 'value'} say"


def _volatile_problems(table: str, name: str, spec: ColumnSpec) -> Iterator[tuple[str, str]]:
    if spec.volatile and spec.type == "cents":
        yield f"money in {table}.{name} is volatile: wrong amounts would pass", "compare it: remove volatile"
    elif spec.volatile and spec.pk:
        yield f"the key {table}.{name} is volatile: wrong rows would pass", "compare it: remove volatile"
