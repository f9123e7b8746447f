"""Files of JSON lines that somebody gives to a command."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from toolscale.errors import UsageError
from toolscale.strict_json import read_json

MOST_CHARACTERS = 120
"""Of a line that a message shows."""


def read_json_lines(path: Path, is_wanted: Callable[[Any], bool], remedy: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the number and the value of each line that is not blank. UsageError names the file if it cannot be read,
    and the first line that is not as wanted; `remedy` says what it lacks and what to write."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from error
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            value = read_json(line)
        except ValueError:
            value = None
        if not isinstance(value, dict) or not is_wanted(value):
            raise UsageError(f"{path}: line {number}: {line[:MOST_CHARACTERS]!r} {remedy}")
        yield number, value
