"""Tasks as rows for verl: what an export holds. tests/hosts plays one in verl's agent loop worker."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from toolscale.exports.golden import Golden
from toolscale.exports.verl import FILES, verl_row
from toolscale.exports.writing import DATASET, export
from toolscale.records import Candidate


@pytest.fixture(scope="module")
def exported(mock_dataset: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return export(mock_dataset, "verl-agent", tmp_path_factory.mktemp("exports") / "verl").out


def read(path: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = pq.read_table(path).to_pylist()
    return rows


def test_an_export_has_its_rows_its_agent_loop_and_the_dataset(exported: Path) -> None:
    files = {path.relative_to(exported) for path in exported.rglob("*") if path.is_file()}
    assert {str(path) for path in files if path.parts[0] != DATASET} == {
        "README.md",
        "export.json",
        "test.parquet",
        "train.parquet",
        *FILES,
    }
    assert (exported / DATASET / "manifest.json").is_file()


def test_rows_come_back_as_they_were_written(exported: Path, golden: list[Golden]) -> None:
    for split in ("train", "test"):
        tasks = [each for each in golden if each.split == split]
        assert read(exported / f"{split}.parquet") == [verl_row(each, index) for index, each in enumerate(tasks)]


def test_a_row_holds_what_varies_in_strings(golden: list[Golden]) -> None:
    task, row = golden[0].task, verl_row(golden[0], 7)
    told = {"tools": row["extra_info"].pop("tools"), "candidate": row["reward_model"]["ground_truth"]}
    assert json.loads(told["tools"]) == list(golden[0].tools)
    assert Candidate.model_validate_json(told["candidate"]) == task.candidate
    assert row == {
        "data_source": "toolscale",
        "agent_name": "toolscale",
        "prompt": [dict(message) for message in golden[0].prompt],
        "ability": "mock",
        "reward_model": {"style": "rule", "ground_truth": told["candidate"]},
        "extra_info": {"index": 7, "split": golden[0].split, "id": task.id, "intent_id": task.intent_id},
    }
