"""Which values a kind of `population.yaml` can make, where that is a closed set."""

from __future__ import annotations

from toolscale.records.population import By, Choice, Literally, Maybe, Scalar, Value

Possible = frozenset[str] | None
"""The values as the cases of a choice name them; None if the set is open."""


def possible(value: Value) -> Possible:
    """Return the values that this kind can make."""
    if isinstance(value, Literally):
        return frozenset((_named(value.value),))
    if isinstance(value, Choice):
        return frozenset(map(_named, value.choice))
    if isinstance(value, By):
        found: Possible = frozenset()
        for inner in value.cases.values():
            found = either(found, possible(inner))
        return found
    if isinstance(value, Maybe):
        return either(frozenset((_named(None),)), possible(value.otherwise))
    return None


def either(one: Possible, other: Possible) -> Possible:
    """Return the values of both."""
    return None if one is None or other is None else one | other


def _named(value: Scalar) -> str:
    return str(int(value) if isinstance(value, bool) else value)
