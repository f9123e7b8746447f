"""The export for NeMo Gym: which files it has, and what stands in them. tests/hosts plays it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from toolscale.exports.golden import Golden
from toolscale.exports.writing import export


@pytest.fixture(scope="module")
def exported(mock_dataset: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("exports") / "nemo-gym"
    return export(mock_dataset, "nemo-gym", out, {"license": "MIT"}).out


def test_the_export_has_the_layout_of_the_host(exported: Path) -> None:
    files = {str(path.relative_to(exported)) for path in exported.rglob("*") if path.is_file()}
    server = "resources_servers/toolscale_mock"
    assert {path for path in files if not path.startswith("dataset/")} == {
        "README.md", "export.json", f"{server}/app.py", f"{server}/configs/toolscale_mock.yaml",
        f"{server}/data/example.jsonl", f"{server}/data/train.jsonl", f"{server}/data/validation.jsonl",
        f"{server}/requirements.txt",
    }  # fmt: skip
    assert "dataset/manifest.json" in files


def test_rows_ask_with_the_prompt_and_the_tools_of_the_dataset(exported: Path, golden: list[Golden]) -> None:
    data, rows = exported / "resources_servers" / "toolscale_mock" / "data", {}
    for split in ("train", "validation", "example"):
        rows[split] = [json.loads(line) for line in (data / f"{split}.jsonl").read_text().splitlines()]
    wanted = [
        {
            "id": each.task.id,
            "responses_create_params": {
                "input": list(each.prompt),
                "tools": [{"type": "function", **tool["function"], "strict": False} for tool in each.tools],
                "parallel_tool_calls": False,
            },
            "agent_ref": {"type": "responses_api_agents", "name": "toolscale_mock_simple_agent"},
        }
        for each in golden
    ]
    train = [row for row, each in zip(wanted, golden, strict=True) if each.split == "train"]
    assert rows == {
        "train": train,
        "validation": [row for row, each in zip(wanted, golden, strict=True) if each.split == "test"],
        "example": train[:5],
    }


def test_the_configuration_names_the_server_the_agent_and_the_rows(exported: Path) -> None:
    folder = "resources_servers/toolscale_mock"
    config = yaml.safe_load((exported / folder / "configs" / "toolscale_mock.yaml").read_text())
    agent = config["toolscale_mock_simple_agent"]["responses_api_agents"]["simple_agent"]
    assert set(config) == {"toolscale_mock", "toolscale_mock_simple_agent"}
    assert config["toolscale_mock"]["resources_servers"]["toolscale_mock"]["entrypoint"] == "app.py"
    assert agent == {
        "entrypoint": "app.py",
        "max_steps": 50,
        "resources_server": {"type": "resources_servers", "name": "toolscale_mock"},
        "model_server": {"type": "responses_api_models", "name": "policy_model"},
        "datasets": [
            {"name": "train", "type": "train", "jsonl_fpath": f"{folder}/data/train.jsonl", "license": "MIT"},
            {
                "name": "validation",
                "type": "validation",
                "jsonl_fpath": f"{folder}/data/validation.jsonl",
                "license": "MIT",
            },
            {"name": "example", "type": "example", "jsonl_fpath": f"{folder}/data/example.jsonl"},
        ],
    }
