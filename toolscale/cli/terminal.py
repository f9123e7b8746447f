"""The terminal of the commands: tables in plain text, whose cells cannot steer it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.markup import escape
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from toolscale.text_files import visible

GAP = 2
"""Spaces between two columns."""
BREAKABLE = 28
"""Characters of a cell from which on it may be broken into lines."""
SIGNS = {"pass": ("✓", "green"), "fail": ("✗", "bold red"), "not_run": ("·", "dim"), "attested": ("~", "dim")}
"""How the status of a gate is shown."""


class WideTable:
    """Rows under names: several tables below each other where there is no room for all columns. Each further one begins
    with the first column that tells all rows apart. Names and short cells are not broken."""

    def __init__(self, names: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        self.names, self.rows = names, rows

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for number, group in enumerate(self._groups(options.max_width)):
            if number:
                yield Text()
            yield table_of(
                [self.names[place] for place in group], [[row[place] for place in group] for row in self.rows]
            )

    def _groups(self, width: int) -> list[list[int]]:
        """The columns of each table, by their places."""
        least = [
            max(len(name), *(min(len(str(row[place])), BREAKABLE) for row in self.rows), 0) + GAP
            for place, name in enumerate(self.names)
        ]
        apart = (place for place in range(len(self.names)) if len({row[place] for row in self.rows}) == len(self.rows))
        label, groups = next(apart, 0), [[0]]
        for place in range(1, len(self.names)):
            if len(groups[-1]) > 1 and sum(least[each] for each in (*groups[-1], place)) - GAP > width:
                groups.append([label])
            if place not in groups[-1]:
                groups[-1].append(place)
        return groups


def print_wide_table(names: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows under names, however narrow the screen is."""
    open_console().print(WideTable(names, rows))


def open_console() -> Console:
    """Return a console for stdout."""
    console = _Screen(highlight=False)
    if not console.is_terminal:
        console.width = 140  # a file or a pipe has no width of its own
    return console


def table_of(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> Table:
    """Lay out rows under names; columns of numbers alone stand to the right."""
    table = Table(box=None, header_style="dim", pad_edge=False, padding=(0, GAP, 0, 0))
    for place, name in enumerate(names):
        numeric = bool(rows) and all(isinstance(row[place], int | float) for row in rows)
        table.add_column(escape(name), justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(str(cell)) for cell in row))
    return table


def percent(share: float | None) -> str:
    """Return a share for people; nothing for none."""
    return "" if share is None else f"{100 * share:.1f} %"


class _Screen(Console):
    """A console that shows control characters as text, so that the terminal does not obey them: data may come from
    anywhere."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
        """Render, every text of it visible."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(visible(segment.text), segment.style)
