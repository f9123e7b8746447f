"""The command line as people and programs use it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from toolscale.cli import commands, main
from toolscale.cli.output import say_cents
from toolscale.cli.screen import print_task
from toolscale.dataset.describing.reading import read_dataset


def test_domains_lists_what_is_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["domains"]) == 0
    assert "mock" in capsys.readouterr().out
    assert main(["domains", "--json"]) == 0
    assert "mock" in {row["domain"] for row in json.loads(capsys.readouterr().out)}


def test_synthesize_says_where_the_dataset_is_and_why_others_are_not_in_it(
    mock_dataset: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    again = ["synthesize", "mock", "--tasks", "10", "--turns", "single", "--answer", "message", "--workers", "1"]
    assert main([*again, "--out", str(mock_dataset)]) == 0
    first, second, *_ = capsys.readouterr().out.splitlines()
    assert first.startswith(f"{mock_dataset}: 10 verified tasks (")
    assert "candidates judged" in second and "rejected" in second


def test_verify_holds_or_names_what_does_not(
    mock_dataset: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["verify", str(mock_dataset), "--workers", "1"]) == 0
    assert "everything holds" in capsys.readouterr().out
    assert main(["verify", str(tmp_path)]) == 2
    assert capsys.readouterr().err.startswith(f"toolscale: {tmp_path} has no manifest.json")


def test_show_prints_a_task_for_people(mock_dataset: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", str(mock_dataset), "--random", "2", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert main(["show", str(mock_dataset), rows[1]["id"][:12]]) == 0
    shown = capsys.readouterr().out
    for expected in (
        rows[1]["id"],
        rows[1]["golden_calls"][0]["name"],
        "changes",
        "to tell",
        "verdict",
        "mutants_killed",
    ):
        assert expected in shown
    assert main(["show", str(mock_dataset), "zzz"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_what_may_not_be_told_stands_apart(mock_dataset: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fact = {"kind": "money", "value": "11009", "about": "checking account", "withheld": False}
    row = read_dataset(mock_dataset).rows.tasks[0] | {
        "communicate": [fact, fact | {"value": "77056", "about": None, "withheld": True}]
    }
    print_task(row, "train")
    shown = [line.strip() for line in capsys.readouterr().out.splitlines()]
    assert shown[shown.index("to tell") :][:4] == [
        "to tell",
        "money of checking account: $110.09",
        "not to tell",
        "money: $770.56",
    ]


def test_intents_without_a_task_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["synthesize", "mock", "--tasks", "3", "--workers", "1", "--out", str(tmp_path / "mock")]) == 0
    folder = tmp_path / "mock"
    assert capsys.readouterr().out.splitlines() == [
        f"{folder}: 3 verified tasks (3 train, 0 test)",
        "  4 candidates judged: 3 became tasks, 0 rejected, 1 right but not needed; "
        "1 more numbers had no case in the database",
        "  2 of 4 intents (kinds of requests) have no task: none of their candidates was chosen; "
        "a larger --tasks leaves out fewer: return_all, pay_over_desk_limit",
        f"read some: toolscale show {folder} --random 3; judge all again: toolscale verify {folder}; "
        f"why some were rejected: toolscale rejects {folder}",
    ]
    card = (tmp_path / "mock" / "README.md").read_text()
    assert "| intents | 2 of 4; without a task: return_all (no seat), pay_over_desk_limit (no seat) |" in card


def test_cents_are_explained_where_a_text_names_some(capsys: pytest.CaptureFixture[str]) -> None:
    say_cents(["call 3, fee_cents pay_fee: nothing that was said before holds 45050"])
    say_cents(["4 rows fit"])
    assert capsys.readouterr().out == "names that end in _cents hold cents: 1250 is 12.50\n"


def test_rejects_and_stats(mock_dataset: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rejects", str(mock_dataset), "--limit", "1"]) == 0
    assert "rejects" in capsys.readouterr().out
    assert main(["rejects", str(mock_dataset), "--gate", "grounded", "--json"]) == 0
    assert all(
        any(failed["gate"] == "grounded" for failed in row["failed"]) for row in json.loads(capsys.readouterr().out)
    )
    assert main(["stats", str(mock_dataset)]) == 0
    assert "10 tasks" in capsys.readouterr().out
    assert main(["stats", str(mock_dataset), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["counts"]["accepted"] == 10


def test_judge_shows_what_every_gate_says_of_one_candidate(capsys: pytest.CaptureFixture[str]) -> None:
    status = main(["judge", "mock", "0", "--json"])
    judged = json.loads(capsys.readouterr().out)
    failed = [gate for gate in judged["verdict"]["gates"] if gate["status"] == "fail"]
    assert status == (1 if failed else 0)
    assert main(["judge", "mock", "0"]) == status


def test_schemas_can_be_checked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schemas", "--check"]) == 0
    assert main(["schemas", "--check", "--out", str(tmp_path)]) == 1
    assert main(["schemas", "--out", str(tmp_path)]) == 0
    assert main(["schemas", "--check", "--out", str(tmp_path), "--json"]) == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["synthesize", "mok"], "toolscale: unknown domain 'mok'; known domains:"),
        (["admit", "mok"], "toolscale: unknown domain 'mok'; known domains:"),
        (["synthesize", "mock", "--tasks", "none"], "toolscale: Invalid value for '--tasks'"),
        (["show"], "toolscale: Missing argument 'DATASET'"),
        (["verifi"], "toolscale: No such command 'verifi'"),
        (["rejects", "nowhere"], "toolscale: nowhere has no manifest.json"),
        (["diff", "nowhere", "nowhere"], "toolscale: nowhere has no manifest.json"),
        (["prune", "nowhere", "--keep", "1"], "toolscale: nowhere holds no folder `runs`"),
    ],
)
def test_bad_usage_is_one_line_and_exits_2(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(message) and captured.err.count("\n") == 1


def test_a_reader_who_leaves_is_no_error(mock_dataset: Path) -> None:
    command = f"{sys.executable} -m toolscale show {mock_dataset} --random 10 | head -1"
    done = subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True, check=False)
    assert done.stderr == ""


def test_every_verb_stands_in_the_help_under_what_it_is_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    lines = capsys.readouterr().out.splitlines()
    listed = [line.split()[0] for line in lines[lines.index("What most people need:") :] if line.startswith("  ")]
    assert sorted(listed) == sorted(commands.commands)
    assert len(lines) <= 56 and max(map(len, lines)) <= 80
