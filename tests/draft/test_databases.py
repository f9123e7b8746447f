"""`draft --from` a file that is a database: what is read of it, and what differs, a line each."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import pytest

from toolscale.draft.sources import Source, read_source
from toolscale.draft.sources.column_types import kind_of
from toolscale.draft.sources.naming import snake
from toolscale.environment.references import check_schema
from toolscale.errors import UsageError
from toolscale.records import ColumnSpec, SchemaSpec, TableSpec
from toolscale.sandbox.ddl import create_tables

OWNERS = "CREATE TABLE owners (id INTEGER PRIMARY KEY, name TEXT);"
PETS = "CREATE TABLE pets (id INTEGER PRIMARY KEY, owner_id INTEGER REFERENCES owners (id));"
"""A reference, without which nothing is a domain."""


def sqlite(path: Path, script: str) -> str:
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(script)
    return str(path)


def read(path: Path, script: str, only: tuple[str, ...] = ()) -> Source:
    """What is read of a new SQLite file, of which both engines take the schema."""
    source = read_source(sqlite(path / "some.sqlite", script), only)
    assert source is not None and source.schema is not None
    assert check_schema(source.schema) == []
    with closing(sqlite3.connect(":memory:")) as ours, duckdb.connect() as other:
        for statement in create_tables(source.schema, "sqlite"):
            ours.execute(statement)
        for statement in create_tables(source.schema, "duckdb"):
            other.execute(statement)
    return source


KEYS = ": kept as text, like all keys and what refers to them"


def plain(source: Source) -> list[str]:
    """The lines of a source, but for names."""
    return [line for line in source.notes if ": called " not in line]


def told(source: Source, *tables: str) -> list[str]:
    """The lines that begin with one of these tables, but for names."""
    begins = tuple(mark for table in tables for mark in (f"{table}.", f"{table}:"))
    return [line for line in plain(source) if line.startswith(begins) and not line.endswith(KEYS)]


def columns(source: Source, table: str) -> dict[str, dict[str, Any]]:
    assert source.schema is not None
    return source.schema.tables[table].model_dump(mode="json", exclude_defaults=True)["columns"]


@pytest.mark.parametrize(
    ("declared", "kind"),
    [
        ("INTEGER", "whole"), ("unsigned big int", "whole"), ("SMALLSERIAL", "whole"), ("interval", None),
        ("POINT", None), ("PRINTED", "any"), ("DATERANGE", "any"), ("date", "date"), ("DATETIME(6)", "moment"),
        ("timestamp with time zone", "moment"), ("TIME", "time"), ("double precision", "real"), ("money", "money"),
        ("DECIMAL(10,2)", "decimal"), ("character varying(20)", "text"), ("long varchar", "text"),
        ("BIT VARYING", None), ("INTEGER[]", None), ("STRUCT(a INTEGER)", None), ("MAP(VARCHAR, INTEGER)", None),
        ("UNION(n INTEGER)", None), ("ENUM('int')", "text"), ("", "any"),
    ],
)  # fmt: skip
def test_a_type_is_known_by_its_words_and_not_by_how_its_name_begins(declared: str, kind: str | None) -> None:
    assert kind_of(declared, "any") == kind


@pytest.mark.parametrize(
    ("script", "lines"),
    [
        (
            "CREATE TABLE shelves (room INT, no INT, PRIMARY KEY (room, no));"
            "CREATE TABLE boxes (id INT PRIMARY KEY, room INT, no INT, "
            "FOREIGN KEY (room, no) REFERENCES shelves (room, no));",
            [
                "boxes.room, no: refer together to shelves (room, no), and a reference here is of one column; "
                "plain values"
            ],
        ),
        (
            "CREATE TABLE boxes (id INT PRIMARY KEY, tenant INT, owner INT, "
            "FOREIGN KEY (tenant, owner) REFERENCES owners (name, id));",
            ["boxes.tenant, owner: refer together to owners; kept as a reference of owner, which is enough"],
        ),
        (
            "CREATE TABLE shelves (room INT, no INT, PRIMARY KEY (room, no));"
            "CREATE TABLE boxes (id INT PRIMARY KEY, shelf INT REFERENCES shelves);",
            ["boxes.shelf: refers to the key of shelves, which has the key room, no; a plain value"],
        ),
        (
            "CREATE TABLE boxes (id INT PRIMARY KEY, gone INT REFERENCES nowhere);",
            ["boxes.gone: refers to nowhere, which is not there; a plain value"],
        ),
        (
            "CREATE VIEW shelves AS SELECT 1 AS id; CREATE TABLE boxes (id INT PRIMARY KEY, v INT REFERENCES shelves);",
            ["boxes.v: refers to shelves, which is a view; a plain value"],
        ),
        (
            "CREATE TABLE boxes (id INT PRIMARY KEY, owner TEXT REFERENCES owners (name));",
            ["boxes.owner: refers to owners.name, which rows may share; a plain value"],
        ),
        (
            "CREATE TABLE boxes (id INT PRIMARY KEY, x INT REFERENCES owners (gone));",
            ["boxes.x: refers to owners.gone, which is not there; a plain value"],
        ),
        (
            "CREATE TABLE boxes (id INT PRIMARY KEY, x INT REFERENCES owners REFERENCES pets);",
            ["boxes.x: refers to owners and to pets; only the first is kept"],
        ),
        (
            "CREATE TABLE boxes (id INT PRIMARY KEY REFERENCES boxes);",
            ["boxes.id: refers to itself; a plain value"],
        ),
        ("CREATE TABLE boxes (id INT PRIMARY KEY, x INT REFERENCES OWNERS (ID));", []),
        (
            "CREATE TABLE boxes (id INT PRIMARY KEY, data BLOB, UNIQUE (id, data));",
            [
                "boxes.data: left out, of type BLOB",
                "boxes: that no two rows share id, data is not kept: data is left out",
            ],
        ),
        (
            "CREATE TABLE boxes (id INT PRIMARY KEY, a INT, b TEXT); CREATE UNIQUE INDEX one ON boxes (a) WHERE a > 1;"
            "CREATE UNIQUE INDEX two ON boxes (LOWER(b));",
            [
                "boxes: two is not kept, which is unique for some rows or expressions",
                "boxes: one is not kept, which is unique for some rows or expressions",
            ],
        ),
        (
            "CREATE TABLE boxes (id INT PRIMARY KEY, n INT CHECK (n > 0), s TEXT CHECK (s IN ('new', 'old')));",
            ["boxes: the check n > 0 is not kept"],
        ),
        ("CREATE TABLE boxes (code TEXT); CREATE UNIQUE INDEX one ON boxes (code);", [
            "boxes: no key; code, which no two rows share, is taken for it"
        ]),
        ("CREATE TABLE boxes (box_no TEXT, n INT); INSERT INTO boxes VALUES ('a', 1), ('b', 1);", [
            "boxes: no key; box_no, of which all values differ, is taken for it"
        ]),
        ("CREATE TABLE boxes (box_no TEXT, n INT); INSERT INTO boxes VALUES ('a', 1), ('a', 1);", [
            "boxes: no key; a column for it is made"
        ]),
    ],
)  # fmt: skip
def test_what_of_a_table_cannot_be_kept_is_told(script: str, lines: list[str], tmp_path: Path) -> None:
    assert told(read(tmp_path, OWNERS + PETS + script), "boxes") == lines


@pytest.mark.parametrize(
    ("declared", "values", "line", "kind"),
    [
        ("INTEGER", ["'n/a'", *map(str, range(9))], "1 of 10 values is no whole number, and left aside", "int"),
        ("INTEGER", ["'n/a'", "'-'", "1", "2"],
         "INTEGER, but 2 of 4 values are no whole number; taken for text, since its values are of several types",
         "text"),
        ("INTEGER", ["'2026-01-02'", "'2026-01-03'"],
         "INTEGER, but 2 of 2 values are no whole number; taken for a date; each value is one", "date"),
        ("REAL", ["1.5", "1.7e308"], "1 of 2 values is beyond what can be held; left out of the bounds", "int"),
        ("REAL", ["1.5", "9e999", "-9e999"],
         "2 of 3 values are beyond what can be held; left out of the bounds", "int"),
        ("REAL", ["1.0", "2.0"], "taken for a whole number; each value is one", "int"),
        ("DATE", ["'2026-01-02'", "'2026-13-45'", "'2026-01-04'"], "1 of 3 values is no date, and left aside", "date"),
        ("DATETIME", ["1700000000", "1700000000123"],
         "2 of 2 values are kept there as a number of seconds or milliseconds", "datetime"),
        ("TEXT", ["'2026-01-02'"] * 9 + ["'unknown'"],
         "taken for a date; 1 of 10 values is no date, and left aside", "date"),
        ("TEXT", ["'2026-01-02 10:00'"], "taken for a moment; each value is one", "datetime"),
        ("TEXT", ["'09:30'", "'17:00:00'"], "taken for a time of day; each value is one", "time"),
        ("TIME", ["'09:30'"], None, "time"),
        ("TEXT", ["'0012'", "'0013'"], None, "text"),
        ("", ["1", "2"], None, "int"),
        ("", ["1", "'x'"], "taken for text, since its values are of several types", "text"),
        ("BOOLEAN", ["1", "'yes'", "2"], "1 of 3 values is no bool, and left aside", "bool"),
        ("TINYINT(1)", ["1", "0"], "taken for a bool; each value is 0 or 1", "bool"),
        ("TEXT", ["x'00ff'", "x'01'"], "left out, 2 of 2 values are bytes", None),
        ("TEXT", ["'a'", "'b'", "x'01'"], "1 of 3 values is bytes, and left aside", "text"),
        ("INTEGER", ["9223372036854775807", "-9223372036854775808"], None, "int"),
        ("MOOD", ["'a'", "'b'"], None, "text"),
    ],
)  # fmt: skip
def test_a_column_has_the_type_that_most_values_have(
    declared: str, values: list[str], line: str | None, kind: str | None, tmp_path: Path
) -> None:
    rows = ", ".join(f"({number}, {value})" for number, value in enumerate(values))
    script = f"CREATE TABLE boxes (id INTEGER PRIMARY KEY, v {declared}); INSERT INTO boxes VALUES {rows};"
    source = read(tmp_path, OWNERS + PETS + script)
    assert told(source, "boxes") == ([f"boxes.v: {line}"] if line else [])
    found = [column["type"] for name, column in columns(source, "boxes").items() if name != "box_id"]
    assert found == ([kind] if kind else [])


def test_keys_are_text_whatever_they_are_and_so_is_all_that_refers_to_them(tmp_path: Path) -> None:
    """Over a circle, through two tables, of bytes, and of a unique column that is no key."""
    source = read(
        tmp_path,
        """
        CREATE TABLE teams (id INTEGER PRIMARY KEY, captain INTEGER REFERENCES players (id));
        CREATE TABLE players (id INTEGER PRIMARY KEY, team INTEGER REFERENCES teams (id), number INTEGER UNIQUE);
        CREATE TABLE profiles (player INTEGER PRIMARY KEY REFERENCES players, mark BLOB);
        CREATE TABLE photos (hash BLOB PRIMARY KEY, profile INTEGER REFERENCES profiles, number INT
          REFERENCES players (number));
        CREATE TABLE marks (id INTEGER PRIMARY KEY, photo BLOB REFERENCES photos);
        INSERT INTO photos VALUES (x'00ff', NULL, NULL);
        """,
    )
    assert {
        f"{name}.{column}": spec.type + (f" {spec.fk}" if spec.fk else "")
        for name, table in (source.schema or SchemaSpec(tables={})).tables.items()
        for column, spec in table.columns.items()
    } == {
        "players.player_id": "text", "players.team": "text", "players.number": "text",
        "profiles.player": "text players.player_id",
        "teams.team_id": "text", "teams.captain": "text players.player_id",
        "photos.hash": "text", "photos.profile": "text profiles.player", "photos.number": "text players.number",
        "marks.mark_id": "text", "marks.photo": "text photos.hash",
    }  # fmt: skip
    assert told(source, "players", "profiles", "teams", "photos", "marks") == [
        "players.team: its reference to teams closes a circle; a plain value",
        "profiles.mark: left out, of type BLOB",
        "marks.photo: of type BLOB, kept as text, since rows are told apart by it",
        "photos.hash: of type BLOB, kept as text, since rows are told apart by it",
    ]
    assert source.notes[-1] == (
        "marks.id, photos.profile, photos.number, players.id, players.team, players.number, profiles.player, teams.id, "
        "teams.captain: kept as text, like all keys and what refers to them"
    )


def test_a_computed_column_is_told_as_one(tmp_path: Path) -> None:
    source = read(
        tmp_path,
        OWNERS + "CREATE TABLE boxes (id INTEGER PRIMARY KEY, n unsigned big int, fee INT, "
        "owner_id INT REFERENCES owners, total INT GENERATED ALWAYS AS (n * (fee + 1)) STORED, twice AS (n * 2));"
        "INSERT INTO boxes VALUES (1, 2, 3, 1);",
    )
    assert told(source, "boxes") == ["boxes.total: computed: n * (fee + 1)", "boxes.twice: computed: n * 2"]
    assert columns(source, "boxes")["total"] == {"type": "int", "description": "computed: n * (fee + 1)"}
    assert (
        "`boxes.total`: int, computed from the other columns, so no tool takes it as a parameter, 8 to 8, "
        "about 1 different"
    ) in source.columns


def test_unique_indexes_are_seen_and_lists_of_checks_are_values(tmp_path: Path) -> None:
    source = read(
        tmp_path,
        OWNERS + 'CREATE TABLE boxes (id INTEGER PRIMARY KEY, Code TEXT, a INT REFERENCES owners, b INT, '
        "state TEXT CHECK (\"state\" IN ('new', 'it''s old'))); CREATE UNIQUE INDEX one ON boxes (code);"
        "CREATE UNIQUE INDEX two ON boxes (a, b); CREATE INDEX three ON boxes (b);",
    )  # fmt: skip
    assert source.schema is not None
    assert source.schema.tables["boxes"].model_dump(mode="json", exclude_defaults=True) == {
        "columns": {
            "box_id": {"type": "text", "pk": True},
            "code": {"type": "text", "unique": True},
            "a": {"type": "text", "fk": "owners.owner_id"},
            "b": {"type": "int"},
            "state": {"type": "text", "values": ["new", "it's old"]},
        },
        "unique": [["a", "b"]],
    }


@pytest.mark.parametrize(
    ("name", "here"),
    [
        ("größe", "grosse"), ("Überweisung", "uberweisung"), ("Straße", "strasse"), ("naïveCafé", "naive_cafe"),
        ("Łódź", "lodz"), ("Ærø", "aero"), ("İzin", "izin"), ("Заказ", "zakaz"), ("ЖильёДом", "zhile_dom"),
        ("Ελλάδα", "ellada"), ("x²", "x2"), ("ﬁle", "file"), ("2fa-Codes", "n2fa_codes"), ("顧客", ""), ("###", ""),
    ],
)  # fmt: skip
def test_letters_of_others_are_folded(name: str, here: str) -> None:
    assert snake(name) == here


@pytest.mark.parametrize(
    ("table", "column", "here"),
    [
        ("reference", "values", ("reference_entries", "values_value")),
        ("value", "class", ("value_entries", "class_value")),
        ("a", "ord", ("a_entries", "ord_value")), ("user_s", "user__id", ("user_ses", "user_id")),
        ("###", "###", ("things", "value")), ("顧客", "名前", ("things", "value")),
        ("Größen", "Überweisung", ("grossens", "uberweisung")), ("handovers", "reason", ("handover_entries", "reason")),
        ("Owner", "NAME", ("owner2s", "name")), ("own sqlite_x", "_id", ("own_sqlite_xes", "id")),
        ("t" * 70, "c" * 70, ("t" * 32 + "s", "c" * 32)),
    ],
)  # fmt: skip
def test_names_are_those_that_admission_allows(table: str, column: str, here: tuple[str, str], tmp_path: Path) -> None:
    source = read(tmp_path, OWNERS + PETS + f'CREATE TABLE "{table}" (pk INTEGER PRIMARY KEY, "{column}" TEXT);')
    assert source.schema is not None
    (made,) = source.schema.tables.keys() - {"owners", "pets"}
    assert (made, [*source.schema.tables[made].columns][1]) == here
    assert f"{table}: called {made}" in source.notes and (
        column == here[1] or f"{table}.{column}: called {here[1]}" in source.notes
    )
    if not (table.isascii() and snake(table)):
        assert source.schema.tables[made].description == table


def test_no_table_is_called_as_sqlite_keeps_for_itself() -> None:
    schema = SchemaSpec(tables={"sqlite_stats": TableSpec(columns={"id": ColumnSpec(type="text", pk=True)})})
    assert [str(issue) for issue in check_schema(schema)] == [
        "schema.yaml: tables.sqlite_stats: 'sqlite_stats' begins as tables of SQLite itself do; choose another name"
    ]


def test_names_in_other_capitals_mean_the_same(tmp_path: Path) -> None:
    script = (
        'CREATE TABLE "Users" ("ID" INTEGER PRIMARY KEY, "Email" TEXT, UNIQUE (email));'
        "CREATE TABLE posts (id INTEGER PRIMARY KEY, AUTHOR INT, FOREIGN KEY (author) REFERENCES users (id));"
    )
    source = read(tmp_path, script)
    assert columns(source, "posts")["author"] == {"type": "text", "fk": "users.user_id"}
    assert columns(source, "users")["email"] == {"type": "text", "unique": True}
    for only in (("users", "POSTS"), ("Users", "posts")):
        assert read_source(str(tmp_path / "some.sqlite"), only) is not None


def test_virtual_tables_are_one_table_each_and_one_that_cannot_be_read_is_left_out(tmp_path: Path) -> None:
    path = sqlite(
        tmp_path / "some.sqlite",
        OWNERS + PETS + "CREATE VIRTUAL TABLE notes USING fts5 (title, body); INSERT INTO notes VALUES ('a', 'b');"
        "PRAGMA writable_schema = ON; INSERT INTO sqlite_master (type, name, tbl_name, rootpage, sql) "
        "VALUES ('table', 'maps', 'maps', 0, 'CREATE VIRTUAL TABLE maps USING absent (a)');"
        "INSERT INTO sqlite_master (type, name, tbl_name, rootpage, sql) "
        "VALUES ('view', 'bad', 'bad', 0, 'CREATE VIEW bad AS SELECT * FROM gone');",
    )
    source = read_source(path)
    assert source is not None and source.schema is not None
    assert [*source.schema.tables] == ["notes", "owners", "pets"]
    assert source.notes[:4] == (
        "maps: left out, it cannot be read (no such module: absent)",
        "notes_config, notes_content, notes_data, notes_docsize, notes_idx: left out, in which SQLite keeps virtual "
        "tables",
        "views are not read: bad",
        "notes: no key; a column for it is made",
    )
    chosen = read_source(path, ("owners", "pets"))
    assert chosen is not None and not [line for line in chosen.notes if not line.startswith(("owners", "pets"))]


def test_a_column_that_the_database_does_not_give_is_left_out(tmp_path: Path) -> None:
    """One that it computes from JSON that is none; another in JSON is there."""
    source = read(
        tmp_path,
        OWNERS + "CREATE TABLE boxes (id INTEGER PRIMARY KEY, owner_id INT REFERENCES owners, a TEXT);"
        "INSERT INTO boxes (id, a) VALUES (1, 'x'); ALTER TABLE boxes ADD COLUMN b TEXT AS (JSON(a));"
        "ALTER TABLE boxes ADD COLUMN c TEXT AS (JSON_TYPE('{}'));",
    )
    assert told(source, "boxes") == [
        "boxes.b: left out, it cannot be read (malformed JSON)",
        "boxes.c: computed: JSON_TYPE('{}')",
    ]
    assert [*columns(source, "boxes")] == ["box_id", "owner_id", "a", "c"]


@pytest.mark.parametrize(
    ("script", "line"),
    [
        (
            "CREATE TABLE a (x INT, y INT, PRIMARY KEY (x, y)); CREATE TABLE b (id INT PRIMARY KEY, x INT, y INT, "
            "FOREIGN KEY (x, y) REFERENCES a);",
            "no table refers to another in a way that can be kept (b.x, y: refer together to a (x, y), and a reference "
            "here is of one column; plain values), so nothing belongs to anybody; declare foreign keys of one column",
        ),
        (
            "CREATE TABLE a (id INT PRIMARY KEY, parent INT REFERENCES a);",
            "no table refers to another, so nothing belongs to anybody; declare foreign keys",
        ),
    ],
)
def test_without_a_reference_there_is_no_domain(script: str, line: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=re.escape(line)):
        read_source(sqlite(tmp_path / "a.sqlite", script))


def damaged(path: Path, kind: str) -> Path:
    """A file that was a database, or is called like one."""
    file = Path(sqlite(path / "some.db", OWNERS + "INSERT INTO owners VALUES (1, HEX(ZEROBLOB(40000)));" + PETS))
    content = file.read_bytes()
    if kind == "DuckDB":
        file.unlink()
        with duckdb.connect(str(file)) as connection:
            connection.execute("CREATE TABLE a AS SELECT i AS id, HASH(i)::VARCHAR AS x FROM range(100000) t(i)")
        content = file.read_bytes()
    changed = {
        "DuckDB": content[:13_000], "half": content[: len(content) // 2], "a page": content[:4096],
        "nothing": b"", "text": b"hello", "noise": bytes(range(256)) * 40,
    }  # fmt: skip
    file.write_bytes(changed[kind])
    return file


@pytest.mark.parametrize(
    ("kind", "line"),
    [
        ("half", "some.db: cannot be read (database disk image is malformed)"),
        ("a page", "some.db: cannot be read (database disk image is malformed)"),
        ("DuckDB", "some.db: cannot be read (IO Error: Could not read enough bytes"),
        ("nothing", "some.db: the file is empty; name a database or a document"),
        ("text", "some.db: neither a SQLite nor a DuckDB database, or an encrypted one; name such a file"),
        ("noise", "some.db: neither a SQLite nor a DuckDB database, or an encrypted one; name such a file"),
    ],
)
def test_a_damaged_database_is_one_line(kind: str, line: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=re.escape(line)) as raised:
        read_source(str(damaged(tmp_path, kind)))
    assert "\n" not in str(raised.value)


def test_noise_is_a_database_that_is_none_whatever_it_is_called(tmp_path: Path) -> None:
    damaged(tmp_path, "noise").rename(tmp_path / "backup.bin")
    with pytest.raises(UsageError, match="neither a SQLite nor a DuckDB database"):
        read_source(str(tmp_path / "backup.bin"))


@pytest.mark.parametrize("begin", ["BEGIN EXCLUSIVE", "PRAGMA locking_mode = EXCLUSIVE; BEGIN IMMEDIATE; SELECT 1"])
def test_a_locked_database_is_one_line_or_read(begin: str, tmp_path: Path) -> None:
    path = sqlite(tmp_path / "some.db", OWNERS + PETS)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.executescript(begin)
        try:
            assert read_source(path) is not None
        except UsageError as error:
            assert str(error).endswith("some.db: cannot be read (database is locked)")


def test_a_duckdb_file_made_of_parquet_and_json_is_read(tmp_path: Path) -> None:
    (tmp_path / "owners.json").write_text(
        '[{"id": 1, "tags": ["a"], "home": {"street": "x"}, "born": "1960-01-02"}, {"id": 2, "tags": [], "home": null}]'
    )
    path = tmp_path / "some.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            f"COPY (SELECT i AS pet_id, 1 + i % 2 AS owner_id, MAP {{'a': 1}} AS m, INTERVAL 1 DAY AS iv, "
            f"i * 1.25 AS fee, UUID() AS u FROM range(20) t(i)) TO '{tmp_path}/pets.parquet';"
            f"CREATE TABLE pets AS FROM '{tmp_path}/pets.parquet';"
            f"CREATE TABLE owners AS FROM read_json('{tmp_path}/owners.json');"
        )
    source = read_source(str(path))
    assert source is not None and source.schema is not None
    assert plain(source) == [
        "owners: no key; id, of which all values differ, is taken for it",
        "pets: no key; pet_id, of which all values differ, is taken for it",
        "pets.owner_id: taken for a reference to owners; each value is found",
        "owners.tags: left out, of type VARCHAR[]",
        "owners.home: left out, of type STRUCT(street VARCHAR)",
        "pets.m: left out, of type MAP(VARCHAR, INTEGER)",
        "pets.iv: left out, of type INTERVAL",
        "owners.id, pets.pet_id, pets.owner_id: kept as text, like all keys and what refers to them",
    ]
    assert columns(source, "pets") == {
        "pet_id": {"type": "text", "pk": True},
        "owner_id": {"type": "text", "fk": "owners.owner_id"},
        "fee_cents": {"type": "cents"},
        "u": {"type": "text"},
    }


def test_all_types_of_duckdb_are_read_or_left_out(tmp_path: Path) -> None:
    path = tmp_path / "some.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TYPE mood AS ENUM ('sad', 'it''s ok'); CREATE SCHEMA app;")
        connection.execute(
            "CREATE TABLE app.owners (id INT); CREATE VIEW v AS SELECT 1; CREATE TABLE owners (id INT PRIMARY KEY)"
        )
        connection.execute(
            "CREATE TABLE pets (id BLOB PRIMARY KEY, owner INT REFERENCES owners (id), m mood, l INT[], a INT[3], "
            "s STRUCT(a INT), mp MAP(VARCHAR, INT), u UNION(n INT, s VARCHAR), tz TIMESTAMPTZ, ns TIMESTAMP_NS, "
            "d DATE, tm TIME, h HUGEINT, b BIT, iv INTERVAL, j JSON, r REAL, q INT CHECK (q > 0), "
            'tot INT AS (q * 2), "100% q" INT)'
        )
        connection.execute(
            'CREATE UNIQUE INDEX one ON pets (q); CREATE UNIQUE INDEX two ON pets ("100% q", h);'
            "CREATE UNIQUE INDEX three ON pets (ABS(q))"
        )
        connection.execute(
            "INSERT INTO pets (id, m, tz, d, r, h, q) VALUES ('a', 'sad', '2020-01-01 10:00:00+00', '0044-03-15 (BC)', "
            "1e30, 170141183460469231731687303715884105727, 1), ('b', 'sad', 'infinity', '10000-01-01', 'nan', 1, 2)"
        )
    source = read_source(str(path))
    assert source is not None and source.schema is not None
    assert plain(source) == [
        "views are not read: v",
        "tables of other schemas are not read: app.owners; name those that matter with --only",
        *(
            f"pets.{name}: left out, of type {kind}"
            for name, kind in [
                ("l", "INTEGER[]"), ("a", "INTEGER[3]"), ("s", "STRUCT(a INTEGER)"), ("mp", "MAP(VARCHAR, INTEGER)"),
                ("u", "UNION(n INTEGER, s VARCHAR)"), ("b", "BIT"), ("iv", "INTERVAL"), ("j", "JSON"),
            ]
        ),
        "pets.id: of type BLOB, kept as text, since rows are told apart by it",
        "pets.tz: 1 of 2 values is beyond the years 1 to 9999; left out of the bounds",
        "pets.d: 2 of 2 values are beyond the years 1 to 9999; left out of the bounds",
        "pets.h: 1 of 2 values is beyond what can be held; left out of the bounds",
        "pets.r: 2 of 2 values are beyond what can be held; left out of the bounds",
        "pets.tot: computed: CAST((q * 2) AS INTEGER)",
        "pets: the check q > 0 is not kept",
        "pets: three is not kept, which is unique for some rows or expressions",
        "owners.id, pets.owner: kept as text, like all keys and what refers to them",
    ]  # fmt: skip
    assert {name: column["type"] for name, column in columns(source, "pets").items()} == {
        "pet_id": "text", "owner": "text", "m": "text", "tz": "datetime", "ns": "datetime", "d": "date", "tm": "time",
        "h": "int", "r": "int", "q": "int", "tot": "int", "n100_q": "int",
    }  # fmt: skip
    assert columns(source, "pets")["m"]["values"] == ["sad", "it's ok"]
    assert columns(source, "pets")["q"]["unique"] is True
    assert source.schema.tables["pets"].unique == (("n100_q", "h"),)
    assert read_source(str(path), ("app.owners", "owners", "pets")) is not None


@pytest.mark.parametrize(
    ("name", "value", "column", "lines"),
    [
        ("discount", "0.25", "discount_hundredths", ["taken for a share, in hundredths; each value is from 0 to 1"]),
        ("discount", "2.25", "discount_cents", []),
        ("price", "0.99", "price_cents", []),
    ],
)
def test_a_discount_is_money_or_a_share_as_its_values_say(
    name: str, value: str, column: str, lines: list[str], tmp_path: Path
) -> None:
    source = read(
        tmp_path,
        "CREATE TABLE owners (owner_id TEXT PRIMARY KEY, full_name TEXT);"
        f"CREATE TABLE visits (visit_id TEXT PRIMARY KEY, owner_id TEXT REFERENCES owners (owner_id), {name} REAL);"
        f"INSERT INTO owners VALUES ('a', 'Ann'); INSERT INTO visits VALUES ('x', 'a', {value}), ('y', 'a', 0);",
    )
    assert column in columns(source, "visits")
    assert [line for line in source.notes if "share" in line] == [f"visits.{name}: {line}" for line in lines]
