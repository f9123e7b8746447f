"""Rejected candidates of all scheduled runs, asked of DuckDB.

The few columns that are filtered, sorted and counted are kept in memory, file by file: a file is read when its name or
its version is new, and dropped when it is gone. Everything else is read from the Parquet files for the rows that are
shown.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import duckdb

from toolscale.errors import StorageError
from toolscale.verify.solvable import QUARANTINED
from toolscale_ui.data_folder import DataFile, DataFolder, Listing
from toolscale_ui.gates import QUARANTINE, place
from toolscale_ui.query import PAGE_ROWS, Query
from toolscale_ui.run_file import RunFile, run_of

Row = dict[str, Any]

DAG_ID = "synthesize_dataset"
"""The DAG whose rejects are shown: rows that name another were not authorized."""

_CALLS = "STRUCT(name VARCHAR, arguments VARCHAR, result VARCHAR)[]"
COLUMNS = {
    "number": "BIGINT",
    "domain": "VARCHAR",
    "intent_id": "VARCHAR",
    "evolutions": "VARCHAR[]",
    "request": "VARCHAR",
    "failed": "STRUCT(gate VARCHAR, finding VARCHAR)[]",
    "verdict": "STRUCT(gate VARCHAR, status VARCHAR, finding VARCHAR)[]",
    "golden_calls": _CALLS,
    "expected_row_changes": "VARCHAR",
    "actual_row_changes": "VARCHAR",
    "survivor": "VARCHAR",
    "environment_hash": "VARCHAR",
    "candidate": "VARCHAR",
    "reproduce": "VARCHAR",
    "dag_id": "VARCHAR",
    "run_id": "VARCHAR",
    "task_id": "VARCHAR",
    "map_index": "BIGINT",
    "shard": "VARCHAR",
}
"""What a file of rejects holds: REJECT_SCHEMA and where it came from, in the types of DuckDB."""

RETRY_SECONDS = 30.0
"""A file that could not be read is tried again after so long: it may have been the store, not the file."""

MOST_CHOICES = 300

_CONDITIONS = {
    "run_id": "run_id = ?",
    "task_id": "task_id = ?",
    "map_index": "map_index = ?",
    "domain": "domain = ?",
    "intent": "intent_id = ?",
    "gate": "list_contains(gates, ?)",
    "evolution": "list_contains(evolutions, ?)",
}
_ORDERS = {
    "run": "started",
    "candidate": "number",
    "intent": "intent_id",
    "gate": "gates",
    "shard": "shard",
}
_STABLE = "started DESC, run_id, domain, number, file_id, row"
_VALUES = {
    "domain": "domain",
    "intent": "intent_id",
    "evolution": "unnest(evolutions)",
    "gate": "unnest(gates)",
    "run_id": "run_id",
}
_FILES = "read_parquet(?, filename=true, file_row_number=true, hive_partitioning=false)"
"""Files with the place of every row; a name like `domain=x` above them is no column."""
_FROM = "FROM reject JOIN file USING (file_id) LEFT JOIN run USING (folder)"


@dataclass(frozen=True)
class Page:
    """The rows of one page, and what can be chosen beside them."""

    rows: list[Row]
    total: int
    choices: dict[str, dict[str, int]]
    """Filter -> value -> rows that it would leave, with all other filters as they are."""
    there: int
    """Rows without the filters that a person chose: of the task or run on a tab, of all runs otherwise."""

    @property
    def pages(self) -> int:
        """How many pages the selection has."""
        return max(1, -(-self.total // PAGE_ROWS))


class Rejects:
    """All rejects below a data folder. Threads may share it."""

    def __init__(self, folder: DataFolder):
        self.folder = folder
        self.corrupt: dict[str, str] = {}
        """Path -> what is wrong with the file, which is left out."""
        self._tried: dict[DataFile, float] = {}
        self._known: dict[DataFile, int] = {}
        self._next = 0
        self._seen: Listing | None = None
        self._signatures: dict[str, str] = {}
        self._lock = threading.Lock()
        self._db = duckdb.connect(
            config={"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"}
        )
        if not folder.local:
            self._db.register_filesystem(folder.fs)
        self._db.execute("CREATE TABLE file (file_id INTEGER, path VARCHAR, location VARCHAR, folder VARCHAR)")
        self._db.execute("CREATE TABLE run (folder VARCHAR, started VARCHAR)")
        self._db.execute(
            "CREATE TABLE reject (file_id INTEGER, row BIGINT, number BIGINT, domain VARCHAR, intent_id VARCHAR, "
            "evolutions VARCHAR[], gates VARCHAR[], run_id VARCHAR, task_id VARCHAR, map_index BIGINT, shard VARCHAR)"
        )

    def page(self, query: Query) -> Page:
        """Return one page of a selection. A file that turns out to be corrupt is left out and named in `corrupt`."""
        self._refresh()
        db = self._db.cursor()
        where, values = _where(query)
        while True:
            total = _one(db, f"SELECT count(*) {_FROM} {where}", values)
            page = min(query.page, max(1, -(-total // PAGE_ROWS)))
            found = _rows(
                db,
                "SELECT location, row, started, evolutions, "
                f"number, domain, intent_id, run_id, task_id, map_index, shard {_FROM} {where} "
                f"ORDER BY {_order(query)} LIMIT {PAGE_ROWS} OFFSET ?",
                [*values, (page - 1) * PAGE_ROWS],
            )
            texts = self._texts(db, found)
            if texts is not None:
                break
        for row in found:
            text = texts.get((row["location"], row["row"]))
            if text is None or text["number"] != row["number"]:  # the file was written anew since it was listed
                raise StorageError(f"{self.folder.shown} changed just now: load the page again")
            row |= _whole(text)
        cleared, given = _where(query.cleared())
        there = _one(db, f"SELECT count(*) {_FROM} {cleared}", given)
        return Page(found, total, {name: self._choices(db, query, name) for name in _VALUES}, there)

    def case(self, run_id: str, domain: str, number: int) -> Row | None:
        """Return a reject with all its columns, or None if there is none. StorageError if its file cannot be read."""
        self._refresh()
        db = self._db.cursor()
        condition = "WHERE run_id = ? AND domain = ? AND number = ? ORDER BY file_id, row LIMIT 1"
        found = _rows(db, f"SELECT path, location, row, folder {_FROM} {condition}", [run_id, domain, number])
        if not found:
            return None
        try:
            sql = f"SELECT {', '.join(COLUMNS)} FROM {_FILES} WHERE file_row_number = ?"
            (row,) = _rows(db, sql, [found[0]["location"], found[0]["row"]])
        except (duckdb.Error, ValueError) as error:
            self._leave_out([found[0]["location"]])
            raise StorageError(f"{found[0]['path']} cannot be read: {_reason(error)}") from error
        return _whole(row) | {"path": found[0]["path"], "folder": found[0]["folder"]}

    def neighbours(self, query: Query, run_id: str, domain: str, number: int) -> tuple[Row | None, Row | None]:
        """Return the rejects before and after one in the order of a selection, or None where there is none."""
        where, values = _where(query)
        numbered = f"row_number() OVER (ORDER BY {_order(query)}) AS place"
        listed = f"SELECT run_id, domain, number, {numbered} {_FROM} {where}"
        here = "SELECT min(place) AS place FROM listed WHERE run_id = ? AND domain = ? AND number = ?"
        sql = (
            f"WITH listed AS MATERIALIZED ({listed}), here AS ({here}) "
            "SELECT listed.*, listed.place - here.place AS step "
            "FROM listed, here WHERE abs(listed.place - here.place) = 1"
        )
        found = {row["step"]: row for row in _rows(self._db.cursor(), sql, [*values, run_id, domain, number])}
        return found.get(-1), found.get(1)

    def counts(self, run_id: str) -> dict[str, int]:
        """Return domain -> rejects of a run."""
        self._refresh()
        rows = _rows(
            self._db.cursor(),
            "SELECT domain, count(*) AS rejects FROM reject WHERE run_id = ? GROUP BY domain",
            [run_id],
        )
        return {row["domain"]: row["rejects"] for row in rows}

    def _choices(self, db: duckdb.DuckDBPyConnection, query: Query, name: str) -> dict[str, int]:
        where, values = _where(query, without=name)
        order = "newest DESC, value" if name == "run_id" else "value"
        sql = (
            "SELECT value, count(*) AS rows, max(started) AS newest "
            f"FROM (SELECT {_VALUES[name]} AS value, started {_FROM} {where}) GROUP BY value"
        )
        rows = _rows(db, f"{sql} ORDER BY {order}", values)
        counts = {row["value"]: row["rows"] for row in rows[:MOST_CHOICES] if row["value"] is not None}
        chosen = getattr(query, name)
        return counts if not chosen or chosen in counts else {chosen: 0, **counts}

    def _texts(self, db: duckdb.DuckDBPyConnection, found: Sequence[Row]) -> dict[tuple[str, int], Row] | None:
        """Read what is shown of rows but not kept; None if a file could not be read and its rows are gone."""
        if not found:
            return {}
        locations = sorted({row["location"] for row in found})
        sql = (
            f"SELECT filename AS location, file_row_number AS row, number, request, failed FROM {_FILES} "
            "SEMI JOIN (SELECT unnest(?) AS filename, unnest(?::BIGINT[]) AS file_row_number) "
            "USING (filename, file_row_number)"
        )
        try:
            rows = _rows(db, sql, [locations, [row["location"] for row in found], [row["row"] for row in found]])
        except duckdb.Error:
            self._leave_out(locations)
            return None
        return {(row.pop("location"), row.pop("row")): row for row in rows}

    def _leave_out(self, locations: Sequence[str]) -> None:
        """Find out which of some files cannot be read any more and drop their rows. StorageError if all can."""
        broken = {}
        for location in locations:
            try:
                self._db.cursor().execute(f"SELECT {', '.join(COLUMNS)} FROM {_FILES}", [location]).fetchall()
            except duckdb.Error as error:
                broken[location] = _reason(error)
        if not broken:
            raise StorageError(f"{self.folder.shown} could not be read just now: load the page again")
        with self._lock:
            for file in [file for file in self._known if self.folder.location(file.path) in broken]:
                self._forget(file)
                self._reject_file(file, broken[self.folder.location(file.path)])

    def _refresh(self) -> None:
        listing = self.folder.listing()
        with self._lock:
            if listing is self._seen:
                return
            files = set(listing["rejects"].values())
            for file in [file for file in self._known if file not in files]:
                self._forget(file)
            self._tried = {file: when for file, when in self._tried.items() if file in files}
            now = time.monotonic()
            new = sorted(
                file
                for file in files - self._known.keys()
                if now - self._tried.get(file, -RETRY_SECONDS) >= RETRY_SECONDS
            )
            self._load(new)
            bad = {file.path for file in self._tried}
            self.corrupt = {path: reason for path, reason in self.corrupt.items() if path in bad}
            self._load_runs(listing)
            self._seen = listing

    def _load(self, files: Sequence[DataFile]) -> None:
        """Read files that are new; where one of several cannot be read, find it by halves."""
        if not files:
            return None
        try:
            self._insert(files)
        except duckdb.Error as error:
            if len(files) == 1:
                return self._reject_file(files[0], _reason(error))
            middle = len(files) // 2
            self._load(files[:middle])
            self._load(files[middle:])

    def _insert(self, files: Sequence[DataFile]) -> None:
        files = self._with_our_columns(files)
        if not files:
            return
        ids = range(self._next, self._next + len(files))
        names = [
            (number, file.path, self.folder.location(file.path), file.path.split("/")[1])
            for number, file in zip(ids, files, strict=True)
        ]
        kept = (
            "number, domain, intent_id, list_sort(list_distinct([split_part(line, ' ', 1) FOR line IN evolutions])), "
            f"[CASE WHEN starts_with(one.finding, '{QUARANTINED}') THEN '{QUARANTINE}' ELSE one.gate END "
            "FOR one IN failed], run_id, task_id, map_index, shard"
        )
        locations = [name[2] for name in names]
        self._db.execute("BEGIN")
        try:
            self._db.execute(
                "INSERT INTO file SELECT unnest(?), unnest(?), unnest(?), unnest(?)",
                [list(part) for part in zip(*names, strict=True)],
            )
            self._db.execute(
                f"INSERT INTO reject SELECT file_id, file_row_number, {kept} FROM {_FILES} AS part "
                "JOIN file ON file.location = part.filename WHERE dag_id = ?",
                [locations, DAG_ID],
            )
        except duckdb.Error:
            self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")
        self._next += len(files)
        self._known |= dict(zip(files, ids, strict=True))
        for file in files:
            self._tried.pop(file, None)

    def _with_our_columns(self, files: Sequence[DataFile]) -> list[DataFile]:
        """Return the files that hold our columns; the others are corrupt. Files that are laid out alike are looked at
        once."""
        by_location = {self.folder.location(file.path): file for file in files}
        sql = (
            "SELECT file_name, "
            "md5(string_agg(concat_ws(':', name, type, num_children, duckdb_type), ',' ORDER BY column_id)) "
            "AS signature FROM parquet_schema(?) GROUP BY file_name"
        )
        good = []
        for row in _rows(self._db, sql, [list(by_location)]):
            location, signature = row["file_name"], row["signature"]
            if signature not in self._signatures:
                columns = _rows(
                    self._db, f"SELECT column_name, column_type FROM (DESCRIBE SELECT * FROM {_FILES})", [location]
                )
                types = {column["column_name"]: column["column_type"].replace('"', "") for column in columns}
                other = [name for name, kind in COLUMNS.items() if types.get(name) != kind]
                named = ", ".join(other[:3]) + (f" and {len(other) - 3} more" if len(other) > 3 else "")
                self._signatures[signature] = f"its columns are not those of rejects: {named}" if other else ""
            if self._signatures[signature]:
                self._reject_file(by_location[location], self._signatures[signature])
            else:
                good.append(by_location[location])
        return good

    def _reject_file(self, file: DataFile, reason: str) -> None:
        self.corrupt[file.path] = reason
        self._tried[file] = time.monotonic()

    def _forget(self, file: DataFile) -> None:
        number = self._known.pop(file)
        self._db.execute("DELETE FROM reject WHERE file_id = ?", [number])
        self._db.execute("DELETE FROM file WHERE file_id = ?", [number])

    def _load_runs(self, listing: Listing) -> None:
        runs = self.folder.parsed(listing["run"].values(), run_of)
        rows = {path.split("/")[1]: run.started for path, run in runs.items() if isinstance(run, RunFile)}
        self._db.execute("DELETE FROM run")
        if rows:
            self._db.execute("INSERT INTO run SELECT unnest(?), unnest(?)", [list(rows), list(rows.values())])


def _whole(row: Row) -> Row:
    """Return a row of a file with something in every cell: a file may leave out any of them. Failed gates come in the
    order of all gates."""
    row = {name: [one for one in row[name] or [] if one] if COLUMNS[name].endswith("[]") else row[name] for name in row}
    row |= {
        name: value or ""
        for name, value in row.items()
        if name in ("request", "task_id", "shard", "reproduce", "environment_hash")
    }
    return row | {"failed": sorted(row["failed"], key=lambda failed: place(failed["gate"]))}


def _where(query: Query, without: str = "") -> tuple[str, list[Any]]:
    """Return the condition of a selection with its values. On a tab the run is always a part of it, even if the id of
    the run is empty: a tab must never show all runs."""
    given = {name: getattr(query, name) for name in _CONDITIONS if name != without}
    given = {
        name: value for name, value in given.items() if value not in ("", None) or (query.bound and name == "run_id")
    }
    if query.bound and query.dag_id != DAG_ID:
        return "WHERE false", []
    return ("WHERE " + " AND ".join(_CONDITIONS[name] for name in given) if given else ""), list(given.values())


def _order(query: Query) -> str:
    return f"{_ORDERS[query.sort]} {'DESC' if query.order == 'desc' else 'ASC'} NULLS LAST, {_STABLE}"


def _rows(db: duckdb.DuckDBPyConnection, sql: str, values: Sequence[Any]) -> list[Row]:
    found = db.execute(sql, values)
    names = [column[0] for column in found.description or ()]
    return [dict(zip(names, row, strict=True)) for row in found.fetchall()]


def _one(db: duckdb.DuckDBPyConnection, sql: str, values: Sequence[Any]) -> int:
    row = db.execute(sql, values).fetchone()
    assert row is not None, "an aggregate has one row"
    return int(row[0])


def _reason(error: Exception) -> str:
    """Return what is wrong with a file in one line, without the place where the data lies."""
    line = str(error).splitlines()[0] if str(error) else type(error).__name__
    return f"not a readable Parquet file ({line.split(':')[0]})"
