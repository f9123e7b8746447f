"""A dataset folder of ours, audited by executing it."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from toolscale.audit import Audit, audit_source
from toolscale.audit.found import KINDS
from toolscale.cli import main

Row = dict[str, Any]


@pytest.fixture
def folder(mock_dataset: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(mock_dataset, tmp_path / "mock"))


def change_rows(folder: Path, change: Callable[[Row], None]) -> int:
    """Change the rows of the tasks, and return how many were changed."""
    changed = 0
    for shard in (folder / "mock").glob("*.parquet"):
        table = pq.read_table(shard)
        rows = table.to_pylist()
        for row in rows:
            before = json.dumps(row, default=str)
            change(row)
            changed += json.dumps(row, default=str) != before
        pq.write_table(pa.Table.from_pylist(rows, table.schema), shard)
    return changed


def found_of(audit: Audit, kind: str) -> list[tuple[str, str]]:
    return [(finding.place, finding.evidence) for finding in audit.findings if finding.kind == kind]


def test_a_sound_dataset_has_no_findings_but_that_refusals_are_words(mock_dataset: Path) -> None:
    audit = audit_source(str(mock_dataset))
    assert {finding.kind for finding in audit.findings} <= {"words_win", "shared_state"}
    unchanged = {row["id"][:12] for row in rows_of(mock_dataset) if row["row_changes"] == "[]"}
    won = {task for finding in audit.findings if finding.kind == "words_win" for task in finding.tasks}
    assert won == unchanged
    assert (audit.tasks, audit.calls == audit.executed, audit.undecided) == (10, True, ())


def rows_of(folder: Path) -> list[Row]:
    return [row for shard in sorted((folder / "mock").glob("*.parquet")) for row in pq.read_table(shard).to_pylist()]


def test_a_golden_call_that_fails_loses_and_says_why(folder: Path) -> None:
    def change(row: Row) -> None:
        for call in row["golden_calls"]:
            arguments = json.loads(call["arguments"])
            names = [name for name in arguments if name.endswith("_id")]
            call["arguments"] = json.dumps(arguments | dict.fromkeys(names, "zz_0"))

    changed = change_rows(folder, change)
    audit = audit_source(str(folder))
    failed = found_of(audit, "golden_fails")
    assert changed and len(failed) >= changed
    assert all("zz_0" in evidence for _, evidence in failed)
    assert {evidence.partition(": ")[2] for _, evidence in found_of(audit, "unsaid")} == {
        "nothing that was said before holds 'zz_0'"
    }
    assert audit.concerned("golden_loses") >= 1


def test_a_reference_to_no_row_is_listed(folder: Path) -> None:
    place = folder / "environments" / "mock" / "database.sqlite"
    with sqlite3.connect(place) as connection:
        connection.execute("PRAGMA foreign_keys = OFF")
        table, column = references(connection)
        key = connection.execute(f"SELECT MIN({column}) FROM {table}").fetchone()[0]
        lost = connection.execute(f"UPDATE {table} SET {column} = 'nobody' WHERE {column} = ?", (key,)).rowcount
    audit = audit_source(str(folder))
    ((where, evidence),) = found_of(audit, "dangling")
    assert where == f"mock: {table}.{column}"
    assert evidence.startswith(f"{lost} of ") and "'nobody'" in evidence
    assert (audit.tasks, audit.executed, audit.open("golden_fails")) == (10, 0, 10)


def references(connection: sqlite3.Connection) -> tuple[str, str]:
    for (table,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name").fetchall():
        for key in connection.execute(f"PRAGMA foreign_key_list({table})").fetchall():
            return table, key[3]
    raise AssertionError("no table refers to another one")


def test_the_verb_prints_counts_and_writes_a_page(
    mock_dataset: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "audit.html"
    assert main(["audit", str(mock_dataset), "--html", str(page)]) == 0
    first, _, names, *rest = capsys.readouterr().out.splitlines()
    assert first.startswith("mock: 10 tasks, ") and first.endswith(" golden calls executed")
    assert names.split() == ["what", "findings", "tasks", "undecided", "tasks"]
    [clean] = [line for line in rest if line.startswith("no findings of ")]
    counts = audit_source(str(mock_dataset)).counts()
    titles = [KINDS[kind][0] for kind, count in counts.items() if not count]
    assert clean == f"no findings of {len(titles)} of the 14 kinds: {', '.join(titles)}"
    assert not [line for line in rest[: rest.index(clean)] if line.split("  ")[0] in titles]
    assert rest[-1] == f"all of it is in {page}"
    text = page.read_text()
    assert "<script" not in text and "http" not in text
    assert main(["audit", str(mock_dataset), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["counts"]["golden_fails"] == {"findings": 0, "tasks": 0, "undecided_tasks": 0}
    assert told["counts"]["words_win"]["findings"] == sum(each["kind"] == "words_win" for each in told["findings"])


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["{}/none"], "{}/none has no manifest.json: it is no dataset"),
        (["toolscale-hf:{}/none"], "{}/none: there is no such file or folder; give rows as nvidia/ToolScale has them"),
        (["tau2:{}"], "{}: it is no checkout of tau2-bench (src/tau2/domains is missing); git clone https"),
        (["{}", "--domain", "retail"], "{}: --domain and --python are for tau2 alone; leave them out, or give tau2:"),
        (["{}", "--html", "{}/page.txt"], "--html {}/page.txt: it does not end in .html; give a file such as audit"),
    ],
)
def test_bad_input_is_one_line(
    arguments: list[str], told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["audit", *(part.replace("{}", str(tmp_path)) for part in arguments)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"toolscale: {told.replace('{}', str(tmp_path))}")
