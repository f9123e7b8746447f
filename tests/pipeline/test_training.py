"""What a scheduler calls around a training: which dataset, the process, the figures; on a local disk and on an object
store."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from upath import UPath

from toolscale.dataset.manifest import MANIFEST
from toolscale.dataset.places import files_in
from toolscale.dataset.storage import file_hash
from toolscale.errors import DatasetError, TrainingError, UsageError
from toolscale.pipeline.detached import process_folder
from toolscale.pipeline.training import (
    calls_for_training,
    prepare_training,
    report_training,
    stop_orchestrator,
    train_orchestrator,
)

STANDS_IN = Path(__file__).parents[1] / "airflow" / "trial_training"
PARAMS = {"config": "tiny_cpu", "dataset": None, "steps": None, "out": "mine"}


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout whose training takes no time."""
    (tmp_path / "checkout").mkdir()
    (tmp_path / "checkout" / "training").symlink_to(STANDS_IN)
    return tmp_path / "checkout"


@pytest.fixture
def store() -> Iterator[UPath]:
    """An object store in memory, empty."""
    place = UPath("memory://trained")
    yield place
    place.fs.rm(place.path, recursive=True)


def trained(prepared: dict[str, Any], checkout: Path) -> dict[str, Any]:
    train_orchestrator(prepared, checkout, poll=0.02)
    return report_training(prepared)


def test_a_dataset_that_is_published_or_never_will_be_calls_for_a_training() -> None:
    never, ask, auto = ({"dataset": name, "publish": name} for name in ("never", "ask", "auto"))
    published = {"dataset": "d", "repo": "me/d"}
    assert [calls_for_training(told) for told in (ask, never, auto, published)] == [False, True, False, True]


def test_what_is_trained_comes_from_the_event_or_else_from_the_form() -> None:
    event = {"dataset": "/d", "sha256": "ab"}
    assert prepare_training("/data", "manual__1", PARAMS | {"out": None, "dataset": "/other"}, event) == {
        "out": "/data/training/manual-1-19b04f56",
        "config": "tiny_cpu",
        "steps": None,
        "dataset": "/d",
        "sha256": "ab",
    }
    assert prepare_training("s3://b/data", "r", PARAMS | {"dataset": "/other", "steps": 3}) == {
        "out": "s3://b/data/training/mine",
        "config": "tiny_cpu",
        "steps": 3,
        "dataset": "/other",
        "sha256": None,
    }
    assert prepare_training("/data", "r", PARAMS)["dataset"] is None


@pytest.mark.parametrize("out", ["../up", "a/b", ".hidden", "x" * 121, "a b"])
def test_a_folder_is_a_name(out: str) -> None:
    with pytest.raises(UsageError, match=re.escape(f"out is {out!r}; give the name of a folder")):
        prepare_training("/data", "r", PARAMS | {"out": out})


def test_an_event_without_a_dataset_is_refused() -> None:
    with pytest.raises(UsageError, match="the event that triggered this run names no dataset"):
        prepare_training("/data", "r", PARAMS, {"from_rest_api": True})


def test_a_training_without_a_dataset(tmp_path: Path, checkout: Path) -> None:
    out = str(tmp_path / "data" / "training" / "mine")
    assert trained(prepare_training(str(tmp_path / "data"), "r", PARAMS | {"steps": 2}), checkout) == {
        "checkpoint": f"{out}/model",
        "out": out,
        "config": "tiny_cpu",
        "dataset": None,
        "sha256": None,
        "steps": 2,
        "metrics": {"reward": 1.0},
        "report": {"reward": 1.0, "dataset": None},
    }
    assert (
        stop_orchestrator(prepare_training(str(tmp_path / "data"), "r", PARAMS), checkout)
        == f"{out}: no training runs any more"
    )


def test_a_training_with_a_dataset_is_that_of_the_event(tmp_path: Path, checkout: Path, mock_dataset: Path) -> None:
    event = {"dataset": str(mock_dataset), "sha256": file_hash(mock_dataset / MANIFEST)}
    told = trained(prepare_training(str(tmp_path / "data"), "r", PARAMS, event), checkout)
    assert (told["dataset"], told["sha256"], told["report"]["dataset"]) == (
        event["dataset"],
        event["sha256"],
        mock_dataset.name,
    )
    assert json.loads((Path(told["out"]) / "trained_on.json").read_text()) == event
    with pytest.raises(
        DatasetError, match="the dataset is not the one that was announced; trigger train_orchestrator anew"
    ):
        train_orchestrator(
            prepare_training(str(tmp_path / "data"), "r", PARAMS, event | {"sha256": "0" * 64}), checkout
        )


def test_what_is_no_dataset_is_refused_before_anything_starts(tmp_path: Path, checkout: Path) -> None:
    with pytest.raises(DatasetError, match=r"holds no dataset: manifest\.json is missing; give the folder"):
        train_orchestrator(prepare_training(str(tmp_path / "data"), "r", PARAMS | {"dataset": str(tmp_path)}), checkout)
    assert not (tmp_path / "data" / "training" / ".mine.process" / "order.json").exists()


def test_on_an_object_store_data_comes_to_the_worker_and_all_but_checkpoints_goes_back(
    checkout: Path, mock_dataset: Path, store: UPath
) -> None:
    for path in files_in(mock_dataset):
        (store / "dataset" / path).write_bytes((mock_dataset / path).read_bytes())
    prepared = prepare_training("memory://trained/data", "r", PARAMS | {"dataset": str(store / "dataset")})
    told = trained(prepared, checkout)
    out = checkout / "var" / "training" / "mine"
    assert files_in(process_folder(out) / "dataset") == files_in(mock_dataset)
    assert told["checkpoint"] == "memory://trained/data/training/mine/model" and told["report"]["dataset"] == "dataset"
    assert files_in(UPath(prepared["out"])) == [
        "done.json",
        "metrics.jsonl",
        "model/config.json",
        "pids.txt",
        "report.json",
        "trained_on.json",
    ]
    assert json.loads((UPath(prepared["out"]) / "trained_on.json").read_text()) == {
        "dataset": str(store / "dataset"),
        "sha256": file_hash(mock_dataset / MANIFEST),
    }
    trained(prepared, checkout)
    assert len((out / "pids.txt").read_text().splitlines()) == 1


def test_a_config_that_is_not_there_is_named(tmp_path: Path, checkout: Path) -> None:
    with pytest.raises(UsageError, match=r"training/configs/huge\.yaml is missing; choose one of training/configs"):
        train_orchestrator(prepare_training(str(tmp_path), "r", PARAMS | {"config": "huge"}), checkout)


def test_a_report_that_is_missing_or_broken_is_one_line(tmp_path: Path, checkout: Path) -> None:
    prepared = prepare_training(str(tmp_path), "r", PARAMS)
    with pytest.raises(
        TrainingError, match=r"done\.json is missing: the training has not written it; clear the task `train`"
    ):
        report_training(prepared)
    train_orchestrator(prepared, checkout, poll=0.02)
    (Path(prepared["out"]) / "report.json").write_text(json.dumps([1]))
    with pytest.raises(TrainingError, match=r"report\.json is not a JSON object"):
        report_training(prepared)
