"""One policy on one benchmark, through the rollout loop: in order, resumable, and nothing is asked twice."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from eval.benchmark import Case, Opened, title_of
from eval.grading import lost
from eval.lines import line_of
from eval.policies import Player
from eval.records import Header, Line, Settings, key_of, policy_hash_of
from eval.storage import Results
from toolscale.config import VERSION
from toolscale.errors import ModelUnavailableError, UnusableReplyError, UsageError
from toolscale.records import Rollout, RolloutTask, TokenTrace
from toolscale.records.dollars import dollars_of
from toolscale.rollout.bench import Setting
from toolscale.rollout.loop import run_rollout
from toolscale.rollout.policy import Message, Policy, Session, Tool, Turn

AT_ONCE = 32
AHEAD = 4
"""Times as many rollouts may be begun or done before the oldest of them is written: one slow rollout holds up
nothing, and a kill loses little."""

MOST_LOST = 10
"""So many rollouts in a row without an answer end a run: the endpoint is gone."""

MOST_SETTINGS = 4_096
"""Prepared tasks that are kept for the next policy."""


@dataclass
class Progress:
    """What a run tells while it goes on."""

    policy: str
    total: int
    done: int = 0
    scored: int = 0
    score: float = 0.0
    lost: int = 0
    cost_usd: float | None = 0.0

    def add(self, line: Line) -> None:
        """Count a line."""
        self.done += 1
        self.lost += line.status == "error"
        self.scored += line.score is not None
        self.score += line.score or 0.0
        self.cost_usd = dollars_of((self.cost_usd, line.cost_usd))

    def told(self) -> str:
        """Return accuracy and cost so far, in words."""
        share = f"{self.score / self.scored:.1%} right" if self.scored else "nothing scored"
        failed = f", {self.lost} without an answer" if self.lost else ""
        cost = "no price" if self.cost_usd is None else f"${self.cost_usd:.4f}"
        return f"{self.policy}: {share}, {cost}{failed}"


Report = Callable[[Progress], None]


@dataclass
class Harness:
    """A benchmark that is open, and where results go. Tasks that were prepared once are kept for all policies."""

    kind: str
    settings: Settings
    opened: Opened
    out: Path
    _prepared: dict[str, Setting] = field(default_factory=dict, repr=False)

    def folder_of(self, player: Player) -> Path:
        """Return where the results of a policy are kept."""
        return self.out / player.name.replace("/", "_")

    def header_of(self, player: Player) -> Header:
        """Return what its lines belong to."""
        about = self.opened.about
        return Header(
            version=VERSION,
            benchmark=title_of(self.kind, about, self.settings),
            kind=self.kind,
            settings=self.settings,
            licence=about.licence,
            judged_by=about.judged_by,
            simulated=all(spec.endpoint is None for spec in self.opened.ground.catalogue.experts),
            notes=self.opened.notes,
            policy=player.name,
            identity=dict(player.identity),
            policy_hash=policy_hash_of(dict(player.identity)),
        )

    async def run(self, player: Player, samples: int, at_once: int, report: Report = lambda progress: None) -> Progress:
        """Run a policy on all tasks, `samples` times each, and return what came of it. What is there already is not
        done again; a sample that had no answer is.

        ModelUnavailableError after MOST_LOST rollouts in a row without an answer, BudgetError at the cap; what was
        done is kept, and the next run goes on.
        """
        folder, header = self.folder_of(player), self.header_of(player)
        with Results.opened(folder, header) as results:
            self._check(results)
            order = [(case, sample) for sample in range(samples) for case in self.opened.cases]
            wanted = [
                (case, sample) for case, sample in order if results.wants(key_of(case.hash, header.policy_hash, sample))
            ]
            progress = Progress(player.name, len(order))
            missing = {key_of(case.hash, header.policy_hash, sample) for case, sample in wanted}
            for case, sample in order:
                if (key := key_of(case.hash, header.policy_hash, sample)) not in missing:
                    progress.add(results.lines[key])
            report(progress)
            if wanted:
                async with player.opened(self.opened) as policy:
                    run = _Run(self, results, _Watched(policy), min(at_once, player.at_once or at_once), progress)
                    await run.play(wanted, report)
        return progress

    def setting(self, case: Case) -> Setting:
        """Prepare a task, or return it as it was prepared for an earlier policy."""
        found = self._prepared.get(case.task.id)
        if found is None:
            found = self.opened.ground.bench.setting(case.task)
            if len(self._prepared) < MOST_SETTINGS:
                self._prepared[case.task.id] = found
        return found

    def _check(self, results: Results) -> None:
        """Raise UsageError where the folder has results of tasks that the benchmark does not have."""
        known = {case.task.id: case.hash for case in self.opened.cases}
        for line in results.lines.values():
            if known.get(line.task, line.task_hash) != line.task_hash:
                raise UsageError(
                    f"{results.folder}: has the task {line.task} as {line.task_hash}, and it is {known[line.task]} "
                    "now: another dataset, other experts or prices; give another --out, or remove the folder"
                )


@dataclass
class _Run:
    """One policy under way."""

    harness: Harness
    results: Results
    policy: _Watched
    at_once: int
    progress: Progress
    lost_in_a_row: int = 0

    async def play(self, wanted: Sequence[tuple[Case, int]], report: Report) -> None:
        """Run what is wanted; write each line when all before it are written."""
        gate, ahead = asyncio.Semaphore(self.at_once), deque[asyncio.Task[tuple[Line, Rollout]]]()
        try:
            for case, sample in wanted:
                if len(ahead) >= AHEAD * self.at_once:
                    self._write(*await ahead.popleft(), report)
                ahead.append(asyncio.create_task(self._one(case, sample, gate)))
            while ahead:
                self._write(*await ahead.popleft(), report)
        finally:
            for task in ahead:
                task.cancel()
            await asyncio.gather(*ahead, return_exceptions=True)

    async def _one(self, case: Case, sample: int, gate: asyncio.Semaphore) -> tuple[Line, Rollout]:
        opened, policy_hash = self.harness.opened, self.results.header.policy_hash
        async with gate:
            rollout = await run_rollout(self.harness.setting(case), self.policy, sample)
            reason = self.policy.reasons.pop((case.task.id, sample), None)
            if reason is not None:
                graded = lost(reason)
            else:
                try:
                    graded = await opened.grade(case, rollout)
                except (ModelUnavailableError, UnusableReplyError) as error:
                    graded = lost(f"the judge gave no verdict: {error}")
        return line_of(opened, case, policy_hash, rollout, graded), rollout

    def _write(self, line: Line, rollout: Rollout, report: Report) -> None:
        self.results.append(line, rollout)
        self.progress.add(line)
        report(self.progress)
        self.lost_in_a_row = self.lost_in_a_row + 1 if line.status == "error" else 0
        if self.lost_in_a_row >= MOST_LOST:
            raise ModelUnavailableError(
                f"{self.progress.policy}: {MOST_LOST} rollouts in a row had no answer; the last: {line.finding}; "
                "what was answered is kept: run the same command again to go on"
            )


class _Watched:
    """A policy of which is noted where it had no answer: such a rollout says nothing of it."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self.reasons: dict[tuple[str, int], str] = {}
        self.has_answered = False

    @property
    def name(self) -> str:
        """That of the policy."""
        return self._policy.name

    @property
    def price(self) -> Any:
        """That of the policy."""
        return self._policy.price

    def session(self, task: RolloutTask, messages: list[Message], tools: list[Tool], sample: int) -> _WatchedSession:
        """Begin a conversation."""
        return _WatchedSession(self, self._policy.session(task, messages, tools, sample), (task.id, sample))


class _WatchedSession:
    def __init__(self, policy: _Watched, session: Session, place: tuple[str, int]) -> None:
        self._policy, self._session, self._place = policy, session, place

    async def turn(self, observations: Sequence[Mapping[str, Any]]) -> Turn:
        """Ask for the next message. A server that cannot be used from the beginning ends the run: its address or key
        is wrong. One that fails later loses one rollout."""
        try:
            turn = await self._session.turn(observations)
        except UsageError as error:
            if not self._policy.has_answered:
                raise
            raise self._lost(error) from error
        except (ModelUnavailableError, UnusableReplyError) as error:
            raise self._lost(error) from error
        self._policy.has_answered = True
        return turn

    def trace(self) -> TokenTrace | None:
        """That of the session."""
        return self._session.trace()

    def _lost(self, error: Exception) -> ModelUnavailableError:
        self._policy.reasons[self._place] = str(error)
        return ModelUnavailableError(str(error))
