"""Things that a message calls by a name with a wrong digit: `the card ending in 48820`, where the card is 8820.

A name that is not recognized is none, and what is said of it would count as said of whatever was named before, or of
all. So the figures are looked at that nothing gave.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property, lru_cache

from toolscale.language.labels import is_card_ending
from toolscale.language.mentions import is_said_of_a_card
from toolscale.language.misgiven import Misgiven
from toolscale.language.shown import bare_figure, figures_of
from toolscale.patterns import regex

_FIGURE = regex(r"(?<![\w$€£¥])\d+(?:[./:,-]\d+)*(?![\w%]|\s?[$€£¥°%])")
_NO_NAME = regex(r"(?:19|20)\d\d|\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+\.\d\d")
"""A year, a grouped number, an amount."""
_LIST = regex(r"[/:,]")
_ENDING = regex(r"(?:\bend(?:s|ed|ing)\s+in|\bending\s+with|\blast\s+(?:four|4)(?:\s+digits)?|[*•·]{2,}|\bx{2,})\W*$")
_VALUES = frozenset(("money", "date", "time", "duration", "percent", "foreign", "month", "ordinal", "marker"))
"""Kinds of mentions whose figures are no names."""
_SHORT, _FULL = 3, 4
"""Digits with which a figure can be a name but for one digit, and with which it can be a name."""


class Misnamed(Misgiven):
    """What things are called in a message, against what they were called."""

    def misnamed(self) -> str | None:
        """Find what is called by a name that is one digit off, or by an ending of a card that nothing gave."""
        for spot in _FIGURE.finditer(self.answer.lower):
            if self._is_strange(spot) and (wrong := self._wrong_name(spot)):
                return wrong
        return None

    def _is_strange(self, spot: re.Match[str]) -> bool:
        """Whether a figure is no value, and stands in nothing that was asked, told or shown."""
        start, end = spot.span()
        if _NO_NAME.fullmatch(spot[0]) or any(
            m.kind in _VALUES and m.start < end and start < m.end for m in self.answer.mentions
        ):
            return False
        return not {bare_figure(part) for part in _LIST.split(spot[0])} <= self._given

    @cached_property
    def _names(self) -> frozenset[str]:
        """The names that have digits: of facts, of parts of the request, and of what was shown."""
        return self.shown.numbered | {name for name in self._labels if bare_figure(name)}

    @cached_property
    def _labels(self) -> frozenset[str]:
        return frozenset((*self.asked.names, *self.asked.parts))

    @cached_property
    def _given(self) -> frozenset[str]:
        told = (str(value) for value in (*(fact.value for fact in self.asked.facts), *(v for _, v in self.allowed)))
        figures = (figures_of(text) for text in (self.request, *self._names, *told))
        return self.shown.figures.union(*figures)

    def _wrong_name(self, spot: re.Match[str]) -> str | None:
        lower, bare = self.answer.lower, bare_figure(spot[0])
        before = lower[max(0, spot.start() - 32) : spot.start()]
        if self.shown.rows and len(bare) >= _FULL and _ENDING.search(before) and not self._ends_a_longer(bare):
            return f"says {spot[0]} as the ending of what nothing gave"
        on_card = is_said_of_a_card(lower, spot.start())
        for name in sorted(self._names):
            if not name.isdigit():
                wrong = any(found.start() <= spot.start() < found.end() for found in _slips(lower, name))
            else:
                is_alone = on_card or name in self._labels or not is_card_ending(name)
                wrong = is_alone and len(bare) >= _SHORT and len(name) >= _FULL and is_one_off(bare, name)
            if wrong:
                return f"says {spot[0]} for {name}"
        return None

    def _ends_a_longer(self, bare: str) -> bool:
        """Whether digits are the last ones of a longer figure: of a card of which the whole number was shown."""
        return any(len(figure) > len(bare) and figure.endswith(bare) for figure in self._given if len(figure) > _FULL)


def _slips(lower: str, name: str) -> Iterator[re.Match[str]]:
    """Yield where the words of a name stand with another number that is its own but for one digit."""
    own = bare_figure(name)
    for found in _with_any_number(name).finditer(lower):
        other = bare_figure(found[0])
        if is_one_off(other, own) and (len(other) > len(own) or len(own) >= _SHORT):
            yield found


@lru_cache(maxsize=4096)
def _with_any_number(name: str) -> re.Pattern[str]:
    words = r"\s+".join(re.sub(r"\d+", r"\\d+", re.escape(word)) for word in name.split())
    return regex(rf"(?<!\w){words}(?!\w)")


def is_one_off(figure: str, other: str) -> bool:
    """Whether one digit was added, left out or changed."""
    if len(figure) == len(other):
        return sum(one != two for one, two in zip(figure, other, strict=True)) == 1
    short, long = sorted((figure, other), key=len)
    return len(long) - len(short) == 1 and any(long[:at] + long[at + 1 :] == short for at in range(len(long)))
