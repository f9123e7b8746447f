"""Let a model try the tasks of a dataset, several times each, and make the dataset again with what came of it."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from toolscale.canonical import content_hash
from toolscale.dataset.describing.shortfall import why_short
from toolscale.dataset.given import Given, by_candidate
from toolscale.dataset.making.staging import check_place
from toolscale.dataset.storage import clear_work_folder, put_back_replaced
from toolscale.dataset.world import read_rows
from toolscale.errors import LimitError, ModelUnavailableError, UsageError
from toolscale.limits import UNLIMITED, RunLimits
from toolscale.models.chat import Budget, ChatClient, ChatModel, Ledger, ReplyStore
from toolscale.models.chat.recording import write_recording
from toolscale.models.hidden_tools import hidden_tools
from toolscale.models.judging import JudgeSettings, judge_model
from toolscale.pipeline.remaking import Made, open_made, remake
from toolscale.records import NOT_ITS_DOING, Attempt, Loss, Preference, Reading, Rollout, RolloutTask, Task
from toolscale.rollout.bench import Bench, Setting
from toolscale.rollout.chat_policy import ChatPolicy
from toolscale.rollout.domain import Domain
from toolscale.rollout.loop import run_rollout
from toolscale.rollout.message_judge import PROMPT_HASH, open_judge
from toolscale.rollout.message_judge import STAGE as JUDGING
from toolscale.tasks.candidate_keys import key_of
from toolscale.verify.readings import MessageCase, message_hash
from toolscale.verify.solvable import QUARANTINED

STAGE = "solve"
SAMPLES = 4
ROUNDS = 3
"""Times that the dataset is made again: where a task goes, another one takes its seat, and is tried too."""

Report = Callable[[str], None]


@dataclass(frozen=True)
class SolveSettings:
    """How tasks are tried."""

    out: Path | None = None
    """Where the dataset is put; None: in its own place."""
    samples: int = SAMPLES
    tasks: int | None = None
    """So many tasks, drawn by hash; None: all."""
    limits: RunLimits = UNLIMITED
    replies: Path = Path("var/replies.sqlite")
    record: Path | None = None
    """A file for the replies of this run, to be served again."""
    judge: JudgeSettings | None = None
    """Who reads the final messages that rules cannot grade; None: they stay undecided."""


@dataclass
class Solving:
    """What came of it."""

    dataset: Path
    tried: int = 0
    """Tasks with attempts of this model."""
    outcomes: Counter[str] = field(default_factory=Counter)
    """`always`, `sometimes`, `undecided`, `never` solved, `quarantined`."""
    failed: int = 0
    """Rollouts that the endpoint did not let end, or in which the person erred; they are no attempts."""
    malformed: int = 0
    """Messages of the model that could not be read: it was told so, and the attempts count."""
    read: int = 0
    """Final messages with a verdict of the judge."""
    unread: int = 0
    """Final messages on which the judge gave no verdict: they stay undecided."""
    why_unread: str = ""
    """Why the last of them has none."""
    short: str = ""
    """Why fewer tasks are left than were asked for; empty if as many are."""
    stopped: str = ""
    """Why it stopped early: a limit of the run, or a judge that is gone."""


def solve_dataset(
    dataset: Path, model: ChatModel, settings: SolveSettings, report: Report, ledger: Ledger | None = None
) -> Solving:
    """Have a model try the tasks, and make the dataset again: with the gate `solvable`, with rates in the rows, and
    without tasks that nobody solves.

    `ledger` is filled as requests are made. UsageError if the dataset has several domains, or was made otherwise than
    it would be made today; what a ChatClient raises. A limit ends the trying; what was paid for is kept.
    With a judge, the messages of earlier attempts that nobody has read are read too.
    """
    if settings.samples < 1:
        raise UsageError(f"--samples is {settings.samples}; try each task once at least")
    if settings.judge is not None:
        judge_model(settings.judge)  # a judge that cannot be asked is told before a model is paid
    made, out = open_made(dataset), settings.out or dataset
    check_place(out)  # before anything is paid for
    put_back_replaced(out, "work")
    solving, used = Solving(out), dict[str, None]()
    ledger = ledger or Ledger()
    for round_ in range(ROUNDS if settings.tasks is None else 1):
        wanted = _untried(made, model.endpoint.model, settings)
        given = made.given
        if wanted and not round_ and (hidden := asyncio.run(hidden_tools(model))):
            report(hidden)
        if wanted:
            report(f"round {round_ + 1}: {len(wanted)} tasks, {settings.samples} attempts each")
            given = _with_tries(given, asyncio.run(_try(made, wanted, model, settings, ledger, solving, used)))
        if settings.judge is not None:
            given = asyncio.run(_read(made, given, settings, ledger, solving))
        if not wanted and given == made.given:
            break
        remake(made, given, out, lambda act, done, total: None)
        made = open_made(out)
        if solving.stopped:
            break
    clear_work_folder(out, "work")  # of a process that was killed when all was done
    _count(made, model.endpoint.model, solving)
    solving.short = why_short(made.part)
    return solving


def _untried(made: Made, model: str, settings: SolveSettings) -> list[Task]:
    """Return the tasks that the model is to try."""
    tasks = made.tasks
    if settings.tasks is not None:
        tasks = sorted(tasks, key=lambda task: content_hash(["solve", task.id]))[: settings.tasks]
    return [task for task in tasks if _count_of(made, task, model) < settings.samples]


def _count_of(made: Made, task: Task, model: str) -> int:
    attempts = made.given.attempts.get(key_of(task.candidate, task.environment_hash), ())
    return sum(attempt.model == model for attempt in attempts)


async def _try(
    made: Made,
    tasks: Sequence[Task],
    model: ChatModel,
    settings: SolveSettings,
    ledger: Ledger,
    solving: Solving,
    used: dict[str, None],
) -> list[Attempt | Loss]:
    """Return the attempts that came to an end and what was lost by others, in the order of the tasks. `used`: the keys
    of all replies so far."""
    world = made.environment
    domain = Domain(world, read_rows(world, world.folder))
    with ReplyStore(settings.replies) as store:
        async with (
            Bench({}, domains={made.domain: domain}) as bench,
            ChatClient(model, store, _left(settings.limits, ledger), ledger, used) as client,
        ):
            policy, gate = ChatPolicy(client, STAGE), asyncio.Semaphore(model.at_once)

            async def run(setting: Setting, sample: int) -> Rollout:
                async with gate:
                    return await run_rollout(setting, policy, sample)

            offered = [bench.setting(_alone(task)) for task in tasks]
            try:
                ended = await asyncio.gather(
                    *(run(setting, sample) for setting in offered for sample in range(settings.samples)),
                    return_exceptions=True,
                )
            finally:
                if settings.record is not None:
                    write_recording(settings.record, store, client.used, client.name)
    tries = list[Attempt | Loss]()
    for (task, sample), rollout in zip(_places(tasks, settings.samples), ended, strict=True):
        if isinstance(rollout, LimitError):
            solving.stopped = str(rollout)
        elif isinstance(rollout, BaseException):
            raise rollout
        elif rollout.stop in NOT_ITS_DOING:
            solving.failed += 1
            if rollout.cost_usd != 0:
                tries.append(Loss(**_who(task, sample, model.endpoint.model, rollout)))
        else:
            solving.malformed += rollout.malformed
            who = _who(task, sample, model.endpoint.model, rollout)
            tries.append(Attempt(**who, calls=rollout.calls, answer=rollout.answer))
    return tries


def _places(tasks: Sequence[Task], samples: int) -> list[tuple[Task, int]]:
    return [(task, sample) for task in tasks for sample in range(samples)]


def _alone(task: Task) -> RolloutTask:
    """Return a task with nothing but the tools of its domain."""
    return RolloutTask(id=task.id, category="tools", task=task, preference=Preference(instruction=""))


def _left(limits: RunLimits, ledger: Ledger) -> Budget:
    """Return a budget that knows what the rounds before have spent on attempts."""
    return Budget(limits, spent=_paid(ledger, judge=False))


def _paid(ledger: Ledger, *, judge: bool) -> float:
    """Return the dollars that were paid to the judge, or to the model that tries."""
    return sum(line.paid_usd or 0.0 for (stage, _), line in ledger.stages.items() if (stage == JUDGING) == judge)


async def _read(made: Made, given: Given, settings: SolveSettings, ledger: Ledger, solving: Solving) -> Given:
    """Return what was given with the judge's verdicts on the messages that rules cannot grade."""
    judge = settings.judge
    assert judge is not None, "it is named"
    known = {(line.candidate, line.message): line for group in given.readings.values() for line in group}
    left = _unread(made, given, judge, known)
    solving.unread = 0
    if not left:
        return given
    async with open_judge(judge, ledger, _paid(ledger, judge=True), settings.replies, settings.limits) as opened:
        assert opened is not None, "it is named"
        found = await asyncio.gather(*map(opened.read, left), return_exceptions=True)
    for each in found:
        if isinstance(each, Reading):
            known[each.candidate, each.message] = each
            solving.read += 1
            continue
        if isinstance(each, LimitError | ModelUnavailableError):
            solving.stopped = str(each)
        elif isinstance(each, BaseException):
            raise each
        solving.unread, solving.why_unread = solving.unread + 1, str(each)
    return replace(given, readings=by_candidate(known[place] for place in sorted(known)))


def _unread(
    made: Made, given: Given, judge: JudgeSettings, known: Mapping[tuple[str, str], Reading]
) -> list[MessageCase]:
    """Return the messages that rules cannot grade and that nobody has read: another judge, or one with another prompt,
    is nobody."""
    world = made.environment
    domain, left = Domain(world, read_rows(world, world.folder)), []
    try:
        for task in made.tasks:
            for attempt in given.attempts.get(key_of(task.candidate, task.environment_hash), ()):
                if task.form is not None or attempt.answer is None:
                    continue
                old = known.get((attempt.candidate, message_hash(attempt.calls, attempt.answer)))
                is_read = old is not None and (old.model, old.prompt) == (judge.model, PROMPT_HASH)
                if not is_read and domain.grade(task, attempt.calls, attempt.answer).undecided:
                    left.append(domain.message_case(task, attempt.calls, attempt.answer))
    finally:
        domain.close()
    return left


def _who(task: Task, sample: int, model: str, rollout: Rollout) -> dict[str, Any]:
    """Return whose try a rollout was, and what it cost."""
    return {
        "candidate": key_of(task.candidate, task.environment_hash),
        "sample": sample,
        "model": model,
        "usd": None if rollout.cost_usd is None else round(rollout.cost_usd, 9),
    }


def _with_tries(given: Given, tries: Sequence[Attempt | Loss]) -> Given:
    """Return what was given with these tries besides; of one that is there already, the new one. What an attempt cost
    has in it what its replies cost when it failed before: they are kept, and no loss any more."""
    groups: list[Sequence[Attempt | Loss]] = [*given.losses.values(), *given.attempts.values(), tries]
    found = {(each.candidate, each.model, each.sample): each for group in groups for each in group}
    ordered = [found[place] for place in sorted(found)]
    return replace(
        given,
        attempts=by_candidate(each for each in ordered if isinstance(each, Attempt)),
        losses=by_candidate(each for each in ordered if isinstance(each, Loss)),
    )


def _count(made: Made, model: str, solving: Solving) -> None:
    """Count what came of the tasks that the model tried, and of those that went."""
    for task in made.tasks:
        if task.solved is not None and model in task.solved.models:
            solved = task.solved
            kind = "undecided" if not solved.right else "always" if solved.right == solved.tries else "sometimes"
            solving.outcomes[kind] += 1
    for row in made.reading.rows.rejects:
        failed = {gate["gate"]: gate["finding"] for gate in row["failed"]}
        if "solvable" in failed:
            solving.outcomes["quarantined" if failed["solvable"].startswith(QUARANTINED) else "never"] += 1
    solving.tried = solving.outcomes.total()
