"""`draft --from` a real PostgreSQL: all its types, what differs, a line each, and servers that do not answer."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import psycopg2
import pytest
from cluster import postgres

from tests.installed import needs, postgres_folder
from toolscale.draft.sources import Source, postgres_tables, read_source
from toolscale.draft.sources.database import read_database
from toolscale.draft.sources.source_kinds import open_database
from toolscale.environment.references import check_schema
from toolscale.errors import UsageError

pytestmark = [needs("PostgreSQL", postgres_folder()), pytest.mark.xdist_group("postgres")]

OWNERS = "CREATE TABLE owners (id BIGSERIAL PRIMARY KEY, name TEXT);"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with postgres(tmp_path_factory.mktemp("server")) as address:
        yield address


@pytest.fixture
def address(server: str) -> str:
    run(server, "DROP SCHEMA IF EXISTS app CASCADE; DROP SCHEMA public CASCADE; CREATE SCHEMA public")
    return server


def run(address: str, script: str) -> None:
    connection = psycopg2.connect(f"postgresql://{address}")
    connection.autocommit = True
    connection.cursor().execute(script)
    connection.close()


def read(address: str, script: str, only: tuple[str, ...] = ()) -> Source:
    run(address, script)
    source = read_source(f"postgresql://{address}", only)
    assert source is not None and source.schema is not None and check_schema(source.schema) == []
    return source


def plain(source: Source) -> list[str]:
    """The lines of a source, but for names."""
    return [line for line in source.notes if ": called " not in line]


def types(source: Source, table: str) -> dict[str, str]:
    assert source.schema is not None
    return {name: column.type for name, column in source.schema.tables[table].columns.items()}


def test_all_types_of_postgres_are_read_or_left_out(address: str) -> None:
    source = read(
        address,
        OWNERS + """
        CREATE TYPE mood AS ENUM ('sad', 'ok', 'very happy'); CREATE DOMAIN state AS mood;
        CREATE DOMAIN count AS INTEGER CHECK (VALUE > 0); CREATE DOMAIN price AS NUMERIC(10, 2);
        CREATE DOMAIN many AS count; CREATE TYPE address AS (street TEXT);
        CREATE TABLE pets (
          id UUID PRIMARY KEY DEFAULT gen_random_uuid(), owner_id BIGINT REFERENCES owners, mood mood, st state,
          moods mood[], n many, cost price, balance MONEY, stay DATERANGE, span INTERVAL, born DATE, seen TIMESTAMPTZ,
          at_ TIMESTAMP, opens TIME, home address, meta JSONB, doc TSVECTOR, ip INET, x XML, p POINT, b BIT(3),
          raw BYTEA, o OID, flag BOOLEAN, big NUMERIC, r REAL, ch CHAR(3), "100% full" INT,
          twice INT GENERATED ALWAYS AS (n * 2) STORED
        );
        INSERT INTO owners VALUES (1, 'Zebedee Quux');
        INSERT INTO pets (owner_id, mood, st, n, cost, balance, born, seen, at_, opens, flag, big, r) VALUES
          (1, 'ok', 'sad', 2, 1.5, 12.5, '0044-03-15 BC', '10000-01-01 00:00Z', 'infinity', '10:00', TRUE, 'NaN', 1e30),
          (1, 'ok', 'ok', 3, 2.5, -1.5, '2026-01-02', '2026-01-02 00:00Z', '2026-01-02', '11:00', FALSE, 1e200, 'NaN');
        """,
    )  # fmt: skip
    assert plain(source) == [
        *(
            f"pets.{name}: left out, of type {kind}"
            for name, kind in [
                ("moods", "mood[]"), ("stay", "daterange"), ("span", "interval"), ("home", "address"),
                ("meta", "jsonb"), ("doc", "tsvector"), ("x", "xml"), ("p", "point"), ("b", "bit(3)"),
                ("raw", "bytea"), ("o", "oid"),
            ]
        ),
        "pets.born: 1 of 2 values is beyond the years 1 to 9999; left out of the bounds",
        "pets.seen: 1 of 2 values is beyond the years 1 to 9999; left out of the bounds",
        "pets.at_: 1 of 2 values is beyond the years 1 to 9999; left out of the bounds",
        "pets.big: 2 of 2 values are beyond what can be held; left out of the bounds",
        "pets.r: 2 of 2 values are beyond what can be held; left out of the bounds",
        "pets.twice: computed: ((n)::integer * 2)",
        "owners.id, pets.owner_id: kept as text, like all keys and what refers to them",
    ]  # fmt: skip
    assert types(source, "pets") == {
        "pet_id": "text", "owner_id": "text", "mood": "text", "st": "text", "n": "int", "cost_cents": "cents",
        "balance_cents": "cents", "born": "date", "seen": "datetime", "at_value": "datetime", "opens": "time",
        "ip": "text", "flag": "bool", "big": "int", "r": "int", "ch": "text", "n100_full": "int", "twice": "int",
    }  # fmt: skip
    assert source.schema is not None
    pets = source.schema.tables["pets"].columns
    assert pets["mood"].values == pets["st"].values == ("sad", "ok", "very happy")
    assert "`pets.balance_cents`: cents, -150 to 1300, about 2 different" in source.columns
    assert "Zebedee" not in repr(source)


def test_what_of_a_server_cannot_be_kept_is_told(address: str) -> None:
    source = read(
        address,
        OWNERS + """
        CREATE TABLE pets (id INT PRIMARY KEY, owner_id BIGINT REFERENCES owners, tenant INT, code TEXT, owner TEXT,
          state VARCHAR CHECK (state IN ('new', 'old')), n INT CHECK (n > 0), UNIQUE (tenant, code));
        CREATE UNIQUE INDEX one ON pets (code) INCLUDE (n); CREATE UNIQUE INDEX two ON pets (LOWER(code));
        CREATE UNIQUE INDEX three ON pets (n) WHERE n > 1;
        CREATE TABLE visits (at DATE NOT NULL, tenant INT, code TEXT,
          FOREIGN KEY (tenant, code) REFERENCES pets (tenant, code)) PARTITION BY RANGE (at);
        CREATE TABLE visits_2026 PARTITION OF visits FOR VALUES FROM ('2026-01-01') TO ('2027-01-01');
        CREATE TABLE keys (id JSONB PRIMARY KEY); CREATE VIEW v AS SELECT 1; CREATE MATERIALIZED VIEW w AS SELECT 1;
        CREATE SCHEMA app; CREATE TABLE app.owners (id INT PRIMARY KEY, pet INT REFERENCES pets);
        """,
    )  # fmt: skip
    assert plain(source) == [
        "visits_2026: a part of visits, and read with it",
        "views are not read: v, w",
        "tables of other schemas are not read: app.owners; name those that matter with --only",
        "visits: no key; a column for it is made",
        "visits.tenant, code: refer together to pets; kept as a reference of code, which is enough",
        "keys.id: of type jsonb, kept as text, since rows are told apart by it",
        "pets: the check n > 0 is not kept",
        "pets: three is not kept, which is unique for some rows or expressions",
        "pets: two is not kept, which is unique for some rows or expressions",
        "owners.id, pets.id, pets.owner_id: kept as text, like all keys and what refers to them",
    ]
    assert source.schema is not None
    pets = source.schema.tables["pets"]
    assert pets.columns["state"].values == ("new", "old") and pets.columns["code"].unique
    assert pets.unique == (("tenant", "code"),)
    chosen = read_source(f"postgres://{address}", ("app.owners", "PETS"))
    assert chosen is not None and chosen.schema is not None
    assert [*chosen.schema.tables] == ["pets", "app_owners"]
    assert read_source(f"postgresql://{address}?schema=app", ("owners", "public.pets")) is not None


def test_a_table_or_column_that_may_not_be_read_is_left_out(address: str) -> None:
    run(
        address,
        OWNERS + "CREATE TABLE pets (id INT PRIMARY KEY, owner_id BIGINT REFERENCES owners, secret TEXT);"
        "CREATE TABLE logs (id INT PRIMARY KEY); DROP ROLE IF EXISTS guest; CREATE ROLE guest LOGIN PASSWORD 'p';"
        "GRANT USAGE ON SCHEMA public TO guest; GRANT SELECT ON owners TO guest;"
        "GRANT SELECT (id, owner_id) ON pets TO guest;",
    )
    source = read_source(f"postgresql://guest:p@{address.rpartition('@')[2]}")
    assert source is not None and plain(source) == [
        "logs: left out, it cannot be read (permission denied for table logs)",
        "pets.secret: left out, it cannot be read (permission denied for table pets)",
        "owners.id, pets.id, pets.owner_id: kept as text, like all keys and what refers to them",
    ]
    run(address, "DROP OWNED BY guest; DROP ROLE guest")


def test_a_text_is_no_reference_to_a_number(address: str) -> None:
    """Comparing them is an error of PostgreSQL."""
    source = read(
        address,
        OWNERS + "CREATE TABLE pets (id INT PRIMARY KEY, owner BIGINT REFERENCES owners);"
        "CREATE TABLE logs (id INT PRIMARY KEY, owner_id TEXT); INSERT INTO logs VALUES (1, 'x');",
    )
    assert types(source, "logs") == {"log_id": "text", "owner_id": "text"}


def test_no_row_can_be_changed(address: str) -> None:
    run(address, OWNERS)
    with open_database(f"postgresql://{address}") as database:
        rows, cause = database.attempt("INSERT INTO owners VALUES (1, 'x') RETURNING id")
    assert (rows, cause) == (None, "cannot execute INSERT in a read-only transaction")


@pytest.mark.parametrize("word", ["", ":wrong"])
def test_a_server_that_wants_another_password_is_one_line(
    word: str, address: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PGPASSFILE", str(tmp_path / "none"))
    with pytest.raises(UsageError, match=r"cannot be read \(.*password") as raised:
        read_source(f"postgresql://airflow{word}@{address.rpartition('@')[2]}")
    assert "\n" not in str(raised.value) and "wrong" not in str(raised.value)


def test_a_server_that_goes_away_in_the_middle_is_one_line(address: str) -> None:
    run(address, OWNERS + "CREATE TABLE pets (id INT PRIMARY KEY, owner_id BIGINT REFERENCES owners)")
    with (
        pytest.raises(UsageError, match=r"cannot be read \(.*(closed|terminating).*") as raised,
        open_database(f"postgresql://{address}") as database,
    ):
        run(address, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()")
        read_database(database)
    assert "\n" not in str(raised.value)


def test_a_server_that_hangs_in_the_middle_is_left(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    run(address, OWNERS + "CREATE TABLE pets (id INT PRIMARY KEY, owner_id BIGINT REFERENCES owners)")
    monkeypatch.setattr(postgres_tables, "QUESTION_S", 1.0)
    monkeypatch.setattr(postgres_tables, "GRACE_S", 1.0)
    with (
        pytest.raises(UsageError, match=r"cannot be read \(.+\)"),
        open_database(f"postgresql://{address}") as database,
    ):
        ((pid,),) = database.ask("SELECT pg_backend_pid()")
        os.kill(pid, signal.SIGSTOP)
        try:
            read_database(database)
        finally:
            os.kill(pid, signal.SIGCONT)


def test_a_question_that_takes_too_long_leaves_a_column_out(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres_tables, "QUESTION_S", 0.5)
    with open_database(f"postgresql://{address}") as database:
        assert database.attempt("SELECT pg_sleep(30)") == (None, "canceling statement due to statement timeout")
        assert database.ask("SELECT 1") == [(1,)]
