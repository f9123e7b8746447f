"""What a real vLLM writes is by the weights of the trainer, after every update."""

from __future__ import annotations

from pathlib import Path

import pytest
from engines import Engine, needs_engines
from tables import tell
from trained import lines_of, train, write_run

pytestmark = [
    needs_engines,
    pytest.mark.xdist_group("engines"),
    pytest.mark.slow("tests/training/test_weights_folder.py"),
]
MEASURED = str(Path(__file__).with_name("measured.py"))


def test_without_updates_the_importance_weights_drift(second_server: Engine, tmp_path: Path) -> None:
    config = write_run(tmp_path, second_server, vllm={"update": "none"}, steps=3, optimizer={"lr": 1.0e-4})
    assert train(config, tmp_path / "out", MEASURED) == (0, [])
    first, *_, last = lines_of(tmp_path / "out" / "weights.jsonl")
    tell(second_server, "GRPO, update: none, lr 1e-4", steps=(first, last))
    assert abs(first["mean"] - 1) <= 0.02 and first["near"] >= 0.99
    assert last["near"] < 0.95 and last["apart"] > 1.5 * first["apart"]


def test_right_after_an_update_the_importance_weights_are_one(second_server: Engine, tmp_path: Path) -> None:
    config = write_run(tmp_path, second_server, steps=3, optimizer={"lr": 1.0e-4})
    assert train(config, tmp_path / "out", MEASURED) == (0, [])
    steps = lines_of(tmp_path / "out" / "weights.jsonl")
    tell(second_server, "GRPO, update: folder, lr 1e-4", steps=steps)
    assert [step["step"] for step in steps if abs(step["mean"] - 1) > 0.02 or step["near"] < 0.99] == []
    figures = [line["weight_near_1"] for line in lines_of(tmp_path / "out" / "metrics.jsonl")]
    assert figures == pytest.approx([step["near"] for step in steps], abs=0.001)
    rollouts = [line for path in sorted((tmp_path / "out" / "rollouts").iterdir()) for line in lines_of(path)]
    versions = [line["trace"]["versions"] for line in rollouts]
    assert [[version[-6:] for version in each] for each in versions] == [
        [f"{step:06d}"] for step in range(3) for _ in range(16)
    ]
    assert len([path for path in (tmp_path / "out" / "weights").iterdir() if path.is_dir()]) == 1
