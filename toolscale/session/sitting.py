"""One task played, with its state in a folder, so that a person, a shell script or a program can go on with it command
by command.

    session.json     which task of which dataset
    calls.jsonl      the calls made so far with their results, a line each
    talk.jsonl       of a dialogue: what was said to the person, after how many calls, and the answer, a line each
    solution.json    written with the final answer: one line, as `toolscale grade` reads it
    grade.json       written last: the session is over

A line or a file is there whole, or not at all.
"""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from toolscale.canonical import canonical_json
from toolscale.dataset.storage import read_file, storage_errors, write_file
from toolscale.environment.world import World
from toolscale.errors import SandboxError, SandboxLimitError, UsageError
from toolscale.records import Grade, Solution, Task, ToolCall, ToolResult
from toolscale.session.playable import Playable
from toolscale.session.transcript import Line, Transcript, View, over_limit
from toolscale.strict_json import encodable, read_json, read_record

if TYPE_CHECKING:
    from toolscale.models.judging import JudgeSettings

SESSION, CALLS, TALK = "session.json", "calls.jsonl", "talk.jsonl"
SOLUTION, GRADE = "solution.json", "grade.json"


class Sitting:
    """A session folder that is open. Use `Sitting.at`."""

    def __init__(self, folder: Path, playable: Playable, task: Task, judge: JudgeSettings | None = None) -> None:
        self.folder, self._playable, self._task, self._judge = folder, playable, task, judge
        self._environment, self._rows = playable.world(task.domain)
        self._transcript = Transcript(task, self._environment, self._lines(CALLS), self._lines(TALK))
        self._world: World | None = None

    @classmethod
    @contextmanager
    def at(
        cls, folder: Path, playable: Playable, task_id: str | None, judge: JudgeSettings | None = None
    ) -> Iterator[Sitting]:
        """Go on with the session in `folder`, or begin one of the task there. One process at a time; another one waits.
        `judge`: who reads the final message where rules cannot grade it.

        UsageError if the folder holds something else, another task or another dataset, or if there is nothing to go on
        with.
        """
        about = folder / SESSION
        task = playable.task(task_id) if task_id else None
        if not about.exists():
            if task is None:
                raise UsageError(
                    f"{folder} holds no session; to begin one, say which task: "
                    f"toolscale play {playable.folder} ID --session {folder}"
                )
            if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
                raise UsageError(f"{folder} is there and holds no session; choose a new folder for --session")
            write_file(about, canonical_json({"dataset": playable.fingerprint, "task": task.id}).encode())
        with storage_errors("lock", about), about.open("rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            sitting = cls(folder, playable, _task_in(about, playable, task), judge)
            try:
                yield sitting
            finally:
                if sitting._world is not None:
                    sitting._world.close()

    def view(self) -> View:
        """Return what a solver sees now."""
        return self._transcript.view()

    @property
    def grade(self) -> Grade | None:
        """The grade, once the final answer was given."""
        path = self.folder / GRADE
        try:
            return Grade.model_validate_json(read_file(path)) if path.exists() else None
        except ValidationError as error:
            raise UsageError(_damaged(path)) from error

    def read_call(self, name: str, arguments: Any) -> ToolCall:
        """Return a call that may be made or is the final answer; nothing is called yet. `arguments`: as text of JSON,
        or as a host has read them. UsageError says why it may not."""
        return self._transcript.read_call(name, arguments)

    def is_answer(self, call: ToolCall) -> bool:
        """Whether a call fills in the form of the task: it is the final answer."""
        return self._transcript.is_answer(call)

    def check_answer(self, answer: str) -> None:
        """Raise UsageError if this is no final answer of the task: it can be given again."""
        self._transcript.read_answer(answer)

    def call(self, call: ToolCall) -> ToolResult:
        """Make a call and remember it. What a tool refuses is a result with an error, as an agent gets it; nothing has
        changed then. One that hits a limit of the sandbox ends the session. UsageError if it may not be made, or is the
        final answer."""
        self._still_open()
        call = self.read_call(call.name, call.arguments)
        if self.is_answer(call):
            raise UsageError(f"{call.name} is the final answer: the session is over after it")
        grade = None
        try:
            result = self._opened().call(call.name, call.arguments)
        except SandboxLimitError as error:
            result, grade = ToolResult(error=f"{error}; the session is over"), over_limit(error)
        self._transcript.add(call, result)
        self._keep(CALLS, self._transcript.made)
        if grade is not None:
            self._over(self._transcript.solution(""), grade)
        return result

    def say(self, message: str) -> str | Grade:
        """Say something to the person of a dialogue. Return the answer; if the message asks for nothing it is the final
        one, and if the person was asked too often there is none: then the session is over, and its grade is
        returned."""
        self._still_open()
        message = encodable(message)
        heard = self._transcript.ask(message)
        if heard is None:
            return self.finish(message)
        if isinstance(heard, Grade):
            return self._over(self._transcript.solution(""), heard)
        self._keep(TALK, self._transcript.talk)
        return heard

    def finish(self, answer: str) -> Grade:
        """Give the final answer; the session is over, and its grade is told. UsageError if it is not the form that the
        task wants."""
        self._still_open()
        answer = encodable(answer)
        self.check_answer(answer)
        solution = self._transcript.solution(answer)
        grade = self._playable.domain(self._task).grade(self._task, solution.calls, solution.answer)
        if grade.undecided and self._judge is not None:
            from toolscale.session.judged import decide_solutions  # takes long to load: only where a judge is asked

            (grade,) = decide_solutions(self._playable, [(solution, grade)], self._judge).grades
        return self._over(solution, grade)

    def _over(self, solution: Solution, grade: Grade) -> Grade:
        write_file(self.folder / SOLUTION, f"{canonical_json(solution.model_dump(mode='json'))}\n".encode())
        write_file(self.folder / GRADE, f"{canonical_json(grade.model_dump(mode='json'))}\n".encode())
        return grade

    def _keep(self, name: str, lines: list[Line]) -> None:
        write_file(self.folder / name, "".join(f"{canonical_json(line)}\n" for line in lines).encode())

    def _still_open(self) -> None:
        if (self.folder / GRADE).exists():
            raise UsageError(
                f"{self.folder}: the session is over, its final answer was graded; play the task again in a new folder"
            )

    def _opened(self) -> World:
        """Return the world as the calls so far have left it."""
        if self._world is None:
            self._world = World(self._environment, self._rows)
            for made in self._transcript.made:
                again = self._world.call(made["name"], made["arguments"], returns=False)
                if again.ok != ("value" in made):
                    raise SandboxError(
                        f"{self.folder / CALLS}: {made['name']} no longer does what it did; "
                        "play the task again in a new folder"
                    )
        return self._world

    def _lines(self, name: str) -> list[Line]:
        path = self.folder / name
        try:
            return [read_json(line) for line in read_file(path).split(b"\n") if line] if path.exists() else []
        except ValueError as error:
            raise UsageError(_damaged(path)) from error


def _damaged(path: Path) -> str:
    return f"{path} is not what toolscale play wrote; play the task again in a new folder"


def _task_in(about: Path, playable: Playable, wanted: Task | None) -> Task:
    """Return the task of a session file."""
    try:
        told = read_json(read_file(about))
        dataset, task_id = str(told["dataset"]), str(told["task"])
    except (ValueError, TypeError, KeyError) as error:
        raise UsageError(f"{about} is no session of toolscale play; choose another folder for --session") from error
    if dataset != playable.fingerprint:
        raise UsageError(
            f"{about} belongs to another dataset than {playable.folder}; "
            "name the one that it was begun with, or choose a new folder"
        )
    if wanted is not None and wanted.id != task_id:
        raise UsageError(
            f"{about} is a session of task {task_id}, not of {wanted.id}; choose a new folder for --session"
        )
    return playable.task(task_id)


def read_call(text: str) -> ToolCall:
    """Return the call that a line of JSON says. UsageError if it says none."""
    example = 'a call is one line of JSON such as {"name": "find_client", "arguments": {"full_name": "…"}}'
    try:
        return read_record(ToolCall, text)
    except ValueError as error:
        shown = text.strip() if len(text) <= 80 else f"{text[:80]}…"
        raise UsageError(f"{shown!r} is no call ({error}); {example}") from error
