"""What SQLite may do for a tool: nothing, except what is listed here."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection

from toolscale.sql.macros import SQLITE_FUNCTIONS

LOG_TABLE = "toolscale_log"
LOG_TRIGGER = "toolscale_log_"

CONTROL = frozenset((sqlite3.SQLITE_TRANSACTION, sqlite3.SQLITE_SAVEPOINT))
WRITES = frozenset((sqlite3.SQLITE_INSERT, sqlite3.SQLITE_UPDATE, sqlite3.SQLITE_DELETE))


class Authorizer:
    """Decides when a statement is prepared; a statement that is cached is not asked about again.

    `in_control` is up only while the sandbox runs its own BEGIN, ROLLBACK and SAVEPOINT; `reading` only while it checks
    that a read is one.
    """

    __slots__ = ("_tables", "in_control", "reading")

    def __init__(self, tables: Collection[str]):
        self._tables = frozenset(tables)
        self.in_control = False
        self.reading = False

    def __call__(
        self, action: int, first: str | None, second: str | None, database: str | None, trigger: str | None
    ) -> int:
        """Return SQLITE_OK or SQLITE_DENY."""
        return sqlite3.SQLITE_OK if self._is_allowed(action, first, second, database, trigger) else sqlite3.SQLITE_DENY

    def _is_allowed(
        self, action: int, first: str | None, second: str | None, database: str | None, trigger: str | None
    ) -> bool:
        if action == sqlite3.SQLITE_SELECT:
            return True
        if action in CONTROL:
            return self.in_control
        in_log_trigger = trigger is not None and trigger.startswith(LOG_TRIGGER)
        if action == sqlite3.SQLITE_FUNCTION:
            return second in SQLITE_FUNCTIONS or (in_log_trigger and second == "json_array")
        if first == LOG_TABLE:
            return self.in_control or (in_log_trigger and action == sqlite3.SQLITE_INSERT)
        if action == sqlite3.SQLITE_READ:
            return self._may_read(first or "", second or "", database)
        if action in WRITES:
            return first in self._tables and database == "main" and not self.reading
        return False

    def _may_read(self, table: str, column: str, database: str | None) -> bool:
        if table in self._tables or table == "json_each":
            return database in (None, "main")
        # A CTE of which no column is used is announced like a table, with an empty column and no database.
        return column == "" and database is None and not table.lower().startswith(("sqlite_", "pragma_"))
