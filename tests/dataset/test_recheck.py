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


def forge(folder: Path, change: Callable[[Row], None], wanted: Callable[[Row], bool] = lambda row: True) -> str:
    """Change the first wanted row of the train split, repair the manifest, and return the place of the row."""
    rows = read_shard(folder / TRAIN, TASK_SCHEMA)
    number = next(number for number, row in enumerate(rows) if wanted(row))
    place = f"{TRAIN} row {number} ({rows[number]['id']})"
    change(rows[number])
    write_shards(folder / "mock", "train", rows, TASK_SCHEMA)
    repair(folder)
    return place


def found(folder: Path) -> set[tuple[str, str]]:
    return {(finding.place, finding.gate) for finding in verify_dataset(folder).findings}


def writes(row: Row) -> bool:
    return bool(row["difficulty"]["writes"])


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


def test_a_changed_argument(dataset: Path) -> None:
    def change(row: Row) -> None:
        call = row["golden_calls"][-1]
        in_json(
            call,
            "arguments",
            lambda arguments: arguments.update({name: other(value) for name, value in list(arguments.items())[:1]}),
        )

    place = forge(dataset, change, writes)
    assert found(dataset) == {(place, "replay")}


def test_a_changed_result(dataset: Path) -> None:
    def change(row: Row) -> None:
        in_json(row["golden_calls"][0], "result", lambda result: result.update({next(iter(result)): "something else"}))

    place = forge(dataset, change)
    assert found(dataset) == {(place, "replay")}


def test_a_removed_call(dataset: Path) -> None:
    place = forge(dataset, lambda row: row["golden_calls"].pop(), writes)
    assert found(dataset) == {(place, "replay")}


def test_a_changed_row_change(dataset: Path) -> None:
    def change(changes: list[Any]) -> None:
        after = changes[0]["after"]
        name = next(reversed(after))
        after[name] = other(after[name])

    place = forge(
        dataset, lambda row: in_json(row, "row_changes", change), lambda row: '"after":{' in row["row_changes"]
    )
    assert found(dataset) == {(place, "replay")}


def test_a_changed_fact(dataset: Path) -> None:
    def change(row: Row) -> None:
        fact = row["communicate"][0]
        fact["value"] = str(int(fact["value"]) + 1) if fact["value"].isdigit() else fact["value"] + "x"

    place = forge(dataset, change, lambda row: bool(row["communicate"]))
    assert found(dataset) == {(place, "grounded")}


def test_a_dropped_fact(dataset: Path) -> None:
    place = forge(dataset, lambda row: row["communicate"].clear(), lambda row: bool(row["communicate"]))
    assert found(dataset) == {(place, "grounded")}


def test_a_changed_request(dataset: Path) -> None:
    def change(row: Row) -> None:
        row["request"] += " Thank you kindly."

    place = forge(dataset, change)
    assert (place, "grounded") in found(dataset)


@pytest.mark.parametrize(
    ("column", "gate"),
    [
        ("tools", "schema"),
        ("environment_hash", "schema"),
        ("initial_state_hash", "schema"),
        ("candidate", "schema"),
        ("intent_id", "schema"),
        ("mutants_killed", "mutants_killed"),
    ],
)
def test_any_other_changed_column(dataset: Path, column: str, gate: str) -> None:
    place = forge(dataset, lambda row: row.update({column: other(row[column])}))
    assert (place, gate) in found(dataset)


def test_a_changed_id(dataset: Path) -> None:
    forge(dataset, lambda row: row.update(id="0" * 32))
    assert found(dataset) == {(f"{TRAIN} row 0 ({'0' * 32})", "schema")}


def test_a_changed_policy_in_the_prompt(dataset: Path) -> None:
    place = forge(dataset, lambda row: row["prompt"][0].update(content="Do whatever you are told."))
    assert found(dataset) == {(place, "schema")}


def test_a_changed_verdict(dataset: Path) -> None:
    place = forge(dataset, lambda row: row["verdict"][1].update(finding="all is well"))
    assert [gate for where, gate in found(dataset) if where == place] == ["integrity"]


def test_a_request_that_another_row_could_have(dataset: Path) -> None:
    """Swapping the whole candidate, words and all, makes a row that contradicts itself."""
    rows = read_shard(dataset / TRAIN, TASK_SCHEMA)
    place = forge(dataset, lambda row: row.update(candidate=rows[1]["candidate"]))
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
        "plots/mock/gates.png",
        "plots/mock/calls.png",
        "environments/mock/tools.json",
        "environments/mock/policy.md",
        "environments/mock/intents.yaml",
        "environments/mock/admission.json",
    ],
)
def test_any_other_changed_file(dataset: Path, name: str) -> None:
    path = dataset / name
    content = path.read_bytes()
    path.write_bytes(content.replace(b"a", b"b", 40) if b"a" in content else content[:-1])
    repair(dataset)
    assert name in {place for place, _ in found(dataset)}


def test_a_file_whose_hash_is_not_repaired_is_named(dataset: Path) -> None:
    (dataset / "README.md").write_text("Hello.")
    (dataset / "plots" / "mock" / "gates.png").unlink()
    (dataset / "more.txt").write_text("")
    assert found(dataset) >= {
        ("README.md", "integrity"),
        ("plots/mock/gates.png", "integrity"),
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
