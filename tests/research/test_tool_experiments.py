"""The runs of `make experiments TOOLS=1`, without the model: what each reads, in which order they go, what the page
says."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from eval.statistics import wilson
from research.reference_share import made, reference_differences, reference_shares, right_of_unread, strays, told
from research.tool_experiments import BENCHMARKS, DOMAIN, OTHER_TASKS, PLAYED, SFT, carry_out, prepare, write_page
from research.tool_runs import (
    OTHER,
    TRAINED,
    Run,
    Series,
    chosen,
    exchanged,
    golden_of,
    prepare_conversations,
    trained_datasets,
    write_conversations,
)
from toolscale.dataset.columns import task_of
from toolscale.dataset.describing.reading import read_dataset
from toolscale.environment.builtins import FINAL_ANSWER
from toolscale.environment.environment import load_environment
from toolscale.errors import TrainingError, UsageError
from toolscale.exports.golden import golden_trajectories
from toolscale.pipeline import synthesize
from toolscale.records import Rollout, Split, Task, ToolCall
from training.config import SftConfig
from training.config_file import read_config
from training.conversations import golden_conversations, read_conversations

SERIES = Series(SFT, PLAYED)
HOW = read_config(SFT, SftConfig)


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
    names = [run.name for run in Series(SFT, PLAYED, seeds=3, closed=("100-0",)).runs()]
    assert names == ["whole-0", "shuffled-0", "100-0", "whole-1", "100-0-grpo", "whole-2", "untrained"]
    last = Series(SFT, PLAYED, closed=("100-0",)).runs()
    assert [run.name for run in last] == ["whole-0", "shuffled-0", "100-0", "100-0-grpo", "untrained"]


def test_the_control_may_read_fewer_and_is_compared_with_the_run_that_read_as_many() -> None:
    first, *_ = (run for run in Series(SFT, PLAYED, most=1200, fewer=(100,), control=100).runs() if run.shuffled)
    assert first == Run("shuffled-0", conversations=100, shuffled=True, beside="100-0")
    first, *_ = (run for run in Series(SFT, PLAYED, most=1200, control=160).runs() if run.shuffled)
    assert first == Run("shuffled-0", conversations=160, shuffled=True)


def test_grpo_goes_on_with_each_seed() -> None:
    runs = Series(SFT, PLAYED, fewer=(), closed=("whole-0",), closed_seeds=2).runs()
    told = {run.name: (run.seed, run.begins, run.beside) for run in runs if run.begins}
    assert told == {
        "whole-0-grpo": (0, "whole-0", "whole-0"),
        "whole-0-grpo-1": (1, "whole-0", "whole-0"),
    }
    assert [run.name for run in chosen(runs, ("whole-0-grpo-1",))] == ["whole-0", "whole-0-grpo-1"]
    assert chosen(runs, ()) == runs
    with pytest.raises(
        UsageError, match="--only whole-7: is none of the runs; give one of whole-0, shuffled-0, whole-0-grpo, "
    ):
        chosen(runs, ("whole-7",))


def test_a_run_is_compared_with_one_that_read_as_much() -> None:
    runs = Series(SFT, PLAYED, most=240, closed=("100-0",)).runs()
    assert {run.name: run.beside for run in runs if run.beside} == {"100-0-grpo": "100-0"}  # all others: the first


def test_a_run_that_goes_on_from_none_of_the_others_is_refused() -> None:
    with pytest.raises(UsageError, match="--closed 300-0: is none of the runs; give one of whole-0, shuffled-0, 100-0"):
        Series(SFT, PLAYED, closed=("300-0",)).runs()


def test_a_run_reads_what_it_says(mock_dataset: Path, tmp_path: Path) -> None:
    (tmp_path / TRAINED).symlink_to(mock_dataset)
    synthesize("mock", tmp_path / OTHER, tasks=3, seed=1)
    prepare_conversations(SERIES, tmp_path)
    golden = list(golden_of([mock_dataset], tmp_path / OTHER, None))
    wanted = {
        Run("whole-0"): (golden, 0),
        Run("5-0", conversations=5): (golden[:5], 0),
        Run("shuffled-0", shuffled=True): (exchanged(golden, 0), len(golden)),
    }
    for run, (conversations, wrong) in wanted.items():
        write_conversations(run, tmp_path)
        assert list(read_conversations(tmp_path / run.name / "conversations.jsonl")) == conversations
        read = {"conversations": len(conversations), "wrong": wrong}
        assert json.loads((tmp_path / run.name / "read.json").read_text()) == read


def test_of_several_datasets_each_request_is_read_once_and_none_that_is_played(
    mock_dataset: Path, tmp_path: Path
) -> None:
    series = Series(SFT, PLAYED, datasets=3)
    folders = [tmp_path / name for name in ("trained", "trained-2", "trained-3")]
    assert trained_datasets(series, tmp_path) == dict(zip(folders, (0, 2, 3), strict=True))
    more, other = tmp_path / "more", tmp_path / OTHER
    synthesize("mock", more, tasks=10, seed=2)
    synthesize("mock", other, tasks=3, seed=1)
    read = [*golden_conversations(mock_dataset), *golden_conversations(more)]
    played = {golden.messages[1]["content"] for golden in golden_trajectories(other, ("train", "test"))}
    asked = dict.fromkeys(each["messages"][1]["content"] for each in read)
    found = [each["messages"][1]["content"] for each in golden_of([mock_dataset, more, more], other, None)]
    assert found == [request for request in asked if request not in played]
    assert list(golden_of([other], other, None)) == []


def test_each_golden_call_counts_as_often_as_the_task_makes_it(mock_dataset: Path) -> None:
    task = max(tasks_of(mock_dataset), key=lambda task: len(task.golden_calls))
    all_made = calls_of(task)
    assert made(all_made, task) == (len(all_made), len(all_made))
    assert made([all_made[0], all_made[0]], task) == (1, len(all_made))
    assert made([ToolCall(name=all_made[0].name, arguments={})], task) == (0, len(all_made))
    name = all_made[-1].name
    assert made(all_made, task, {name})[1] == sum(call.name == name for call in all_made)
    other = [ToolCall(name=name, arguments={}), ToolCall(name="list_things", arguments={})]
    assert strays([*all_made, *other], task, {name}) == 1


def test_right_tasks_are_counted_apart_where_no_training_task_has_their_calls(
    mock_dataset: Path, tmp_path: Path
) -> None:
    trained, other = tasks_of(mock_dataset, "train"), tasks_of(mock_dataset, "test")
    path = written(tmp_path / "played.jsonl", [rollout_of(task, (), right=True) for task in (*trained, *other)])
    known = [sorted(map(str, task.golden_calls)) for task in trained]
    new = [task for task in other if sorted(map(str, task.golden_calls)) not in known]
    assert new and right_of_unread(path, mock_dataset, mock_dataset) == {"tasks": len(new), "right": len(new)}


def test_values_of_a_form_are_compared_one_by_one_and_what_is_empty_is_none() -> None:
    golden = '{"done": "all", "fee_cents": 100, "names": ["a", "b"], "left_cents": null, "reasons": []}'
    assert told(golden, golden) == (2, 2)
    assert told('{"done": "none", "names": ["b", "a"], "fee_cents": "100", "left_cents": 5}', golden) == (1, 2)
    for nothing in (None, "I do not know.", "[100]", "{}"):
        assert told(nothing, golden) == (0, 2)


def test_shares_of_the_reference_are_over_all_tasks_together_with_intervals_over_intents(
    mock_dataset: Path, tmp_path: Path
) -> None:
    tasks = tasks_of(mock_dataset)[:6]
    form = json.dumps({"done": "all", "n": 1, "of": "x"})
    half = json.dumps({"n": 1})
    recited = written(tmp_path / "golden.jsonl", [rollout_of(task, calls_of(task), form) for task in tasks])
    played = [
        rollout_of(task, calls_of(task), half) if number < 3 else rollout_of(task, ())
        for number, task in enumerate(tasks)
    ]
    found = reference_shares(written(tmp_path / "played.jsonl", played), recited, mock_dataset)
    calls = [len(task.golden_calls) for task in tasks]
    tools = load_environment(mock_dataset / "environments" / "mock").tools
    changes = [sum(tools[call.name].mutates_state for call in task.golden_calls) for task in tasks]
    assert {name: share["value"] for name, share in found.items()} == {
        "calls": sum(calls[:3]) / sum(calls),
        "changes": sum(changes[:3]) / sum(changes),
        "strays": 0,
        "values": 0.25,
    }
    shares = [share for name, share in found.items() if name != "strays"]
    assert all(0 <= share["low"] < share["value"] < share["high"] <= 1 for share in shares)
    whole = reference_shares(recited, recited, mock_dataset)["values"]
    intents = len({task.candidate.intent_id for task in tasks})
    low, high = wilson(intents, intents)
    assert whole == {"value": 1, "low": pytest.approx(low), "high": pytest.approx(high)}


def test_tasks_of_one_intent_are_right_or_wrong_together(mock_dataset: Path, tmp_path: Path) -> None:
    tasks = tasks_of(mock_dataset)
    intents = sorted({task.candidate.intent_id for task in tasks})
    form = json.dumps({"n": 1})

    def share(played: list[Task], right: set[str]) -> dict[str, float]:
        """Of values, where all tasks of these intents, or these tasks, have theirs."""
        recited = written(tmp_path / "golden.jsonl", [rollout_of(task, (), form) for task in played])
        given = [rollout_of(task, (), form if {task.id, task.candidate.intent_id} & right else None) for task in played]
        return reference_shares(written(tmp_path / "played.jsonl", given), recited, mock_dataset)["values"]

    together = share(tasks, set(intents[::2]))
    apart = share(tasks, {task.id for intent in intents for task in of_intent(tasks, intent)[::2]})
    assert together["high"] - together["low"] > 1.5 * (apart["high"] - apart["low"])
    most = max((of_intent(tasks, intent) for intent in intents), key=len)
    assert share(most, {most[0].id}) == dict.fromkeys(("value", "low", "high"), 1 / len(most))


def test_two_policies_are_compared_task_by_task(mock_dataset: Path, tmp_path: Path) -> None:
    tasks = tasks_of(mock_dataset)
    form = json.dumps({"n": 1})
    recited = written(tmp_path / "golden.jsonl", [rollout_of(task, calls_of(task), form) for task in tasks])
    hard = {task.id for task in tasks[::2]}  # both fail there
    better = [
        rollout_of(task, calls_of(task), None if task.id in hard else form, right=task.id not in hard) for task in tasks
    ]
    played = written(tmp_path / "better.jsonl", better)
    worse = written(tmp_path / "worse.jsonl", [rollout_of(task, ()) for task in tasks])
    found = reference_differences(worse, played, recited, mock_dataset)
    most = wilson(0, len({task.candidate.intent_id for task in tasks}))[
        1
    ]  # of the intents may differ by something else
    assert found["calls"] == pytest.approx({"value": -1, "low": -1, "high": 2 * most - 1})
    alone = reference_shares(played, recited, mock_dataset)["values"]
    assert found["values"] == pytest.approx({"value": -alone["value"], "low": -alone["high"], "high": -alone["low"]})
    assert found["right"] == found["values"]  # each form has one value
    same = reference_differences(played, played, recited, mock_dataset)
    assert same["calls"] == same["right"] == pytest.approx({"value": 0, "low": -most, "high": most})
    assert same["strays"] == {"value": 0, "low": 0, "high": 0}
    for others in (better[1:], better[::-1]):
        path = written(tmp_path / "others.jsonl", others)
        with pytest.raises(
            UsageError, match=r"others\.jsonl: has other tasks than .*worse\.jsonl, or in another order"
        ):
            reference_differences(worse, path, recited, mock_dataset)


def test_what_failed_and_was_played_again_counts_once(mock_dataset: Path, tmp_path: Path) -> None:
    tasks, form = tasks_of(mock_dataset)[:4], json.dumps({"n": 1})
    recited = written(tmp_path / "golden.jsonl", [rollout_of(task, calls_of(task), form) for task in tasks])
    failed = [rollout_of(task, ()) for task in tasks[:2]]
    again = [rollout_of(task, calls_of(task), form) for task in (*tasks[2:], *tasks[:2])]
    played = written(tmp_path / "played.jsonl", [*failed, *again])
    assert reference_shares(played, recited, mock_dataset) == reference_shares(recited, recited, mock_dataset)
    assert reference_differences(played, recited, recited, mock_dataset)["calls"]["value"] == 0


def of_intent(tasks: Sequence[Task], intent: str) -> list[Task]:
    return [task for task in tasks if task.candidate.intent_id == intent]


def tasks_of(dataset: Path, split: Split | None = None) -> list[Task]:
    [domain] = read_dataset(dataset).domains.values()
    return [task_of(row) for row in (domain.tasks if split is None else domain.splits[split])]


def calls_of(task: Task) -> tuple[ToolCall, ...]:
    return tuple(ToolCall(name=call.name, arguments=call.arguments) for call in task.golden_calls)


def written(path: Path, rollouts: Sequence[Rollout]) -> Path:
    lines = [{"key": each.task_id, "rollout": each.model_dump(mode="json")} for each in rollouts]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def rollout_of(task: Task, calls: tuple[ToolCall, ...], answer: str | None = None, right: bool = False) -> Rollout:
    return Rollout(
        id="r",
        task_id=f"test-7-0-{task.id[:12]}",
        category="tools",
        policy="p",
        sample=0,
        messages=(),
        calls=calls,
        ledger=(),
        answer=answer,
        stop="turns",
        right=right,
        finding="",
    )


def test_a_run_waits_for_the_model_that_it_goes_on_from_and_a_failure_stops_only_what_needs_it() -> None:
    first, after, other = Run("whole-0"), Run("whole-0-grpo", begins="whole-0"), Run("100-0")
    began, trained, played = Event(), list[str](), list[str]()

    def train(run: Run) -> None:
        if run is first:
            assert began.wait(10)
        elif run is other:
            began.set()  # it does not wait for the first
        trained.append(run.name)

    carry_out([first, after, other], 3, train, lambda run: played.append(run.name))
    assert trained.index("whole-0") < trained.index("whole-0-grpo")
    assert sorted(played) == ["100-0", "whole-0", "whole-0-grpo"]

    def fail(run: Run) -> None:
        if run is first:
            raise TrainingError("out of memory")

    played.clear()
    with pytest.raises(TrainingError, match="out of memory"):
        carry_out([first, after, other], 1, fail, lambda run: played.append(run.name))
    assert played == ["100-0"]


@pytest.mark.slow("tests/research/test_tool_experiments.py")
def test_what_is_trained_on_has_as_many_tasks_as_the_domain_says_and_all_are_answered_by_a_form(tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "config.json").touch()
    prepare(tmp_path, SERIES, None, played=24)
    counts = {name: len(read_dataset(tmp_path / name).rows.tasks) for name in ("trained", "other")}
    assert counts == {"trained": load_environment(DOMAIN).spec.world.tasks, "other": OTHER_TASKS}
    talks = golden_conversations(tmp_path / "trained")
    assert {talk["messages"][-1]["tool_calls"][0]["function"]["name"] for talk in talks} == {FINAL_ANSWER}


def test_the_page_says_what_was_measured(tmp_path: Path) -> None:
    accuracy = {"value": 0.25, "low": 0.2, "high": 0.3125, "tasks": 40, "clusters": 9}
    groups = {"golden calls": {"1": {"value": 0.5}, "4 to 6": {"value": 0.125}}}
    failures = {"wrong call": 20, "malformed": 10}
    reference = {
        "calls": {"value": 0.5, "low": 0.4, "high": 0.6},
        "values": {"value": 0.3, "low": 0.25, "high": 0.375},
    }
    figures = {"accuracy": accuracy, "reference": reference, "tasks": 40, "failures": failures, "groups": groups}
    alike = figures | {"groups": {}}  # all tasks have as many calls
    found = {"familiar": {"whole-0": figures}, "heldout": {"whole-0": alike}}
    assert list(found) == list(BENCHMARKS)
    write_page(tmp_path, found, {"whole-0": {"conversations": 352, "wrong": 0}}, "2 threads of a processor", HOW)
    page = (tmp_path / "README.md").read_text(encoding="utf-8")
    assert "points above" not in page
    shares = "50.0 % (40 to 60) | 30.0 % (25 to 38)"
    row = f"| whole-0 | 352 | 0 | {shares} | 25.0 % | 20.0 to 31.2 | wrong call 20, malformed 10 |"
    assert page.count(row) == page.count("40 tasks of 9 intents.") == len(BENCHMARKS)
    assert page.count("| right, % by golden calls | 1 | 4 to 6 |\n|---|---:|---:|\n| whole-0 | 50 | 12 |") == 1
    calls = {"value": -0.5, "low": -0.6, "high": -0.4}
    values = {"value": 0.02, "low": -0.1, "high": 0.0}
    right = {"value": 0.0, "low": -0.25, "high": 0.25}
    changed = {"changes": {"value": 0.25, "low": 0.0, "high": 0.5}, "strays": {"value": 0.125}}
    split = {"whole-0": figures | {"reference": reference | changed, "unread": {"tasks": 30, "right": 7}}}
    write_page(tmp_path, dict.fromkeys(BENCHMARKS, split), {}, "a processor", HOW)
    page = (tmp_path / "README.md").read_text(encoding="utf-8")
    row = "| 50.0 % (40 to 60) | 25.0 % (0 to 50) | 0.12 | 30.0 % (25 to 38) | 25.0 % | 20.0 to 31.2 | 7 | wrong"
    assert page.count(row) == page.count("30 of the tasks have the golden calls of no training task") == len(BENCHMARKS)
    control = figures | {"beside": {"whole-0": {"calls": calls, "values": values, "right": right}}}
    both = {name: each | {"shuffled-0": control} for name, each in found.items()}
    write_page(tmp_path, both, {}, "a processor", HOW)
    page = (tmp_path / "README.md").read_text(encoding="utf-8")
    columns = "golden calls made | golden values given | right"
    heading = f"| points above another run, on the same tasks | which | {columns} |\n|---|---|---:|---:|---:|\n"
    row = "| shuffled-0 | whole-0 | -50.0 (-60.0 to -40.0) | +2.0 (-10.0 to 0.0) | 0.0 (-25.0 to +25.0) |"
    assert page.count(f"\n\n{heading}{row}\n\n") == len(BENCHMARKS)
