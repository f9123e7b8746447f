"""Many rollouts at once: concurrent, repeatable, stopped as a whole, and kept in files."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from server import chat_server, completion
from stage import (
    CATALOGUE,
    EXPERTS,
    OFFERED,
    Calculator,
    Recital,
    Reciting,
    ask,
    asking,
    call,
    calling,
    hand_over,
    play,
    saying,
    working,
)

from toolscale.errors import RolloutError, StorageError, UsageError
from toolscale.models.endpoint import EndpointExpert
from toolscale.models.simulated import SimulatedExpert
from toolscale.records import Rollout, RolloutTask, Task
from toolscale.rollout.bench import Bench
from toolscale.rollout.domain import Domain
from toolscale.rollout.grading import regrade
from toolscale.rollout.groups import run_rollouts
from toolscale.rollout.policy import Message, Policy, Tool, Turn
from toolscale.rollout.scripted import ScriptedPolicy, at_random
from toolscale.rollout.storage import read_rollouts, write_rollouts

ASKS = Reciting([calling(ask("expert-2", final=True))])


def run(
    tasks: list[RolloutTask], policy: Policy, domain: Domain | None = None, samples: int = 3, **more: Any
) -> list[list[Rollout]]:
    """Rollouts on the three experts."""
    bench = Bench(EXPERTS, {"calculator": Calculator()}, {} if domain is None else {"mock": domain})
    return asyncio.run(run_rollouts(tasks, policy, bench, samples, **more))


class Stuck(Reciting):
    """The second turn of the sample 1 never ends."""

    def session(self, task: RolloutTask, messages: list[Message], tools: list[Tool], sample: int) -> Recital:
        """Begin a conversation."""
        return Unanswered(self) if sample == 1 else super().session(task, messages, tools, sample)


class Unanswered(Recital):
    """A conversation that waits for ever after its first turn."""

    async def turn(self, observations: Sequence[Mapping[str, Any]]) -> Turn:
        """Say one message."""
        if self.turns:
            await asyncio.Event().wait()
        return await super().turn(observations)


def test_a_straggler_ends_as_failed_and_the_others_go_on() -> None:
    policy = Stuck([calling(call("calculator", {"expression": "7 + 1"})), saying("The answer is 8.")])
    [group] = run([asking()], policy, seconds=0.5)
    assert [rollout.stop for rollout in group] == ["answered", "failed", "answered"]
    assert group[1].finding == "no answer: it was not done after 0.5 s"
    assert group[1].uses() == {"calculator": 1}  # what it did until then is kept
    assert regrade(group[1], asking()) == (False, group[1].finding)


def test_all_rollouts_wait_for_their_experts_together() -> None:
    together = threading.Barrier(128, timeout=300)  # nobody is answered before all have asked

    def say(asked: dict[str, Any]) -> tuple[int, str]:
        together.wait()
        return completion({"content": "The answer is 8."}, 1_000, 100)

    with chat_server(say) as endpoint:
        served = CATALOGUE.experts[0].model_copy(update={"endpoint": endpoint})
        bench = Bench({"sage": EndpointExpert(served)}, {})
        tasks = [asking(1, id=f"task-{number}", experts=OFFERED[:1], basic_tools=()) for number in range(16)]
        groups = asyncio.run(run_rollouts(tasks, Reciting([calling(ask("expert-1", final=True))]), bench, 8))
    charges = [charge for group in groups for rollout in group for charge in rollout.ledger if charge.kind == "expert"]
    assert [(charge.cost_usd, charge.terminal, charge.error) for charge in charges] == [(0.011, True, None)] * 128
    assert all(rollout.right for group in groups for rollout in group)


def test_an_expert_that_only_thinks_is_charged_what_its_server_counted() -> None:
    with chat_server(lambda _: completion({"content": None, "reasoning_content": "Hm."}, 1_000, 32_000)) as endpoint:
        bench = Bench({"sage": EndpointExpert(CATALOGUE.experts[0].model_copy(update={"endpoint": endpoint}))}, {})
        task = asking(1, experts=OFFERED[:1], basic_tools=())
        [[rollout]] = asyncio.run(run_rollouts([task], Reciting([calling(ask("expert-1")), saying("8")]), bench, 1))
    [charge] = [charge for charge in rollout.ledger if charge.kind == "expert"]
    assert (charge.input_tokens, charge.output_tokens, charge.cost_usd) == (1_000, 32_000, 0.33)
    assert charge.error == "expert-1 gave no answer: its reply cannot be used: it has neither content nor calls"


@pytest.mark.parametrize("concurrency", [1, 2, 7, None])
def test_concurrency_changes_nothing(concurrency: int | None, domain: Domain, mock_tasks: list[Task]) -> None:
    slow = {name: SimulatedExpert(expert.spec, pace=1e-4) for name, expert in EXPERTS.items()}
    tasks = [*(working(task) for task in mock_tasks[:3]), *(asking(number) for number in range(5))]

    def rollouts(experts: Any, **more: Any) -> list[list[Rollout]]:
        bench = Bench(experts, {"calculator": Calculator()}, {"mock": domain})
        return asyncio.run(run_rollouts(tasks, ScriptedPolicy("random", at_random(3)), bench, 4, **more))

    assert rollouts(slow, concurrency=concurrency) == rollouts(EXPERTS)


def test_samples_of_one_task_differ_and_tasks_do_too() -> None:
    groups = run([asking(number) for number in range(6)], ASKS, samples=6)
    assert {tuple(rollout.right for rollout in group) for group in groups} != {(True,) * 6}
    assert len({tuple(rollout.cost_usd for rollout in group) for group in groups}) == 6
    assert [[rollout.sample for rollout in group] for group in groups] == [list(range(6))] * 6
    assert run([], ASKS) == []


class Broken:
    """An expert with a bug."""

    def __init__(self) -> None:
        self.spec = CATALOGUE.experts[0]
        self.cancelled = 0

    async def reply(self, messages: Any, *_: Any, **__: Any) -> Any:
        """Break at once for one question, and wait for ever for the others."""
        if "broken" in messages[0]["content"]:
            await asyncio.sleep(0)
            raise ZeroDivisionError("division by zero")
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise


class Asking:
    """Asks the question of its task."""

    name, price = "asking", Reciting([]).price

    def session(self, task: RolloutTask, messages: Any, tools: Any, sample: int) -> Any:
        """Begin."""
        assert task.question is not None
        return Reciting([calling(ask("expert-1", task.question.text))]).session(task, messages, tools, sample)


def test_what_nobody_expected_stops_everything_and_names_the_task() -> None:
    expert = Broken()
    worse = asking(2, id="task-of-trouble")
    worse = worse.model_copy(
        update={"question": worse.question.model_copy(update={"text": "broken?"}), "experts": OFFERED[:1]}
    )
    bench = Bench({"sage": expert}, {"calculator": Calculator()})
    with pytest.raises(RolloutError, match=r"^task task-of-trouble, sample 0: ZeroDivisionError: division by zero$"):
        asyncio.run(run_rollouts([asking(1, experts=OFFERED[:1]), worse], Asking(), bench, 3))
    assert expert.cancelled == 3


def test_cancelling_gives_everything_back(domain: Domain, mock_tasks: list[Task]) -> None:
    task = mock_tasks[0]
    first = next(each for each in domain.key(task).right.calls if domain.writes(each.name))

    async def cancelled() -> None:
        bench = Bench({"sage": Broken()}, {}, {"mock": domain})
        policy = Reciting([calling(call(first.name, first.arguments)), calling(hand_over("expert-1"))])
        everything = asyncio.ensure_future(run_rollouts([working(task, experts=OFFERED[:1])], policy, bench, 6))
        for _ in range(20):
            await asyncio.sleep(0)
        everything.cancel()
        await everything

    before = domain.free
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(cancelled())
    assert domain.free >= before and domain.free == domain.worlds >= 6
    assert play(working(task), calling(hand_over("expert-1")), domain=domain).right


def test_rollouts_in_a_file_are_graded_as_they_were(tmp_path: Path, domain: Domain, mock_tasks: list[Task]) -> None:
    tasks = [*(working(task) for task in mock_tasks), *(asking(number) for number in range(5))]
    groups = run(tasks, ScriptedPolicy("random", at_random(0)), domain)
    written = [rollout for group in groups for rollout in group]
    path = tmp_path / "deep" / "rollouts.jsonl"
    assert write_rollouts(path, written) == len(written) == 39
    stored = list(read_rollouts(path))
    by_id = {task.id: task for task in tasks}
    assert stored == written
    assert [rollout.cost_usd for rollout in stored] == [rollout.cost_usd for rollout in written]
    assert [regrade(rollout, by_id[rollout.task_id], domain) for rollout in stored] == [
        (rollout.right, rollout.finding) for rollout in written
    ]
    assert [file.name for file in path.parent.iterdir()] == ["rollouts.jsonl"]


def test_bad_files_are_told(tmp_path: Path) -> None:
    path = tmp_path / "rollouts.jsonl"
    write_rollouts(path, run([asking()], ASKS)[0])
    path.write_text(path.read_text(encoding="utf-8") + '{"id": 5}\n', encoding="utf-8")
    with pytest.raises(UsageError, match=r"rollouts.jsonl: line 4: id: Input should be a valid string"):
        list(read_rollouts(path))
    with pytest.raises(StorageError, match=r"nowhere.jsonl cannot be read: No such file or directory"):
        list(read_rollouts(tmp_path / "nowhere.jsonl"))
    with pytest.raises(StorageError, match=r"cannot be written"):
        write_rollouts(path / "below", [])
    with pytest.raises(UsageError, match="must be at least 1"):
        run([asking()], ASKS, samples=0)
    with pytest.raises(UsageError, match="must be at least 1"):
        run([asking()], ASKS, concurrency=0)
    assert play(asking(), saying("8")).trace is not None
