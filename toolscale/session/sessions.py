"""Sessions for programs: tasks of a dataset opened, played, graded and closed, from any thread and many at once.

Each domain has its worlds behind one lock and its judge behind another, which takes longer and lets nobody wait who
only makes a call. What is called runs in the thread of the caller: no other one has to wake up for it.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock, RLock
from typing import Any, TypeVar
from uuid import uuid4

from toolscale.canonical import canonical_json
from toolscale.environment.environment import Environment
from toolscale.errors import SandboxLimitError, UsageError
from toolscale.records import Grade, Solution, Task, ToolCall, ToolResult
from toolscale.records.verdict import wrong
from toolscale.rollout.domain import Domain, Episode
from toolscale.sandbox.base import Rows
from toolscale.session.playable import Playable
from toolscale.session.transcript import Transcript, View, over_limit
from toolscale.strict_json import encodable

MOST_SESSIONS = 4_096
IDLE_S = 1_800.0
MOST_WORLDS = 4
"""Of one domain, for sessions that have written something: beyond them those take turns, and a call first makes again
what its session has written. A world has one to three megabytes and takes 10 ms to open and as long to prepare
each of its tools once, but microseconds to begin anew: few of them are quicker than many."""
MOST_TRIES = 3
"""Calls of the `final_answer` of a domain in one session. The last one counts as it is."""

Arguments = str | bytes | dict[str, Any]
Made = TypeVar("Made")


class NoSessionError(UsageError):
    """There is no such session: it was closed, or never was."""


class TooManySessionsError(UsageError):
    """As many sessions are open as may be."""


class _Place:
    """A domain, with a lock for its worlds and one for its judge: neither is for several threads at once."""

    def __init__(self, environment: Environment, rows: Rows, most_worlds: int):
        self.environment = environment
        self._playing, self._grading = (Domain(environment, rows, most_worlds) for _ in range(2))
        self._worlds, self._judge = Lock(), Lock()

    def episode(self) -> Episode:
        return Episode(self._playing)

    def call(self, episode: Episode, call: ToolCall) -> ToolResult:
        with self._worlds:
            return episode.call(call)

    def end(self, episode: Episode) -> None:
        with self._worlds:
            self._playing.end(episode)

    def grade(self, task: Task, solution: Solution) -> Grade:
        with self._judge:
            return self._grading.grade(task, solution.calls, solution.answer)

    def shut(self) -> None:
        for lock, domain in ((self._worlds, self._playing), (self._judge, self._grading)):
            with lock:
                domain.close()


@dataclass
class _Session:
    transcript: Transcript
    place: _Place
    episode: Episode
    used: float
    answer: str | None = None
    """The final answer, where a call has given it."""
    grade: Grade | None = None
    tries: int = 0
    """Calls that were meant to give the final answer."""
    lock: RLock = field(default_factory=RLock)


class Sessions:
    """Sessions on the tasks of one dataset folder. Every method may be called from any thread; calls of one session
    wait for each other. DatasetError if the folder is none. A method that names a session raises NoSessionError if it
    is not open.

    A session that nobody used for `idle_s` seconds is closed when another one is opened, or by `sweep`.

    `domain_form`: for hosts that bind tools to an environment. Tasks that are answered by a form share one
    `final_answer`; what it takes is listed under the request, and of the third call that does not fit nobody hears
    more: it counts as it is. `home`: what the ids of sessions begin with, where several processes serve.
    """

    def __init__(
        self,
        dataset: Path,
        *,
        idle_s: float = IDLE_S,
        most: int = MOST_SESSIONS,
        most_worlds: int = MOST_WORLDS,
        clock: Callable[[], float] = time.monotonic,
        domain_form: bool = False,
        home: str = "",
    ) -> None:
        self._playable, self._domain_form, self._home = Playable(dataset), domain_form, home
        self._idle_s, self._most, self._most_worlds, self._clock = idle_s, most, most_worlds, clock
        self._places: dict[str, _Place] = {}
        self._open: OrderedDict[str, _Session] = OrderedDict()
        """What was not used for longest comes first."""
        self._lock, self._opening = Lock(), Lock()

    @property
    def tasks(self) -> list[str]:
        """The ids of all tasks, sorted."""
        return self._playable.ids

    def __len__(self) -> int:
        return len(self._open)

    def __contains__(self, session_id: object) -> bool:
        return session_id in self._open

    def domain_of(self, session_id: str) -> str:
        """Return the domain of a session's task."""
        return self._session(session_id).place.environment.domain

    def open(self, task_id: str) -> str:
        """Open a session of the task whose id is, or alone begins with, `task_id`, and return the session's own id.
        UsageError if there is no such task, TooManySessionsError if as many sessions are open as may be."""
        self.sweep()
        with self._opening:  # who is playing does not wait until a domain is read
            task = self._playable.task(task_id)
            if task.domain not in self._places:
                self._places[task.domain] = _Place(*self._playable.world(task.domain), self._most_worlds)
            place, session_id = self._places[task.domain], f"{self._home}{uuid4().hex}"
        transcript = Transcript(task, place.environment, domain_form=self._domain_form)
        with self._lock:
            if len(self._open) >= self._most:
                raise TooManySessionsError(
                    f"{self._most} sessions are open; close some, or wait until they were idle for {self._idle_s:g} s"
                )
            self._open[session_id] = _Session(transcript, place, place.episode(), self._clock())
        return session_id

    def view(self, session_id: str) -> View:
        """Return all that a solver may see now."""
        return self._using(session_id, lambda session: session.transcript.view())

    def call(self, session_id: str, name: str, arguments: Arguments) -> ToolResult:
        """Make a call; `arguments` are a JSON text as a model wrote it, or what a host has read from one. An unknown
        tool, wrong arguments and what a tool refuses are results with an error, for whoever plays to read; so are
        arguments that are not JSON, a call after the final answer, and one too many. Where the task is answered by a
        form, a call of `final_answer` takes it, and says nothing of what it is worth."""
        return self._using(session_id, lambda session: self._call(session, name, arguments))

    def say(self, session_id: str, message: str) -> str | None:
        """Say something to the person of a dialogue, and return the answer. None: nobody will answer any more, because
        the message asks for nothing and is the final one, or because the person was asked too often. UsageError if the
        person has said all."""
        return self._using(session_id, lambda session: self._say(session, message))

    def finish(self, session_id: str, answer: str | None = None, *, last: bool = False) -> Grade:
        """Give the final answer and return the grade. Where a call or a message has given one before, that one counts.

        UsageError if there is none, or if it is not the form that the task wants: it can be given again. `last`: it
        cannot, so that such an answer is graded too, as wrong. Asked again, it is the same grade.
        """
        return self._using(session_id, lambda session: self._finish(session, answer, last))

    def solution(self, session_id: str) -> Solution:
        """Return the calls and the final answer so far, as `toolscale grade` reads them."""
        return self._using(session_id, lambda session: session.transcript.solution(session.answer or ""))

    def close(self, session_id: str) -> None:
        """Give the world back and forget the session. NoSessionError if there is none."""
        with self._lock:
            session = self._open.pop(session_id, None)
        if session is None:
            raise NoSessionError(self.unknown(session_id))
        with session.lock:
            session.place.end(session.episode)

    def unknown(self, session_id: str) -> str:
        """Return what is said of a session that is not open."""
        return (
            f"no session {session_id[:40]!r} is open: it was closed, or idle for {self._idle_s:g} s, or never was; "
            "open another one"
        )

    def sweep(self) -> int:
        """Close what was idle for too long; return how many."""
        limit, gone = self._clock() - self._idle_s, list[_Session]()
        with self._lock:
            while self._open and next(iter(self._open.values())).used < limit:
                gone.append(self._open.popitem(last=False)[1])
        for session in gone:
            with session.lock:
                session.place.end(session.episode)
        return len(gone)

    def shut(self) -> None:
        """Close everything; the sessions cannot be used after it."""
        with self._lock:
            going = list(self._open.values())
            self._open.clear()
        for session in going:
            with session.lock:  # what it is doing comes to its end; whoever waits behind that is told
                pass
        with self._opening:
            for place in self._places.values():
                place.shut()
            self._places.clear()
            self._playable.close()

    def __enter__(self) -> Sessions:
        return self

    def __exit__(self, *_: object) -> None:
        self.shut()

    def _using(self, session_id: str, work: Callable[[_Session], Made]) -> Made:
        session = self._session(session_id)
        with session.lock:
            self._session(session_id)  # it may have been closed while this one waited
            self._touch(session_id, session)
            try:
                return work(session)
            finally:
                self._touch(session_id, session)

    def _session(self, session_id: str) -> _Session:
        session = self._open.get(session_id)
        if session is None:
            raise NoSessionError(self.unknown(session_id))
        return session

    def _touch(self, session_id: str, session: _Session) -> None:
        """Note that a session is used now, unless it was closed meanwhile."""
        with self._lock, suppress(KeyError):
            session.used = self._clock()
            self._open.move_to_end(session_id)

    def _call(self, session: _Session, name: str, arguments: Arguments) -> ToolResult:
        if session.answer is not None or session.grade is not None:
            return ToolResult(error="not made: the final answer was given before")
        transcript = session.transcript
        try:
            call = transcript.read_call(name, arguments)
        except UsageError as error:
            return ToolResult(error=str(error))
        if transcript.is_answer(call):
            return self._answer(session, canonical_json(call.arguments))
        try:
            result = session.place.call(session.episode, call)
        except SandboxLimitError as error:
            result = ToolResult(error=f"{error}; the session is over")
            session.answer, session.grade = "", over_limit(error)
        transcript.add(call, result)
        return result

    def _answer(self, session: _Session, given: str) -> ToolResult:
        """Take a filled form, or say what is wrong with it."""
        session.tries += 1
        left = MOST_TRIES - session.tries
        try:
            session.answer = session.transcript.read_answer(given, whole=left > 0)
        except UsageError as error:
            if not self._domain_form:
                return ToolResult(error=str(error))
            if left > 0:
                return ToolResult(error=f"{error}; call it again ({left} more)")
            session.answer, session.grade = given, wrong(str(error))
            return ToolResult(error=f"{error}; this was the last call, and it counts as it is")
        return ToolResult(value={"taken": True})

    def _say(self, session: _Session, message: str) -> str | None:
        if session.answer is not None or session.grade is not None:
            if session.transcript.task.form is not None:
                return None
            raise UsageError("the final answer was given; the person is gone")
        message = encodable(message)
        heard = session.transcript.ask(message)
        if heard is None:
            session.answer = message
        elif isinstance(heard, Grade):
            session.answer, session.grade = "", heard
        return heard if isinstance(heard, str) else None

    def _finish(self, session: _Session, answer: str | None, last: bool) -> Grade:
        answer = None if answer is None else encodable(answer)
        if session.grade is None:
            try:
                session.answer = session.answer if session.answer is not None else _read(session, answer, last)
            except UsageError as error:
                if not last:
                    raise
                session.answer, session.grade = answer or "", wrong(str(error))
            else:
                solution = session.transcript.solution(session.answer)
                session.grade = session.place.grade(session.transcript.task, solution)
            session.place.end(session.episode)
        return session.grade


def _read(session: _Session, answer: str | None, last: bool) -> str:
    """Return a final answer as it is graded. UsageError if it is none."""
    if answer is None:
        raise UsageError("there is no final answer yet; give it")
    return session.transcript.read_answer(answer, whole=not last)
