"""Every failure that ToolScale names, drawn as one tree.

ToolScaleError
├── SpecError                a spec file is wrong; carries every issue found, not the first
├── UsageError               a command was called with arguments that cannot work
├── SandboxError             an engine refused or broke
│   └── SandboxLimitError    a limit (VM operations, bytes, wall clock, memory) stopped a statement
├── BasicToolError           a basic tool cannot be opened, or broke: a protection, a corpus or a process is missing
├── DatasetError             a dataset folder is not what its manifest says
├── QualityError             a dataset is what it says, and not good enough
├── PublishError             a dataset cannot be published or pulled as asked; the message says what is needed
├── HubUnavailableError      the Hub was not reached, was busy, or its main moved meanwhile
├── ModelUnavailableError    a model did not answer, after all retries
├── UnusableReplyError       a model answered, and its reply cannot be used, not even after it was told why
├── DraftError               a drafted domain has findings after the last round of a step
├── LimitError               a run has taken what it may
│   ├── BudgetError          the next request to a model might pass the cap on dollars
│   └── DeadlineError        its time is over
├── RolloutError             a rollout broke in a way that nobody expected; the message names the task
├── ContextFullError         a conversation has no room left in the context of the model that writes it
├── VoidConversationError    a person who is played by a model said what the scenario does not have
├── TrainingError            a training stopped itself (an alarm, a loss that is not a number), ended without a result,
│                            or was stopped
├── TrainingInterruptedError a training was killed, again and again; its checkpoints stay
├── RegressionError          a checkpoint is worse than the last accepted one, with 95 % confidence
├── ProgramError             a program of others that was started here failed; the message has its last line
└── StorageError             a file could not be read or written

A tool that refuses a call is not an error of ours: it is a ToolResult that the agent reads. A candidate that fails a
gate is not an error either: it is a Verdict. TransientError and PermanentError are mixed in where a scheduler must
decide whether to try again.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any


class ToolScaleError(Exception):
    """The root of all errors raised by this package."""

    exit_status = 1
    """What the command line exits with when this error reaches it."""


class TransientError:
    """Mix-in: the same call may succeed later."""


class PermanentError:
    """Mix-in: the same call fails again until its input changes."""


@dataclass(frozen=True, slots=True)
class Edit:
    """A name that takes the place of another, where a finding is sure enough of what was meant to be tried."""

    old: str
    """Where it is no key: as a whole word of the text at the path, or an item of the list there."""
    new: str
    is_key: bool = False
    """Whether the last key of the path is renamed."""
    below: str = ""
    """What follows the place of the issue on the way there: `.renew_lone`."""


@dataclass(frozen=True, slots=True, order=True)
class SpecIssue:
    """One thing wrong with a spec: the file, the place in it, what is wrong (with the value), and what to do."""

    file: str
    place: str
    problem: str
    remedy: str
    edit: Edit | None = field(default=None, compare=False)
    """What the remedy comes to, where that is one name for another."""

    def facts(self) -> dict[str, Any]:
        """Return all of it as JSON takes it; `edit` only where there is one."""
        told: dict[str, Any] = {
            "file": self.file, "place": self.place, "problem": self.problem, "remedy": self.remedy,
        }  # fmt: skip
        if self.edit is not None:
            path = f"{self.place}{self.edit.below}"
            told["edit"] = {"path": path, "old": self.edit.old, "new": self.edit.new, "is_key": self.edit.is_key}
        return told

    def __str__(self) -> str:
        where = f"{self.file}: {self.place}" if self.place else self.file
        return f"{where}: {self.problem}; {self.remedy}"


class SpecError(PermanentError, ToolScaleError):
    """A spec cannot be admitted. `issues` holds all that is wrong with it."""

    exit_status = 2

    def __init__(self, issues: Iterable[SpecIssue]):
        self.issues = tuple(dict.fromkeys(issues))
        super().__init__("\n".join(str(issue) for issue in self.issues))


class UsageError(PermanentError, ToolScaleError):
    """An argument of a command or of a public function cannot work; the message says what would."""

    exit_status = 2


class SandboxError(PermanentError, ToolScaleError):
    """An engine refused a statement or broke while running it."""


class SandboxLimitError(SandboxError):
    """A statement was stopped by a limit of the sandbox."""


class BasicToolError(PermanentError, ToolScaleError):
    """A basic tool cannot be opened, or broke. What a model did wrong is not an error: it reads about it in the
    result."""

    exit_status = 2


class DatasetError(PermanentError, ToolScaleError):
    """A dataset folder cannot be read, or is not what its manifest says."""

    exit_status = 2


class QualityError(PermanentError, ToolScaleError):
    """A dataset is under a threshold of the quality gate; the message has the figures."""


class PublishError(PermanentError, ToolScaleError):
    """A dataset cannot be published or pulled as asked: no token, no right to write, a wrong repo, a dataset that is
    not whole. One line each."""

    exit_status = 2


class HubUnavailableError(TransientError, ToolScaleError):
    """The Hub was not reached, was busy for too long, lost the connection, or its main moved meanwhile. The same
    command may succeed later."""


class ModelUnavailableError(TransientError, ToolScaleError):
    """A model did not answer until its deadline, or refused. A rollout ends as failed, and the others go on; a stage
    stops, and what was paid for is kept."""


class UnusableReplyError(PermanentError, ToolScaleError):
    """A model answered, and its reply cannot be used, not even after it was told why. `reply` is what it wrote."""

    def __init__(self, message: str, reply: str = ""):
        super().__init__(message)
        self.reply = reply


class DraftError(PermanentError, ToolScaleError):
    """A domain that a model drafts has findings after the last round of a step. What was written so far is kept."""


class LimitError(PermanentError, ToolScaleError):
    """A run has taken what it may. What it did is kept: with a higher limit the same command goes on."""


class BudgetError(LimitError):
    """The next request to a model might pass the cap on dollars. What was paid for is kept."""


class DeadlineError(LimitError):
    """The time that a run was given is over, and nothing new is begun."""


class RolloutError(ToolScaleError):
    """A rollout broke in a way that nobody expected, and all others were stopped. The message names the task and the
    sample."""


class ContextFullError(ToolScaleError):
    """A conversation has no room left in the context of the model that writes it: this rollout ends, and others go
    on."""


class VoidConversationError(PermanentError, ToolScaleError):
    """A person who is played by a model said what the scenario does not have: the conversation proves nothing about the
    agent."""


class TrainingError(PermanentError, ToolScaleError):
    """A training stopped itself (an alarm, a loss that is no number), ended without a result, or somebody stopped it.
    The first line says which; the end of its log may follow."""


class TrainingInterruptedError(TransientError, ToolScaleError):
    """A training was killed more often than it is started again without a new checkpoint. Started later, it goes on
    from the newest one."""


class RegressionError(PermanentError, ToolScaleError):
    """A checkpoint is worse than the last accepted one on the same tasks: the whole 95 % interval of the paired
    difference is below 0. The message has the figures."""


class ProgramError(TransientError, ToolScaleError):
    """A program of others that was started here failed, or was killed. The message has its last line, and names its
    log; what it did is kept."""


class StorageError(TransientError, ToolScaleError):
    """A file could not be read or written: disk full, read-only folder, missing permission."""

    exit_status = 2
