"""Where the values that somebody is known to say stand in a text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from toolscale.language.mentions import lower_keeping_length, mentions
from toolscale.language.qualifiers import Qualifier
from toolscale.language.render import spans_of
from toolscale.records import FactKind, Tense

MASK = "▢"
"""Stands where a value stood."""

_TENSES: tuple[Tense | None, ...] = (None, "past", "future")
_TEXTS = ("text", "bool")


@dataclass(frozen=True)
class Known:
    """A value that the plan says: `name` is its slot, or `role.column`."""

    name: str
    kind: FactKind
    value: Any


@dataclass(frozen=True)
class Mark:
    """Where a value of the plan stands: the values that it may be, and how firmly it is said."""

    names: frozenset[str]
    start: int
    end: int
    qualifier: Qualifier | None


def marks_of(text: str, known: Iterable[Known], today: str) -> tuple[Mark, ...]:
    """Return where values of the plan stand in a text, the longest first where they overlap."""
    lower = lower_keeping_length(text)
    names: dict[tuple[int, int], set[str]] = {}
    hows: dict[tuple[int, int], Qualifier | None] = {}
    found = [mention for tense in _TENSES for mention in mentions(text, today, tense)]
    for value in known:
        if value.kind in _TEXTS:
            spans: list[tuple[int, int]] = spans_of(str(value.value), lower) if value.kind != "bool" else []
        else:
            fits = [m for m in found if m.kind == value.kind and {str(r) for r in m.readings} == {str(value.value)}]
            hows |= {(m.start, m.end): m.qualifier for m in fits}
            spans = [(m.start, m.end) for m in fits]
            if value.kind in ("id", "digits"):
                spans += spans_of(str(value.value), lower)
        for span in spans:
            names.setdefault(span, set()).add(value.name)
    taken: list[tuple[int, int]] = []
    for start, end in sorted(names, key=lambda span: (span[0] - span[1], span)):
        if not any(start < stop and begin < end for begin, stop in taken):
            taken.append((start, end))
    return tuple(Mark(frozenset(names[span]), *span, hows.get(span)) for span in sorted(taken))


def masked(text: str, marks: Sequence[Mark]) -> str:
    """Return a text with a box in the place of each mark."""
    parts, position = [], 0
    for mark in marks:
        parts += [text[position : mark.start], MASK]
        position = mark.end
    return "".join([*parts, text[position:]])
