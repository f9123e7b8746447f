"""What the values of a column are: the type that most of them have, these as figures take them, and what is said of the
rest.

A declared type holds if more than half of the values fit it, since few files are without an odd one (`n/a`); a type
that is not declared is taken if nine of ten do.
"""

from __future__ import annotations

import datetime
import decimal
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from toolscale.draft.sources.column_types import Kind
from toolscale.draft.sources.reflection import FoundColumn
from toolscale.patterns import regex
from toolscale.records.schema import ColumnType

LARGEST = 2**63 - 1
"""Whole numbers that a domain can hold go from minus this to this."""

_MONEY = regex(
    r"(^|_)(price|amount|total|subtotal|cost|fee|fees|balance|salary|tax|discount|payment|paid|due|deposit|premium|rent"
    r"|refund|credit|debit|wage|revenue|budget|charge)(_|$)"
)
_SHARE = regex(r"(^|_)(discount|tax)(_|$)")
"""What is money or a share of it, as its values say."""
_DAY = regex(r"\d{4}-\d\d-\d\d")
_BEYOND = regex(r"\d{5,}-\d\d-\d\d([T ].*)?|\d{4,}-\d\d-\d\d([T ].*)? \(?BC\)?|-?infinity")
"""Days that a server gives and Python has not: of the year 10000, or 44 BC."""
_MOMENT = regex(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?(\.\d+)?( ?(Z|UTC|[+-]\d\d(:?\d\d)?(:\d\d)?))?")
_TIME = regex(r"([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d+)?)?([+-]\d\d(:?\d\d)?)?")
_TRUTHS = frozenset(("0", "1", "t", "f", "true", "false", "y", "n", "yes", "no", "on", "off"))
_EPOCHS = ((10**8, 10**10, 1), (10**11, 10**13, 1_000))
"""Least and most seconds or milliseconds since 1970 that are taken for moments, and how many make a second."""


@dataclass
class Values:
    """The values of a column, in the type that they have here."""

    type: ColumnType | None
    """None if no column here can hold them: bytes."""
    numbers: list[int] = field(default_factory=list)
    days: list[datetime.date] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    scaled: bool = False
    """Whether a number with a fraction was taken times 100."""
    notes: tuple[str, ...] = ()
    """What of them differs from what is declared, or is left aside."""


def values_of(column: FoundColumn, held: Sequence[Any]) -> Values:
    """Return what the values of a column are, of which none is NULL."""
    kind, lines = column.kind or "text", list[str]()
    if kind not in ("any", "text"):
        fitting = [value for value in held if _FITS[kind](value)]
        odd = _odd(len(held) - len(fitting), held, kind)
        if 2 * len(fitting) > len(held) or not held:
            return _typed(column, kind, fitting, [f"{odd}, and left aside"] if odd else [])
        lines.append(f"{column.type}, but {odd}")
    if (found := _guess(held)) is not None:
        fitting = [value for value in held if _FITS[found](value)]
        odd = _odd(len(held) - len(fitting), held, found)
        if odd:
            lines.append(f"taken for a {_CALLED[found]}; {odd}, and left aside")
        elif kind != "any" or found not in ("whole", "real"):
            lines.append(f"taken for a {_CALLED[found]}; each value is one")
        return _typed(column, found, fitting, lines)
    raw = sum(isinstance(value, bytes) for value in held)
    if 2 * raw > len(held):
        return Values(None, notes=(f"left out, {_share(raw, held)} bytes",))
    if lines or (kind == "any" and not all(isinstance(value, str) for value in held)):
        lines.append("taken for text, since its values are of several types")
    elif raw:
        lines.append(f"{_share(raw, held)} bytes, and left aside")
    texts = [str(value) for value in held if not isinstance(value, bytes)]
    return Values("text", texts=texts, notes=tuple(lines))


def _typed(column: FoundColumn, kind: Kind, held: Sequence[Any], lines: Sequence[str]) -> Values:
    """Return values that all fit a kind."""
    notes = [*lines]
    if kind == "bool":
        return Values("bool", notes=tuple(notes))
    if kind == "time":
        return Values("time", notes=tuple(notes))
    if kind in ("date", "moment"):
        days = [day for value in held if (day := day_of(value))]
        if beyond := [value for value in held if day_of(value) is None]:
            notes.append(f"{_share(len(beyond), held)} beyond the years 1 to 9999; left out of the bounds")
        if numbers := [value for value in held if not isinstance(value, str)]:
            notes.append(f"{_share(len(numbers), held)} kept there as a number of seconds or milliseconds")
        return Values("date" if kind == "date" else "datetime", days=days, notes=tuple(notes))
    values = _Numbers(column, kind, held)
    return Values(values.type, values.whole, scaled=values.scaled, notes=(*notes, *values.notes))


class _Numbers:
    """Numbers as whole numbers."""

    def __init__(self, column: FoundColumn, kind: Kind, held: Sequence[Any]):
        factor, name = 1, column.name.lower()
        self.type: ColumnType = "int"
        self.scaled, self.notes = False, list[str]()
        finite = [value for value in held if math.isfinite(value)]
        if kind == "whole":
            is_flag = re.match(r"(is|has|can|was)_", name) or re.match(r"TINYINT ?\(1\)", column.type)
            if is_flag and set(finite) <= {0, 1}:
                self.type = "bool"
                self.notes += ["taken for a bool; each value is 0 or 1"] if held else []
            elif name.endswith("_cents"):
                self.type = "cents"
        elif kind != "money" and _SHARE.search(_words(column.name)) and finite and 0 <= min(finite) <= max(finite) <= 1:
            self.scaled, factor = True, 100
            self.notes.append("taken for a share, in hundredths; each value is from 0 to 1")
        elif kind == "money" or _MONEY.search(_words(column.name)) or column.has_cents:
            self.type, factor = "cents", 100
        elif any(value != math.floor(value) for value in finite):
            self.scaled, factor = True, 100
        whole = [round(decimal.Decimal(value) * factor) for value in finite]
        self.whole = [number for number in whole if -LARGEST - 1 <= number <= LARGEST]
        if self.whole and self.type == "int" and not self.scaled and column.kind in ("decimal", "real"):
            self.notes.append("taken for a whole number; each value is one")
        if beyond := len(held) - len(self.whole):
            self.notes.append(f"{_share(beyond, held)} beyond what can be held; left out of the bounds")
        if self.type == "bool":
            self.whole = []


def day_of(value: Any) -> datetime.date | None:
    """Return the day of a date or moment, a number of seconds or milliseconds too; None for one that Python has not."""
    if isinstance(value, int | float):
        unit = next((unit for least, most, unit in _EPOCHS if least <= value < most), None)
        return datetime.datetime.fromtimestamp(value / unit, datetime.UTC).date() if unit else None
    try:
        return None if str(value).endswith(("BC", "BC)")) else datetime.date.fromisoformat(str(value)[:10])
    except ValueError:
        return None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | decimal.Decimal) and not isinstance(value, bool)


def _is_whole(value: Any) -> bool:
    return _is_number(value) and (not math.isfinite(value) or value == math.floor(value))


def _is_plain_day(value: Any) -> bool:
    return isinstance(value, str) and _DAY.fullmatch(value) is not None and day_of(value) is not None


def _is_day(value: Any) -> bool:
    if not isinstance(value, str):
        return False
    is_one = _DAY.fullmatch(value) is not None or _MOMENT.fullmatch(value) is not None
    return (is_one and day_of(value) is not None) or _BEYOND.fullmatch(value) is not None


def _is_moment(value: Any) -> bool:
    return _is_day(value) or (_is_number(value) and day_of(value) is not None)


def _is_time(value: Any) -> bool:
    return isinstance(value, str) and _TIME.fullmatch(value) is not None


def _is_truth(value: Any) -> bool:
    return str(value).lower() in _TRUTHS


_FITS: dict[Kind, Callable[[Any], bool]] = {
    "whole": _is_whole, "decimal": _is_number, "real": _is_number, "money": _is_number, "bool": _is_truth,
    "date": _is_day, "moment": _is_moment, "time": _is_time,
}  # fmt: skip
_CALLED: dict[Kind, str] = {
    "whole": "whole number", "decimal": "number", "real": "number", "money": "number", "bool": "bool", "date": "date",
    "moment": "moment", "time": "time of day",
}  # fmt: skip
_GUESSED: tuple[tuple[Kind, Callable[[Any], bool]], ...] = (
    ("whole", _is_whole), ("real", _is_number), ("date", _is_plain_day), ("moment", _is_day), ("time", _is_time),
)  # fmt: skip
"""Kinds that are tried, in this order, where the values say what a column is."""


def _guess(held: Sequence[Any]) -> Kind | None:
    """Return the kind that nine of ten values have."""
    least = max(1, math.ceil(0.9 * len(held)))
    return next((kind for kind, fits in _GUESSED if sum(map(fits, held)) >= least), None)


def _share(some: int, held: Sequence[Any]) -> str:
    return f"{some} of {len(held)} values {'is' if some == 1 else 'are'}"


def _odd(some: int, held: Sequence[Any], kind: Kind) -> str:
    return f"{_share(some, held)} no {_CALLED[kind]}" if some else ""


def _words(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
