"""Have a model put a share of a dataset's tasks into words of its own, and make the dataset again with them."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from toolscale.canonical import canonical_json, content_hash
from toolscale.dataset.making.given import Given
from toolscale.dataset.world import read_rows
from toolscale.errors import BudgetError, UsageError
from toolscale.models.chat import Budget, ChatClient, ChatModel, Ledger, ReplyStore
from toolscale.models.chat.recording import write_recording
from toolscale.pipeline.remaking import Made, open_made, remake
from toolscale.pipeline.stages import Progress
from toolscale.records import Candidate, Task, WordsLine
from toolscale.tasks.words import key_of_template, skeleton_of, worded
from toolscale.verify import Judge
from toolscale.verify.grounded import leaked, meaning_of, ungrounded
from toolscale.verify.subject import Subject
from toolscale.verify.wording import unaccounted_words
from toolscale.words import Written, assignment_of, strangeness, write_requests

SHARE = 0.5
_HASHES = 16**64

Report = Callable[[str], None]


@dataclass(frozen=True)
class RewordSettings:
    """How a dataset is reworded."""

    out: Path | None = None
    """Where the dataset is put; None: in its own place."""
    share: float = SHARE
    """Of the tasks, drawn by hash."""
    max_cost: float | None = None
    replies: Path = Path("var/replies.sqlite")
    record: Path | None = None
    """A file for the replies of this run, to be served again."""


@dataclass
class Rewording:
    """What came of it."""

    dataset: Path
    asked: int = 0
    """Candidates whose request the model was asked for."""
    kept: int = 0
    """Of these, those that have words of the model now."""
    refused: Counter[str] = field(default_factory=Counter)
    """Requests by the first gate that refuses them; `unreadable`: replies without a request."""
    lost: int = 0
    """Candidates whose words were right, and that were no task when the dataset was made again: too like another."""
    usd: float = 0.0
    """What the replies about the candidates asked for were worth."""
    stopped: str = ""
    """Why it stopped early: the cap on dollars."""


def reword_dataset(
    dataset: Path,
    model: ChatModel,
    settings: RewordSettings,
    report: Report,
    ledger: Ledger | None = None,
    progress: Progress = lambda act, done, total: None,
) -> Rewording:
    """Have a model write the requests of a share of the tasks anew; make the dataset again with those that every gate
    accepts.

    `ledger` is filled as requests are made. UsageError if the dataset has several domains; what a ChatClient raises. A
    cap on dollars ends the asking: what was paid for is judged and kept.
    """
    if not 0 <= settings.share <= 1:
        raise UsageError(f"--share is {settings.share}; it is a share, from 0 to 1")
    made, out = open_made(dataset), settings.out or dataset
    rewording, wanted = Rewording(out), _drawn(made, settings.share)
    report(f"{len(wanted)} of {len(made.tasks)} tasks are to be put into other words")
    judge = Judge(made.environment, read_rows(made.environment, made.environment.folder), audit_share=0, replica=False)
    try:
        lines = asyncio.run(_write(made, wanted, judge, model, settings, ledger or Ledger(), rewording))
    finally:
        judge.close()
    given = Given(
        {**made.given.words, **{line.candidate: line for line in lines}}, made.given.attempts, made.given.decisions
    )
    remake(made, given, out, progress)
    there = {
        key_of_template(task.candidate, task.environment_hash) for task in open_made(out).tasks if task.candidate.words
    }
    rewording.kept = sum(line.candidate in there for line in lines)
    rewording.lost = len(lines) - rewording.kept
    return rewording


def _drawn(made: Made, share: float) -> list[Task]:
    """Return the tasks that are in the words of a template and whose turn it is: a larger share has those of a smaller
    one."""
    drawn = []
    for task in made.tasks:
        key = key_of_template(task.candidate, task.environment_hash)
        if task.candidate.words is None and int(content_hash(["words", key]), 16) < share * _HASHES:
            drawn.append(task)
    return drawn


async def _write(
    made: Made,
    tasks: Sequence[Task],
    judge: Judge,
    model: ChatModel,
    settings: RewordSettings,
    ledger: Ledger,
    rewording: Rewording,
) -> list[WordsLine]:
    """Return the words that are kept, in the order of the tasks."""
    with ReplyStore(settings.replies) as store:
        async with ChatClient(model, store, Budget(settings.max_cost), ledger) as client:
            gate = asyncio.Semaphore(model.at_once)

            async def write(task: Task) -> Written:
                async with gate:
                    subject = judge.subject(task.candidate)
                    return await write_requests(client, assignment_of(subject), lambda text: _faults(subject, text))

            try:
                ended = await asyncio.gather(*map(write, tasks), return_exceptions=True)
            finally:
                if settings.record is not None:
                    write_recording(settings.record, store, client.used, client.name)
    lines = []
    for task, written in zip(tasks, ended, strict=True):
        if isinstance(written, BudgetError):
            rewording.stopped = str(written)
        elif isinstance(written, BaseException):
            raise written
        else:
            rewording.asked += 1
            rewording.usd += written.usd
            line = _best(made, task, written, judge, model.endpoint.model, rewording)
            lines += [line] if line is not None else []
    return lines


def _faults(subject: Subject, text: str) -> list[str]:
    """Return what is wrong with other words for a recorded candidate, as a model may be told it."""
    line = WordsLine(candidate="0" * 64, request=text, style="draft", model="m")
    other = replace(subject, candidate=worded(subject.candidate, line, text))
    found = [*unaccounted_words(text, meaning_of(other)), ungrounded(other), leaked(other)]
    return list(dict.fromkeys(finding for finding in found if finding))


def _best(made: Made, task: Task, written: Written, judge: Judge, model: str, rewording: Rewording) -> WordsLine | None:
    """Return the request that every gate accepts and that is least like the template, or None."""
    if written.unusable:
        rewording.refused["unreadable"] += 1
    found: list[tuple[float, WordsLine]] = []
    key, template = key_of_template(task.candidate, made.environment.hash), task.candidate
    for style, request in written.requests:
        line = WordsLine(candidate=key, request=request, style=style, model=model, usd=round(written.usd, 9))
        candidate = _in_words(judge, template, line)
        failed = judge.judge(candidate).verdict.failed
        if failed:
            rewording.refused[failed[0].gate] += 1
        else:
            found.append((strangeness(candidate.skeleton, template.skeleton), line))
    best = max(found, key=lambda each: (each[0], canonical_json(each[1].model_dump(mode="json"))), default=None)
    return best[1] if best else None


def _in_words(judge: Judge, candidate: Candidate, line: WordsLine) -> Candidate:
    skeleton = skeleton_of(line.request, judge.plan_of(candidate), judge.environment, judge.inputs(candidate))
    return worded(candidate, line, skeleton)
