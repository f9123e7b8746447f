"""The quality of a dataset: one that is good enough, and for each threshold one that is not, for that reason alone."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from toolscale.dataset.arrow import REJECT_SCHEMA, TASK_SCHEMA
from toolscale.dataset.checking.measuring import measure_dataset
from toolscale.dataset.checking.quality import Quality, Thresholds, check_measurement, check_quality
from toolscale.dataset.columns import Row
from toolscale.dataset.describing.embedding import missing_packages
from toolscale.dataset.describing.reading import read_dataset
from toolscale.dataset.manifest import MANIFEST, read_manifest, render_manifest
from toolscale.dataset.parquet import read_shard, write_shards
from toolscale.errors import UsageError

pytestmark = pytest.mark.xdist_group("measured")  # the model of meanings is loaded once

WANTED = {"accepted_share": 0.65, "found_share": 0.95, "kill_rate": 0.99, "duplicates": 0, "fewest_killed": 5}
TASKS, REJECTS = ("mock", "train", TASK_SCHEMA), ("rejects/mock", "rejected", REJECT_SCHEMA)


@pytest.fixture
def dataset(mock_dataset: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(mock_dataset, tmp_path / "mock"))


def change(folder: Path, kind: tuple[str, str, object], edit: Callable[[list[Row]], None]) -> None:
    place, split, schema = kind
    rows = read_shard(folder / place / f"{split}-00000-of-00001.parquet", schema)
    edit(rows)
    write_shards(folder / place, split, rows, schema)


def reject(rows: list[Row], count: int, gate: str, survivor: str | None = None) -> None:
    """Let so many rejects have failed another gate than they did."""
    for row in rows[:count]:
        row.update(failed=[{"gate": gate, "finding": "it was so"}], survivor=survivor)


def test_a_dataset_as_it_is_made_is_good_enough(mock_dataset: Path) -> None:
    figures = {"accepted_share": 1.0, "found_share": 1.0, "kill_rate": 1.0, "duplicates": 0, "fewest_killed": 14}
    quality = check_quality(mock_dataset)
    assert quality == Quality(figures, WANTED, ())
    assert quality.passed
    assert json.loads(quality.render()) == {"passed": True, "figures": figures, "thresholds": WANTED, "reasons": []}


def test_too_many_wrong_candidates(dataset: Path) -> None:
    def edit(rows: list[Row]) -> None:
        rows += [dict(row) for row in rows]
        reject(rows, 15, "unambiguous")

    change(dataset, REJECTS, edit)
    quality = check_quality(dataset)
    reason = (
        "accepted_share is 0.4, at least 0.65 is wanted "
        "(the share of candidates that were accepted, those aside that only repeat another)"
    )
    assert (quality.passed, quality.reasons) == (False, (reason,))


def test_too_few_tasks_found(dataset: Path) -> None:
    manifest = read_manifest(dataset)
    part = manifest.domains["mock"].model_copy(update={"tasks": 16})
    (dataset / MANIFEST).write_bytes(render_manifest(manifest.model_copy(update={"domains": {"mock": part}})))
    reason = (
        "found_share is 0.625, at least 0.95 is wanted (of the tasks that were asked for, the share that was found)"
    )
    assert check_quality(dataset).reasons == (reason,)


def test_too_many_survivors(dataset: Path) -> None:
    change(dataset, REJECTS, lambda rows: reject(rows, 3, "mutants_killed", survivor='{"operator": "sibling"}'))
    killed = sum(task["mutants_killed"] for task in read_dataset(dataset).rows.tasks)
    rate = round(killed / (killed + 3), 4)
    reason = (
        f"kill_rate is {rate}, at least 0.99 is wanted "
        "(of the wrong trajectories that were tried, the share that scored 0)"
    )
    assert check_quality(dataset).reasons == (reason,)


def test_a_candidate_with_too_few_mutants_has_no_survivor(dataset: Path) -> None:
    change(dataset, REJECTS, lambda rows: reject(rows, 3, "mutants_killed"))
    assert check_quality(dataset).passed


def same_request(rows: list[Row]) -> None:
    rows[1]["request"] = rows[0]["request"].replace(" ", "\n", 1)
    rows[1]["scenario"] = rows[0]["scenario"]


def same_content(rows: list[Row]) -> None:
    for column in ("golden_calls", "row_changes", "communicate"):
        rows[1][column] = rows[0][column]


@pytest.mark.parametrize("edit", [same_request, same_content])
def test_a_task_that_repeats_another(dataset: Path, edit: Callable[[list[Row]], None]) -> None:
    change(dataset, TASKS, edit)
    assert check_quality(dataset).reasons == (
        "duplicates is 1, at most 0 is wanted (tasks that repeat an earlier one)",
    )


def test_a_task_in_which_too_few_wrong_trajectories_were_caught(dataset: Path) -> None:
    change(dataset, TASKS, lambda rows: rows[0].update(mutants_killed=4))
    reason = (
        "fewest_killed is 4, at least 5 is wanted (wrong trajectories that were caught in the task with the fewest)"
    )
    assert check_quality(dataset).reasons == (reason,)


def said_again(rows: list[Row]) -> None:
    """Fifty tasks more, whose requests differ in one word."""
    for number in range(50):
        rows.append(rows[0] | {"id": f"{number:032}", "request": f"{rows[0]['request']} Number {number}."})
        rows[-1]["communicate"] = [fact | {"about": str(number)} for fact in rows[0]["communicate"]]


def test_requests_that_repeat_each_other_are_found_where_there_are_fifty(dataset: Path) -> None:
    change(dataset, TASKS, said_again)
    (reason,) = check_quality(dataset).reasons
    assert re.fullmatch(
        r"self_bleu is 0\.8\d+, at most 0\.576 is wanted "
        r"\(how much 50 requests repeat each other's words; not counted where there are fewer\)",
        reason,
    )
    assert check_quality(dataset, Thresholds(self_bleu=1)).passed


def test_what_is_measured_is_held_against_the_thresholds_too(dataset: Path) -> None:
    change(dataset, TASKS, said_again)
    reading = read_dataset(dataset)
    found = check_measurement(reading, measure_dataset(reading))
    named = [reason.split()[0] for reason in found.reasons]
    assert named == (["self_bleu"] if missing_packages() else ["near_duplicates", "self_bleu"])
    assert found.figures["same_changes"] == 0


def test_other_thresholds_can_be_asked_for(mock_dataset: Path) -> None:
    assert check_quality(mock_dataset, Thresholds.of({"fewest_killed": 14})).passed
    assert not check_quality(mock_dataset, Thresholds(fewest_killed=15)).passed


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (
            {"kill_rat": 0.9},
            "there is no threshold 'kill_rat'; "
            "the thresholds are accepted_share, found_share, kill_rate, duplicates, fewest_killed, self_bleu, "
            "same_changes, near_duplicates",
        ),
        ({"kill_rate": "0.9"}, "the threshold kill_rate is '0.9'; it is a number from 0 on"),
        ({"kill_rate": -1}, "the threshold kill_rate is -1; it is a number from 0 on"),
        ({"kill_rate": float("nan")}, "the threshold kill_rate is nan; it is a number from 0 on"),
        ([1], "the thresholds are [1]; say them by name, such as {'accepted_share': 0.5}"),
    ],
)
def test_thresholds_that_are_none_are_refused(said: Any, told: str) -> None:
    with pytest.raises(UsageError, match=f"^{re.escape(told)}$"):
        Thresholds.of(said)


def test_a_bad_domain_does_not_hide_behind_a_good_one(combined_dataset: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(combined_dataset, tmp_path / "both"))
    change(folder, TASKS, lambda rows: rows[0].update(mutants_killed=4))
    quality = check_quality(folder)
    assert quality.figures["fewest_killed"] == 4
    assert [reason.split(" is ")[0] for reason in quality.reasons] == ["mock: fewest_killed"]


def test_a_dataset_without_rows_is_not_good_enough(dataset: Path) -> None:
    for split in ("train", "test"):
        change(dataset, ("mock", split, TASK_SCHEMA), lambda rows: rows.clear())
    change(dataset, REJECTS, lambda rows: rows.clear())
    assert {reason.split()[0] for reason in check_quality(dataset).reasons} == {
        "accepted_share",
        "found_share",
        "kill_rate",
        "fewest_killed",
    }
