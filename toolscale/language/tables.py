"""Markdown tables of an answer: which cell of the header stands above a cell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from toolscale.patterns import regex

_DIVIDER = regex(r"(?:^|\n)[ \t]*\|?[ \t]*:?-{2,}:?[ \t]*(?:\|[ \t]*:?-{2,}:?[ \t]*)*\|?[ \t]*(?=\n|$)")
_NUMBERING = regex(r"\|?\s*(?:#|no\.?|nr\.?|row|rank|item|№)\s*(?:\||$)")


class Cell(NamedTuple):
    """Where the header of a cell stands, and the row that the cell is in, all as stretches of the text."""

    head: tuple[int, int]
    row: tuple[int, int]


def cell_at(lower: str, position: int, dividers: Sequence[tuple[int, int]]) -> Cell | None:
    """Return the cell in which a position lies, None outside of tables; `dividers` are the stretches of the lines under
    headers."""
    above = [divider for divider in dividers if divider[1] <= position]
    if not above:
        return None
    begin = lower.rfind("\n", 0, position) + 1
    end = lower.find("\n", position)
    end = len(lower) if end < 0 else end
    between = lower[above[-1][1] : begin].strip("\n").split("\n")
    if "|" not in lower[begin:end] or any("|" not in line for line in between if line) or "" in between[:-1]:
        return None
    column = lower.count("|", begin, position)
    top = lower.rfind("\n", 0, above[-1][0]) + 1
    pipes = [at for at in range(top, above[-1][0]) if lower[at] == "|"]
    starts, stops = [top, *(at + 1 for at in pipes)], [*pipes, above[-1][0]]
    return Cell((starts[column], stops[column]), (begin, end)) if column < len(starts) else None


def dividers(lower: str) -> tuple[tuple[int, int], ...]:
    """Return where the lines stand that part a header from its rows: `|---|---|`."""
    if "|" not in lower or "--" not in lower:
        return ()
    found = (hit.span() for hit in _DIVIDER.finditer(lower))
    return tuple((start, end) for start, end in found if "|" in lower[lower.rfind("\n", 0, start) + 1 : start])


def numbers_rows(lower: str, cell: Cell) -> bool:
    """Whether a cell only numbers its row."""
    return _NUMBERING.fullmatch(lower[cell.head[0] : cell.head[1]]) is not None
