"""What a scheduler calls around an evaluation: which checkpoint, the process, and whether it is accepted."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from upath import UPath

from toolscale.errors import RegressionError, UsageError
from toolscale.pipeline.evaluating import accept_checkpoint, evaluate_checkpoint, prepare_evaluation, stop_evaluations

ROOT = Path(__file__).parents[2]
STANDS_IN = ROOT / "tests" / "airflow" / "trial_eval"
PARAMS = {"checkpoint": None, "dataset": None, "benchmarks": ["heldout", "questions"], "tasks": None, "out": "mine"}


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout whose evaluation takes no time."""
    (tmp_path / "checkout").mkdir()
    (tmp_path / "checkout" / "eval").symlink_to(STANDS_IN)
    return tmp_path / "checkout"


@pytest.fixture
def store() -> Iterator[UPath]:
    """An object store in memory, empty."""
    place = UPath("memory://evaluated")
    yield place
    place.fs.rm(place.path, recursive=True)


def model(folder: Path, verdict: str = "") -> str:
    """A folder that stands for a model; `verdict`: what comparing it says."""
    folder.mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    if verdict:
        (folder / "verdict").write_text(verdict)
    return str(folder)


def evaluated(root: str, checkout: Path, **given: Any) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Prepare, evaluate and accept, as the DAG does."""
    plans = prepare_evaluation(root, "run", {**PARAMS, **given})
    found = [evaluate_checkpoint(plan, checkout, poll=0.02) for plan in plans]
    return found, accept_checkpoint(root, found, checkout)


def test_what_is_evaluated_comes_from_the_event_or_else_from_the_form() -> None:
    event = {"checkpoint": "/t/model", "dataset": "/d", "report": {}}
    plan = {"checkpoint": "/t/model", "accepted": None, "tasks": None}
    assert prepare_evaluation("/r", "run", PARAMS, event) == [
        {**plan, "benchmark": "heldout", "out": "/r/evaluations/mine/heldout", "dataset": "/d"},
        {**plan, "benchmark": "questions", "out": "/r/evaluations/mine/questions", "dataset": None},
    ]
    by_hand = prepare_evaluation("/r", "run", {**PARAMS, "checkpoint": "/m", "out": None, "tasks": 5})
    assert [(each["benchmark"], each["checkpoint"], each["tasks"]) for each in by_hand] == [("questions", "/m", 5)]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "no checkpoint is named"),
        ({"checkpoint": "/m", "out": "../x"}, "out is '../x'; give the name of a folder"),
        ({"checkpoint": "/m", "benchmarks": ["heldout"]}, "the benchmark heldout needs a dataset, and none is named"),
    ],
)
def test_what_cannot_be_evaluated_is_one_line(given: dict[str, Any], said: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=said):
        prepare_evaluation(str(tmp_path), "run", {**PARAMS, **given})


def test_the_first_checkpoint_is_accepted_and_the_next_one_plays_against_it(checkout: Path, tmp_path: Path) -> None:
    root, first, second = str(tmp_path / "data"), model(tmp_path / "a" / "model"), model(tmp_path / "b" / "model")
    found, told = evaluated(root, checkout, checkpoint=first, dataset=str(tmp_path), tasks=3)
    assert [sorted(each["figures"]) for each in found] == [["trained", "untrained"]] * 2
    assert found[0]["figures"]["trained"] == {"data": [tmp_path.name], "tasks": 3}
    assert told == {"checkpoint": first, "reports": [each["report"] for each in found], "verdicts": {}}
    assert all(Path(each["report"]).is_file() for each in found)
    found, told = evaluated(root, checkout, checkpoint=second, out="next")
    assert sorted(found[0]["figures"]) == ["accepted", "trained", "untrained"]
    assert (told["checkpoint"], told["verdicts"]) == (second, {"questions": "no difference shown"})


def test_a_checkpoint_that_is_worse_is_not_accepted(checkout: Path, tmp_path: Path) -> None:
    root, first = str(tmp_path / "data"), model(tmp_path / "a" / "model")
    evaluated(root, checkout, checkpoint=first)
    worse = model(tmp_path / "b" / "model", "worse")
    with pytest.raises(RegressionError) as caught:
        evaluated(root, checkout, checkpoint=worse, out="next")
    assert str(caught.value) == (
        "questions: worse than the accepted checkpoint: -10.0 points (-20.0 to -5.0) on 40 tasks"
    )
    accepted = json.loads((tmp_path / "data" / "evaluations" / "accepted.json").read_text())
    assert accepted["checkpoint"] == first


def test_on_an_object_store_the_model_is_fetched_and_the_report_stays_there(
    checkout: Path, store: UPath, tmp_path: Path
) -> None:
    for name in ("model/config.json", "config.yaml"):
        (store / "training" / name).parent.mkdir(parents=True, exist_ok=True)
        (store / "training" / name).write_text("{}")
    found, _ = evaluated(str(store), checkout, checkpoint=str(store / "training" / "model"))
    assert found[0]["folder"] == str(checkout.resolve() / "var" / "evaluations" / "mine" / "questions")
    assert UPath(found[0]["report"]).read_text() == "<p>a report"
    assert (store / "evaluations" / "accepted.json").exists()
    plans = prepare_evaluation(str(store), "run", {**PARAMS, "checkpoint": str(store / "training" / "model")})
    assert stop_evaluations(plans, checkout) == []


def test_a_checkout_without_the_program_is_one_line(tmp_path: Path) -> None:
    (plan,) = prepare_evaluation(str(tmp_path), "run", {**PARAMS, "checkpoint": "/m"})
    with pytest.raises(UsageError, match="eval is missing; deploy the same commit on every worker"):
        evaluate_checkpoint(plan, tmp_path)


@pytest.mark.slow("tests/eval/test_report.py")
def test_the_program_itself_fits(tmp_path: Path) -> None:
    base = ROOT / "training" / "tiny" / "base"
    first, second = tmp_path / "a" / "model", tmp_path / "b" / "model"
    for folder in (first, second):
        shutil.copytree(base, folder)
    root, given = str(tmp_path / "data"), {"benchmarks": ["questions"], "tasks": 6}
    evaluated(root, ROOT, checkpoint=str(first), **given)
    found, told = evaluated(root, ROOT, checkpoint=str(second), out="next", **given)
    assert told["verdicts"] == {"questions": "no difference shown"}
    assert sorted(found[0]["figures"])[:3] == ["accepted", "cheapest", "golden"]
    assert found[0]["figures"]["golden"]["accuracy"]["value"] == 1.0
