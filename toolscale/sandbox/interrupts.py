"""Ctrl-C, which a terminal sends to a whole group of processes, is for the one that a person started, not for those
that help it."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Start processes inside this block: Ctrl-C never reaches them, not even before their first line. If it comes
    during the block, this process gets it after the block."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
