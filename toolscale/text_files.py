"""Text that somebody else may have written: read from a regular file, not too large, UTF-8; shown without what a
terminal or a reader would obey."""

from __future__ import annotations

import codecs
import os
import re
import stat
from pathlib import Path

from toolscale.errors import SpecIssue

MOST_BYTES = 4_000_000
"""Of one file. The largest of finance has 145 kB."""

HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufeff]")
"""Control characters but for tab and line ends, marks that turn the direction of text, halves of characters."""


def read_text(
    path: Path, file: str, *, most: int = MOST_BYTES, is_foreign: bool = False
) -> tuple[str | None, list[SpecIssue]]:
    """Return the text of a file, called `file` in messages, or None and one issue. Nothing is waited for: a pipe or a
    device is refused. `most`: bytes that it may have. `is_foreign`: what other programs write is read, a byte order
    mark and UTF-16 with one; what is not seen stays, and must not be shown as it is."""
    try:
        content = _read(path, most)
    except FileNotFoundError:
        return None, [SpecIssue(file, "", "the file is missing", f"write it in {path.parent.name}/")]
    except OSError as error:
        return None, [
            SpecIssue(file, "", f"the file cannot be read ({(error.strerror or str(error)).lower()})", "check the path")
        ]
    if content is None:
        return None, [SpecIssue(file, "", "it is no regular file", "write a file of that name")]
    if len(content) > most:
        return None, [SpecIssue(file, "", f"the file has more than {most:,} bytes", "give a part of it")]
    try:
        text = content.decode(_encoding(content) if is_foreign else "utf-8")
    except UnicodeDecodeError as error:
        return None, [SpecIssue(file, f"byte {error.start}", "the file is not UTF-8", "save it as UTF-8")]
    text = text.replace("\r\n", "\n")
    if not is_foreign and (found := HIDDEN.search(text)):
        line = text.count("\n", 0, found.start()) + 1
        return None, [
            SpecIssue(file, f"line {line}", f"it holds the character {found[0]!r}, which is not seen", "remove it")
        ]
    return text, []


def visible(text: str) -> str:
    """Return text in which whatever a terminal obeys, or does not show, is written as an escape; line ends and tabs
    stay."""
    if text.isprintable():
        return text
    return "".join(
        c if c.isprintable() or c in "\n\t" else c.encode("unicode_escape", "surrogatepass").decode() for c in text
    )


def printable(text: str, limit: int = 300) -> str:
    """Return text as one short line that a terminal only shows: control characters and the like become �."""
    line = "".join(character if character.isprintable() else "�" for character in " ".join(text[: 4 * limit].split()))
    return line if len(line) <= limit and len(text) <= 4 * limit else line[: limit - 1] + "…"


def _encoding(content: bytes) -> str:
    return "utf-16" if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else "utf-8-sig"


def _read(path: Path, most: int) -> bytes | None:
    """Return the content of a regular file, up to a byte more than it may have; None if it is none."""
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(handle, "rb") as file:
        return file.read(most + 1) if stat.S_ISREG(os.fstat(handle).st_mode) else None
