"""Two runs beside each other, and stored rollouts that are graded again."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from evaluated import TASKS, Play, made_up

from eval.benchmark import Opened, open_benchmark
from eval.comparing import compare, compare_folders, told
from eval.harness import Harness
from eval.policies import scripted
from eval.records import Header, Line, Settings
from eval.regrading import regrade_folder
from eval.statistics import McNemar, tasks_needed
from eval.storage import RESULTS, ROLLOUTS, read_results
from eval.summary import summarize
from toolscale.errors import UsageError


def header(policy: str) -> Header:
    """The header of a run that never took place."""
    return Header(
        version="0",
        benchmark="made up",
        kind="questions",
        settings=Settings(),
        licence="none",
        judged_by="hand",
        simulated=True,
        policy=policy,
        identity={"kind": "scripted"},
        policy_hash=policy,
    )


def line(task: int, policy: str, score: float | None, sample: int = 0, **changes: object) -> Line:
    """A line of it."""
    key, cluster = f"{task}-{policy}-{sample}", f"cluster-{task % 30}"
    places = {"task": f"task-{task}", "task_hash": f"hash-{task}", "cluster": cluster, "sample": sample}
    return made_up(policy, **{"key": key, **places, "score": score, "utility": score, **changes})


def test_a_difference_is_told_with_all_that_it_takes_to_believe_it() -> None:
    a = [line(task, "new", float(task % 4 != 0), cost_usd=0.02) for task in range(100)]
    b = [line(task, "old", float(task % 2 == 0)) for task in range(100)]
    found = compare(header("new"), a, header("old"), b)
    estimate = found.accuracy.estimate
    assert (found.tasks, found.only_a, found.only_b, found.mcnemar) == (100, 0, 0, McNemar(50, 25, found.mcnemar.p))
    assert (found.mean_a, found.mean_b, estimate.value) == (0.75, 0.5, 0.25)
    assert found.needed == tasks_needed(0.125, estimate.error, 100)
    assert found.cost.value == pytest.approx(0.01)
    assert found.per_right is not None and found.per_right[0] == pytest.approx(2 / 75 - 1 / 50)
    assert len(found.changed) == 75
    assert found.verdict == ("better" if estimate.low > 0 else "no difference shown")
    words = told(found)
    assert words[0] == "made up: 100 tasks in 30 clusters that both did"
    assert words[1].startswith("right: new 75.0%, old 50.0%; difference +25.0 points (95 % interval ")
    assert f"to see half of it (12.5 points) takes {found.needed:,} such tasks (power 0.8)" in words


def test_tasks_that_one_alone_did_are_counted_and_not_compared() -> None:
    a = [line(task, "a", 1.0) for task in range(30)] + [line(30, "a", None)]
    b = [line(task, "b", float(task > 12)) for task in range(10, 35)]
    found = compare(header("a"), a, header("b"), b)
    assert (found.tasks, found.only_a, found.only_b) == (20, 10, 5)
    assert told(found)[0].endswith("; 10 only a, 5 only b")
    with pytest.raises(UsageError, match=r"a on made up \(30 tasks\) and b on made up \(1\) have no task in common"):
        compare(header("a"), a, header("b"), [line(99, "b", 1.0)])


def test_worse_means_worse_with_95_percent_confidence() -> None:
    worse = [line(task, "a", float(task % 10 == 0)) for task in range(100)]
    half = [line(task, "b", float(task % 2 == 0)) for task in range(100)]
    less = [line(task, "c", float(task % 2 == 0 and task != 4)) for task in range(100)]
    assert compare(header("a"), worse, header("b"), half).verdict == "worse"
    assert compare(header("c"), less, header("b"), half).verdict == "no difference shown"


@pytest.mark.parametrize("clusters", [1, 3])
def test_all_of_a_few_intents_show_nothing(clusters: int) -> None:
    a, b = ([line(task, name, score) for task in range(clusters)] for name, score in (("a", 1.0), ("b", 0.0)))
    found = compare(header("a"), a, header("b"), b)
    assert (found.accuracy.estimate.value, found.verdict) == (1.0, "no difference shown")


def test_one_intent_alone_shows_nothing() -> None:
    a, b = (
        [line(task, name, float(score(task)), cluster="only") for task in range(8)]
        for name, score in (("a", lambda task: task < 7), ("b", lambda task: task > 6))
    )
    found = compare(header("a"), a, header("b"), b)
    assert (found.accuracy.estimate.value, found.verdict) == (0.75, "no difference shown")
    assert ", of one cluster alone, which shows nothing" in told(found)[1]


def test_samples_of_a_task_are_one_task_and_errors_are_none() -> None:
    lines = [
        line(0, "p", 1.0), line(0, "p", 0.0, 1, failure="gave up"), line(1, "p", 1.0), line(1, "p", 1.0, 1),
        line(2, "p", None), line(2, "p", 0.0, 1, failure="limit"), line(3, "p", None, status="unscored"),
    ]  # fmt: skip
    found = summarize(header("p"), lines)
    assert found.accuracy is not None
    assert (found.tasks, found.lines, found.errors, found.unscored) == (3, 7, 1, 1)
    assert found.accuracy.value == pytest.approx((0.5 + 1 + 0) / 3)
    assert found.failures == {"gave up": 1, "limit": 1}
    assert list(found.pass_hat) == [1]
    assert found.per_right is not None and found.per_right[0] == pytest.approx(0.03 / 1.5)


def test_pass_hat_k_goes_as_far_as_every_task_has_samples() -> None:
    lines = [line(task, "p", float(sample <= task), sample) for task in range(3) for sample in range(3)]
    found = summarize(header("p"), lines)
    assert {k: round(each.value, 6) for k, each in found.pass_hat.items()} == {
        1: round((1 / 3 + 2 / 3 + 1) / 3, 6),
        2: round((0 + 1 / 3 + 1) / 3, 6),
        3: round(1 / 3, 6),
    }


def test_folders_are_compared_on_disk(play: Play) -> None:
    found = compare_folders(play(scripted("golden")), play(scripted("idle")))
    assert (found.mean_a, found.mean_b, found.mcnemar.only_a, found.tasks) == (1.0, 0.0, TASKS, TASKS)
    with pytest.raises(UsageError, match="nowhere: holds no results"):
        compare_folders(Path("nowhere"), Path("nowhere"))


def test_grading_again_changes_nothing(play: Play) -> None:
    folder = play(scripted("random"), samples=2)
    before = (folder / RESULTS).read_bytes()
    found = asyncio.run(regrade_folder(folder))
    assert (found.lines, found.changed, found.kept, found.gone) == (2 * TASKS, (), 0, 0)
    assert (folder / RESULTS).read_bytes() == before


def break_one(folder: Path) -> str:
    """Have the second rollout of a folder answer something else; return its task."""
    lines = (folder / ROLLOUTS).read_text().splitlines(keepends=True)
    kept = json.loads(lines[1])
    kept["rollout"]["answer"] = "I do not know."
    lines[1] = json.dumps(kept) + "\n"
    (folder / ROLLOUTS).write_text("".join(lines))
    return str(kept["rollout"]["task_id"])


def test_grading_again_after_breaking_one_changes_exactly_that_row(play: Play) -> None:
    folder = play(scripted("golden"))
    before = read_results(folder)[1]
    task = break_one(folder)
    found = asyncio.run(regrade_folder(folder, write=False))
    assert read_results(folder)[1] == before
    assert asyncio.run(regrade_folder(folder)) == found
    assert [(each.task, each.before, each.after) for each in found.changed] == [(task, 1.0, 0.0)]
    after = read_results(folder)[1]
    assert [one.task for one, other in zip(before, after, strict=True) if one != other] == [task]
    assert after[1].failure == "gave up"


def test_environment_tasks_are_graded_again_too(mock_dataset: Path, tmp_path: Path) -> None:
    settings = Settings(data=(str(mock_dataset),))
    opened = open_benchmark("heldout", settings, None)
    harness = Harness("heldout", settings, opened, tmp_path)
    try:
        for name in ("golden", "idle"):
            asyncio.run(harness.run(scripted(name), 1, 4))
    finally:
        asyncio.run(opened.close())
    golden, idle = (read_results(tmp_path / name)[1] for name in ("golden", "idle"))
    assert {each.score for each in golden} == {1.0} and {each.score for each in idle} == {0.0}
    assert {each.cluster.partition("/")[0] for each in golden} == {"mock"}
    assert set(golden[0].groups) == {"domain", "tier", "outcome", "evolution", "golden calls"}
    found = asyncio.run(regrade_folder(tmp_path / "golden"))
    assert (found.lines, found.changed) == (len(golden), ())
    assert all(opened.cases[place].hash == each.task_hash for place, each in enumerate(golden))


def test_a_rollout_of_another_line_is_refused(play: Play, questions: Opened) -> None:
    folder = play(scripted("golden"))
    lines = (folder / ROLLOUTS).read_text().splitlines(keepends=True)
    (folder / ROLLOUTS).write_text("".join([lines[1], lines[0], *lines[2:]]))
    with pytest.raises(UsageError, match=r"rollouts.jsonl: line 1: is the rollout \w+, and results.jsonl has"):
        asyncio.run(regrade_folder(folder))
