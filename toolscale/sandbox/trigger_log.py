"""The log that triggers keep of every written row, inside the transaction, so that it is undone with what it logs."""

from __future__ import annotations

import json
from collections.abc import Callable

from toolscale.records import SchemaSpec
from toolscale.sandbox.authorizer import LOG_TABLE, LOG_TRIGGER
from toolscale.sandbox.base import Key, NetChanges, Row, key_positions

Entry = tuple[str, Key | None, Row | None, Key | None, Row | None]
"""(table, key before, row before, key after, row after)."""

REMEMBERED = 2_000
"""Entries kept parsed: one golden write is logged alike in most trajectories of a candidate."""


def create_log(schema: SchemaSpec) -> list[str]:
    """Return the DDL of the log table and of three TEMP triggers a table."""
    texts = [f"CREATE TEMP TABLE {LOG_TABLE} (seq INTEGER PRIMARY KEY, change TEXT NOT NULL) STRICT"]
    for number, (name, table) in enumerate(schema.tables.items()):
        old, new = (f"json_array({', '.join(f'{row}.{column}' for column in table.columns)})" for row in ("OLD", "NEW"))
        for event, change in (("INSERT", f"NULL, {new}"), ("UPDATE", f"{old}, {new}"), ("DELETE", f"{old}, NULL")):
            texts.append(
                f"CREATE TEMP TRIGGER {LOG_TRIGGER}{name}_{event.lower()} AFTER {event} ON main.{name} BEGIN "
                f"INSERT INTO {LOG_TABLE} (change) VALUES (json_array({number}, {change})); END"
            )
    return texts


Folded = tuple[dict[tuple[str, Key], Row | None], dict[tuple[str, Key], Row | None]]


class TriggerLog:
    """Reads the log as it grows. Its numbers have no gaps, so what was read is always the first part of it."""

    def __init__(self, schema: SchemaSpec, control: Callable[[str, tuple[int, ...]], list[Row]]):
        self._control = control
        self._tables = [(name, key_positions(schema, name)) for name in schema.tables]
        self._entries: list[Entry] = []
        self._parsed: dict[str, Entry] = {}
        self._folded: Folded | None = None
        self.is_behind = False
        """Whether the log may hold what was not read."""

    @property
    def length(self) -> int:
        """How many entries have been read."""
        return len(self._entries)

    def forget(self, length: int = 0) -> None:
        """The log was rolled back to its first `length` entries, all of which have been read."""
        del self._entries[length:]
        self._folded = None
        self.is_behind = False

    def net_changes(self) -> NetChanges:
        """Return first and last state of every row that was written, where they differ."""
        before, after = self._fold()
        return {place: (row, after[place]) for place, row in before.items() if row != after[place]}

    def touched(self) -> list[tuple[str, Key]]:
        """Return every row that was written, also to what it was, in order of first touch."""
        return list(self._fold()[0])

    def _fold(self) -> Folded:
        """Return (first, last) state of every row that was written, in order of first touch."""
        self.read()
        if self._folded is not None:
            return self._folded
        before: dict[tuple[str, Key], Row | None] = {}
        after: dict[tuple[str, Key], Row | None] = {}
        for table, old_key, old, new_key, new in self._entries:
            if old_key is not None:
                place = (table, old_key)
                before.setdefault(place, old)
                after[place] = None
            if new_key is not None:
                place = (table, new_key)
                before.setdefault(place, None)
                after[place] = new
        self._folded = (before, after)
        return self._folded

    def read(self) -> None:
        """Read what was added to the log since the last time."""
        if not self.is_behind:
            return
        for (text,) in self._control(
            f"SELECT change FROM {LOG_TABLE} WHERE seq > ? ORDER BY seq", (len(self._entries),)
        ):
            self._entries.append(self._parsed.get(text) or self._parse(text))
            self._folded = None
        self.is_behind = False

    def _parse(self, text: str) -> Entry:
        number, old, new = json.loads(text)
        name, place = self._tables[number]
        if len(self._parsed) >= REMEMBERED:
            self._parsed.clear()
        entry = self._parsed[text] = (
            name,
            None if old is None else tuple([old[i] for i in place]),
            None if old is None else tuple(old),
            None if new is None else tuple([new[i] for i in place]),
            None if new is None else tuple(new),
        )
        return entry
