"""Which columns decide which: whether a SELECT gives at most one row, and whether an ORDER BY leaves anything open."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from toolscale.sql.scopes import Place, Source


@dataclass(slots=True)
class Facts:
    """What the conditions of a SELECT say about its columns."""

    fixed: set[Place] = field(default_factory=set)
    """Equal to a value that does not depend on the row."""
    decides: list[tuple[Place, Place]] = field(default_factory=list)
    """(a, b): rows that agree in a agree in b."""


def closure(start: Iterable[Place], sources: Mapping[str, Source], facts: Facts) -> set[Place]:
    """Return every column that is the same in two joined rows which agree in `start`."""
    reached = set(start) | facts.fixed
    fixed = set(facts.fixed)
    while True:
        before = len(reached), len(fixed)
        for known, is_fixed in ((reached, False), (fixed, True)):
            known |= {there for here, there in facts.decides if here in known}
            for source in sources.values():
                keys = (*source.keys, *source.nullable_keys) if is_fixed else source.keys
                if any({(source.alias, name) for name in key} <= known for key in keys):
                    known |= {(source.alias, name) for name in source.columns}
        reached |= fixed
        if before == (len(reached), len(fixed)):
            return reached


def covers(known: Collection[Place], sources: Mapping[str, Source]) -> bool:
    """Return whether two joined rows that agree in the columns `known` (already closed) are the same row."""
    return all(
        any(all((source.alias, name) in known for name in key) for key in source.keys) for source in sources.values()
    )
