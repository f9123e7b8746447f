"""Have a model put a share of a dataset's tasks into words of its own, and make the dataset again with them."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from toolscale.canonical import content_hash
from toolscale.dataset.world import read_rows
from toolscale.errors import BudgetError, UsageError
from toolscale.models.chat import Budget, ChatClient, ChatModel, Ledger, ReplyStore
from toolscale.models.chat.recording import write_recording
from toolscale.pipeline.remaking import Made, open_made, remake
from toolscale.pipeline.stages import Progress
from toolscale.records import Candidate, Judged, Task, Verdict, WordsLine
from toolscale.tasks.words import key_of_template, skeleton_of, worded
from toolscale.verify.grounded import leaked, meaning_of, ungrounded
from toolscale.verify.judge import Judge
from toolscale.verify.novel import Novelty
from toolscale.verify.subject import Subject
from toolscale.verify.wording import unaccounted_words
from toolscale.words import Written, assignment_of, strangeness, write_requests

SHARE = 0.5
_HASHES = 16**64

ROUNDS = 3
"""Times that the dataset is made again: where a task goes, another one takes its seat, and may be drawn too."""

Report = Callable[[str], None]

Option = tuple[WordsLine, Judged]
"""A request that the model wrote, and the verdict on it."""


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
    """Candidates whose words every gate accepts, and that would have been no task of the dataset: too like a candidate
    that is none either. Their templates came back."""
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
    out = settings.out or dataset
    reworder = _Reworder(model, settings, ledger or Ledger(), Rewording(out))
    made = open_made(dataset)
    for _ in range(ROUNDS):
        wanted = [task for task in _drawn(made, settings.share) if _key(task) not in reworder.asked]
        if not wanted or reworder.done.stopped:
            break
        report(f"{len(wanted)} of {len(made.tasks)} tasks are to be put into other words")
        lines = reworder.write(made, wanted)
        kept = _put_in(made, lines, out, progress)
        if len(kept) < len(lines):
            report(
                f"{len(lines) - len(kept)} of {len(lines)} have no seat beside the others: their templates come back"
            )
            reworder.done.lost += len(lines) - len(kept)
            kept = _put_in(made, [line for line in lines if line.candidate in kept], out, progress)
        reworder.done.kept += len(kept)
        made = open_made(out)
    if not reworder.asked:
        remake(made, made.given, out, progress)
    return reworder.done


def _put_in(made: Made, lines: Sequence[WordsLine], out: Path, progress: Progress) -> set[str]:
    """Make the dataset again with these lines; return the keys of those whose candidates are tasks of it."""
    words = {**made.given.words, **{line.candidate: line for line in lines}}
    remake(made, replace(made.given, words=words), out, progress)
    return {line.candidate for line in lines} & {_key(task) for task in open_made(out).tasks if task.candidate.words}


def _key(task: Task) -> str:
    return key_of_template(task.candidate, task.environment_hash)


def _drawn(made: Made, share: float) -> list[Task]:
    """Return the tasks that are in the words of a template and whose turn it is: a larger share has those of a smaller
    one."""
    drawn = []
    for task in made.tasks:
        if (
            task.candidate.words is None
            and not task.candidate.replies
            and int(content_hash(["words", _key(task)]), 16) < share * _HASHES
        ):
            drawn.append(task)
    return drawn


@dataclass
class _Reworder:
    """Has tasks written anew; remembers what it asked for, and what that cost."""

    model: ChatModel
    settings: RewordSettings
    ledger: Ledger
    done: Rewording
    asked: set[str] = field(default_factory=set)
    """Keys of the candidates."""
    used: dict[str, None] = field(default_factory=dict)
    """Keys of the replies."""

    def write(self, made: Made, tasks: Sequence[Task]) -> list[WordsLine]:
        """Return the words of these tasks that every gate accepts."""
        self.asked |= {_key(task) for task in tasks}
        world = made.environment
        judge = Judge(world, read_rows(world, world.folder), audit_share=0, replica=False)
        try:
            ended = asyncio.run(self._ask(tasks, judge))
            options: dict[int, list[Option]] = {}
            for task, written in zip(tasks, ended, strict=True):
                if isinstance(written, BudgetError):
                    self.done.stopped = str(written)
                elif isinstance(written, BaseException):
                    raise written
                else:
                    self.done.asked += 1
                    self.done.usd += written.usd
                    options[task.candidate.number] = _judged(task, written, judge, self.model.endpoint.model, self.done)
        finally:
            judge.close()
        return _chosen(made.tasks, options, self.done)

    async def _ask(self, tasks: Sequence[Task], judge: Judge) -> list[Written | BaseException]:
        budget = Budget(self.settings.max_cost, spent=self.ledger.total().paid_usd)
        with ReplyStore(self.settings.replies) as store:
            async with ChatClient(self.model, store, budget, self.ledger, self.used) as client:
                gate = asyncio.Semaphore(self.model.at_once)

                async def write(task: Task) -> Written:
                    async with gate:
                        subject = judge.subject(task.candidate)
                        return await write_requests(client, assignment_of(subject), lambda text: _faults(subject, text))

                try:
                    return await asyncio.gather(*map(write, tasks), return_exceptions=True)
                finally:
                    if self.settings.record is not None:
                        write_recording(self.settings.record, store, client.used, client.name)


def _faults(subject: Subject, text: str) -> list[str]:
    """Return what is wrong with other words for a recorded candidate, as a model may be told it."""
    other = replace(subject, candidate=subject.candidate.model_copy(update={"request": text}))
    found = [*unaccounted_words(text, meaning_of(other)), ungrounded(other), leaked(other)]
    return list(dict.fromkeys(finding for finding in found if finding))


def _judged(task: Task, written: Written, judge: Judge, model: str, rewording: Rewording) -> list[Option]:
    """Return the requests that every gate accepts but for `novel`, the one that is least like the template first."""
    if written.unusable:
        rewording.refused["unreadable"] += 1
    found: list[tuple[float, str, Option]] = []
    key = key_of_template(task.candidate, judge.environment.hash)
    for style, request in written.requests:
        line = WordsLine(candidate=key, request=request, style=style, model=model, usd=round(written.usd, 9))
        judged = judge.judge(_in_words(judge, task.candidate, line))
        if judged.verdict.failed:
            rewording.refused[judged.verdict.failed[0].gate] += 1
        else:
            apart = strangeness(judged.candidate.skeleton, task.candidate.skeleton)
            found.append((-apart, request, (line, judged)))
    return [option for _, _, option in sorted(found, key=lambda each: each[:2])]


def _chosen(tasks: Sequence[Task], options: Mapping[int, Sequence[Option]], rewording: Rewording) -> list[WordsLine]:
    """Return for each task the first request that is unlike all other tasks, in the words that they have then."""
    chosen: dict[int, Option] = {}
    while True:
        novelty, before = Novelty(), len(chosen)
        left = [task for task in tasks if options.get(task.candidate.number) and task.candidate.number not in chosen]
        for task in tasks:
            if task not in left:
                option = chosen.get(task.candidate.number)
                novelty.check(option[1] if option else _as_it_is(task))
        for task in left:
            number = task.candidate.number
            fitting = (option for option in options[number] if novelty.check(option[1]).status == "pass")
            if option := next(fitting, None):
                chosen[number] = option
            else:
                novelty.check(_as_it_is(task))
        if len(chosen) == before:
            rewording.refused += Counter(novel=len(left))
            return [line for line, _ in chosen.values()]


def _as_it_is(task: Task) -> Judged:
    return Judged(candidate=task.candidate, verdict=Verdict(gates=()), task=task)


def _in_words(judge: Judge, candidate: Candidate, line: WordsLine) -> Candidate:
    skeleton = skeleton_of(line.request, judge.plan_of(candidate), judge.environment, judge.inputs(candidate))
    return worded(candidate, line, skeleton)
