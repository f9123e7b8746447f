"""What a program says of a machine that fails it: too little memory, a name that is too long, an end from outside."""

from __future__ import annotations

import errno

import click

AGAIN = "run the same command again to go on"


def failure_of(error: BaseException) -> tuple[str, int] | None:
    """Return the line and the exit status for a failure that is not of this program; None if it may be."""
    if isinstance(error, click.Abort) and isinstance(error.__cause__, EOFError):
        # click takes every EOFError for Ctrl-D. One of its own prompts has no cause; this one ends a pipe from a helper
        # process.
        return f"a helper process was killed (out of memory?); free memory, or use fewer --workers, and {AGAIN}", 1
    if isinstance(error, click.Abort | KeyboardInterrupt):
        return f"interrupted; {AGAIN}", 130
    if isinstance(error, MemoryError) or getattr(error, "errno", None) == errno.ENOMEM:
        return f"there is too little memory; free some, or use fewer --workers, and {AGAIN}", 1
    if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:
        return f"{error.filename}: the name is too long; choose a shorter one", 2
    return None


def full(error: BaseException) -> tuple[str, int]:
    """Return them for any other error of the operating system: disk full, no permission. No traceback tells more."""
    return f"{error}; free space or choose another folder, and {AGAIN}", 2
