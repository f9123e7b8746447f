"""What rollouts are tested on: three experts that nobody can mistake, small questions, and policies that recite."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from toolscale.basic_tools.base import BasicResult, one_text_function
from toolscale.environment.builtins import calculate
from toolscale.models.simulated import SimulatedExpert
from toolscale.records import (
    CATEGORIES,
    Catalogue,
    Effort,
    ExpertSpec,
    Limits,
    OfferedExpert,
    Preference,
    Price,
    Question,
    Rollout,
    RolloutTask,
    Task,
    TokenTrace,
)
from toolscale.rollout.bench import Bench
from toolscale.rollout.domain import Domain
from toolscale.rollout.groups import run_rollouts
from toolscale.rollout.policy import Message, Policy, Tool, Turn


def spec(name: str, skill: float, dollars: float, seconds: float, tokens: float = 100) -> ExpertSpec:
    """An expert that is equally good at everything; `dollars` for a million tokens, in and out."""
    effort = Effort(output_tokens=tokens, latency_s=seconds)
    return ExpertSpec(
        name=name,
        title=name.title(),
        price=Price(input=dollars, output=dollars),
        skills=dict.fromkeys(CATEGORIES, skill),
        effort=dict.fromkeys(CATEGORIES, effort),
        source="made up for tests",
    )


CATALOGUE = Catalogue(
    title="Three experts", experts=(spec("sage", 1.0, 10, 8.0), spec("coin", 0.5, 2, 4.0), spec("fool", 0.0, 1, 1.0))
)
EXPERTS = {expert.name: SimulatedExpert(expert) for expert in CATALOGUE.experts}
OFFERED = tuple(
    OfferedExpert(
        alias=f"expert-{number}",
        expert=expert.name,
        input_price=expert.price.input,
        output_price=expert.price.output,
        card=expert.title,
    )
    for number, expert in enumerate(CATALOGUE.experts, start=1)
)
WISH = Preference(instruction="Keep it cheap.", cost=0.5)
OWN_PRICE = Price(input=1.0, output=2.0)


class Calculator:
    """A basic tool that really computes."""

    name = "calculator"
    description = "Work out an expression."

    def function(self) -> dict[str, Any]:
        """Return the tool as an OpenAI function."""
        return one_text_function(self.name, self.description, "expression", "Numbers, + - * / and brackets.")

    async def call(self, arguments: Mapping[str, Any]) -> BasicResult:
        """Compute."""
        value, error = calculate(arguments["expression"])
        return BasicResult(value or f"Error: {error}", error, 0.001, 0.25)


def question(number: int = 1) -> Question:
    """What is 7 and a number?"""
    answer = 7 + number
    return Question(
        id=f"sum-{number}",
        category="arithmetic",
        text=f"What is `7 + {number}`?",
        answer=str(answer),
        answer_kind="integer",
        wrong=(str(answer + 1), str(answer + 10)),
        snippet=f"7 + {number}",
        source="made up for tests",
    )


def asking(number: int = 1, **changes: Any) -> RolloutTask:
    """A question with three experts and the calculator."""
    given = {
        "id": f"task-{number}",
        "question": question(number),
        "experts": OFFERED,
        "basic_tools": ("calculator",),
        "preference": WISH,
    }
    return RolloutTask(category="arithmetic", **given | changes)


def working(task: Task, **changes: Any) -> RolloutTask:
    """An environment task with three experts."""
    return RolloutTask(
        **{"id": task.id, "category": "tools", "task": task, "experts": OFFERED, "preference": WISH} | changes
    )


def call(name: str, arguments: Any, number: int = 1) -> dict[str, Any]:
    """A tool call; text is taken as it is."""
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return {"id": f"call-{number}", "type": "function", "function": {"name": name, "arguments": text}}


def calling(*calls: dict[str, Any], content: str | None = None) -> Message:
    """A message with calls."""
    return {"role": "assistant", "content": content, "tool_calls": list(calls)}


def saying(text: str | None) -> Message:
    """A message without calls."""
    return {"role": "assistant", "content": text}


def ask(alias: str, text: str = "What is 7 + 1?", **more: Any) -> dict[str, Any]:
    """A question to an expert."""
    return call("call_expert", {"expert": alias, "question": text, **more})


def hand_over(alias: str) -> dict[str, Any]:
    """Hand a turn over to an expert."""
    return call("call_expert", {"expert": alias})


@dataclass
class Reciting:
    """A policy that says the same messages in every rollout, the last one again and again. 20 tokens in, 10 out, half a
    second each."""

    messages: Sequence[Message | Turn]
    name: str = "reciting"
    price: Price = OWN_PRICE
    heard: list[list[Mapping[str, Any]]] = field(default_factory=list)
    """What each turn of each session observed."""

    def session(self, task: RolloutTask, messages: list[Message], tools: list[Tool], sample: int) -> Recital:
        """Begin a conversation."""
        return Recital(self)


@dataclass
class Recital:
    """One conversation."""

    policy: Reciting
    turns: int = 0

    async def turn(self, observations: Sequence[Mapping[str, Any]]) -> Turn:
        """Say the next message."""
        self.policy.heard.append(list(observations))
        said = self.policy.messages[min(self.turns, len(self.policy.messages) - 1)]
        self.turns += 1
        return said if isinstance(said, Turn) else Turn(said, None, 20, 10, 0.5)

    def trace(self) -> TokenTrace | None:
        """One token a turn."""
        return TokenTrace(ids=(7,) * self.turns, written=(True,) * self.turns, logprobs=(-0.5,) * self.turns)


async def played(task: RolloutTask, policy: Policy, domain: Domain | None = None, samples: int = 1) -> list[Rollout]:
    """The rollouts of one task."""
    bench = Bench(EXPERTS, {"calculator": Calculator()}, {} if domain is None else {domain.environment.domain: domain})
    return (await run_rollouts([task], policy, bench, samples))[0]


def play(
    task: RolloutTask, *messages: Message | Turn, domain: Domain | None = None, limits: Limits | None = None
) -> Rollout:
    """One rollout of a policy that recites."""
    given = task if limits is None else task.model_copy(update={"limits": limits})
    return asyncio.run(played(given, Reciting(messages), domain))[0]


def errors(rollout: Rollout) -> list[str | None]:
    """The errors of the ledger, one for each call."""
    return [charge.error for charge in rollout.ledger if charge.kind != "orchestrator"]
