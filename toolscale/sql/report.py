"""Where findings about one text are collected, so that all of them are shown at once."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection

from toolscale.errors import Edit, SpecIssue


class Report:
    """Collects the issues of one text of a spec."""

    def __init__(self, file: str, place: str):
        self.file = file
        self.place = place
        self.text: str | None = None
        """The text as it stands at the place, where that is known: without it no issue has an edit."""
        self.issues: list[SpecIssue] = []

    def add(self, problem: str, remedy: str, *, place: str | None = None, edit: Edit | None = None) -> None:
        """Add an issue, at the report's own place unless another is given; the same issue is kept once, and an edit
        only if what it replaces stands once in the text."""
        known = edit is not None and self.text is not None and _count(edit.old, self.text) == 1
        issue = SpecIssue(self.file, self.place if place is None else place, problem, remedy, edit if known else None)
        if issue not in self.issues:
            self.issues.append(issue)

    def unknown(
        self, problem: str, name: str, known: Collection[str], what: str = "use one of", shape: str = "{}"
    ) -> None:
        """Add an issue about a name that is none of the known ones, with an edit that puts the closest in its place.
        `shape` is how the name stands in the text: `:{}`."""
        close = _closest(name, known)
        edit = Edit(shape.format(name), shape.format(close)) if close else None
        self.add(problem, choices(name, known, what), edit=edit)


def choices(name: str, known: Collection[str], what: str = "use one of") -> str:
    """Return a remedy that names the closest known word, if one is close, and the known words."""
    listed = ", ".join(known) if known else "none"
    close = _closest(name, known)
    return f"did you mean {close}? {what} {listed}" if close else f"{what} {listed}"


def _closest(name: str, known: Collection[str]) -> str | None:
    return next(iter(difflib.get_close_matches(name, list(known), n=1, cutoff=0.7)), None)


def _count(word: str, text: str) -> int:
    """Return how often a word stands whole in a text; one that begins with a sign only ends as a word does."""
    return len(re.findall((r"\b" if word[0].isalnum() else "") + re.escape(word) + r"\b", text))


def shorten(text: str, limit: int = 80) -> str:
    """Return the text on one line, cut to a length that an error line can carry."""
    line = " ".join(text.split())
    return line if len(line) <= limit else f"{line[: limit - 3]}..."
