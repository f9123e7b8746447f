"""The environment inside a dataset: its spec files, its populated database and its tools, so that every row can be executed from the folder alone."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

from toolscale.canonical import content_hash
from toolscale.dataset.columns import tools_json
from toolscale.dataset.storage import read_file, write_file
from toolscale.environment import Environment, write_admission
from toolscale.errors import DatasetError
from toolscale.records import Admission
from toolscale.sandbox import Rows, create_tables

DATABASE, TOOLS, ADMISSION = "database.sqlite", "tools.json", "admission.json"


def write_world(environment: Environment, rows: Rows, admission: Admission, folder: Path) -> Path:
    """Write the files of an environment into `folder`, `admission.json` last."""
    for name in environment.files:
        write_file(folder / name, read_file(environment.folder / name))
    write_file(folder / DATABASE, _database(environment, rows))
    write_file(folder / TOOLS, render_tools(environment).encode())
    write_admission(folder, admission)
    return folder


def read_rows(environment: Environment, folder: Path) -> Rows:
    """Return the rows of the database in `folder`, ordered by key. DatasetError if a table or a column is missing."""
    path = folder / DATABASE
    if not path.is_file():
        raise DatasetError(f"{path} is missing; make the dataset again")
    rows: Rows = {}
    connection = sqlite3.connect(":memory:")
    try:
        connection.deserialize(read_file(path))
        for name, table in environment.schema.tables.items():
            rows[name] = connection.execute(f"SELECT {', '.join(table.columns)} FROM {name} ORDER BY {', '.join(table.key)}").fetchall()
    except sqlite3.Error as error:
        raise DatasetError(f"{path}: {error}; make the dataset again") from error
    finally:
        connection.close()
    return rows


def table_hashes(rows: Rows) -> dict[str, str]:
    """Return table -> content hash of its rows, which are ordered by key as `read_rows` returns them."""
    return {name: content_hash(table) for name, table in rows.items()}


def render_tools(environment: Environment) -> str:
    """Return `tools.json`: the OpenAI functions, for a person to read."""
    return json.dumps(json.loads(tools_json(environment)), indent=2, ensure_ascii=False) + "\n"


def _database(environment: Environment, rows: Rows) -> bytes:
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
