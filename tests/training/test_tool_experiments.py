"""The runs of `make experiments TOOLS=1`, without the model: what is exchanged, and what the page says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from toolscale.dataset.making.folder import read_dataset
from toolscale.environment import load_environment
from toolscale.environment.builtins import FINAL_ANSWER
from training.conversations import golden_conversations
from training.tool_experiments import BENCHMARKS, DOMAIN, OTHER_TASKS, exchanged, prepare, runs, write_page


def test_the_control_reads_the_same_requests_and_the_same_trajectories_never_together(mock_dataset: Path) -> None:
    talks = list(golden_conversations(mock_dataset))
    other = exchanged(talks, seed=0)

    def parts(talk: Any) -> tuple[str, str]:
        first = next(place for place, each in enumerate(talk["messages"]) if each["role"] == "assistant")
        return str(talk["messages"][:first]), str(talk["messages"][first:])

    asked, done = zip(*map(parts, talks), strict=True)
    asked_then, done_then = zip(*map(parts, other), strict=True)
    assert asked_then == asked and sorted(done_then) == sorted(done)
    assert all(one != two for one, two in zip(done, done_then, strict=True))
    assert [talk["tools"] for talk in other] == [talk["tools"] for talk in talks]


def test_the_most_telling_runs_come_first_and_no_name_twice() -> None:
    names = [run.name for run in runs(3)]
    assert names[:2] == ["whole-0", "shuffled-0"] and len(set(names)) == len(names) == 5


@pytest.mark.slow("tests/training/test_tool_experiments.py")
def test_what_is_trained_on_has_as_many_tasks_as_the_domain_says_and_all_are_answered_by_a_form(tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "config.json").touch()
    prepare(tmp_path, None)
    counts = {name: len(read_dataset(tmp_path / name).rows.tasks) for name in ("trained", "other")}
    assert counts == {"trained": load_environment(DOMAIN).spec.world.tasks, "other": OTHER_TASKS}
    talks = golden_conversations(tmp_path / "trained")
    assert {talk["messages"][-1]["tool_calls"][0]["function"]["name"] for talk in talks} == {FINAL_ANSWER}


def test_the_page_says_what_was_measured(tmp_path: Path) -> None:
    accuracy = {"value": 0.25, "low": 0.2, "high": 0.3125}
    figures = {"accuracy": accuracy, "tasks": 40, "failures": {"wrong call": 20, "malformed": 10}}
    write_page(tmp_path, {name: {"whole-0": figures} for name in BENCHMARKS}, {"whole-0": 352})
    page = (tmp_path / "README.md").read_text(encoding="utf-8")
    assert page.count("| whole-0 | 352 | 25.0 % | 20.0 to 31.2 | 40 | wrong call 20, malformed 10 |") == len(BENCHMARKS)
