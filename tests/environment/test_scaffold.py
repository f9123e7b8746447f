"""`toolscale new` writes a domain that is admitted as it is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from toolscale.cli import main
from toolscale.environment.environment import load_environment
from toolscale.environment.registry import FILES, OPTIONAL, POLICY_TEXT
from toolscale.errors import SpecError
from toolscale.verify.yields import measure_yields

LIBRARY = "patron, title, copy of title, loan of copy by patron"
Spoil = Callable[..., Path]


def new(root: Path, domain: str, tables: str) -> Path:
    assert main(["new", domain, "--tables", tables, "--in", str(root)]) == 0
    return root / domain


def test_a_new_domain_is_admitted_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = new(tmp_path, "library", LIBRARY)
    assert {path.name for path in folder.iterdir()} == {*FILES, POLICY_TEXT} - OPTIONAL
    assert main(["admit", str(folder), "--candidates", "3"]) == 0
    out = capsys.readouterr().out
    assert "library is admitted: 12 tools" in out and "yields little" not in out
    assert list(load_environment(folder).tools) == [
        "find_patron", "get_patron", "get_title", "list_copies", "get_copy", "list_loans_by_copy",
        "list_loans_by_patron", "get_loan", "close_loan", "postpone_loan", "transfer_to_human", "calculate",
    ]  # fmt: skip


def test_it_is_written_where_one_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["new", "kites", "--tables", "flyer, kite by flyer"]) == 0
    assert capsys.readouterr().out.startswith("environments/kites: 9 files, 2 tables\n")
    assert [path.relative_to(tmp_path).as_posix() for path in tmp_path.glob("*/*")] == ["environments/kites"]
    assert main(["admit", "kites", "--candidates", "0"]) == 0
    assert "kites is admitted: 8 tools" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("domain", "tables"),
    [
        ("hotel", "guest, room, stay of room by guest, service_order by guest"),
        ("pet_insurance", "owner, policy by owner, vet, claim of policy by owner"),
        ("port-logistics", "agent, ship, berth, visit of ship in berth by agent"),
        ("one", "box, address by box"),
        ("null", "no, off of no, yes of off by no"),
    ],
)
def test_whatever_the_tables_are_called_every_intent_yields(tmp_path: Path, domain: str, tables: str) -> None:
    yields = measure_yields(load_environment(new(tmp_path, domain, tables)), 3)
    assert [item.stream for item in yields if item.is_barren] == []
    assert sum(item.accepted for item in yields) >= 0.75 * sum(item.judged for item in yields)


def test_a_new_domain_makes_a_dataset(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = new(tmp_path, "library", LIBRARY)
    assert main(["synthesize", str(folder), "--tasks", "8", "--out", str(tmp_path / "made"), "--workers", "1"]) == 0
    assert "8 verified tasks" in capsys.readouterr().out
    assert main(["verify", str(tmp_path / "made")]) == 0


@pytest.mark.parametrize(
    ("domain", "tables", "line"),
    [
        ("library", "patron; title", "--tables: 'patron; title' is no table; write it as: --tables 'patron, title,"),
        (
            "library",
            "patron, loan by patrn",
            "--tables: 'loan' belongs to 'patrn', which does not stand before it; did",
        ),
        ("library", "patron, loan by patron, loan by patron", "--tables: 'loan' stands there twice; name each table"),
        ("library", "patron, title", "--tables: nothing belongs to the patron; write one as: order_item by patron"),
        ("library", "patron, order by patron", "--tables: 'order' is a word of SQL; choose another name, order_item"),
        ("library", "patron, value by patron", "--tables: 'values' is a word of SQL; choose another name, value_item"),
        ("library", "patron, sqlite_a by patron", "--tables: 'sqlite_a' begins as tables of SQLite itself do"),
        ("library", "patron, handover by patron", "--tables: 'handovers' is built in; choose another name"),
        ("library", f"patron, {'b' * 40} by patron", f"--tables: '{'b' * 40}s' has more than 40 letters"),
        (
            "rejects",
            LIBRARY,
            "'rejects' cannot name a domain; use small letters first, then also digits, _ and -, 60 at most",
        ),
        (
            "Library",
            LIBRARY,
            "'Library' cannot name a domain; use small letters first, then also digits, _ and -, 60 at most",
        ),
    ],
)
def test_a_line_that_names_no_domain_is_refused_and_nothing_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], domain: str, tables: str, line: str
) -> None:
    assert main(["new", domain, "--tables", tables, "--in", str(tmp_path)]) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith(f"toolscale: {line}") and captured.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_there_is_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = new(tmp_path, "library", LIBRARY)
    (folder / POLICY_TEXT).write_text("mine", encoding="utf-8")
    assert main(["new", "library", "--tables", LIBRARY, "--in", str(tmp_path)]) == 2
    assert "is there already; choose another name, or remove it" in capsys.readouterr().err
    assert (folder / POLICY_TEXT).read_text(encoding="utf-8") == "mine"


@pytest.mark.parametrize(
    ("name", "what"),
    [("policy", "means something else in expressions and requests"), ("order", "is a word of SQL")],
)
def test_a_role_of_a_name_that_is_taken_is_one_line(spoil: Spoil, name: str, what: str) -> None:
    roles = "roles:\n      member: {is: members, by: identity}\n    when: member.fees_cents >= say.amount_cents"
    more = roles.replace("    when", f"      {name}: {{is: loans, of: member}}\n    when")
    with pytest.raises(SpecError) as caught:
        load_environment(spoil(("intents.yaml", roles, more)))
    assert str(caught.value) == (
        f"intents.yaml: intents[pay_over_desk_limit].roles.{name}: {name!r} {what}; call the role {name}_meant, say"
    )
