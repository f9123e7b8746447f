"""Names of somebody's tables and operations, in the form that names have here."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from toolscale.forbidden_names import LONGEST, LONGEST_TABLE, refusals

KINDS: Mapping[str, tuple[str, ...]] = {
    "entry": ("table", "role"),
    "call": ("tool",),
    "input": ("parameter", "field"),
    "rows": ("parameter", "field", "relation"),
}
"""What is put behind a name that is forbidden -> of what it is the name; else of a column, which look-ups take as a
parameter."""


def snake(name: str) -> str:
    """Return a name in small letters, digits and single underscores, beginning with a letter: `OrderItems` is
    `order_items`, `2fa-Codes` is `n2fa_codes`; nothing if it has neither a letter nor a digit."""
    parted = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name)
    plain = re.sub(r"[^a-z0-9]+", "_", parted.lower()).strip("_")
    return f"n{plain}" if plain[:1].isdigit() else plain


def singular(name: str) -> str:
    """Return what one row of a table is called: `order_items` is `order_item`, `addresses` is `address`."""
    for ending, instead in (("ies", "y"), ("sses", "ss"), ("xes", "x"), ("ches", "ch"), ("shes", "sh")):
        if name.endswith(ending) and len(name) > len(ending) + 1:
            return name.removesuffix(ending) + instead
    if name.endswith("s") and not name.endswith(("ss", "us", "is")) and len(name) > 2:
        return name.removesuffix("s").rstrip("_")
    return name


def usable(name: str, taken: Collection[str], ending: str, next_: dict[str, int] | None = None) -> str:
    """Return a name that nobody refuses and that is not taken: `order` is `order_entry`. What is too long is cut.
    `next_`: the number that the next one of a name gets, where there may be very many."""
    kinds, longest = KINDS.get(ending, ("column", "parameter")), LONGEST_TABLE if ending == "entry" else LONGEST
    if len(name) > longest:
        name = name[: longest - 3].strip("_")
    if any(refusals(name, kind) for kind in kinds):
        name = f"{name}_{ending}"
        if any(refusals(name, kind) for kind in kinds):
            name = f"{ending}_{name}"
    number, found = (next_ or {}).get(name, 2), name
    while found in taken:
        found, number = f"{name}{number}", number + 1
    if next_ is not None:
        next_[name] = number
    return found
