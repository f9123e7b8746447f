"""What `verify` finds: each kind of change, with the manifest's hashes repaired, is named with its row or file and its
gate."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from toolscale.dataset.arrow import REJECT_SCHEMA, TASK_SCHEMA
from toolscale.dataset.checking.integrity import Finding
from toolscale.dataset.checking.recheck import verify_dataset
from toolscale.dataset.columns import Row, task_row, tools_json
from toolscale.dataset.making.folder import list_files
from toolscale.dataset.making.judging import Place, kept_judge_at
from toolscale.dataset.making.selection import apply_novelty
from toolscale.dataset.manifest import MANIFEST, Recipe, read_manifest, render_manifest
from toolscale.dataset.parquet import read_shard, write_shards
from toolscale.dataset.world import read_rows
from toolscale.environment.environment import load_environment
from toolscale.environment.population import populate
from toolscale.environment.prompt import system_message
from toolscale.errors import UsageError
from toolscale.pipeline import build_environment, synthesize
from toolscale.pipeline.stages import place_of
from toolscale.tasks.split import held_out_intents

TRAIN = "mock/train-00000-of-00001.parquet"


@pytest.fixture
def dataset(few_tasks: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(few_tasks, tmp_path / "mock"))


def repair(folder: Path) -> None:
    """Make the manifest agree with the files again, as a careful forger would."""
    manifest = read_manifest(folder)
    (folder / MANIFEST).write_bytes(render_manifest(manifest.model_copy(update={"files": tuple(list_files(folder))})))


def forge(folder: Path, *changes: tuple[Callable[[Row], None], str]) -> set[tuple[str, str]]:
    """Change as many rows of the train split, the first in the first way, repair the manifest, and return the place of
    each with the gate that is to name it."""
    rows = read_shard(folder / TRAIN, TASK_SCHEMA)
    places = set()
    for number, (change, gate) in enumerate(changes):
        change(rows[number])
        places.add((f"{TRAIN} row {number} ({rows[number]['id']})", gate))
    write_shards(folder / "mock", "train", rows, TASK_SCHEMA)
    repair(folder)
    return places


def found(folder: Path) -> set[tuple[str, str]]:
    return {(finding.place, finding.gate) for finding in verify_dataset(folder).findings}


def in_json(row: Row, column: str, change: Callable[[Any], None]) -> None:
    value = json.loads(row[column])
    change(value)
    row[column] = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def other(value: Any) -> Any:
    return value + 1 if isinstance(value, int) else f"{value}x"


@pytest.mark.parametrize("workers", [pytest.param(None, marks=pytest.mark.slow("tests/dataset/test_recheck.py")), 2])
def test_an_untouched_dataset_holds_with_any_number_of_workers(few_tasks: Path, workers: int | None) -> None:
    assert verify_dataset(few_tasks, workers=workers).findings == ()


def test_a_copy_elsewhere_holds_with_the_environments_of_the_project_out_of_sight(dataset: Path) -> None:
    assert found(dataset) == set()


def changed(column: str) -> Callable[[Row], None]:
    return lambda row: row.update({column: other(row[column])})


def change_argument(row: Row) -> None:
    def change(arguments: dict[str, Any]) -> None:
        name = next(iter(arguments))
        arguments[name] = other(arguments[name])

    in_json(row["golden_calls"][-1], "arguments", change)


def change_result(row: Row) -> None:
    in_json(row["golden_calls"][0], "result", lambda result: result.update({next(iter(result)): "something else"}))


def change_row_change(row: Row) -> None:
    def change(changes: list[Any]) -> None:
        after = next(change["after"] for change in changes if change["after"])
        name = next(reversed(after))
        after[name] = other(after[name])

    in_json(row, "row_changes", change)


def change_fact(row: Row) -> None:
    fact = row["communicate"][0]
    fact["value"] = str(int(fact["value"]) + 1) if fact["value"].isdigit() else fact["value"] + "x"


@pytest.mark.parametrize(
    "changes",
    [
        [
            (change_argument, "replay"),
            (change_result, "replay"),
            (lambda row: row["golden_calls"].pop(), "replay"),
            (change_row_change, "replay"),
        ],
        [
            (change_fact, "grounded"),
            (lambda row: row["communicate"].clear(), "grounded"),
            (lambda row: row["prompt"][0].update(content="Do whatever you are told."), "schema"),
            (lambda row: row.update(id="0" * 32), "schema"),
        ],
    ],
)
def test_changed_rows_are_named_and_no_other(dataset: Path, changes: list[tuple[Callable[[Row], None], str]]) -> None:
    places = forge(dataset, *changes)
    assert found(dataset) == places


@pytest.mark.parametrize(
    "changes",
    [
        [
            (lambda row: row["verdict"][1].update(finding="all is well"), "integrity"),
            (lambda row: row.update(request=row["request"] + " Thank you kindly."), "grounded"),
            (changed("candidate"), "schema"),
            (changed("mutants_killed"), "mutants_killed"),
        ],
        [(changed(column), "schema") for column in ("tools", "environment_hash", "initial_state_hash", "intent_id")],
    ],
)
def test_rows_are_named_whatever_of_them_is_changed(
    dataset: Path, changes: list[tuple[Callable[[Row], None], str]]
) -> None:
    places = forge(dataset, *changes)
    assert places <= found(dataset)


def test_a_request_that_another_row_could_have(dataset: Path) -> None:
    """Swapping the whole candidate, words and all, makes a row that contradicts itself."""
    rows = read_shard(dataset / TRAIN, TASK_SCHEMA)
    ((place, _),) = forge(dataset, (lambda row: row.update(candidate=rows[1]["candidate"]), "replay"))
    assert {gate for where, gate in found(dataset) if where == place} >= {"replay", "grounded", "schema"}


def test_a_row_told_twice_and_a_row_left_out(dataset: Path) -> None:
    rows = read_shard(dataset / TRAIN, TASK_SCHEMA)
    write_shards(dataset / "mock", "train", [rows[0], *rows], TASK_SCHEMA)
    repair(dataset)
    assert ("mock/train", "schema") in found(dataset)
    write_shards(dataset / "mock", "train", rows[1:], TASK_SCHEMA)
    repair(dataset)
    assert ("outcomes/mock.parquet", "schema") in found(dataset)


def test_a_test_row_moved_to_train(dataset: Path) -> None:
    rows, held_out = (
        read_shard(dataset / TRAIN, TASK_SCHEMA),
        read_shard(dataset / TRAIN.replace("train", "test"), TASK_SCHEMA),
    )
    everything = sorted([*rows, held_out[0]], key=lambda row: int(row["provenance"]["candidate"]))
    write_shards(dataset / "mock", "train", everything, TASK_SCHEMA)
    write_shards(dataset / "mock", "test", held_out[1:], TASK_SCHEMA)
    repair(dataset)
    place = f"{TRAIN} row {everything.index(held_out[0])} ({held_out[0]['id']})"
    assert (place, "schema") in found(dataset)


@pytest.mark.slow("tests/dataset/test_recheck.py")
def test_a_row_that_is_composed_with_an_intent_of_the_other_split(dataset: Path) -> None:
    """The row is right in itself; only the folder knows that the partner is held out."""
    world, part = dataset / "environments" / "mock", read_manifest(dataset).domains["mock"]
    bench = kept_judge_at(Place(world, "across", part.audit))
    environment, source = bench.environment, bench.source
    assert held_out_intents(environment.spec.intents.intents) == {"return_all"}
    drawn = source.draw_evolved(part.seed, source.number("renew_due_first+evolved", 99), ("compose return_all",))
    assert drawn is not None
    (judged,) = apply_novelty([bench.judge.judge(drawn)])
    assert judged.verdict.accepted
    rows = [
        *read_shard(dataset / TRAIN, TASK_SCHEMA),
        task_row(judged, system_message(environment), tools_json(environment)),
    ]
    write_shards(dataset / "mock", "train", rows, TASK_SCHEMA)
    repair(dataset)
    place = f"{TRAIN} row {len(rows) - 1} ({rows[-1]['id']})"
    problem = "'compose return_all' takes an intent that does not belong to the split train"
    assert Finding(place, "schema", problem) in verify_dataset(dataset).findings


def test_a_changed_reject(dataset: Path) -> None:
    path = "rejects/mock/rejected-00000-of-00001.parquet"
    rows = read_shard(dataset / path, REJECT_SCHEMA)
    if not rows:
        pytest.fail("the mock dataset has no rejects to change")
    rows[0]["request"] = "Something else."
    write_shards(dataset / "rejects" / "mock", "rejected", rows, REJECT_SCHEMA)
    repair(dataset)
    assert found(dataset) == {(f"{path} row 0 ({rows[0]['number']})", "grounded")}


def test_a_changed_database_row(dataset: Path) -> None:
    world = dataset / "environments" / "mock"
    connection = sqlite3.connect(world / "database.sqlite")
    table = connection.execute(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name <> 'handovers' ORDER BY name"
    ).fetchone()[0]
    columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})") if row[2] == "TEXT" and not row[5]]
    key = connection.execute(f"SELECT name FROM pragma_table_info('{table}') WHERE pk = 1").fetchone()[0]
    connection.execute("PRAGMA ignore_check_constraints = 1")
    connection.execute(
        f"UPDATE {table} SET {columns[0]} = {columns[0]} || 'x' WHERE {key} = (SELECT MIN({key}) FROM {table})"
    )
    connection.commit()
    connection.close()
    repair(dataset)
    findings = verify_dataset(dataset).findings
    assert (
        Finding(
            "environments/mock/database.sqlite",
            "integrity",
            f"the rows of {table} are not those that the dataset was made from",
        )
        in findings
    )


def test_a_changed_tool_statement(dataset: Path) -> None:
    path = dataset / "environments" / "mock" / "toolset.yaml"
    text = path.read_text()
    path.write_text(
        text.replace("ORDER BY", "ORDER  BY", 1) if "ORDER BY" in text else text.replace("SELECT", "SELECT ", 1)
    )
    repair(dataset)
    assert ("environments/mock/toolset.yaml", "schema") in found(dataset)


def test_a_tool_that_no_longer_compiles(dataset: Path) -> None:
    path = dataset / "environments" / "mock" / "toolset.yaml"
    path.write_text(path.read_text().replace("SELECT", "SELEKT", 1))
    repair(dataset)
    assert ("environments/mock/toolset.yaml", "lint") in found(dataset)


@pytest.mark.parametrize(
    "name",
    [
        "README.md",
        "environments/mock/tools.json",
        "environments/mock/policy.md",
        "environments/mock/intents.yaml",
        "environments/mock/admission.json",
    ],
)
def test_any_other_changed_file(dataset: Path, name: str) -> None:
    path = dataset / name
    path.write_bytes(path.read_bytes().replace(b"a", b"b", 40))
    repair(dataset)
    assert name in {place for place, _ in found(dataset)}


def test_a_file_whose_hash_is_not_repaired_is_named(dataset: Path) -> None:
    (dataset / "README.md").write_text("Hello.")
    (dataset / "environments" / "mock" / "policy.md").unlink()
    (dataset / "more.txt").write_text("")
    assert found(dataset) >= {
        ("README.md", "integrity"),
        ("environments/mock/policy.md", "integrity"),
        ("more.txt", "integrity"),
    }


def test_a_shard_that_is_no_parquet(dataset: Path) -> None:
    (dataset / TRAIN).write_bytes(b"PAR1")
    assert {(TRAIN, "integrity"), (TRAIN, "schema")} <= found(dataset)


@pytest.mark.slow("tests/dataset/test_recheck.py")
def test_a_dataset_over_three_times_the_rows_holds_and_another_scale_is_named(tmp_path: Path) -> None:
    """Also in a process that judged over the usual rows before: what was admitted is the same at every scale, and the
    judge that was kept is not."""
    usual = build_environment("mock", tmp_path / "usual" / "mock", tmp_path / "cache")
    kept_judge_at(place_of(usual, Recipe("mock", tasks=6, turns="single", answer="message")))
    folder = tmp_path / "mock"
    manifest = synthesize("mock", folder, tasks=6, scale=3, turns="single", answer="message")
    world = folder / "environments" / "mock"
    usually = populate(load_environment("mock"))
    rows = read_rows(load_environment(world), world)
    assert (manifest.domains["mock"].scale, len(rows["members"])) == (3, 3 * len(usually["members"]))
    assert verify_dataset(folder).findings == ()
    rejects = read_shard(folder / "rejects/mock/rejected-00000-of-00001.parquet", REJECT_SCHEMA)
    assert rejects and all(row["reproduce"].endswith(" --scale 3") for row in rejects)
    part = manifest.domains["mock"].model_copy(update={"scale": 2})
    (folder / MANIFEST).write_bytes(render_manifest(manifest.model_copy(update={"domains": {"mock": part}})))
    assert ("environments/mock/database.sqlite", "integrity") in found(folder)


def test_a_scale_that_cannot_be_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--scale is 21; choose one from 1 to 20"):
        synthesize("mock", tmp_path / "mock", tasks=6, scale=21, turns="single", answer="message")
