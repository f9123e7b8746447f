"""A folder may come from anywhere: whatever its manifest, files and cells hold, `verify` names what is false and never
breaks."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tests.dataset.test_recheck import TRAIN, repair
from toolscale.cli import main
from toolscale.config import GRADING_VERSION
from toolscale.dataset.arrow import REJECT_SCHEMA, TASK_SCHEMA
from toolscale.dataset.checking.changes import CHANGES
from toolscale.dataset.checking.integrity import Finding
from toolscale.dataset.checking.recheck import verify_dataset
from toolscale.dataset.columns import Row
from toolscale.dataset.comparing.versions import release
from toolscale.dataset.describing.reading import read_dataset
from toolscale.dataset.making.folder import CARD, list_files, read_contents, seal_dataset
from toolscale.dataset.manifest import MANIFEST, read_manifest, render_manifest
from toolscale.dataset.parquet import read_shard, write_shards
from toolscale.dataset.world import read_rows
from toolscale.environment.environment import load_environment
from toolscale.errors import DatasetError

REJECTED = "rejects/mock/rejected-00000-of-00001.parquet"
DATABASE = "environments/mock/database.sqlite"
DEEP = "[" * 100_000
A_FACT = {"kind": "x", "value": "1", "about": None, "withheld": False}


@pytest.fixture
def dataset(few_tasks: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(few_tasks, tmp_path / "mock"))


def claim(folder: Path, path: str, **changes: Any) -> None:
    """Let the manifest say something else of one file."""
    manifest = read_manifest(folder)
    files = tuple(entry.model_copy(update=changes) if entry.path == path else entry for entry in manifest.files)
    (folder / MANIFEST).write_bytes(render_manifest(manifest.model_copy(update={"files": files})))


def claim_versions(folder: Path, **versions: str) -> None:
    manifest = read_manifest(folder)
    part = manifest.domains["mock"]
    part = part.model_copy(update={"versions": part.versions | versions})
    (folder / MANIFEST).write_bytes(render_manifest(manifest.model_copy(update={"domains": {"mock": part}})))


def findings_at(folder: Path, path: str) -> list[str]:
    return [finding.finding for finding in verify_dataset(folder).findings if finding.place == path]


def test_files_that_are_no_part_of_a_dataset_are_named_though_the_manifest_lists_them(dataset: Path) -> None:
    names = {
        "evil.py",
        ".hidden",
        "changes.json",
        "plots/mock/gates.png",
        "environments/mock/evil.sh",
        "mock/extra.parquet",
        "mock/train-00001-of-00001.parquet",
        "rejects/mock/notes.txt",
    }
    for name in names:
        (dataset / name).parent.mkdir(exist_ok=True, parents=True)
        if name.endswith(".parquet"):
            shutil.copy(dataset / TRAIN, dataset / name)
        else:
            (dataset / name).write_text("import os")
    repair(dataset)
    assert names <= {finding.place for finding in verify_dataset(dataset).findings}


def test_files_that_every_dataset_has_are_missed_though_the_manifest_does_not_list_them(dataset: Path) -> None:
    names = ["environments/mock/admission.json", CARD, REJECTED]
    for name in names:
        (dataset / name).unlink()
    repair(dataset)
    said = f"every dataset has this file; {MANIFEST} does not list it"
    assert {Finding(name, "integrity", said) for name in names} <= set(verify_dataset(dataset).findings)


def test_false_sizes_and_counts_of_rows_are_named(dataset: Path) -> None:
    claim(dataset, TRAIN, rows=1_000_000)
    claim(dataset, CARD, rows=7)
    size = (dataset / DATABASE).stat().st_size
    claim(dataset, DATABASE, bytes=1)
    rows = len(read_shard(dataset / TRAIN, TASK_SCHEMA))
    assert set(verify_dataset(dataset).findings) == {
        Finding(TRAIN, "integrity", f"the file has {rows} rows; {MANIFEST} says 1000000"),
        Finding(CARD, "integrity", f"the file has no rows; {MANIFEST} says 7"),
        Finding(DATABASE, "integrity", f"the file has {size} bytes; {MANIFEST} says 1"),
    }


def test_a_file_that_is_listed_twice_is_named(dataset: Path) -> None:
    manifest = read_manifest(dataset)
    twice = (manifest.files[0].model_copy(update={"sha256": "0" * 64}), *manifest.files)
    (dataset / MANIFEST).write_bytes(render_manifest(manifest.model_copy(update={"files": twice})))
    assert findings_at(dataset, manifest.files[0].path) == [f"{MANIFEST} lists the file 2 times"]


def test_a_link_to_a_folder_elsewhere_is_named(dataset: Path, tmp_path: Path) -> None:
    (dataset / "more").symlink_to(tmp_path / "nowhere")
    assert findings_at(dataset, "more") == ["it is a link; a dataset holds regular files"]


def test_the_grading_of_a_release_is_that_of_its_tasks(few_tasks: Path, tmp_path: Path) -> None:
    release(few_tasks, None, tmp_path / "first")
    path = tmp_path / "first" / CHANGES
    path.write_text(json.dumps(json.loads(path.read_text()) | {"grading": "99"}))
    manifest = read_manifest(tmp_path / "first")
    assert manifest.release is not None
    seal_dataset(
        tmp_path / "first",
        read_contents(read_dataset(tmp_path / "first")),
        manifest.release.model_copy(update={"grading": "99"}),
    )
    said = f"the grading is 99; {MANIFEST} says that mock was graded under {GRADING_VERSION}"
    assert verify_dataset(tmp_path / "first").findings == (Finding(CHANGES, "schema", said),)


def test_words_of_a_forger_do_not_reach_the_card_by_way_of_what_changed(few_tasks: Path, tmp_path: Path) -> None:
    release(few_tasks, None, tmp_path / "first")
    release_of_other = tmp_path / "second"
    shutil.copytree(few_tasks, tmp_path / "fewer")
    rows = read_shard(few_tasks / TRAIN, TASK_SCHEMA)
    write_shards(tmp_path / "fewer" / "mock", "train", rows[1:], TASK_SCHEMA)
    repair(tmp_path / "fewer")
    release(few_tasks, tmp_path / "fewer", release_of_other)
    path = release_of_other / CHANGES
    changes = json.loads(path.read_text())
    changes["domains"]["mock"]["files"] = ["<script>"]
    path.write_text(json.dumps(changes))
    repair(release_of_other)
    assert "mock: '<script>' is no column, gate or file of an environment" in findings_at(release_of_other, CHANGES)


def test_tasks_of_another_grading_version_begin_with_one_finding_that_says_so(dataset: Path) -> None:
    rows = read_shard(dataset / TRAIN, TASK_SCHEMA)
    rows[0]["mutants_killed"] = 1
    write_shards(dataset / "mock", "train", rows, TASK_SCHEMA)
    repair(dataset)
    claim_versions(dataset, grading="1")
    first, second = verify_dataset(dataset).findings
    assert first == Finding(
        MANIFEST,
        "schema",
        f"mock was graded under version 1, this is version {GRADING_VERSION}: its rows are judged by today's rules, "
        "and those that hold under the older ones may fail here; "
        "verify it with the ToolScale that made it, or make it again",
    )
    assert second.gate == "mutants_killed"


def in_database(folder: Path, *statements: str) -> None:
    connection = sqlite3.connect(folder / DATABASE, isolation_level=None)
    for statement in statements:
        connection.execute(statement)
    connection.close()


def retyped(folder: Path, value: str) -> None:
    """Put a value into a text column that a strict table refuses: the column is declared to take anything, and then
    text again."""
    connection = sqlite3.connect(folder / DATABASE)
    (text,) = connection.execute("SELECT sql FROM sqlite_master WHERE name = 'members'").fetchone()
    connection.close()
    loose = text.replace("full_name TEXT", "full_name ANY")
    for statement in (loose, f"UPDATE members SET full_name = {value}", text):
        if statement.startswith("UPDATE"):
            in_database(folder, "PRAGMA ignore_check_constraints = 1", statement)
        else:
            quoted = statement.replace("'", "''")
            in_database(
                folder,
                "PRAGMA writable_schema = 1",
                f"UPDATE sqlite_master SET sql = '{quoted}' WHERE name = 'members'",
            )


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda folder: in_database(folder, "CREATE TABLE evil (x TEXT)"), "it has a table 'evil'"),
        (lambda folder: in_database(folder, "CREATE VIEW evil AS SELECT 1"), "it has a view 'evil'"),
        (
            lambda folder: in_database(folder, "CREATE TRIGGER evil BEFORE DELETE ON members BEGIN SELECT 1; END"),
            "it has a trigger 'evil'",
        ),
        (
            lambda folder: in_database(folder, "ALTER TABLE members ADD COLUMN evil TEXT"),
            "the table 'members' has other columns",
        ),
        (
            lambda folder: in_database(folder, "PRAGMA foreign_keys = 0", "DROP TABLE members"),
            "the table 'members' is missing",
        ),
        (lambda folder: retyped(folder, "x'00ff'"), "holds a value of type bytes"),
        (lambda folder: retyped(folder, "9e999"), "holds a value of type float"),
        (
            lambda folder: (folder / DATABASE).write_bytes(b"SQLite format 3\0" + b"\1" * 5_000),
            "make the dataset again",
        ),
    ],
)
def test_a_database_that_holds_anything_but_the_schema_is_named(
    dataset: Path, change: Callable[[Path], Any], problem: str
) -> None:
    change(dataset)
    repair(dataset)
    (found,) = findings_at(dataset, DATABASE)
    assert problem in found


def cell(column: str, value: Any, *path: str | int) -> Callable[[Row], None]:
    """Return a change of one cell: a column, or what lies in it."""

    def change(row: Row) -> None:
        holder: Any = row
        for name in (column, *path)[:-1]:
            holder = holder[name]
        holder[(column, *path)[-1]] = value

    return change


def in_candidate(**changes: Any) -> Callable[[Row], None]:
    return lambda row: row.update(candidate=json.dumps(json.loads(row["candidate"]) | changes))


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (cell("id", None), "id is null"),
        (cell("golden_calls", None), "golden_calls is null"),
        (cell("verdict", None), "verdict is null"),
        (cell("evolutions", None), "evolutions is null"),
        (cell("evolutions", [None]), "evolutions is null"),
        (cell("golden_calls", None, 0), "golden_calls is null"),
        (cell("golden_calls", None, 0, "name"), "golden_calls.name is null"),
        (cell("difficulty", None), "difficulty is null"),
        (cell("difficulty", None, "tier"), "difficulty.tier is null"),
        (cell("provenance", float("nan"), "cost_usd"), "provenance.cost_usd is nan, which is no number"),
    ],
)
def test_a_cell_that_is_nothing_is_not_read(dataset: Path, change: Callable[[Row], None], problem: str) -> None:
    rows = read_shard(dataset / TRAIN, TASK_SCHEMA)
    change(rows[1])
    write_shards(dataset / "mock", "train", rows, TASK_SCHEMA)
    with pytest.raises(DatasetError, match=f"row 1: the column {problem}; make the dataset, or pull it, again$"):
        read_shard(dataset / TRAIN, TASK_SCHEMA)


CORRUPTIONS: dict[str, Callable[[Row], None]] = {
    "an empty evolution": cell("evolutions", [""]),
    "another tier": cell("difficulty", "x", "tier"),
    "another outcome": cell("outcome", "won"),
    "another status": cell("verdict", "maybe", 0, "status"),
    "another kind": cell("communicate", [A_FACT]),
    "a deep candidate": cell("candidate", DEEP),
    "deep arguments": cell("golden_calls", DEEP, 0, "arguments"),
    "a deep result": cell("golden_calls", DEEP, 0, "result"),
    "deep row changes": cell("row_changes", DEEP),
    "a deep scenario": cell("scenario", DEEP, "known"),
    "a deep object": cell("candidate", '{"a":' * 100_000),
    "arguments are a number": cell("golden_calls", "3", 0, "arguments"),
    "row changes are a number": cell("row_changes", "3"),
    "versions are a list": cell("provenance", "[]", "versions"),
    "a result that is no number": cell("golden_calls", "NaN", 0, "result"),
    "half a character": cell("golden_calls", '"\\ud800"', 0, "result"),
    "an argument beyond all numbers": cell("golden_calls", '{"member_id":' + "9" * 400 + "}", 0, "arguments"),
    "a candidate of null": cell("candidate", "null"),
    "a candidate with an empty evolution": in_candidate(evolutions=[""]),
    "a candidate with an unknown evolution": in_candidate(evolutions=["compose"]),
    "a candidate without bindings": in_candidate(bindings={}),
    "a candidate with bindings of nothing": in_candidate(bindings={"member": []}),
    "a candidate who says nothing": in_candidate(say={}),
    "a candidate beyond all numbers": in_candidate(number=10**30),
    "an unknown persona": in_candidate(persona="nobody"),
    "an id that a terminal obeys": cell("id", "\x1b[2J\nall holds"),
}
TASKS = 4
"""As many as the dataset has: each is changed in one way."""


@pytest.mark.parametrize("first", range(0, len(CORRUPTIONS), TASKS))
def test_whatever_a_cell_holds_is_a_finding(dataset: Path, first: int, capsys: pytest.CaptureFixture[str]) -> None:
    names = list(CORRUPTIONS)[first : first + TASKS]
    rows = read_shard(dataset / TRAIN, TASK_SCHEMA)
    for row, name in zip(rows, names, strict=False):
        CORRUPTIONS[name](row)
    write_shards(dataset / "mock", "train", rows, TASK_SCHEMA)
    repair(dataset)
    assert main(["verify", str(dataset)]) == 1
    out, err = capsys.readouterr()
    assert all(f"{TRAIN} row {number} (" in out for number, _ in enumerate(names))
    assert "\x1b" not in out and "Traceback" not in err
    assert " findings" in out.splitlines()[-1]


@pytest.mark.parametrize("column", ["number", "failed", "verdict", "candidate", "reproduce", "evolutions"])
def test_a_reject_with_a_null_is_not_read(dataset: Path, column: str) -> None:
    rows = read_shard(dataset / REJECTED, REJECT_SCHEMA)
    rows[1][column] = None
    write_shards(dataset / "rejects" / "mock", "rejected", rows, REJECT_SCHEMA)
    with pytest.raises(DatasetError, match=f"row 1: the column {column} is null; make the dataset, or pull it, again$"):
        read_shard(dataset / REJECTED, REJECT_SCHEMA)


@pytest.mark.parametrize(
    ("path", "schema", "column"), [(TRAIN, TASK_SCHEMA, "verdict"), (REJECTED, REJECT_SCHEMA, "number")]
)
def test_a_row_that_cannot_be_read_is_a_finding_that_names_row_and_column(
    dataset: Path, path: str, schema: pa.Schema, column: str
) -> None:
    rows = read_shard(dataset / path, schema)
    rows[1][column] = None
    write_shards((dataset / path).parent, Path(path).name.partition("-")[0], rows, schema)
    repair(dataset)
    (found,) = findings_at(dataset, path)
    assert found.endswith(f"{path}: row 1: the column {column} is null; make the dataset, or pull it, again")


def test_an_accepted_candidate_is_no_reject(dataset: Path) -> None:
    rows = read_shard(dataset / REJECTED, REJECT_SCHEMA)
    rows[0]["failed"] = []
    write_shards(dataset / "rejects" / "mock", "rejected", rows, REJECT_SCHEMA)
    repair(dataset)
    assert "it is a reject and names no gate that it failed" in findings_at(
        dataset, f"{REJECTED} row 0 ({rows[0]['number']})"
    )


def test_files_that_are_folders_are_findings(dataset: Path) -> None:
    for name in (TRAIN, "environments/mock/policy.md"):
        (dataset / name).unlink()
        (dataset / name).mkdir()
    places = {finding.place for finding in verify_dataset(dataset).findings}
    assert {TRAIN, "environments/mock/policy.md"} <= places


def test_an_untouched_list_of_files_is_what_is_there(dataset: Path) -> None:
    assert tuple(list_files(dataset)) == read_manifest(dataset).files


@pytest.mark.parametrize("word", [b"CREATE TABLE", b"TEXT", b"STRICT"])
def test_a_database_whose_tables_are_not_told_in_utf8_is_named(dataset: Path, word: bytes) -> None:
    path = dataset / DATABASE
    path.write_bytes(path.read_bytes().replace(word, word[:-1] + b"\xff", 1))
    environment = load_environment(dataset / "environments" / "mock")
    with pytest.raises(DatasetError, match=r"database\.sqlite: .*0xff.*; make the dataset again"):
        read_rows(environment, path.parent)
