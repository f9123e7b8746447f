"""Names of somebody's tables and operations, in the form that names have here."""

from __future__ import annotations

import re
from collections.abc import Collection

from toolscale.sql.schemas import RESERVED_WORDS


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
        return name.removesuffix("s")
    return name


def usable(name: str, taken: Collection[str], ending: str) -> str:
    """Return a name that is no word of SQL and not taken: `order` is `order_entry`."""
    if name in RESERVED_WORDS:
        name = f"{name}_{ending}"
    number, found = 2, name
    while found in taken:
        found, number = f"{name}{number}", number + 1
    return found
