"""Whether a rollout is right: from its answer and calls alone, so that a stored rollout is graded again without running
anything."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from toolscale.errors import SandboxLimitError, UsageError
from toolscale.models.judging import NO_JUDGE, JudgeSettings
from toolscale.questions.generate import answer_key
from toolscale.questions.grade import grade_answer
from toolscale.records import NOT_ITS_DOING, AnswerKey, Grade, Rollout, RolloutTask, Stop, Task, ToolCall
from toolscale.records.verdict import wrong
from toolscale.rollout.domain import Domain
from toolscale.rollout.unanswered import UNANSWERED

if TYPE_CHECKING:
    from toolscale.rollout.message_judge import MessageJudge


def check_gradable(tasks: Iterable[Task], judge: JudgeSettings | None, where: str) -> None:
    """Raise UsageError, in one line, if tasks end in a message and nobody is named who can grade one. `where` they are:
    the key or the option with the folders."""
    ends = [task.form is None for task in tasks]
    if judge is None and any(ends):
        raise UsageError(f"{where}: {sum(ends)} of {len(ends)} tasks end in a message, {NO_JUDGE}")


def grade_outcome(
    task: RolloutTask, domain: Domain | None, calls: Sequence[ToolCall], answer: str | None, stop: Stop
) -> tuple[bool, str]:
    """Return (right, finding) by rules. What was done counts only with a final answer."""
    if answer is None:
        return False, UNANSWERED.get(stop, "no answer")
    if task.question is not None:
        return grade_answer(task.question, answer)
    graded = _graded(task, domain, calls, answer)
    return graded.score == 1, graded.finding


async def judge_outcome(
    task: RolloutTask, domain: Domain, calls: Sequence[ToolCall], answer: str, judge: MessageJudge | None
) -> Grade:
    """Return the grade of a final message to an environment task, by rules, and where those cannot tell as the judge
    decides it. Without a verdict it stays undecided. What `MessageJudge.read` raises."""
    graded = _graded(task, domain, calls, answer)
    if judge is None or not graded.undecided or task.task is None:
        return graded
    return await judge.decide(domain.message_case(task.task, calls, answer), graded)


def _graded(task: RolloutTask, domain: Domain | None, calls: Sequence[ToolCall], answer: str) -> Grade:
    if task.task is None or domain is None:
        raise UsageError(f"task {task.id} needs the environment of its domain to be graded; load it")
    try:
        return domain.grade(task.task, calls, answer)
    except SandboxLimitError as error:
        return wrong(f"the calls hit a limit of the sandbox: {error}")


def regrade(rollout: Rollout, task: RolloutTask, domain: Domain | None = None) -> tuple[bool, str]:
    """Return (right, finding) of a stored rollout. UsageError if it is not of this task, or if the domain of an
    environment task is missing."""
    if rollout.task_id != task.id:
        raise UsageError(f"rollout {rollout.id} is of the task {rollout.task_id}, not of {task.id}")
    if rollout.stop in NOT_ITS_DOING:  # what failed is not done again
        return False, rollout.finding
    return grade_outcome(task, domain, rollout.calls, rollout.answer, rollout.stop)


def answer_key_of(task: RolloutTask, domain: Domain | None) -> AnswerKey:
    """Return what simulated experts play on a task."""
    if task.question is not None:
        return answer_key(task.question)
    if task.task is None or domain is None:
        raise UsageError(f"task {task.id} needs the environment of its domain; load it")
    return domain.key(task.task)
