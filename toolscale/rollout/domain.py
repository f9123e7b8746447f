"""What rollouts of environment tasks need of one domain: worlds to run in, a judge to grade them, and scripts that
simulated experts play."""

from __future__ import annotations

import random
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from itertools import zip_longest
from typing import Any

from toolscale.canonical import stable_int
from toolscale.environment.environment import Environment
from toolscale.environment.prompt import system_message, with_dialogue
from toolscale.environment.world import Toolbox, World
from toolscale.errors import SandboxError, SandboxLimitError, UsageError
from toolscale.models.pricing import approximate_input_tokens
from toolscale.records import AnswerKey, Grade, Reading, Script, Task, ToolCall, ToolResult
from toolscale.sandbox.base import Rows
from toolscale.tasks.form import with_form
from toolscale.tasks.record import Rejection
from toolscale.verify.equivalents import idle_agents
from toolscale.verify.graded import grade_subject
from toolscale.verify.judge import Judge
from toolscale.verify.mutants import MutantMaker
from toolscale.verify.readings import NO_READINGS, MessageCase, case_of
from toolscale.verify.subject import Subject
from toolscale.verify.trajectories import Trajectory

WRONG_SCRIPTS = 6
"""Wrong ways that are kept for one task. Three at least are there for every task that the judge accepted."""

_LOOKS_RIGHT = frozenset((
    "sibling", "stranger", "amount", "date", "enum", "swap", "tool", "drop", "branch", "forbidden", "repeat", "done",
    "fact", "exchanged", "unsaid", "extra",
))  # fmt: skip
"""Operators whose mutants look like the work of somebody who makes a mistake. Mutants of the others only recite, or say
nothing."""

_KEPT = 1_024
"""Recorded tasks that are kept; the one that was not asked for longest goes first."""

MOST_WORLDS = 16
"""Worlds of one domain. Each holds the whole database in memory, and SQLite has one limit for all of a process."""

Tool = dict[str, Any]


class Episode:
    """What one rollout has done in a domain. Its world may be lent to another rollout meanwhile. Then the calls in
    `written` are made again in the next world."""

    def __init__(self, domain: Domain) -> None:
        self._domain = domain
        self.written: list[ToolCall] = []
        """Successful calls of tools that write, in order: the state of the rows depends on them alone."""

    def call(self, call: ToolCall) -> ToolResult:
        """Make a call as an agent writes it. SandboxLimitError if it hits a limit of the sandbox, which ends the
        episode."""
        domain = self._domain
        if not domain.writes(call.name):
            world = domain.world_to_read(self)
            try:
                return world.call(call.name, call.arguments)
            except SandboxLimitError:
                world.reset()  # others read in it too
                raise
        result = domain.world_of(self).call(call.name, call.arguments)
        if result.error is None:
            self.written.append(call)
        return result


class Domain:
    """One environment with a pool of worlds and a judge. Not for several threads."""

    def __init__(self, environment: Environment, rows: Rows, most_worlds: int = MOST_WORLDS) -> None:
        self.environment = environment
        self._most_worlds = most_worlds
        self._lent: OrderedDict[Episode, World] = OrderedDict()
        self.system = system_message(environment)
        self.tools: list[Tool] = [tool.spec.openai_function() for tool in environment.tools.values()]
        self.toolbox = Toolbox(environment.tools)
        self._rows = rows
        self._idle: list[World] = []
        self._untouched: World | None = None
        self._opened = 0
        self._subjects: OrderedDict[str, Subject] = OrderedDict()
        self._keys: dict[str, AnswerKey] = {}
        self._graded: str | None = None

    @property
    def worlds(self) -> int:
        """How many worlds were opened so far, but for the one that is only read."""
        return self._opened

    @property
    def free(self) -> int:
        """How many of them nobody uses."""
        return len(self._idle)

    @cached_property
    def _judge(self) -> Judge:
        return Judge(self.environment, self._rows, audit_share=0.0, replica=False)

    @cached_property
    def _mutants(self) -> MutantMaker:
        return MutantMaker(self.environment, self._rows)

    @contextmanager
    def episode(self) -> Iterator[Episode]:
        """Begin an episode of one rollout: the rows are as at first, and nobody else changes them."""
        episode = Episode(self)
        try:
            yield episode
        finally:
            self.end(episode)

    def end(self, episode: Episode) -> None:
        """Take the world of an episode back. Nothing happens if it has none."""
        world = self._lent.pop(episode, None)
        if world is not None:
            self._idle.append(world)

    def world_of(self, episode: Episode) -> World:
        """Return the world that an episode goes on in. Beyond `most_worlds` the one that was not used for longest
        changes hands."""
        world = self._lent.get(episode)
        if world is None:
            world = self._free_world()
            world.reset()
            for call in episode.written:
                again = world.call(call.name, call.arguments, returns=False)
                if again.error is not None:
                    raise SandboxError(f"{call.name} succeeded in this episode before and fails now: {again.error}")
            self._lent[episode] = world
        self._lent.move_to_end(episode)
        return world

    def world_to_read(self, episode: Episode) -> World:
        """Return a world in which an episode may look things up: its own, or as long as it has written nothing the one
        that all such episodes share."""
        if episode.written or episode in self._lent:
            return self.world_of(episode)
        if self._untouched is None:
            self._untouched = World(self.environment, self._rows, toolbox=self.toolbox)
        return self._untouched

    def _free_world(self) -> World:
        if self._idle:
            return self._idle.pop()
        if self._opened < self._most_worlds:
            self._opened += 1
            return World(self.environment, self._rows, toolbox=self.toolbox)
        return self._lent.popitem(last=False)[1]

    def writes(self, tool: str) -> bool:
        """Whether a tool of the domain changes rows."""
        found = self.environment.tools.get(tool)
        return found is not None and found.mutates_state

    def shown(self, task: Task) -> list[dict[str, Any]]:
        """Return the first messages that an expert sees when it takes over a turn: the policy and the request, without
        the wishes about experts and costs."""
        return [
            {"role": "system", "content": self.system_of(task)},
            {"role": "user", "content": task.candidate.opening},
        ]

    def system_of(self, task: Task) -> str:
        """Return what an agent is told first on a task."""
        return with_dialogue(self.system, task.turns, task.answer)

    def input_tokens(self, task: Task) -> int:
        """Return about how many tokens an expert reads at least for one answer: `shown`, and the tools."""
        return approximate_input_tokens(self.shown(task), self.tools_of(task))

    def tools_of(self, task: Task) -> list[Tool]:
        """Return the tools of a task: those of the domain, and `final_answer` if it is answered by a form."""
        return with_form(self.tools, task.form)

    def grade(
        self, task: Task, calls: Sequence[ToolCall], answer: str, readings: Mapping[str, Reading] = NO_READINGS
    ) -> Grade:
        """Grade the domain calls of a rollout, in order, and its final message. `readings`: how a judge read messages
        of this task, by their hash."""
        return grade_subject(self._prepared(task), calls, answer, readings)

    def message_case(self, task: Task, calls: Sequence[ToolCall], answer: str) -> MessageCase:
        """Return what a judge is shown of a final message that was written after these calls."""
        return case_of(self._prepared(task), calls, answer)

    def _prepared(self, task: Task) -> Subject:
        """Return a task for grading."""
        subject = self._subject(task)
        if self._graded != task.id:  # end states are kept for one task at a time
            self._judge.states.forget()
            self._graded = task.id
        return subject

    def key(self, task: Task) -> AnswerKey:
        """Return what a simulated expert plays: the golden trajectory, or one of the wrong ones that look right and
        score 0."""
        if task.id not in self._keys:
            self._keys[task.id] = self._make_key(task)
        return self._keys[task.id]

    def close(self) -> None:
        """Free the engines."""
        for world in (*self._idle, *self._lent.values(), *filter(None, (self._untouched,))):
            world.close()
        if "_judge" in vars(self):  # made when it is first asked for
            self._judge.close()

    def _subject(self, task: Task) -> Subject:
        if task.id not in self._subjects:
            if (
                task.initial_state_hash != self._judge.initial_state_hash
                or task.environment_hash != self.environment.hash
            ):
                raise UsageError(
                    f"task {task.id} was made in another version of the environment {self.environment.domain!r}; "
                    "load its own"
                )
            try:
                self._subjects[task.id] = self._judge.subject(task.candidate)
            except Rejection as rejection:
                raise UsageError(f"task {task.id} cannot be recorded: {rejection}; verify its dataset") from rejection
            self._graded = None
            if len(self._subjects) > _KEPT:
                gone, _ = self._subjects.popitem(last=False)
                self._keys.pop(gone, None)
        self._subjects.move_to_end(task.id)
        return self._subjects[task.id]

    def _make_key(self, task: Task) -> AnswerKey:
        subject = self._subject(task)
        golden = tuple(recorded.as_made for recorded in subject.recording.calls)
        wrong: dict[str, Script] = {}
        for trajectory in self._wrong_ways(task, subject):
            script = subject.script(trajectory)
            graded = self.grade(task, script.calls, script.answer)
            if repr(script) not in wrong and graded.score == 0 and not graded.undecided:
                wrong[repr(script)] = script
                if len(wrong) == WRONG_SCRIPTS:
                    break
        return AnswerKey(right=Script(calls=golden, answer=subject.answer), wrong=tuple(wrong.values()))

    def _wrong_ways(self, task: Task, subject: Subject) -> Iterator[Trajectory]:
        """Yield one mutant of each operator, then the next of each; then what idle agents do."""
        rng = random.Random(stable_int("wrong scripts", task.id))
        by_operator: dict[str, list[Trajectory]] = {}
        for mutant in self._mutants.make(subject, self._judge.recorder, rng):
            if mutant.operator in _LOOKS_RIGHT:
                by_operator.setdefault(mutant.operator, []).append(mutant)
        operators = list(by_operator)
        rng.shuffle(operators)
        for turn in zip_longest(*(by_operator[operator] for operator in operators)):
            yield from filter(None, turn)
        yield from idle_agents(subject)
