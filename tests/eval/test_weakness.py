"""What a policy fails, written down and drawn: the next dataset has more of it."""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from eval.benchmark import Opened, open_benchmark
from eval.harness import Harness
from eval.policies import GoldenPolicy, Player
from eval.records import Settings
from eval.storage import read_results
from eval.weakness import weakness_of
from toolscale.cli import main
from toolscale.dataset.checking.recheck import verify_dataset
from toolscale.dataset.describing.reading import read_dataset
from toolscale.environment.environment import load_environment
from toolscale.errors import UsageError
from toolscale.pipeline import synthesize
from toolscale.records import DomainWeakness, Failed, RolloutTask, Weakness
from toolscale.rollout.actions import GIVE_UP
from toolscale.rollout.policy import Policy
from toolscale.rollout.scripted import ScriptedPolicy
from toolscale.tasks.binding import streams_of
from toolscale.tasks.split import held_out_intents
from toolscale.tasks.toward import read_weakness, render_weakness, values_of, weights_toward

DOMAIN = "sport"


@dataclass(frozen=True)
class _Weak:
    """Recites the reference solution, and gives up where a task has what it fails."""

    golden: Policy
    idle: Policy
    fails: Callable[[RolloutTask], bool]
    name: str = "weak"

    @property
    def price(self) -> Any:
        return self.golden.price

    def session(self, task: RolloutTask, *rest: Any) -> Any:
        return (self.idle if self.fails(task) else self.golden).session(task, *rest)


def played(dataset: Path, out: Path, intent: str) -> tuple[Weakness, Opened]:
    """What a policy fails on the training split of a dataset that cannot do one intent."""
    opened = open_benchmark("familiar", Settings(data=(str(dataset),)))
    known = {each.id: each for each in load_environment(DOMAIN).spec.intents.intents}

    def fails(task: RolloutTask) -> bool:
        assert task.task is not None
        return intent in values_of(task.task, known)["intents"]

    @asynccontextmanager
    async def policy(benchmark: Opened) -> AsyncIterator[Policy]:
        idle = ScriptedPolicy("idle", lambda task, sample: GIVE_UP)
        yield _Weak(GoldenPolicy(benchmark.ground.bench), idle, fails)

    player = Player("weak", {"kind": "weak", "intent": intent}, policy)

    async def play() -> Weakness:
        harness = Harness("familiar", Settings(data=(str(dataset),)), opened, out)
        await harness.run(player, 1, 4)
        lines = read_results(harness.folder_of(player))
        found = weakness_of(*lines, opened.cases, opened.ground.bench.domains)
        await opened.close()
        return found

    return asyncio.run(play()), opened


@pytest.mark.slow("tests/eval/test_weakness.py")
def test_the_next_dataset_has_a_planted_weakness_three_times_as_often(tmp_path: Path) -> None:
    synthesize(DOMAIN, tmp_path / "before", tasks=100, seed=1, turns="single")
    before = read_dataset(tmp_path / "before").rows
    rows = before.splits["train"]
    (planted, times), *_ = Counter(row["intent_id"] for row in rows if row["outcome"] == "fulfil").most_common()
    weakness, opened = played(tmp_path / "before", tmp_path / "eval", planted)
    tried = weakness.domains[DOMAIN].intents
    assert (tried[planted].failed, tried[planted].tasks) == (tried[planted].tasks,) * 2
    assert sum(case.task.task is not None for case in opened.cases) == len(rows) and weakness.left_out == 0
    assert next(iter(weakness.told()["domains"][DOMAIN]["intents"])) == planted

    (tmp_path / "weak.json").write_bytes(render_weakness(weakness))
    command = ["synthesize", DOMAIN, "--tasks", "60", "--seed", "2", "--turns", "single"]
    assert main([*command, "--toward", str(tmp_path / "weak.json"), "--out", str(tmp_path / "after")]) in (0, 1)
    after = read_dataset(tmp_path / "after").rows
    share = sum(row["intent_id"] == planted for row in after.tasks) / len(after.tasks)
    assert share >= 3 * times / len(before.tasks)
    assert after.splits["test"] == []


def test_what_is_drawn_towards_a_weakness_is_verified_and_told_on_the_card(tmp_path: Path) -> None:
    environment, out = load_environment("mock"), tmp_path / "mock"
    held_out = held_out_intents(environment.spec.intents.intents)
    failed = next(each.id for each in environment.spec.intents.intents if each.id not in held_out)
    path = written(tmp_path / "weak.json", "mock", intents={failed: Failed.of(20, 20)})
    command = ["synthesize", "mock", "--tasks", "4", "--toward", str(path), "--out", str(out)]
    assert main(command) in (0, 1)
    rows = read_dataset(out).rows
    assert rows.tasks and not {row["intent_id"] for row in rows.tasks} & held_out
    assert f"{failed} ×8.6" in (out / "README.md").read_text()
    assert verify_dataset(out).findings == ()
    manifest = out / "manifest.json"
    manifest.write_text(manifest.read_text().replace("8.5501", "0.5501"))
    assert verify_dataset(out).findings


def written(path: Path, domain: str = DOMAIN, **fields: Any) -> Path:
    """A file that says what was failed of a domain."""
    told = Weakness(policy="p", benchmark="b", grading=1, left_out=0, domains={domain: DomainWeakness(**fields)})
    path.write_bytes(render_weakness(told))
    return path


def test_streams_are_drawn_by_their_intents_and_where_few_were_tried_by_their_tools_and_rules(tmp_path: Path) -> None:
    environment = load_environment(DOMAIN)
    intents = environment.spec.intents.intents
    held_out = held_out_intents(intents)
    plain = [each.intent for each in streams_of(environment) if each.kind == "plain" and each.intent.do]
    free = [each for each in plain if each.id not in held_out]
    failed, done, other = free[0], free[1], free[2]
    tool = next(getattr(step, "tool", "") for step in other.do)
    path = written(
        tmp_path / "weak.json",
        intents={failed.id: Failed.of(20, 20), done.id: Failed.of(0, 20), other.id: Failed.of(0, 1)},
        tools={tool: Failed.of(10, 20)},
    )
    weights = weights_toward(path, environment)
    assert weights[failed.id] == round(1 + 9 * Failed.of(20, 20).low, 4) > 8
    assert (weights[done.id], weights[other.id]) == (1.0, round(1 + 9 * Failed.of(10, 20).low, 4))
    assert {name for name, weight in weights.items() if not weight} == {
        stream.name for stream in streams_of(environment) if stream.intent.id in held_out
    }
    assert weights.keys() == {stream.name for stream in streams_of(environment)}


def test_few_tasks_are_named_as_few_and_count_for_little() -> None:
    assert Failed.of(2, 2) == Failed(tasks=2, failed=2, low=0.3424, high=1.0, few=True)
    assert Failed.of(10, 10) == Failed(tasks=10, failed=10, low=0.7225, high=1.0, few=False)


GOOD = {
    "policy": "p", "benchmark": "b", "grading": 1, "left_out": 0,
    "domains": {DOMAIN: {"intents": {"ask": {"tasks": 2, "failed": 2, "low": 0.3424, "high": 1.0, "few": True}}}},
}  # fmt: skip


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[]", "it is not a JSON object"),
        ("{", "it is not JSON"),
        (json.dumps(GOOD).replace('"failed": 2', '"failed": 3'), "3 of 2 tasks cannot have failed"),
        (json.dumps(GOOD).replace("0.3424", "0.99"), "2 of 2 give low 0.3424, high 1.0, few true"),
        (json.dumps(GOOD).replace("0.3424", "NaN"), "NaN is not JSON"),
        (json.dumps(GOOD).replace('"ask"', '"\\u001b[2J"'), "string should match pattern"),
        (json.dumps(GOOD).replace('"tasks": 2', '"tasks": 1e400'), "too large a number"),
        (json.dumps({**GOOD, "run": "rm"}), "run: extra inputs are not permitted"),
        (json.dumps(GOOD).replace('"ask"', '"strange"'), "'strange' is none of the intents of the domain"),
        (json.dumps(GOOD).replace(DOMAIN, "mock"), f"it says nothing of {DOMAIN}; it has mock"),
        (" " * 4_000_001, "the file has more than 4,000,000 bytes"),
        ("\x00", "it holds the character '\\x00'"),
    ],
)
def test_a_file_that_was_tampered_with_is_refused_in_one_line(
    tmp_path: Path, text: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path, out = tmp_path / "weak.json", tmp_path / "out"
    path.write_text(text)
    assert main(["synthesize", DOMAIN, "--toward", str(path), "--out", str(out)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"toolscale: {path}: ") and told in line
    assert not out.exists()


def test_what_is_no_file_and_what_is_about_all_domains_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=re.escape(f"{tmp_path}: the file cannot be read")):
        read_weakness(tmp_path)
    with pytest.raises(UsageError, match="the file is missing"):
        read_weakness(tmp_path / "none.json")
    assert main(["synthesize", "all", "--toward", str(tmp_path)]) == 2


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["familiar"], "--weak is about one policy; 0 are named by --policy"),
        (["familiar", "--policy", "idle", "--policy", "golden"], "2 are named by --policy"),
        (["questions", "--policy", "idle"], "questions: --weak counts what environment tasks are made of"),
    ],
)
def test_an_evaluation_that_cannot_count_says_so_before_it_runs(
    arguments: list[str], told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from eval.cli import main as evaluate

    assert evaluate(["run", *arguments, "--weak", str(tmp_path / "weak.json")]) == 2
    assert told in capsys.readouterr().err
    assert not (tmp_path / "weak.json").exists()
