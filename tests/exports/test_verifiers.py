"""An export for verifiers: which files there are, and what they hold. tests/hosts plays it."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from toolscale.config import VERSION
from toolscale.dataset.describing.reading import read_dataset
from toolscale.errors import DatasetError
from toolscale.exports.verifiers import distribution
from toolscale.exports.writing import export

PACKAGE = "toolscale_mock"
MODULES = ("__init__.py", "taskset.py", "tools.py")


@pytest.fixture(scope="module")
def exported(mock_dataset: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("exports") / "verifiers"
    export(mock_dataset, "verifiers", out)
    return out


def test_it_is_a_package_beside_the_rows_and_the_dataset(exported: Path, mock_dataset: Path) -> None:
    files = {str(path.relative_to(exported)) for path in exported.rglob("*") if path.is_file()}
    dataset = {f"dataset/{path.relative_to(mock_dataset)}" for path in mock_dataset.rglob("*") if path.is_file()}
    assert files - dataset == {
        "README.md",
        "export.json",
        "pyproject.toml",
        "test.jsonl",
        "train.jsonl",
        *(f"{PACKAGE}/{module}" for module in MODULES),
    }
    assert dataset - files == {each for each in dataset if "/." in each}


@pytest.mark.parametrize("split", ["train", "test"])
def test_a_row_says_what_an_agent_may_see_and_nothing_of_the_solution(
    split: str, exported: Path, mock_dataset: Path
) -> None:
    rows = read_dataset(mock_dataset).rows.splits[split]
    assert [json.loads(line) for line in (exported / f"{split}.jsonl").read_text().splitlines()] == [
        {
            "id": row["id"],
            "name": row["intent_id"],
            "system_prompt": row["prompt"][0]["content"],
            "prompt": row["prompt"][1]["content"],
            "domain": "mock",
            "tier": row["difficulty"]["tier"],
            "outcome": row["outcome"],
        }
        for row in rows
    ]


def test_a_wheel_takes_the_rows_and_the_dataset_along(exported: Path) -> None:
    assert tomllib.loads((exported / "pyproject.toml").read_text()) == {
        "project": {
            "name": "toolscale-mock",
            "version": VERSION,
            "description": "Tasks of mock, verified by execution",
            "requires-python": ">=3.11",
            "dependencies": [f"toolscale~={VERSION}", "verifiers>=0.4,<0.5"],
        },
        "build-system": {"requires": ["hatchling"], "build-backend": "hatchling.build"},
        "tool": {
            "hatch": {
                "build": {
                    "targets": {
                        "wheel": {
                            "packages": [PACKAGE],
                            "force-include": {
                                name: f"{PACKAGE}/{name}" for name in ("dataset", "test.jsonl", "train.jsonl")
                            },
                        }
                    }
                }
            }
        },
    }


def test_the_id_is_the_name_of_the_dataset_as_packages_are_called() -> None:
    assert [distribution(name) for name in ("toolscale-mock", "toolscale-board_game-mock", "toolscale-9-domains")] == [
        "toolscale-mock",
        "toolscale-board-game-mock",
        "toolscale-9-domains",
    ]


@pytest.mark.parametrize("name", ["", "../up", "toolscale-mock\n", 'a"; import os', "9", "toolscale-"])
def test_a_name_that_is_none_of_a_package_is_refused(name: str) -> None:
    with pytest.raises(DatasetError) as refused:
        distribution(name)
    assert str(refused.value) == (
        f"manifest.json calls the dataset {name!r}, which no package can be called; make or pull it again"
    )


def test_the_readme_names_the_id_in_its_commands(exported: Path) -> None:
    readme = (exported / "README.md").read_text()
    assert "vf-validate toolscale-mock --taskset.split all --runtime.type subprocess\n" in readme
