"""How fast this machine is: a fixed piece of work, by which seconds of one machine are compared with those of another.

Promises in seconds, milliseconds or candidates a second are made for a machine that takes `SECONDS` for this work. On a
machine that takes twice as long, a figure may be twice as slow. The work is what judging is made of: patterns, texts,
dicts, JSON, small objects and SQLite, and nothing of this project, so that no change of ours moves it.
"""

from __future__ import annotations

import gc
import json
import re
import sqlite3
import statistics
import time
from collections.abc import Callable
from typing import TypeVar

SECONDS = 0.011
"""What the machine of the promises takes for the work, in seconds of the processor: where it comes from is said in
docs/performance.md."""
TIMES = 5

T = TypeVar("T")

_WORD = re.compile(r"\b(?:paid|moved|sent|frozen)\s(?P<amount>\$\d+(?:\.\d\d)?)\b|\b(?P<day>\d{1,2})(?:st|nd|rd|th)?\b")
_TEXT = "I paid $12.50 to Northern Power on the 3rd and moved $200 to savings; nothing else was sent before the 14th. "


def work() -> int:
    """Do the fixed work; return a number that depends on all of it."""
    connection, total = sqlite3.connect(":memory:"), 0
    connection.execute("CREATE TABLE rows (id INTEGER PRIMARY KEY, name TEXT, cents INTEGER)")
    for turn in range(150):
        found = [match.groupdict() for match in _WORD.finditer(_TEXT * 4)]
        words: dict[str, list[int]] = {}
        for place, word in enumerate((_TEXT * 4).lower().split()):
            words.setdefault(word, []).append(place + turn)
        total += sum(len(places) for word, places in words.items() if isinstance(word, str) and word.isalpha())
        total += len(json.dumps({"found": found, "words": words}, sort_keys=True))
        for row in range(8):
            connection.execute("INSERT INTO rows (name, cents) VALUES (?, ?)", (f"row {turn} {row}", turn * row))
        total += len(connection.execute("SELECT * FROM rows WHERE id > ? ORDER BY cents", (turn * 8 - 40,)).fetchall())
    connection.close()
    return total


def slowness(times: int = TIMES) -> float:
    """Return how many times as long as the machine of the promises this one takes, now: the median of so many
    tries."""
    return seconds(times) / SECONDS


def seconds(times: int = TIMES) -> float:
    """Return how many seconds of the processor the work takes, without the garbage collector: what it takes depends on
    what else the process holds."""
    taken = []
    gc.disable()
    try:
        for _ in range(times):
            start = time.process_time()
            work()
            taken.append(time.process_time() - start)
    finally:
        gc.enable()
    return statistics.median(taken)


def alongside(measure: Callable[[], T]) -> tuple[T, float]:
    """Return what `measure` returns, and the slowness of the machine around it: the mean of before and after."""
    before = slowness()
    measured = measure()
    return measured, (before + slowness()) / 2
