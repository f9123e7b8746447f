"""The export for OpenEnv: which files it has, and what stands in them. tests/hosts plays it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from toolscale.exports.golden import Golden
from toolscale.exports.openenv import SPEAK, actions_of
from toolscale.exports.writing import export


@pytest.fixture(scope="module")
def exported(mock_dataset: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return export(mock_dataset, "openenv", tmp_path_factory.mktemp("exports") / "openenv").out


def read(exported: Path, name: str) -> Any:
    return json.loads((exported / name).read_text())


def call(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    return {"type": "call_tool", "tool_name": name, "arguments": arguments}


def told(golden: Golden) -> list[dict[str, Any]]:
    return [*(call(each.name, each.arguments) for each in golden.task.golden_calls), said(golden.answer)]


def said(message: str) -> dict[str, Any]:
    return call("respond", {"message": message})


def test_the_export_has_the_layout_of_the_host(exported: Path) -> None:
    files = {str(path.relative_to(exported)) for path in exported.rglob("*") if path.is_file()}
    assert {path for path in files if not path.startswith("dataset/")} == {
        ".dockerignore", "README.md", "client.py", "export.json", "models.py", "openenv.yaml", "pyproject.toml",
        "requirements.txt", "server/Dockerfile", "server/__init__.py", "server/app.py", "server/environment.py",
        "server/tasks.py", "tasks.json", "tools.json", "validation/canaries.json", "validation/oracle.json",
        "validation/oracle.py", "validation/runtime.json",
    }  # fmt: skip
    assert "dataset/manifest.json" in files


def test_tasks_and_tools_are_those_of_the_dataset(exported: Path, golden: list[Golden]) -> None:
    splits: dict[str, list[Golden]] = {"train": [], "test": []}
    for each in golden:
        splits[each.split].append(each)
    assert read(exported, "tasks.json") == {
        split: [
            {"id": one.task.id, "index": index, "domain": "mock", "difficulty": one.task.difficulty.tier}
            for index, one in enumerate(each)
        ]
        for split, each in splits.items()
    }
    tools = [*golden[0].tools, SPEAK]
    assert read(exported, "tools.json") == tools
    declared = yaml.safe_load((exported / "openenv.yaml").read_text())["validation"]["capabilities"]
    assert declared["declared_tools"] == [tool["function"]["name"] for tool in tools]
    assert declared["declared_task_count"] == {split: len(each) for split, each in splits.items()}


def test_the_oracle_plays_what_is_golden_and_canaries_only_talk(exported: Path, golden: list[Golden]) -> None:
    places = {row["id"]: (split, row["index"]) for split, rows in read(exported, "tasks.json").items() for row in rows}
    oracle, canaries = [], []
    for each in golden:
        split, index = places[each.task.id]
        reset = {"reset": {"split": split, "index": index}}
        oracle.append({**reset, "actions": told(each), "reward": 1.0})
        canaries.append({**reset, "actions": [said("")], "reward": 0.0})
        if each.task.row_changes:
            canaries.append({**reset, "actions": [said(each.answer)], "reward": 0.0})
    assert read(exported, "validation/oracle.json") == oracle
    assert read(exported, "validation/canaries.json") == canaries
    plan = read(exported, "validation/runtime.json")
    shortest = min(oracle, key=lambda each: len(json.dumps(each)))
    assert plan == {
        "plan_schema_version": "1",
        "reset": {"episode_id": "validation", "seed": 0, "options": shortest["reset"]},
        "actions": shortest["actions"],
    }


def test_a_form_is_filled_in_by_its_own_tool(golden: list[Golden]) -> None:
    form = {"type": "object", "properties": {"fee": {"type": "integer"}}}
    filled = replace(golden[0], task=golden[0].task.model_copy(update={"form": form}), answer='{"fee": 5}')
    assert actions_of(filled)[-1] == call("final_answer", {"fee": 5})
