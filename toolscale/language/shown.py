"""What a rollout was shown by its own calls: rows, what people call them, and which quantity each value in them is."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import combinations, permutations
from typing import Any

from toolscale.language.labels import Forms, Labels
from toolscale.language.times import DAY, clock_text, minutes_of
from toolscale.patterns import regex

Value = tuple[str, Any]
"""(kind of fact, value)."""

_MOST_SUMMED = 60
"""The most amounts of which every two are added and subtracted. With more, some result would match any amount by
chance."""

QUANTITIES = {
    "left": regex(
        r"\b(?:left|leaves?|leaving|remain\w*|available|balances?|holds?|has|have|keeps?|keeping|stands?|sits?|owes?|owed|outstanding|still|now)\b"
    ),
    "moved": regex(
        r"\b(?:mov(?:ed|ing|e)|transferr?ed|sent|send|paid|pays?|paying|payments?|br(?:ought|ing)|shift\w*|top\w*|wired?|cost|bill\w*|instal+ments?"
        r"|short\w*|missing|charges?|charged|orders?|dispute\w*|refund\w*|swept|went|came)\b"
    ),
    "fee": regex(r"\bfees?\b|\bfee-free\b|\bregistering\b"),
    "limit": regex(r"\b(?:limits?|cap(?:ped)?|maximum|at\smost|threshold|highest|allowed)\b"),
    "start": regex(r"\b(?:depart\w*|leav(?:es?|ing)|left|start\w*|beg[iau]n\w*|open\w*|sails?|sailing|from)\b"),
    "end": regex(r"\b(?:arriv\w*|g[eo]ts?\sin|reach\w*|lands?|landed|ends?|ended|finish\w*|clos\w*|until|till|over)\b"),
    "board": regex(r"\bboard\w*\b"),
}
"""Quantity -> the words with which people speak of it. The last three are sides of something that takes time."""

SIDES = frozenset(("start", "end", "board"))

LAST_DAY = regex(r"(?:^|_)(?:by|until|till|through|last|latest|deadline|ends?|expires?|expiry)(?:_|$)")
"""In the name of a column that holds the last day of something."""

_COLUMNS = (
    ("left", ("available", "balance", "outstanding", "missed")),
    ("fee", ("fee",)),
    ("limit", ("limit",)),
    ("moved", ("amount", "paid", "moved", "refunded", "monthly", "total")),
)

_TIMES = (
    ("board", ("board",)),
    ("start", ("depart", "start", "begin", "open", "leave")),
    ("end", ("arriv", "end", "finish", "clos", "until")),
)


@lru_cache(maxsize=65536)
def quantities_in(text: str) -> frozenset[str]:
    """Return the quantities of which a text in lower case speaks."""
    return frozenset(name for name, words in QUANTITIES.items() if words.search(text))


@lru_cache(maxsize=4096)
def quantity_of(column: str) -> str | None:
    """Return the quantity that a column holds, by its name."""
    columns = _TIMES if column.endswith("time") else _COLUMNS
    return next((name for name, parts in columns if any(part in column for part in parts)), None)


@dataclass(frozen=True)
class ShownRow:
    """A row of a result, or the arguments of a call. `names`: what people call it, or what it hangs on, in lower
    case."""

    names: frozenset[str]
    values: Mapping[str, Value]
    """Column -> (kind, value)."""
    written: bool = False
    """It stands in the arguments or the result of a call that writes."""


@dataclass(frozen=True, eq=False)
class Shown:
    """All rows that a rollout was shown."""

    rows: tuple[ShownRow, ...] = ()
    counts: frozenset[int] = frozenset()
    """How many rows the results had, whole and by each of their words."""
    sorts: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Name -> the tables of whose rows it is a name: only things of one sort can be taken for each other."""

    by_key: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Key of a row -> the names of that row, and of those that it refers to."""

    def hung_on(self, arguments: Mapping[str, Any]) -> frozenset[str]:
        """The names of the rows to which the arguments of a call refer."""
        return frozenset(
            name for value in arguments.values() if isinstance(value, str) for name in self.by_key.get(value, ())
        )

    @cached_property
    def values(self) -> frozenset[Value]:
        """Every value that was shown."""
        return frozenset(value for row in self.rows for value in row.values.values())

    @cached_property
    def names(self) -> frozenset[str]:
        """Every name by which a row that was shown, or one like it, can be called."""
        return self.seen | self.sorts.keys()

    @cached_property
    def numbered(self) -> frozenset[str]:
        """The names that have digits."""
        return frozenset(name for name in self.names if bare_figure(name))

    def columns_of(self, value: Value) -> frozenset[str]:
        """The columns in which a value stands."""
        return self._columns_of.get(value, frozenset())

    @cached_property
    def _columns_of(self) -> dict[Value, frozenset[str]]:
        return _united((value, frozenset((column,))) for row in self.rows for column, value in row.values.items())

    def rivals_of(self, value: Value, names: frozenset[str]) -> frozenset[str]:
        """Return those of `names` that name other things than the value's own, of the same sort."""
        return self.rivals_among(self.names_of(value), names)

    def rivals_among(self, its: frozenset[str], names: frozenset[str]) -> frozenset[str]:
        """Return those of `names` that are not in `its` but of the same sort; a sort does not count if `names` has one
        of `its` of that sort too."""
        if not its or names <= its:
            return frozenset()
        sorts = frozenset().union(*(self.sorts.get(name, frozenset()) for name in its))
        named = frozenset().union(*(self.sorts.get(name, frozenset()) for name in its & names))
        return frozenset(
            name for name in names - its if (found := self.sorts.get(name, frozenset())) & sorts and not found & named
        )

    def is_outdated(self, value: Value) -> bool:
        """Whether a call has written another value into the column in which a value was seen last."""
        if value not in self._outdated:
            self._outdated[value] = value in self.values and self._is_outdated(value)
        return self._outdated[value]

    @cached_property
    def _outdated(self) -> dict[Value, bool]:
        return {}

    def _is_outdated(self, value: Value) -> bool:
        last = {
            (column, row.names): place
            for place, row in enumerate(self.rows)
            for column, held in row.values.items()
            if held == value
        }
        return any(
            row.written and place > seen and column in row.values and row.values[column] != value and names & row.names
            for (column, names), seen in last.items()
            for place, row in enumerate(self.rows)
        )

    def is_quoted(self, value: Value) -> bool:
        """Whether a value was looked up, or follows from amounts that were, and no call has written it or said it of
        what was written."""
        if value in self._written:
            return False
        return value in self.values or (
            value[0] == "money" and bool(self.rows) and value[1] in self.derived(frozenset())
        )

    @cached_property
    def _written(self) -> frozenset[Value]:
        return frozenset(value for row in self.rows if row.written for value in row.values.values())

    def replaces(self, value: Value) -> bool:
        """Whether a call has put a value in the place of another that was seen."""
        return value in self._replacing

    @cached_property
    def _replacing(self) -> frozenset[Value]:
        return frozenset(
            held
            for place, row in enumerate(self.rows)
            if row.written
            for column, held in row.values.items()
            if any(
                column in seen.values and seen.values[column] != held and seen.names & row.names
                for seen in self.rows[:place]
            )
        )

    def is_stale(self, value: Value) -> bool:
        """Whether a value is outdated and was there before any call wrote into its column."""
        first = next((row for row in self.rows if value in row.values.values()), None)
        return first is not None and not first.written and self.is_outdated(value)

    def is_deadline(self, value: Value) -> bool:
        """Whether a day is one by which something happens, so that `by then at the latest` is what there is to say of
        it."""
        return any(
            held == value and LAST_DAY.search(column) for row in self.rows for column, held in row.values.items()
        )

    @cached_property
    def _names_of(self) -> dict[Value, frozenset[str]]:
        return _united((value, row.names) for row in self.rows for value in row.values.values())

    @cached_property
    def _quantities_of(self) -> dict[Value, frozenset[str]]:
        return _united(
            (value, frozenset((quantity,)))
            for row in self.rows
            for column, value in row.values.items()
            if (quantity := quantity_of(column))
        )

    @cached_property
    def texts(self) -> str:
        """Every text that was shown, in lower case, one after the other."""
        return " ".join(sorted(str(value) for kind, value in self.values if kind == "text")).lower()

    @cached_property
    def figures(self) -> frozenset[str]:
        """Every figure that was shown, in a text or as a number, in digits alone."""
        return frozenset().union(*(figures_of(str(value)) for _, value in self.values))

    @cached_property
    def forms(self) -> Forms:
        """How all names may be written, by their first word."""
        return Forms(self.names)

    @cached_property
    def found_in(self) -> dict[int, Labels]:
        """id() of a message -> where the names stand in it."""
        return {}

    @cached_property
    def asked(self) -> dict[int, Any]:
        """id() of facts -> what they ask of a message (`language.message`)."""
        return {}

    @cached_property
    def seen(self) -> frozenset[str]:
        """Every name of a row that was shown."""
        return frozenset(name for row in self.rows for name in row.names)

    def names_of(self, value: Value) -> frozenset[str]:
        """The names of all rows in which a value stands. For a total of several rows: the names that all of them have.
        Else none."""
        return self._names_of.get(value) or (
            self._totals.get(value[1], frozenset()) if value[0] == "money" else frozenset()
        )

    @cached_property
    def _totals(self) -> dict[int, frozenset[str]]:
        """The total of a column over several rows with one name -> that name, and the others that all these rows
        have."""
        added: dict[tuple[str, str], tuple[int, int, frozenset[str]]] = {}
        for row in self.rows:
            for column, (kind, value) in row.values.items():
                for name in row.names if kind == "money" else ():
                    total, count, shared = added.get((column, name), (0, 0, row.names))
                    added[column, name] = total + value, count + 1, shared & row.names
        found: dict[int, frozenset[str]] = {}
        for total, count, shared in added.values():
            if count > 1:
                found[total] = found.get(total, shared) & shared
        return found

    def quantities_of(self, value: Value) -> frozenset[str]:
        """What a value is: an amount left, moved, a fee, a limit, as far as the columns in which it stands tell."""
        return self._quantities_of.get(value, frozenset())

    def derived(self, told: frozenset[int]) -> frozenset[int]:
        """The amounts that follow by one step from those shown and `told`; computed once for each `told`."""
        if told not in self._derived:
            self._derived[told] = self._derive(told)
        return self._derived[told]

    @cached_property
    def _derived(self) -> dict[frozenset[int], frozenset[int]]:
        return {}

    def _derive(self, told: frozenset[int]) -> frozenset[int]:
        """Amounts that follow from those shown and `told` by one step: the sum or difference of two, a column added up
        over the rows of a name."""
        known = {value for kind, value in self.values if kind == "money"} | told
        # An amount with its fee.
        spent = {
            sum(value for kind, value in row.values.values() if kind == "money") for row in self.rows if row.written
        }
        amounts, found = sorted(known | spent), set(spent)
        if len(amounts) <= _MOST_SUMMED:
            for one, two in combinations(amounts, 2):
                found |= {one + two, two - one, one - two}
        by_column: dict[str, dict[frozenset[str], int]] = {}
        for row in self.rows:
            for column, (kind, value) in row.values.items():
                if kind == "money":
                    totals = by_column.setdefault(column, {})
                    for names in (frozenset[str](), *(frozenset((name,)) for name in row.names)):
                        totals[names] = totals.get(names, 0) + value
        return frozenset(found | {total for totals in by_column.values() for total in totals.values()})

    @cached_property
    def lengths_between(self) -> frozenset[int]:
        """The minutes from one time that was shown to another, of the same day or over midnight."""
        times = self._minutes_of("time")
        if len(times) > _MOST_SUMMED:
            return frozenset()
        return frozenset((later - earlier) % DAY for earlier, later in permutations(times, 2))

    @cached_property
    def times_on(self) -> frozenset[str]:
        """The times that lie a shown length after or before a shown time."""
        times, lengths = self._minutes_of("time"), self._minutes_of("duration")
        if len(times) * len(lengths) > _MOST_SUMMED**2:
            return frozenset()
        return frozenset(clock_text(time + sign * length) for time in times for length in lengths for sign in (1, -1))

    def _minutes_of(self, wanted: str) -> frozenset[int]:
        found = (value for kind, value in self.values if kind == wanted)
        return frozenset(minutes_of(value) if wanted == "time" else value for value in found)


NOTHING_SHOWN = Shown()

_FIGURE = regex(r"\d+(?:[.-]\d+)*")


def bare_figure(text: str) -> str:
    """Return the digits of a text."""
    return "".join(filter(str.isdigit, text))


@lru_cache(maxsize=16384)
def figures_of(text: str) -> frozenset[str]:
    """Return the figures of a text in digits alone: `555-0134` is one, and two."""
    found = _FIGURE.findall(text)
    return frozenset(map(bare_figure, found)).union(*(re.findall(r"\d+", figure) for figure in found))


def _united(pairs: Iterable[tuple[Value, frozenset[str]]]) -> dict[Value, frozenset[str]]:
    found: dict[Value, frozenset[str]] = {}
    for value, names in pairs:
        before = found.get(value)
        if before is None:
            found[value] = names
        elif not names <= before:
            found[value] = before | names
    return found
