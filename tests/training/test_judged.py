"""A training whose tasks end in messages: a judge reads those that rules cannot grade."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from chat_server import chat_server
from scripted_judge import ScriptedJudge

from training.metrics import read_metrics


@pytest.mark.slow("tests/training/test_config.py")
def test_a_judge_reads_the_messages_of_a_training(mock_dataset: Path, tmp_path: Path) -> None:
    content = yaml.safe_load(Path("training/configs/tiny_cpu.yaml").read_text())
    content |= {"steps": 1, "processes": 1}
    content["data"] |= {"mixture": {"tools": 1.0}, "datasets": [str(mock_dataset)]}
    content["rollout"] |= {"prompts": 8, "samples": 8}
    with chat_server(reply=ScriptedJudge()) as server:
        judge = {"endpoint": server.base_url, "model": "judge-1", "replies": str(tmp_path / "replies.sqlite")}
        (tmp_path / "config.yaml").write_text(yaml.safe_dump({**content, "judge": judge}))
        command = [sys.executable, "-m", "training.grpo", str(tmp_path / "config.yaml"), "--out", str(tmp_path / "out")]
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
        assert (ended.returncode, bool(server.asked)) == (0, True), ended.stderr
    assert [line["undecided"] for line in read_metrics(tmp_path / "out" / "metrics.jsonl")] == [0.0]
