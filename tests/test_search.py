"""Tasks and rejects found by words, and rejects as a table: what a person types, and what comes out."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.dataset.test_recheck import TRAIN, repair
from toolscale.cli import main
from toolscale.dataset.arrow import REJECT_SCHEMA, TASK_SCHEMA
from toolscale.dataset.columns import Row
from toolscale.dataset.parquet import read_shard, write_shards

REJECTED = "rejects/mock/rejected-00000-of-00001.parquet"
REQUESTS = ("Renew DUNE for Ada, please.", "Pay the fine of Ada.", "renew Emma for Bob")
FORMULAS = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "＝1", "plain; =1", 'with "quotes", commas\nand lines']


@pytest.fixture
def dataset(mock_dataset: Path, tmp_path: Path) -> Path:
    """A copy of the small dataset, in whose first tasks and rejects other words stand."""
    folder = Path(shutil.copytree(mock_dataset, tmp_path / "mock"))
    tasks, rejects = read_shard(folder / TRAIN, TASK_SCHEMA), read_shard(folder / REJECTED, REJECT_SCHEMA)
    for request, task, reject in zip(REQUESTS, tasks, rejects, strict=False):
        task["request"] = reject["request"] = request
    for row in (*tasks[3:], *rejects[3:]):
        row["request"] = "Something else."
    rejects[1]["failed"] = [
        {"gate": "unambiguous", "finding": "two rows fit Dune"},
        {"gate": "novel", "finding": "said before"},
    ]
    write_shards(folder / "mock", "train", tasks, TASK_SCHEMA)
    write_shards(folder / "rejects" / "mock", "rejected", rejects, REJECT_SCHEMA)
    repair(folder)
    return folder


def found(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> list[str]:
    """The requests that a verb lists."""
    assert main([*map(str, arguments), "--json"]) == 0
    return [row["request"] for row in json.loads(capsys.readouterr().out)]


def test_tasks_are_found_by_all_words_of_their_requests_whatever_the_case(
    dataset: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert found(capsys, "show", dataset, "--search", "ADA renew") == [REQUESTS[0]]
    assert found(capsys, "show", dataset, "--search", "Renew") == [REQUESTS[0], REQUESTS[2]]
    assert found(capsys, "show", dataset, "--search", "renew nobody") == []
    assert set(found(capsys, "show", dataset, "--search", "ada", "--random", "5")) == set(REQUESTS[:2])
    task = read_shard(dataset / TRAIN, TASK_SCHEMA)[1]["id"]
    assert found(capsys, "show", dataset, task, "--search", "ada") == [REQUESTS[1]]
    assert found(capsys, "show", dataset, task, "--search", "renew") == []


def test_a_search_says_how_many_it_found(dataset: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, told in (
        (["show", "--search", "renew"], "2 of 2 tasks with the words renew"),
        (["show", "--search", "renew", "--random", "1"], "1 of 2 tasks with the words renew; --random N draws others"),
        (["show", "--search", "nobody"], "0 of 0 tasks with the words nobody"),
        (["rejects", "--search", "ADA Dune", "--limit", "1"], "1 of 2 rejects with the words ada dune"),
        (
            ["rejects", "--search", "dune", "--gate", "unambiguous"],
            "1 of 1 rejects that failed unambiguous with the words dune",
        ),
    ):
        assert main([arguments[0], str(dataset), *arguments[1:]]) == 0
        assert capsys.readouterr().out.splitlines()[-1] == told


def test_rejects_are_found_by_their_findings_too(dataset: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert found(capsys, "rejects", dataset, "--search", "dune") == list(REQUESTS[:2])
    assert found(capsys, "rejects", dataset, "--search", "FINE before") == [REQUESTS[1]]
    assert found(capsys, "rejects", dataset, "--search", "ada", "--gate", "unambiguous") == [REQUESTS[1]]


@pytest.mark.parametrize("verb", ["show", "rejects"])
def test_a_search_for_nothing_and_one_for_what_a_terminal_obeys(
    dataset: Path, capsys: pytest.CaptureFixture[str], verb: str
) -> None:
    assert main([verb, str(dataset), "--search", " "]) == 2
    assert capsys.readouterr().err == "toolscale: --search is ' '; give at least one word\n"
    assert main([verb, str(dataset), "--search", "\x1b]0;owned\x07"]) == 0
    assert "\\x1b]0;owned\\x07" in (out := capsys.readouterr().out) and out.replace("\n", "").isprintable()


def expected(row: Row) -> Row:
    return {
        "domain": "mock",
        "number": row["number"],
        "intent": row["intent_id"],
        "request": row["request"],
        "failed_gates": ", ".join(failed["gate"] for failed in row["failed"]),
        "findings": "; ".join(failed["finding"] for failed in row["failed"]),
        "reproduce": row["reproduce"],
    }


def test_all_rejects_that_are_chosen_become_rows_of_a_table(
    dataset: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [expected(row) for row in read_shard(dataset / REJECTED, REJECT_SCHEMA)]
    assert main(["rejects", str(dataset), "--limit", "1", "--export", str(tmp_path / "all.PARQUET")]) == 0
    assert capsys.readouterr().out == f"{tmp_path}/all.PARQUET: {len(rows)} rejects\n"
    assert pq.read_table(tmp_path / "all.PARQUET").to_pylist() == rows
    assert main(["rejects", str(dataset), "--search", "ada", "--export", str(tmp_path / "some.csv"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"file": f"{tmp_path}/some.csv", "rejects": 2}
    with (tmp_path / "some.csv").open(newline="", encoding="utf-8") as file:
        assert list(csv.DictReader(file)) == [row | {"number": str(row["number"])} for row in rows[:2]]


def test_a_cell_that_a_spreadsheet_would_run_is_defused(dataset: Path, tmp_path: Path) -> None:
    rows = read_shard(dataset / REJECTED, REJECT_SCHEMA)
    evil = [row | {"request": text, "reproduce": text} for row, text in zip(rows, FORMULAS, strict=False)]
    write_shards(dataset / "rejects" / "mock", "rejected", evil, REJECT_SCHEMA)
    repair(dataset)
    for name in ("evil.csv", "evil.parquet"):
        assert main(["rejects", str(dataset), "--export", str(tmp_path / name)]) == 0
    with (tmp_path / "evil.csv").open(newline="", encoding="utf-8") as file:
        cells = [(row["request"], row["reproduce"]) for row in csv.DictReader(file)]
    told = ["'" + text for text in FORMULAS[:7]] + FORMULAS[7:]
    assert cells == [(text, text) for text in told[: len(evil)]]
    assert pq.read_table(tmp_path / "evil.parquet").column("request").to_pylist() == FORMULAS[: len(evil)]
    assert b'"plain; =1"' in (tmp_path / "evil.csv").read_bytes(), "a semicolon ends no cell"


def test_a_table_that_cannot_be_written_is_one_line_and_nothing_else(
    dataset: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "folder.csv").mkdir()
    before = sorted(tmp_path.rglob("*"))
    for file, told in (
        (
            "rejects.xlsx",
            f"toolscale: --export is '{tmp_path}/rejects.xlsx'; give a file whose name ends in .csv or .parquet\n",
        ),
        ("rejects", f"toolscale: --export is '{tmp_path}/rejects'; give a file whose name ends in .csv or .parquet\n"),
        (
            "mock/mock/more.csv",
            f"toolscale: --export is '{tmp_path}/mock/mock/more.csv', which lies in the dataset; "
            "choose a place outside of it\n",
        ),
        (
            "folder.csv",
            f"toolscale: cannot write {tmp_path}/folder.csv: is a directory; "
            "free space or choose a place that can be written\n",
        ),
        ("\x1b[2J", f"toolscale: --export is '{tmp_path}/\\x1b[2J'; give a file whose name ends in .csv or .parquet\n"),
    ):
        assert main(["rejects", str(dataset), "--export", str(tmp_path / file)]) == 2
        assert capsys.readouterr() == ("", told)
    assert main(["rejects", str(tmp_path), "--export", str(tmp_path / "none.csv")]) == 2
    assert sorted(tmp_path.rglob("*")) == before
