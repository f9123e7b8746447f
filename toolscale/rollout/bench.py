"""What rollouts run on: experts, basic tools and domains, opened once and shared by all rollouts of a process."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING

from toolscale.basic_tools import BasicTool
from toolscale.errors import UsageError
from toolscale.models.expert import Expert
from toolscale.records import AnswerKey, OfferedExpert, Price, RolloutTask
from toolscale.rollout.actions import price_at
from toolscale.rollout.calls import CallReader
from toolscale.rollout.domain import Domain
from toolscale.rollout.grading import answer_key_of
from toolscale.rollout.person import Person, ScriptedPerson
from toolscale.rollout.policy import Message, Tool
from toolscale.rollout.prompt import CALL_EXPERT, first_messages, offered_tools

if TYPE_CHECKING:
    from toolscale.rollout.message_judge import MessageJudge


@dataclass(frozen=True, slots=True)
class Setting:
    """What all samples of a task share. Nobody changes it, but for what is remembered in `findings`."""

    task: RolloutTask
    messages: list[Message]
    """The first messages."""
    tools: list[Tool]
    reader: CallReader
    experts: Mapping[str, tuple[OfferedExpert, Expert, Price]]
    """Alias -> what is offered, who answers, and the price of this task."""
    basic: Mapping[str, BasicTool]
    domain: Domain | None
    denied: frozenset[str]
    key: AnswerKey | None
    """What simulated experts play; None where no expert is offered."""
    person: Person
    """Who is asked, if the task is a dialogue."""
    judge: MessageJudge | None
    """Who reads the final message, if rules cannot grade it."""
    shown: list[Message]
    """The first messages that an expert sees when it takes over a turn: the policy and the request, without the wishes
    about experts and costs."""
    findings: dict[str, tuple[bool, str]] = field(default_factory=dict)
    """Answer -> how it was graded, for questions: samples often say the same."""


class Bench:
    """Experts by name of the catalogue, basic tools and domains by name. An async context manager; at its end all are
    closed."""

    def __init__(
        self,
        experts: Mapping[str, Expert],
        basic: Mapping[str, BasicTool] | None = None,
        domains: Mapping[str, Domain] | None = None,
        person: Person | None = None,
        judge: MessageJudge | None = None,
    ) -> None:
        self.judge = judge
        """Who reads the final messages that rules cannot grade; None: those stay undecided. It is not closed with the
        bench."""
        self.person = person or ScriptedPerson()
        """Who is asked in dialogues."""
        self.experts = experts
        self.basic = basic or {}
        self.domains = domains or {}

    async def __aenter__(self) -> Bench:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """End the processes of tools and the engines of domains. Experts hold nothing between two answers."""
        for tool in self.basic.values():
            if (close := getattr(tool, "close", None)) is not None:  # not every tool has something to let go of
                close()
        for domain in self.domains.values():
            domain.close()

    def setting(self, task: RolloutTask) -> Setting:
        """Prepare what the samples of a task share. UsageError if the task names something that is not here."""
        domain = self.domain_of(task)
        experts = {offered.alias: (offered, self._expert(task, offered), price_at(offered)) for offered in task.experts}
        if len(experts) != len(task.experts):
            raise UsageError(f"task {task.id}: two experts have the same alias; give each its own")
        if missing := [name for name in task.basic_tools if name not in self.basic]:
            raise UsageError(
                f"task {task.id} offers the basic tool {missing[0]!r}; the bench has {_listed(self.basic)}"
            )
        basic = {name: self.basic[name] for name in task.basic_tools}
        taken = [CALL_EXPERT, *basic]
        if domain is not None and (clash := [name for name in taken if name in domain.environment.tools]):
            raise UsageError(
                f"task {task.id}: the domain {domain.environment.domain!r} has a tool {clash[0]!r} of its own; "
                "rename it"
            )
        of_domain = domain.tools_of(task.task) if domain is not None and task.task is not None else ()
        tools = offered_tools(task, {name: tool.function() for name, tool in basic.items()}, of_domain)
        return Setting(
            task=task,
            messages=first_messages(task, domain.system_of(task.task) if domain is not None and task.task else None),
            tools=tools,
            reader=CallReader(tools),
            experts=experts,
            basic=basic,
            domain=domain,
            denied=frozenset(task.limits.denied),
            key=answer_key_of(task, domain) if experts else None,
            person=self.person,
            judge=self.judge,
            shown=domain.shown(task.task) if domain is not None and task.task is not None else [],
        )

    def domain_of(self, task: RolloutTask) -> Domain | None:
        """Return the domain of an environment task, None for a question."""
        if task.task is None:
            return None
        if task.task.domain not in self.domains:
            raise UsageError(
                f"task {task.id} is of the domain {task.task.domain!r}; the bench has {_listed(self.domains)}"
            )
        return self.domains[task.task.domain]

    def _expert(self, task: RolloutTask, offered: OfferedExpert) -> Expert:
        if offered.expert not in self.experts:
            raise UsageError(
                f"task {task.id} offers the expert {offered.expert!r}; the bench has {_listed(self.experts)}"
            )
        return self.experts[offered.expert]


def _listed(names: Mapping[str, object]) -> str:
    return ", ".join(sorted(names)) or "none"
