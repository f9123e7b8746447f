"""Where findings about one text are collected, so that all of them are shown at once."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable

from toolscale.errors import SpecIssue


class Report:
    """Collects the issues of one text of a spec."""

    def __init__(self, file: str, place: str):
        self.file = file
        self.place = place
        self.issues: list[SpecIssue] = []

    def add(self, problem: str, remedy: str, *, place: str | None = None) -> None:
        """Add an issue, at the report's own place unless another is given; the same issue is kept once."""
        issue = SpecIssue(self.file, self.place if place is None else place, problem, remedy)
        if issue not in self.issues:
            self.issues.append(issue)

    def extend(self, issues: Iterable[SpecIssue]) -> None:
        """Add issues found elsewhere."""
        self.issues += [issue for issue in issues if issue not in self.issues]


def choices(name: str, known: Collection[str], what: str = "use one of") -> str:
    """Return a remedy that names the closest known word, if one is close, and the known words."""
    listed = ", ".join(known) if known else "none"
    close = difflib.get_close_matches(name, list(known), n=1, cutoff=0.7)
    return f"did you mean {close[0]}? {what} {listed}" if close else f"{what} {listed}"


def shorten(text: str, limit: int = 80) -> str:
    """Return the text on one line, cut to a length that an error line can carry."""
    line = " ".join(text.split())
    return line if len(line) <= limit else f"{line[: limit - 3]}..."
