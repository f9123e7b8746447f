"""The code of this package, by content: what was made by other code may be something else."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from pathlib import Path

from toolscale.canonical import content_hash

_SUFFIXES = {".py", ".jinja", ".txt"}


def code_hashes() -> Iterator[tuple[str, str]]:
    """Yield path and SHA-256 of every file of code and of every template, sorted by path."""
    package = Path(__file__).parent
    for path in sorted(package.rglob("*")):
        if path.suffix in _SUFFIXES:
            yield path.relative_to(package).as_posix(), sha256(path.read_bytes()).hexdigest()


@cache
def code_hash() -> str:
    """Return the hash of them all, as they were when this process first asked."""
    return content_hash(list(code_hashes()))
