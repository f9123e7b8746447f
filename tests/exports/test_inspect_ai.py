"""An export for Inspect: which files there are, and what they hold. tests/hosts plays it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from toolscale.dataset.describing.reading import read_dataset
from toolscale.exports.writing import export


@pytest.fixture(scope="module")
def exported(mock_dataset: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("exports") / "inspect"
    export(mock_dataset, "inspect", out)
    return out


def test_it_holds_samples_the_adapter_and_the_dataset(exported: Path, mock_dataset: Path) -> None:
    files = {str(path.relative_to(exported)) for path in exported.rglob("*") if path.is_file()}
    dataset = {f"dataset/{path.relative_to(mock_dataset)}" for path in mock_dataset.rglob("*") if path.is_file()}
    assert files - dataset == {"README.md", "export.json", "test.jsonl", "toolscale_inspect.py", "train.jsonl"}
    assert dataset - files == {each for each in dataset if "/." in each}


@pytest.mark.parametrize("split", ["train", "test"])
def test_a_sample_says_what_a_solver_may_see_and_what_errors_are_clustered_by(
    split: str, exported: Path, mock_dataset: Path
) -> None:
    rows = read_dataset(mock_dataset).rows.splits[split]
    assert [json.loads(line) for line in (exported / f"{split}.jsonl").read_text().splitlines()] == [
        {
            "id": row["id"],
            "input": [dict(message) for message in row["prompt"]],
            "metadata": {
                "domain": "mock",
                "intent": row["intent_id"],
                "tier": row["difficulty"]["tier"],
                "outcome": row["outcome"],
            },
        }
        for row in rows
    ]


def test_the_readme_says_how_to_run_it(exported: Path) -> None:
    readme = (exported / "README.md").read_text()
    assert re.findall(r"^inspect (?:eval|score) .*--(?:model|action) \S+", readme, re.MULTILINE) == [
        "inspect eval toolscale_inspect.py --model mockllm/model",
        "inspect eval toolscale_inspect.py --model openai/gpt-4o",
        "inspect eval toolscale_inspect.py -T split=train --limit 50 --epochs 4 --model openai/gpt-4o",
        "inspect score logs/NAME.eval --scorer toolscale_inspect.py --action overwrite",
    ]
