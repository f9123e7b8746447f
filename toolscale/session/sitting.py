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
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from toolscale.canonical import canonical_json
from toolscale.dataset.storage import read_file, storage_errors, write_file
from toolscale.environment import World, system_message
from toolscale.environment.builtins import FINAL_ANSWER
from toolscale.errors import SandboxError, UsageError
from toolscale.language.inquiries import besides_questions
from toolscale.records import Grade, Solution, Task, ToolCall, ToolResult
from toolscale.rollout.grading import UNANSWERED
from toolscale.rollout.person import MOST_REPLIES, answer_to
from toolscale.session.playable import Playable
from toolscale.tasks.form import with_form
from toolscale.verify.filled import read_form

SESSION, CALLS, TALK = "session.json", "calls.jsonl", "talk.jsonl"
SOLUTION, GRADE = "solution.json", "grade.json"


@dataclass(frozen=True)
class View:
    """All that a solver sees of a task before the grade."""

    task: str
    policy: str
    tools: list[dict[str, Any]]
    """OpenAI function tools."""
    request: str
    calls: list[dict[str, Any]]
    """The calls made so far, each with its `value` or `error`."""
    talk: list[dict[str, Any]] | None
    """Of a dialogue: what was `said` to the person `after` so many calls, and what was `heard`. None where the request
    says all."""


class Sitting:
    """A session folder that is open. Use `Sitting.at`."""

    def __init__(self, folder: Path, playable: Playable, task: Task) -> None:
        self.folder, self._playable, self._task = folder, playable, task
        self._environment, self._rows = playable.world(task.domain)
        self._made = [json.loads(line) for line in self._lines(CALLS)]
        self._talk = [json.loads(line) for line in self._lines(TALK)]
        self._world: World | None = None

    @classmethod
    @contextmanager
    def at(cls, folder: Path, playable: Playable, task_id: str | None) -> Iterator[Sitting]:
        """Go on with the session in `folder`, or begin one of the task there. One process at a time; another one waits.

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
            sitting = cls(folder, playable, _task_in(about, playable, task))
            try:
                yield sitting
            finally:
                if sitting._world is not None:
                    sitting._world.close()

    def view(self) -> View:
        """Return what a solver sees now."""
        tools = [tool.spec.openai_function() for tool in self._environment.tools.values()]
        return View(
            self._task.id,
            system_message(self._environment, self._task.interaction),
            with_form(tools, self._task.form),
            self._task.request,
            list(self._made),
            list(self._talk) if self._task.interaction == "dialogue" else None,
        )

    @property
    def grade(self) -> Grade | None:
        """The grade, once the final answer was given."""
        path = self.folder / GRADE
        return Grade.model_validate_json(read_file(path)) if path.exists() else None

    def check(self, call: ToolCall) -> None:
        """Raise UsageError if the task has no such tool: nothing is called then."""
        if self.is_answer(call):
            self.check_answer(canonical_json(call.arguments))
        elif call.name not in self._environment.tools:
            raise UsageError(f"there is no tool {call.name!r}; the tools are {', '.join(self._environment.tools)}")

    def is_answer(self, call: ToolCall) -> bool:
        """Whether a call fills in the form of the task: it is the final answer."""
        return self._task.form is not None and call.name == FINAL_ANSWER

    def check_answer(self, answer: str) -> None:
        """Raise UsageError if the task is answered by a form, and this is none that it takes: it can be given again."""
        if self._task.form is not None and isinstance(problem := read_form(self._task.form, answer), str):
            raise UsageError(f"{problem}; give the fields of {FINAL_ANSWER} as one JSON object")

    def call(self, call: ToolCall) -> ToolResult:
        """Make a call and remember it. What a tool refuses is a result with an error, as an agent gets it; nothing has
        changed then."""
        self._still_open()
        self.check(call)
        result = self._opened().call(call.name, call.arguments)
        made = {
            "name": call.name,
            "arguments": call.arguments,
            **({"value": result.value} if result.ok else {"error": result.error}),
        }
        self._made.append(made)
        write_file(self.folder / CALLS, "".join(f"{canonical_json(line)}\n" for line in self._made).encode())
        return result

    def say(self, message: str) -> str | Grade:
        """Say something to the person of a dialogue. Return the answer; if the message asks for nothing it is the final
        one, and if the person was asked too often there is none: then the session is over, and its grade is
        returned."""
        self._still_open()
        if self._task.interaction != "dialogue":
            raise UsageError("the person has said all in the request; give the final message as the answer")
        heard = answer_to(self._task.candidate, message)
        if heard is None:
            return self.finish(message)
        if len(self._talk) >= MOST_REPLIES:
            return self._over("", _LEFT)
        self._talk.append({"after": len(self._made), "said": message, "heard": heard})
        write_file(self.folder / TALK, "".join(f"{canonical_json(line)}\n" for line in self._talk).encode())
        return heard

    def finish(self, answer: str) -> Grade:
        """Give the final answer; the session is over, and its grade is told. UsageError if it is not the form that the
        task wants. In a dialogue what was said since the last change of the rows, questions aside, is a part of it."""
        self._still_open()
        self.check_answer(answer)
        changed = max((n for n, made in enumerate(self._made, 1) if self._writes(made)), default=0)
        before = [besides_questions(line["said"]) for line in self._talk if line["after"] >= changed]
        return self._over("\n\n".join(filter(None, [*before, answer])))

    def _writes(self, made: dict[str, Any]) -> bool:
        return "value" in made and self._environment.tools[made["name"]].mutates_state

    def _over(self, answer: str, grade: Grade | None = None) -> Grade:
        calls = tuple(ToolCall(name=made["name"], arguments=made["arguments"]) for made in self._made)
        solution = Solution(task=self._task.id, calls=calls, answer=answer)
        grade = grade or self._playable.domain(self._task).grade(self._task, calls, answer)
        write_file(self.folder / SOLUTION, f"{canonical_json(solution.model_dump(mode='json'))}\n".encode())
        write_file(self.folder / GRADE, f"{canonical_json(grade.model_dump(mode='json'))}\n".encode())
        return grade

    def _still_open(self) -> None:
        if (self.folder / GRADE).exists():
            raise UsageError(
                f"{self.folder}: the session is over, its final answer was graded; play the task again in a new folder"
            )

    def _opened(self) -> World:
        """Return the world as the calls so far have left it."""
        if self._world is None:
            self._world = World(self._environment, self._rows)
            for made in self._made:
                again = self._world.call(made["name"], made["arguments"], returns=False)
                if again.ok != ("value" in made):
                    raise SandboxError(
                        f"{self.folder / CALLS}: {made['name']} no longer does what it did; "
                        "play the task again in a new folder"
                    )
        return self._world

    def _lines(self, name: str) -> list[str]:
        path = self.folder / name
        return read_file(path).decode().splitlines() if path.exists() else []


_LEFT = Grade(score=0, execution_correct=False, faithful=False, operations_complete=False, finding=UNANSWERED["left"])


def _task_in(about: Path, playable: Playable, wanted: Task | None) -> Task:
    """Return the task of a session file."""
    try:
        told = json.loads(read_file(about))
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
        return ToolCall.model_validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        problem = f"{place}: {first['msg'].lower()}" if place else first["msg"].lower()
        shown = text if len(text) <= 80 else f"{text[:80]}…"
        raise UsageError(f"{shown!r} is no call ({problem}); {example}") from error
