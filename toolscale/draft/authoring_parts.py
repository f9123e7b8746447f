"""The parts of the pages for authors: a step is shown those that it needs."""

from __future__ import annotations

import re
from collections.abc import Sequence

from toolscale.errors import UsageError
from toolscale.patterns import regex

_HEADING = regex(r"^## (.+)$", re.MULTILINE)
_RULE = regex(r"^\|[-|: ]+\|\n", re.MULTILINE)
_ROW = regex(r"^\| ?(.*?) ?\|$", re.MULTILINE)


def parts_of(page: str, headings: Sequence[str]) -> str:
    """Return the parts of pages under these headings, in this order; rows of tables as lines. UsageError if it lacks
    one."""
    pieces = _HEADING.split(page)
    found = dict(zip(pieces[1::2], pieces[2::2], strict=True))
    if missing := [heading for heading in headings if heading not in found]:
        raise UsageError(f"docs/domains has no part {missing[0]!r}, and a model needs it; install toolscale again")
    return "\n\n".join(f"## {heading}\n\n{_without_bars(found[heading]).strip()}" for heading in headings)


def _without_bars(text: str) -> str:
    """Return a text with the rows of its tables as lines: `money: $1,240.50: exactly this amount`."""
    return _ROW.sub(lambda row: f"- {row[1].replace(' | ', ': ')}", _RULE.sub("", text))
