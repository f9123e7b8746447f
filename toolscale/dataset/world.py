"""The environment inside a dataset: its spec files, its populated database and its tools, so that every row can be
executed from the folder alone."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

from toolscale.canonical import content_hash
from toolscale.dataset.columns import tools_json
from toolscale.dataset.manifest import world_folder
from toolscale.dataset.storage import read_file, write_file
from toolscale.environment.admission_file import write_admission
from toolscale.environment.environment import Environment, load_environment
from toolscale.errors import DatasetError
from toolscale.records import Admission, SchemaSpec
from toolscale.records.schema import TEXT_TYPES
from toolscale.sandbox.base import Rows
from toolscale.sandbox.ddl import create_tables

DATABASE, TOOLS, ADMISSION = "database.sqlite", "tools.json", "admission.json"


def write_world(environment: Environment, rows: Rows, admission: Admission, folder: Path) -> Path:
    """Write the files of an environment into `folder`, `admission.json` last."""
    for name in environment.files:
        write_file(folder / name, read_file(environment.folder / name))
    write_file(folder / DATABASE, render_database(environment, rows))
    write_file(folder / TOOLS, render_tools(environment).encode())
    write_admission(folder, admission)
    return folder


def open_world(dataset: Path, domain: str) -> tuple[Environment, Rows]:
    """Return the environment of a domain and the rows of its database, as a dataset holds them. DatasetError if they
    are not there, or the database is not that of the environment."""
    place = world_folder(dataset, domain)
    if not place.is_dir():
        raise DatasetError(
            f"{dataset} has tasks of {domain!r} without their environment ({place}); make or pull it whole"
        )
    environment = load_environment(place)
    return environment, read_rows(environment, place)


def read_rows(environment: Environment, folder: Path) -> Rows:
    """Return the rows of the database in `folder`, ordered by key.

    DatasetError if it has other tables or columns than the schema, or anything besides, or a value of another type than
    its column.
    """
    path = folder / DATABASE
    if not path.is_file():
        raise DatasetError(f"{path} is missing; make the dataset again")
    content = read_file(path)
    if not content:  # SQLite would speak of memory
        raise DatasetError(f"{path} is empty; make the dataset again")
    rows: Rows = {}
    connection = sqlite3.connect(":memory:")
    try:
        connection.deserialize(content)
        connection.execute("PRAGMA trusted_schema = OFF")
        # Before anything is selected: a view of that name could compute for ever.
        _check_structure(connection, environment.schema, path)
        for name, table in environment.schema.tables.items():
            rows[name] = connection.execute(
                f"SELECT {', '.join(table.columns)} FROM {name} ORDER BY {', '.join(table.key)}"
            ).fetchall()
    except (sqlite3.Error, UnicodeDecodeError) as error:  # the message of an error may quote bytes of the file
        raise DatasetError(f"{path}: {error}; make the dataset again") from error
    finally:
        connection.close()
    _check_types(environment.schema, rows, path)
    return rows


def table_hashes(rows: Rows) -> dict[str, str]:
    """Return table -> content hash of its rows, which are ordered by key as `read_rows` returns them."""
    return {name: content_hash(table) for name, table in rows.items()}


def render_tools(environment: Environment) -> str:
    """Return `tools.json`: the OpenAI functions, for a person to read."""
    return json.dumps(json.loads(tools_json(environment)), indent=2, ensure_ascii=False) + "\n"


def render_database(environment: Environment, rows: Rows) -> bytes:
    """Return the content of `database.sqlite`."""
    connection = sqlite3.connect(":memory:")
    for statement in create_tables(environment.schema, "sqlite"):
        connection.execute(statement)
    for name, table in environment.schema.tables.items():
        marks = ", ".join("?" for _ in table.columns)
        connection.executemany(f"INSERT INTO {name} ({', '.join(table.columns)}) VALUES ({marks})", rows.get(name, ()))
    connection.commit()
    content = connection.serialize()
    connection.close()
    return content


def _check_structure(connection: sqlite3.Connection, schema: SchemaSpec, path: Path) -> None:
    wanted = sqlite3.connect(":memory:")
    try:
        for statement in create_tables(schema, "sqlite"):
            wanted.execute(statement)
        there, expected = _objects(connection), _objects(wanted)
        for kind, name in sorted(there - expected, key=str):
            raise DatasetError(
                f"{path}: it has a {kind} {name!r} that schema.yaml does not have; make the dataset again"
            )
        for kind, name in sorted(expected - there, key=str):
            raise DatasetError(f"{path}: the {kind} {name!r} is missing; make the dataset again")
        for name in schema.tables:
            if _shape(connection, name) != _shape(wanted, name):
                raise DatasetError(
                    f"{path}: the table {name!r} has other columns than in schema.yaml; make the dataset again"
                )
    finally:
        wanted.close()


def _objects(connection: sqlite3.Connection) -> set[tuple[str, str]]:
    return set(connection.execute("SELECT type, name FROM sqlite_master"))


def _shape(connection: sqlite3.Connection, table: str) -> list[object]:
    """Return whether it is a plain strict table, its columns and its foreign keys."""
    kind = connection.execute(
        "SELECT type, wr, strict FROM pragma_table_list(?) WHERE schema = 'main'", (table,)
    ).fetchall()
    if kind and kind[0][0] != "table":
        return kind  # a virtual table is not even asked for its columns
    columns = connection.execute(
        'SELECT name, type, "notnull", dflt_value, pk, hidden FROM pragma_table_xinfo(?)', (table,)
    ).fetchall()
    keys = connection.execute('SELECT "table", "from", "to" FROM pragma_foreign_key_list(?)', (table,)).fetchall()
    return [kind, columns, sorted(keys)]


def _check_types(schema: SchemaSpec, rows: Rows, path: Path) -> None:
    """Refuse what the engine keeps and the schema does not have: bytes, fractions, infinities, text where a number
    belongs."""
    for name, table in schema.tables.items():
        for (column, spec), cells in zip(table.columns.items(), zip(*rows[name], strict=True), strict=False):
            allowed = {str if spec.type in TEXT_TYPES else int} | (
                {type(None)} if spec.nullable and not spec.pk else set()
            )
            if strange := set(map(type, cells)) - allowed:
                found = ", ".join(sorted(kind.__name__ for kind in strange))
                raise DatasetError(
                    f"{path}: {name}.{column} holds a value of type {found}; "
                    f"in schema.yaml it is {spec.type}; make the dataset again"
                )
