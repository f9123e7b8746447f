"""The tools that really run, inside the loop: what a question lets them find is found, at the charge that is known
beforehand."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from stage import CATALOGUE, EXPERTS, Reciting, asking, call, calling, saying

from toolscale.basic_tools import BasicTool, BasicToolSettings, LocalSearchSettings, open_basic_tools
from toolscale.questions.corpus import write_corpus
from toolscale.records import Rollout
from toolscale.rollout.actions import Action, expected_figures
from toolscale.rollout.bench import Bench
from toolscale.rollout.groups import run_rollouts
from toolscale.rollout.offering import Offering, TaskSource
from toolscale.rollout.scripted import ScriptedPolicy, strongest, tools_first


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, BasicTool]]:
    """The interpreter, and search in the library of the questions."""
    library = tmp_path_factory.mktemp("library")
    write_corpus(library)
    with open_basic_tools(BasicToolSettings(local_search=LocalSearchSettings(corpus=str(library)))) as opened:
        yield opened


@pytest.mark.parametrize(
    ("category", "tool"), [("arithmetic", "python"), ("code", "python"), ("lookup", "local_search")]
)
def test_tools_find_what_a_question_lets_them_find(tools: dict[str, BasicTool], category: str, tool: str) -> None:
    offering = Offering(CATALOGUE, most=3, basic_tools=("python", "local_search"), basic_share=1.0, denied_share=0.0)
    source = TaskSource(offering, "test", 0, {category: 1})
    tasks = [source[number] for number in range(12)]
    policy = ScriptedPolicy("tools first", tools_first(strongest(CATALOGUE)))
    groups = asyncio.run(run_rollouts(tasks, policy, Bench(EXPERTS, tools), 1))
    for task, (rollout,) in zip(tasks, groups, strict=True):
        outcomes = expected_figures(task, Action(tool), CATALOGUE)  # type: ignore[arg-type]
        found = (1.0, rollout.right, rollout.cost_usd, rollout.latency_s, tuple(rollout.uses()))
        assert ([found], rollout.uses()) == (outcomes, {tool: 1})


def test_code_that_fails_is_an_observation(tools: dict[str, BasicTool]) -> None:
    async def run() -> Rollout:
        async with Bench({}, tools) as bench:
            policy = Reciting([calling(call("python", {"code": "1/0"})), saying("8")])
            return (await run_rollouts([asking(experts=(), basic_tools=("python",))], policy, bench, 1))[0][0]

    rollout = asyncio.run(run())
    assert rollout.messages[3]["content"] == "Error: ZeroDivisionError: division by zero"
    assert [
        (charge.error, charge.cost_usd, charge.latency_s) for charge in rollout.ledger if charge.kind == "basic"
    ] == [("ZeroDivisionError: division by zero", 0.0000083, 1.0)]
    assert (rollout.malformed, rollout.right, [tool["id"] for tool in rollout.messages[2]["tool_calls"]]) == (
        0,
        True,
        ["call-1"],
    )
