"""`draft --from`: a database, a description of a service, and a policy text as what a domain is drafted from."""

from __future__ import annotations

import json
import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import pytest
import sqlalchemy as sa
import yaml
from chat_server import Answer, chat_server, said
from cluster import postgres
from scripted_model import block, brief_of, use

from tests.installed import needs, postgres_folder
from toolscale.cli import main
from toolscale.draft.sources import Source, read_source
from toolscale.environment.environment import load_environment
from toolscale.environment.scaffold import read_tables, scaffold_texts
from toolscale.errors import UsageError

TABLES = "customer, purchase by customer"
TEXTS = scaffold_texts("shop", read_tables(TABLES))
BRIEF = brief_of("Shop", "customer", "purchase")
SHOP = """
CREATE TABLE Customer (id INTEGER PRIMARY KEY, fullName TEXT NOT NULL, dateOfBirth DATE NOT NULL);
CREATE TABLE "Purchases" (
  id INTEGER PRIMARY KEY, customer_id INTEGER NOT NULL REFERENCES Customer (id), due_on TEXT NOT NULL,
  fee NUMERIC(10, 2) NOT NULL, status VARCHAR(10) NOT NULL, picture BLOB
);
"""


def shop(path: Path) -> Path:
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(SHOP)
        connection.executemany(
            "INSERT INTO Customer VALUES (?, ?, ?)",
            [(number, f"Zebedee Quux {number}", f"19{60 + number}-03-05") for number in range(1, 31)],
        )
        connection.executemany(
            "INSERT INTO Purchases VALUES (?, ?, ?, ?, ?, NULL)",
            [
                (
                    number,
                    1 + number % 30,
                    f"2026-{1 + number % 12:02}-17",
                    3 + number / 4,
                    ("open", "closed")[number % 2],
                )
                for number in range(1, 91)
            ],
        )
        connection.commit()
    return path


def sqlite(path: Path, script: str) -> str:
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(script)
    return str(path)


def written(path: Path, value: Any) -> str:
    path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    return str(path)


def model(body: dict[str, Any]) -> Answer:
    """A model that writes the files of a new domain, whatever it is told."""
    prompt = str(body["messages"][-1]["content"])
    if "Plan the domain" in prompt:
        return said(json.dumps(BRIEF))
    wanted = re.findall(r"^Write (?:in )?`(\S+)`", prompt, re.MULTILINE) or ["toolset.yaml"]
    language = yaml.safe_load(TEXTS["language.yaml"])
    if wanted[0] == "language.yaml":
        return said(block("language.yaml", {**language, "acts": {}}))
    if wanted[0] == "toolset.yaml":
        return said(block("toolset.yaml", TEXTS["toolset.yaml"]) + block("language.yaml", {"acts": language["acts"]}))
    if wanted[0] == "policy.md":
        return said(block("policy.md", TEXTS["policy.md"]) + block("rules.yaml", TEXTS["rules.yaml"]))
    return said(block(wanted[0], TEXTS[wanted[0]]))


def draft(root: Path, *more: str) -> int:
    return main(["draft", "shop", "--no-phrase", "--intents", "6", "--rounds", "2", "--in", str(root), *more])


def test_a_domain_is_drafted_from_a_database_and_no_row_leaves_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    source = shop(tmp_path / "shop.sqlite")
    before = source.read_bytes()
    with chat_server(reply=model) as server:
        use(monkeypatch, server.base_url)
        assert draft(tmp_path / "made", "--from", str(source)) == 0
    captured = capsys.readouterr()
    assert captured.err.splitlines()[:7] == [
        "Customer.id: called customer_id",
        "Customer.fullName: called full_name",
        "Customer.dateOfBirth: called date_of_birth",
        "Customer: called customers",
        "Purchases.id: called purchase_id",
        "Purchases.fee: called fee_cents",
        "Purchases.picture: left out, of type BLOB",
    ]
    assert "schema: round" not in captured.err
    made = load_environment(tmp_path / "made" / "shop").spec
    assert made.schema_.model_dump(mode="json", exclude_defaults=True) == {
        "tables": {
            "customers": {
                "columns": {
                    "customer_id": {"type": "text", "pk": True},
                    "full_name": {"type": "text"},
                    "date_of_birth": {"type": "date"},
                }
            },
            "purchases": {
                "columns": {
                    "purchase_id": {"type": "text", "pk": True},
                    "customer_id": {"type": "text", "fk": "customers.customer_id"},
                    "due_on": {"type": "date"},
                    "fee_cents": {"type": "cents"},
                    "status": {"type": "text", "values": ["closed", "open"]},
                }
            },
        }
    }
    asked = json.dumps(server.asked)
    assert "purchases.fee_cents`: cents, 320 to 2600, about 90 different" in asked
    assert "Zebedee" not in asked and "1961" not in asked and "-17" not in asked.replace("2026-03-17", "")
    assert source.read_bytes() == before


@pytest.mark.slow("tests/draft/test_sources.py")
def test_a_domain_is_drafted_from_what_a_service_says_of_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The tools are named after its operations; where they are not, that is a finding."""
    monkeypatch.chdir(tmp_path)
    document = written(tmp_path / "shop.yaml", OPENAPI)
    policy = written(tmp_path / "policy.txt", "Nobody postpones a purchase by more than 30 days.\n")
    with chat_server(reply=model) as server:
        use(monkeypatch, server.base_url)
        assert draft(tmp_path / "made", "--from", document, "--policy", policy) == 0
        prompts = [str(each["messages"][-1]["content"]) for each in server.asked]
        assert ["Nobody postpones a purchase by" in prompt for prompt in prompts].count(True) == 2
        tools = next(prompt for prompt in prompts if prompt.count("Write `toolset.yaml` whole"))
        assert (
            "- postpone_purchase (changes): Postpones it. takes purchase_id: string; {days: integer (int32)}. "
            'returns {id: string, status?: "open" | "closed", parent?: {id: string, status?: "open" | "closed", '
            "parent?: {…}}}\n"
        ) in tools
        assert "- get_purchases (reads): takes status?: string. returns [{id: string" in tools

        renamed = written(tmp_path / "other.yaml", OPENAPI.replace("postponePurchase", "prolong"))
        assert draft(tmp_path / "other", "--from", renamed) == 1
    assert capsys.readouterr().err.splitlines()[-1] == (
        "toolscale: shop: after 2 rounds of the step 'tools' this is left, 1 in all: toolset.yaml: tools: none for the "
        "operations prolong; write a tool under each name"
    )


OPENAPI = """
openapi: 3.0.3
info: {title: Shop, version: "1"}
paths:
  /purchases/{purchaseId}/due:
    parameters: [{name: purchaseId, in: path, required: true, schema: {type: string}}]
    put:
      operationId: postponePurchase
      summary: Postpones it
      requestBody: {$ref: "#/components/requestBodies/Days"}
      responses:
        200: {content: {application/json: {schema: {$ref: "#/components/schemas/Purchase"}}}}
  /purchases:
    get:
      parameters: [{name: status, in: query, schema: {type: string}}]
      responses:
        "200":
          content: {application/json: {schema: {type: array, items: {$ref: "#/components/schemas/Purchase"}}}}
components:
  requestBodies:
    Days:
      content:
        application/json:
          schema: {type: object, required: [days], properties: {days: {type: integer, format: int32}}}
  schemas:
    Purchase:
      type: object
      required: [id]
      properties:
        id: {type: string}
        status: {enum: [open, closed]}
        parent: {$ref: "#/components/schemas/Purchase"}
"""


def test_an_mcp_server_says_which_of_its_tools_only_read(tmp_path: Path) -> None:
    tools = [
        {
            "name": "getOrder",
            "description": "Get\nan order",
            "inputSchema": {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]},
        },
        {"name": "peek", "inputSchema": {}, "annotations": {"readOnlyHint": True}},
        {"name": "ping", "inputSchema": {"type": "object", "properties": {}}},
        {
            "name": "refund",
            "inputSchema": {"properties": {"id": {"$ref": "#/$defs/id"}}, "$defs": {"id": {"type": "integer"}}},
            "outputSchema": {"properties": {"paid": {"anyOf": [{"type": "number"}, {"type": "null"}]}}},
        },
    ]
    told = [
        ("get_order", False, "Get an order. takes {id: string}"),
        ("peek", False, "takes nothing"),
        ("ping", True, "takes nothing"),
        ("refund", True, "takes {id?: integer}. returns {paid?: number | null}"),
    ]
    for number, value in enumerate(({"tools": tools}, {"jsonrpc": "2.0", "id": 1, "result": {"tools": tools}})):
        source = read_source(written(tmp_path / f"{number}.json", value))
        assert source is not None and [(each.name, each.writes, each.line) for each in source.operations] == told


def test_a_duckdb_file_is_read_like_a_sqlite_file(tmp_path: Path) -> None:
    path = tmp_path / "shop.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(SHOP.replace("BLOB", "BLOB, made TIMESTAMP, paid BOOLEAN"))
        connection.execute(
            "INSERT INTO Customer SELECT i, 'Zebedee ' || i, DATE '1960-01-01' + i::INT FROM range(30) t(i)"
        )
        connection.execute(
            "INSERT INTO Purchases SELECT i, i % 30, '2026-01-17', i / 4, ['open', 'closed'][1 + i % 2], NULL, "
            "TIMESTAMP '2026-01-01 10:00:00', TRUE FROM range(90) t(i)"
        )
    source = read_source(str(path))
    assert source is not None and source.schema is not None
    assert {name: column.type for name, column in source.schema.tables["purchases"].columns.items()} == {
        "purchase_id": "text", "customer_id": "text", "due_on": "date", "fee_cents": "cents", "status": "text",
        "made": "datetime", "paid": "bool",
    }  # fmt: skip
    assert source.schema.tables["purchases"].columns["customer_id"].fk == "customers.customer_id"
    assert "Zebedee" not in repr(source)


def notes(source: Source | None) -> tuple[str, ...]:
    assert source is not None
    return source.notes


def test_what_a_database_does_not_declare_is_found_or_made(tmp_path: Path) -> None:
    """No keys, no references, a circle, words of SQL, and what no domain can hold."""
    source = read_source(
        sqlite(
            tmp_path / "odd.sqlite",
            """
            CREATE TABLE users (name TEXT);
            CREATE TABLE "order" (number TEXT UNIQUE, "select" INT, weight REAL, made TEXT, tags JSON);
            CREATE TABLE lines (order_number TEXT, qty INT);
            CREATE TABLE staff (id INT PRIMARY KEY, boss INT REFERENCES staff (id), team INT REFERENCES teams (id));
            CREATE TABLE teams (id INT PRIMARY KEY, head INT REFERENCES staff (id));
            INSERT INTO "order" VALUES ('A-1', 1, 0.5, '2026-01-02 10:00:00', '{}');
            INSERT INTO lines VALUES ('A-1', 2);
            """,
        )
    )
    assert notes(source) == (
        "lines: no key; a column for it is made",
        "order: no key; number, which no two rows share, is taken for it",
        "users: no key; a column for it is made",
        "lines.order_number: taken for a reference to order; each value is found",
        "staff.team: its reference to teams closes a circle; a plain value",
        "order.number: called order_entry_number",
        "order.select: called select_value",
        "order.weight: called weight_hundredths",
        "order.tags: left out, of type JSON",
        "order: called order_entries",
        "staff.id: called staff_id",
        "staff: called staffs",
        "teams.id: called team_id",
        "order.made: taken for a moment; each value is one",
        "staff.id, staff.boss, staff.team, teams.id, teams.head: kept as text, like all keys and what refers to them",
    )


@needs("PostgreSQL", postgres_folder())
def test_a_server_is_read_like_a_file(tmp_path: Path) -> None:
    with postgres(tmp_path) as address:
        url = f"postgresql+psycopg2://{address}"
        engine = sa.create_engine(url)
        with engine.begin() as connection:
            connection.execute(sa.text(SHOP.replace("BLOB", "BYTEA, made TIMESTAMPTZ, paid BOOLEAN")))
            connection.execute(sa.text("INSERT INTO Customer VALUES (1, 'Zebedee Quux', '1961-03-05')"))
            connection.execute(
                sa.text("INSERT INTO \"Purchases\" VALUES (1, 1, '2026-01-17', 3.5, 'open', NULL, NOW(), TRUE)")
            )
        engine.dispose()
        source = read_source(f"postgresql://{address}")
    assert source is not None and source.schema is not None
    assert {name: column.type for name, column in source.schema.tables["purchases"].columns.items()} == {
        "purchase_id": "text", "customer_id": "text", "due_on": "date", "fee_cents": "cents", "status": "text",
        "made": "datetime", "paid": "bool",
    }  # fmt: skip
    assert source.schema.tables["purchases"].columns["customer_id"].fk == "customers.customer_id"
    assert "Zebedee" not in repr(source) and address.split(":")[1].split("@")[0] not in repr(source)


@pytest.mark.parametrize(
    ("script", "more", "line"),
    [
        ("CREATE TABLE a (b INT);", (), "no table refers to another, so nothing belongs to anybody; "),
        ("CREATE VIEW a AS SELECT 1;", (), "there is no table; name a database that has some"),
        (
            "".join(f"CREATE TABLE t{number} (id INT PRIMARY KEY);" for number in range(40)),
            (),
            "40 tables; choose 12 or fewer with --only: t0, t1, ",
        ),
        (
            f"CREATE TABLE a ({', '.join(f'c{number} INT' for number in range(61))});",
            (),
            "a has 61 columns, and 60 can be read; make a table of those that matter, or leave it out with --only",
        ),
        ("CREATE TABLE a (b INT);", ("c",), "--only: there is no table 'c'; there are a"),
    ],
)
def test_a_database_that_cannot_be_a_domain_is_one_line(
    script: str, more: tuple[str, ...], line: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=re.escape(line)):
        read_source(sqlite(tmp_path / "a.sqlite", script), more)


def test_a_database_whose_errors_are_not_utf8_is_one_line(tmp_path: Path) -> None:
    path = Path(sqlite(tmp_path / "a.sqlite", "CREATE TABLE a (b INTEGER PRIMARY KEY, c INTEGER REFERENCES a (b));"))
    path.write_bytes(path.read_bytes().replace(b"CREATE TABLE", b"CREATE TABL\xff", 1))
    with pytest.raises(UsageError, match=r"a\.sqlite: cannot be read \(.*0xff"):
        read_source(str(path))


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("hello", "neither a database, nor an OpenAPI document (openapi: 3.x, paths), nor an MCP server's list"),
        ("swagger: '2.0'\npaths: {}", "neither a database, nor an OpenAPI document"),
        ("openapi: 3.1.0\npaths: {}", "there is no operation; name a document that has some"),
        ("openapi: 3.1.0\npaths: {/a: 1}", "paths./a: not a mapping; write its operations under get, post, …"),
        (
            "openapi: 3.1.0\npaths: {/a: {get: {parameters: [{name: b, schema: {$ref: 'file:///etc/passwd'}}]}}}",
            "paths./a.get: $ref 'file:///etc/passwd' leads out of the document; bring what it names into it",
        ),
        (
            "openapi: 3.1.0\npaths: {/a: {get: {parameters: [{$ref: 'https://example.org/b.yaml#/c'}]}}}",
            "leads out of the document",
        ),
        ("openapi: 3.1.0\npaths: {/a: {get: {parameters: [{$ref: '#/c'}]}}}", "$ref '#/c' leads to nothing"),
        (
            "openapi: 3.1.0\nc: {$ref: '#/c'}\npaths: {/a: {get: {parameters: [{$ref: '#/c'}]}}}",
            "$ref '#/c' leads in a circle; write out what is meant",
        ),
        (
            "openapi: 3.1.0\npaths: {" + ", ".join(f"/{number}: {{get: {{}}}}" for number in range(41)) + "}",
            "41 operations; choose 40 or fewer with --only: get_0, get_1",
        ),
        ("a: &a [*a]", "an anchor stands inside itself"),
        ('{"tools": [1]}', "tools[0]: no tool; each has a name and an inputSchema"),
    ],
)
def test_a_document_that_describes_no_service_is_one_line(text: str, line: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=re.escape(line)):
        read_source(written(tmp_path / "a.yaml", text))


def test_a_wide_and_deep_document_is_told_in_a_short_line(tmp_path: Path) -> None:
    node = {"type": "object", "properties": {f"f{number}": {"$ref": "#/components/schemas/N"} for number in range(500)}}
    source = read_source(
        written(
            tmp_path / "a.json",
            {
                "openapi": "3.1.0",
                "paths": {"/a": {"post": {"description": "x\x1b[2J" * 9_000, "parameters": [
                    {"name": "n", "schema": {"$ref": "#/components/schemas/N"}}
                ]}}},
                "components": {"schemas": {"N": node}},
            },
        )
    )  # fmt: skip
    assert source is not None and len(source.operations[0].line) <= 1_000 and "\x1b" not in source.operations[0].line


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("--from", "absent.sqlite"), "absent.sqlite: cannot be read (No such file or directory); name a file"),
        (("--from", "https://me.example/openapi.yaml?key=secret"), "openapi.yaml is on the web; download it, and name"),
        (("--from", "/dev/zero"), "/dev/zero: no regular file; name a database or a document"),
        (("--from", "."), ".: no regular file; name a database or a document"),
        (("--only", "a"), "--only chooses from a source; name one with --from"),
        (("--policy", "absent.txt"), "absent.txt: the file is missing; write it in"),
        (
            ("--from", "postgresql://me:secret@127.0.0.1:1/shop"),
            "://me:***@127.0.0.1:1/shop: cannot be read (connection",
        ),
        (("--from", "nonsense://me:secret@host"), "--from: no database at nonsense://…; write postgresql://user@host"),
    ],
)
def test_a_source_that_is_not_there_is_one_line(
    arguments: tuple[str, ...],
    line: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    use(monkeypatch, "http://127.0.0.1:1/v1")
    assert draft(tmp_path / "made", *arguments) == 2
    error = capsys.readouterr().err
    assert error.startswith("toolscale: ") and line in error and error.count("\n") == 1 and "secret" not in error


def test_what_is_read_is_told_before_a_model_is_looked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TOOLSCALE_MODEL", raising=False)
    assert draft(tmp_path / "made", "--from", str(shop(tmp_path / "shop.sqlite"))) == 2
    lines = capsys.readouterr().err.splitlines()
    assert lines[8:-1] == [
        "Purchases.due_on: taken for a date; each value is one",
        "Customer.id, Purchases.id, Purchases.customer_id: kept as text, like all keys and what refers to them",
    ]
    assert lines[-1].startswith("toolscale: ") and "TOOLSCALE_MODEL" in lines[-1]
