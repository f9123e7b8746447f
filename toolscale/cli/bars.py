"""Bars on stderr for what takes long: how much is done, how fast it goes, and how long it will still take."""

from __future__ import annotations

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text


class Bars(Progress):
    """Bars that begin anew with each act: the speed of one says nothing of the next."""

    def show(self, bar: TaskID, act: str, done: int, total: int) -> None:
        """Show that `done` of `total` of an act are done."""
        if self.tasks[self.task_ids.index(bar)].description != act:
            self.reset(bar, description=act, total=total)
        self.update(bar, completed=done, total=total)


class _Rate(ProgressColumn):
    def render(self, task: Task) -> Text:
        if not task.speed:
            return Text("")
        return Text(f"{task.speed:.1f}/s" if task.speed < 10 else f"{task.speed:,.0f}/s", style="progress.data.speed")


def bars() -> Bars:
    """Return bars that are not drawn where stderr is no terminal."""
    console = Console(stderr=True)
    return Bars(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        _Rate(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
