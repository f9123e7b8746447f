"""A helper does not hear Ctrl-C, and whoever started it does."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from toolscale.sandbox.interrupts import uninterrupted


def test_a_process_that_is_interrupted_before_its_first_line_goes_on() -> None:
    with uninterrupted():
        process = subprocess.Popen(
            [sys.executable, "-c", "print('done')"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
    process.send_signal(signal.SIGINT)
    assert (process.communicate(), process.returncode) == (("done\n", ""), 0)


@pytest.fixture
def terminal() -> Iterator[None]:
    """SIGINT as a terminal gives it: tests that run in the background of a script ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("terminal")
def test_an_interrupt_that_comes_meanwhile_is_heard_afterwards() -> None:
    reached = False
    with pytest.raises(KeyboardInterrupt), uninterrupted():
        signal.raise_signal(signal.SIGINT)
        reached = True
    assert reached
