"""What a domain is drafted from, beside its name: somebody's tables, operations and policy."""

from __future__ import annotations

from dataclasses import dataclass

from toolscale.records import SchemaSpec

MOST_TABLES = 12
"""Tables that a domain is drafted from; of more, somebody chooses."""

MOST_OPERATIONS = 40
"""Operations that a domain is drafted from; of more, somebody chooses."""


@dataclass(frozen=True)
class Operation:
    """Something that a service or a tool does."""

    name: str
    """As a tool is called here: `cancel_order`."""
    writes: bool
    line: str
    """How it is told to a model: what it does, takes and returns."""


@dataclass(frozen=True)
class Source:
    """What is known before anything is drafted."""

    name: str
    """Where it is from, as it may be shown."""
    schema: SchemaSpec | None = None
    """Tables that there are; the domain has exactly these."""
    columns: tuple[str, ...] = ()
    """What is known of their rows: a line for each table and column, with no value of a row."""
    operations: tuple[Operation, ...] = ()
    """What the service does; the domain has tools for most of these."""
    policy: str | None = None
    """Somebody's policy text."""
    notes: tuple[str, ...] = ()
    """What differs from the source (names, types, references), a line each."""
