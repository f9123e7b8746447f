"""What tau2's own loaders, environments and evaluators say of a domain, asked of `driver` in a process of its own."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from toolscale.dataset.columns import UNREADABLE, load_cell
from toolscale.dataset.storage import storage_errors
from toolscale.errors import ProgramError
from toolscale.tau2.checkout import Checkout
from toolscale.tau2.process import PROGRESS, Place, run_process
from toolscale.text_files import printable

DRIVER = Path(__file__).with_name("driver.py")
WRITTEN = "driver.jsonl"
LONGEST_LINE = 64_000_000
"""Bytes. The first line holds the database; that of retail has 2 MB."""
MOST_BYTES = 1_000_000_000
Say = Callable[[int, int], None]
"""Told how many tasks are done, and of how many."""

_PROGRESS = re.compile(rf"{PROGRESS}([0-9]{{1,9}})/([0-9]{{1,9}})")


async def drive(
    checkout: Checkout, domain: str, place: Place, say: Say, *, idle: Sequence[str] = (), driver: Path = DRIVER
) -> Iterator[Mapping[str, Any]]:
    """Return what the driver writes of all tasks of a domain; `idle`: of these alone what an agent is worth that does
    nothing. ProgramError if it fails, writes something else, or takes longer than it may."""
    written = place.folder / WRITTEN
    command: list[Path | str] = [checkout.python, "-I", driver, domain, written, *(["idle", *idle] if idle else [])]

    def told(line: str) -> None:
        if found := _PROGRESS.match(line):
            say(int(found[1]), int(found[2]))

    try:
        ended = await run_process(command, place, told)
    except TimeoutError as error:
        slow = f"tau2 took longer than {place.timeout_s:g} seconds on {domain}; give it more with --timeout"
        raise ProgramError(slow) from error
    ended.check(f" on {domain}")
    return read_lines(written)


def read_lines(path: Path) -> Iterator[Mapping[str, Any]]:
    """Yield the JSON objects of a file, a line each, up to that of the kind `end`, which is not given. ProgramError for
    a line that is none or too long, or if there is no such end."""
    with storage_errors("read", path), path.open("rb") as file:
        total, number = 0, 0
        while line := file.readline(LONGEST_LINE + 1):
            number, total = number + 1, total + len(line)
            if len(line) > LONGEST_LINE or total > MOST_BYTES:
                raise ProgramError(f"the driver of tau2 wrote too much: line {number} has {len(line):,} bytes or more")
            try:
                value = load_cell(line.decode())
            except UNREADABLE as error:
                shown = printable(line[:200].decode("utf-8", "replace"), 80)
                raise ProgramError(f"the driver of tau2 wrote no JSON in line {number}: {shown}") from error
            if not isinstance(value, dict):
                raise ProgramError(f"the driver of tau2 wrote no JSON object in line {number}")
            if value.get("kind") == "end":
                return
            yield value
    raise ProgramError(f"the driver of tau2 stopped after {number} lines")
