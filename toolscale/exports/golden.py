"""Golden trajectories as conversations: what a model learns from, and what an export is proved with."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

from toolscale.canonical import canonical_json
from toolscale.dataset.columns import task_of
from toolscale.dataset.describing.reading import read_dataset
from toolscale.dataset.world import open_world
from toolscale.environment.builtins import FINAL_ANSWER
from toolscale.environment.environment import Environment
from toolscale.environment.world import World
from toolscale.exports.orders import other_orders
from toolscale.records import GoldenCall, Split, Task
from toolscale.rollout.person import answer_to, said_by_person
from toolscale.sandbox.base import Rows
from toolscale.tasks.dialogue import question_for
from toolscale.tasks.form import with_domain_form, with_listing
from toolscale.verify.judge import Judge

ANYTHING_ELSE = "Anything else?"
"""What the golden agent says to hear what else the person wants."""

Message = Mapping[str, Any]


@dataclass(frozen=True)
class Golden:
    """A task with all that its right solution says and does."""

    split: Split
    task: Task
    prompt: tuple[Message, ...]
    """The policy and the request."""
    tools: tuple[dict[str, Any], ...]
    """OpenAI functions."""
    answer: str
    """The final message, or the filled form as JSON."""
    others: tuple[tuple[GoldenCall, ...], ...] = ()
    """The golden calls in other orders that are right too, if they were asked for."""

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The whole conversation, as OpenAI messages."""
        return golden_messages(self.prompt, self.task, self.answer)

    @property
    def domain_tools(self) -> list[dict[str, Any]]:
        """The tools that all tasks of the domain share, for hosts that bind tools to an environment."""
        return with_domain_form(self.tools)

    @property
    def listed_prompt(self) -> list[Message]:
        """The policy and the request, with a list of what the `final_answer` of the domain takes."""
        *before, request = self.prompt
        return [*before, {**request, "content": with_listing(request["content"], self.task.form)}]

    @property
    def versions(self) -> list[Golden]:
        """This one, and one for each other order."""
        tasks = [self.task.model_copy(update={"golden_calls": calls}) for calls in self.others]
        return [self, *(replace(self, task=task, others=()) for task in tasks)]


@dataclass(frozen=True)
class OpenedDomain:
    """One domain of a dataset: its rows by split, a judge of its tasks, and a world in which calls can be made."""

    environment: Environment
    database: Rows
    judge: Judge
    world: World
    splits: Mapping[str, Sequence[dict[str, Any]]]


def golden_trajectories(folder: Path, splits: Sequence[Split] = ("train", "test"), others: int = 0) -> Iterator[Golden]:
    """Yield the golden trajectory of each task of a dataset: domain by domain, split by split. DatasetError if the
    environment of a domain is missing. `others`: up to so many other orders of its calls."""
    for domain in opened_domains(folder):
        for split in splits:
            for row in domain.splits[split]:
                task = task_of(row)
                subject = domain.judge.subject(task.candidate)
                found = tuple(islice(other_orders(task, subject, domain.world), others)) if others else ()
                prompt, tools = tuple(row["prompt"]), tuple(json.loads(row["tools"]))
                yield Golden(split, task, prompt, tools, subject.answer, found)


def opened_domains(folder: Path) -> Iterator[OpenedDomain]:
    """Open the domains of a dataset, each until the next is asked for. DatasetError if the environment of one is
    missing."""
    reading = read_dataset(folder)
    for domain, rows in reading.domains.items():
        environment, database = open_world(folder, domain)
        judge = Judge(environment, database, audit_share=0.0, replica=False)
        try:
            with World(environment, database) as world:
                yield OpenedDomain(environment, database, judge, world, rows.splits)
        finally:
            judge.close()


def golden_messages(prompt: Sequence[Message], task: Task, answer: str) -> list[dict[str, Any]]:
    """The conversation in which the golden calls are made, and the answer given: in a message, or in the form of the
    task. In a dialogue what is missing is asked for first, and what else the person wants."""
    messages = [dict(message) for message in prompt]
    asked = [question_for(task.candidate.held)] if task.candidate.held else []
    for message in (*asked, *[ANYTHING_ELSE] * len(task.candidate.agenda)):
        messages.append({"role": "assistant", "content": message})
        messages.append({"role": "user", "content": answer_to(task.candidate, message, said_by_person(messages))})
    for number, call in enumerate(task.golden_calls, 1):
        function = {"name": call.name, "arguments": canonical_json(call.arguments)}
        made = {"id": f"call_{number}", "type": "function", "function": function}
        messages.append({"role": "assistant", "content": None, "tool_calls": [made]})
        messages.append({"role": "tool", "tool_call_id": made["id"], "content": canonical_json(call.result)})
    if task.form is None:
        return [*messages, {"role": "assistant", "content": answer}]
    filled = {"id": "call_answer", "type": "function", "function": {"name": FINAL_ANSWER, "arguments": answer}}
    return [*messages, {"role": "assistant", "content": None, "tool_calls": [filled]}]
