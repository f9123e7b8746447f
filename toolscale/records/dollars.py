"""Dollars that may not be known: what is unknown is None, never 0."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

from pydantic import Field

Dollars = Annotated[float, Field(ge=0, allow_inf_nan=False)]


def dollars_of(parts: Iterable[float | None]) -> float | None:
    """Return the sum of dollars; None if any of them is not known."""
    total = 0.0
    for part in parts:
        if part is None:
            return None
        total += part
    return total
