"""What a domain is drafted from beside its name: a database, a description of a service, a policy text."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from toolscale.draft.sources.database import read_database
from toolscale.draft.sources.document import read_document
from toolscale.draft.sources.source import Operation, Source
from toolscale.draft.sources.source_kinds import is_database, open_database
from toolscale.errors import UsageError
from toolscale.text_files import read_text

__all__ = ["Operation", "Source", "read_source"]

MOST_LETTERS = 20_000
"""Of a policy text."""


def read_source(place: str | None, only: tuple[str, ...] = (), policy: Path | None = None) -> Source | None:
    """Return what a domain is drafted from: the database or document that a URL or path names, and a policy text;
    None if there is neither. UsageError says what is wrong with it."""
    if place is None and only:
        raise UsageError("--only chooses from a source; name one with --from")
    source = None
    if place is not None and is_database(place):
        with open_database(place) as reflection:
            source = read_database(reflection, only)
    elif place is not None:
        source = read_document(Path(place), only)
    if policy is None:
        return source
    text, issues = read_text(policy, str(policy))
    if text is None:
        raise UsageError(str(issues[0]))
    if not text.strip() or len(text) > MOST_LETTERS:
        raise UsageError(f"{policy}: {len(text):,} letters; a policy has 1 to {MOST_LETTERS:,}")
    return dataclasses.replace(source or Source(str(policy)), policy=text.strip())
