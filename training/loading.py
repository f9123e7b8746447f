"""One error message for a model's path that cannot be loaded, whichever part of the program loads from it first."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from toolscale.errors import UsageError


@contextmanager
def loading(what: str, path: str) -> Iterator[None]:
    """Make a failure to load a model or a tokenizer one line. Raises UsageError."""
    try:
        yield
    except (OSError, ValueError) as error:
        reason = " ".join(str(error).split())[:300]
        raise UsageError(
            f"model.path: {path}: no {what} can be loaded ({reason}); name a folder or a model of the Hub"
        ) from error
