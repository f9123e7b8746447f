"""The files of this package: its code, by content, since what was made by other code may be something else; and where
that lies which is read and is no code."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from pathlib import Path

from toolscale.canonical import content_hash

_SUFFIXES = {".py", ".jinja", ".txt", ".yaml"}

PACKAGE = Path(__file__).resolve().parent

SHIPPED = PACKAGE / "shipped"
"""What `setup.py` puts into a wheel, and a checkout has beside the package."""

IS_CHECKOUT = not SHIPPED.is_dir()


def beside(name: str) -> Path:
    """Return a file or folder that a checkout has beside the package, and an installed package inside it."""
    return (PACKAGE.parent if IS_CHECKOUT else SHIPPED) / name


def code_hashes() -> Iterator[tuple[str, str]]:
    """Yield path and SHA-256 of every file of code, of every template and of every list of words, sorted by path; what
    is only shipped is none of it."""
    for path in sorted(PACKAGE.rglob("*")):
        if path.suffix in _SUFFIXES and not path.is_relative_to(SHIPPED):
            yield path.relative_to(PACKAGE).as_posix(), sha256(path.read_bytes()).hexdigest()


@cache
def code_hash() -> str:
    """Return the hash of them all, as they were when this process first asked."""
    return content_hash(list(code_hashes()))
