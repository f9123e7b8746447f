"""Whether a rollout is right: from its answer and calls alone, so that a stored rollout is graded again without running
anything."""

from __future__ import annotations

from collections.abc import Sequence

from toolscale.errors import SandboxLimitError, UsageError
from toolscale.questions.generate import answer_key
from toolscale.questions.grade import grade_answer
from toolscale.records import NOT_ITS_DOING, AnswerKey, Rollout, RolloutTask, Stop, ToolCall
from toolscale.rollout.domain import Domain
from toolscale.rollout.unanswered import UNANSWERED


def grade_outcome(
    task: RolloutTask, domain: Domain | None, calls: Sequence[ToolCall], answer: str | None, stop: Stop
) -> tuple[bool, str]:
    """Return (right, finding). What was done counts only with a final answer."""
    if answer is None:
        return False, UNANSWERED.get(stop, "no answer")
    if task.question is not None:
        return grade_answer(task.question, answer)
    if task.task is None or domain is None:
        raise UsageError(f"task {task.id} needs the environment of its domain to be graded; load it")
    try:
        graded = domain.grade(task.task, calls, answer)
    except SandboxLimitError as error:
        return False, f"the calls hit a limit of the sandbox: {error}"
    return graded.score == 1, graded.finding


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
