"""How fast this machine is: fixed pieces of work, by which seconds of one machine are compared with those of another.

Promises in seconds, milliseconds or candidates a second are made for a machine that takes `Work.seconds` for a piece of
work. On a machine that takes twice as long, a figure may be twice as slow. There is nothing of this project in the
work, so that no change of ours moves it, but for another version of sqlglot.

`SMALL` is patterns, texts, dicts, JSON and SQLite in one short loop. `LARGE` is a parser and an optimizer of SQL in
Python: much code and many objects, each touched a few times, as in judging. The speed of judging follows `LARGE` more
closely: docs/measurements/speed.md has the figures.
"""

from __future__ import annotations

import gc
import json
import re
import sqlite3
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import sqlglot
from sqlglot.optimizer import optimize

TIMES = 5

T = TypeVar("T")

_WORD = re.compile(r"\b(?:paid|moved|sent|frozen)\s(?P<amount>\$\d+(?:\.\d\d)?)\b|\b(?P<day>\d{1,2})(?:st|nd|rd|th)?\b")
_TEXT = "I paid $12.50 to Northern Power on the 3rd and moved $200 to savings; nothing else was sent before the 14th. "

_STATEMENTS = (
    "SELECT a.id, b.name, SUM(c.amount) AS total FROM account AS a JOIN branch AS b ON a.branch_id = b.id"
    " LEFT JOIN card AS c ON c.account_id = a.id WHERE a.status = 'active' AND c.amount > 12.5"
    " GROUP BY a.id, b.name HAVING SUM(c.amount) > 100 ORDER BY total DESC LIMIT 5",
    "UPDATE account SET balance = balance - :amount WHERE id = :id AND balance >= :amount"
    " AND NOT EXISTS (SELECT 1 FROM hold WHERE hold.account_id = account.id)",
    "WITH due AS (SELECT id, date(opened, '+1 month') AS day FROM loan)"
    " SELECT due.id, CASE WHEN due.day < date('now') THEN 'late' ELSE 'fine' END FROM due",
)
_SCHEMA: dict[str, object] = {
    "account": {"id": "int", "branch_id": "int", "status": "text", "balance": "real"},
    "branch": {"id": "int", "name": "text"},
    "card": {"id": "int", "account_id": "int", "amount": "real"},
}


@dataclass(frozen=True)
class Work:
    """A fixed piece of work."""

    do: Callable[[], int]
    """Returns a number that depends on all of it."""
    seconds: float
    """What the machine of the promises takes for it, in seconds of the processor: docs/measurements/speed.md says where
    they come from."""


def _small() -> int:
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


def _large() -> int:
    read = [sqlglot.parse_one(text, read="sqlite").sql(dialect="sqlite") for text in _STATEMENTS]
    return sum(map(len, read)) + len(optimize(_STATEMENTS[0], schema=_SCHEMA).sql())


SMALL = Work(_small, 0.011)
LARGE = Work(_large, 0.0097)


def slowness(work: Work = SMALL, times: int = TIMES) -> float:
    """Return how many times as long as the machine of the promises this one takes, now: the median of so many
    tries."""
    return seconds(work, times) / work.seconds


def seconds(work: Work = SMALL, times: int = TIMES) -> float:
    """Return how many seconds of the processor the work takes, without the garbage collector: what it takes depends on
    what else the process holds."""
    taken = []
    gc.disable()
    try:
        for _ in range(times):
            start = time.process_time()
            work.do()
            taken.append(time.process_time() - start)
    finally:
        gc.enable()
    return statistics.median(taken)


def alongside(measure: Callable[[], T]) -> tuple[T, float]:
    """Return what `measure` returns, and the slowness of the machine around it: the mean of before and after."""
    before = slowness()
    measured = measure()
    return measured, (before + slowness()) / 2
