"""Replies of models, kept on disk under what was asked: a second run asks nothing, and reads the same."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from toolscale.errors import StorageError, UsageError
from toolscale.models.chat.budget import booked
from toolscale.models.chat.request import ChatRequest
from toolscale.models.completion import Completion, tokens_of
from toolscale.models.thoughts import spoken
from toolscale.records import Price

UNKEPT = Path(":memory:")
"""A place that is gone when its store is closed."""

_APPLICATION = 0x7453_7265
_TABLES = """
CREATE TABLE IF NOT EXISTS replies (key TEXT PRIMARY KEY, request TEXT NOT NULL, reply TEXT NOT NULL) WITHOUT ROWID;
"""


@dataclass(frozen=True, slots=True)
class ChatReply:
    """What a model wrote, and what it took."""

    content: str
    input_tokens: int
    output_tokens: int
    dollars: float | None
    """What it costs, or can cost at most where the server did not count; None where the price is not known."""
    seconds: float
    """From sending to receiving."""
    finish: str = ""
    """Why it ends: `stop`, `length`; empty if the server does not say."""
    refusal: str = ""
    """Why the model will not answer; empty if it answers."""
    tool_calls: tuple[dict[str, Any], ...] = ()
    """Calls in OpenAI form, arguments as text: only where tools were offered."""
    problem: str = ""
    """What is wrong with it, in words that the model can act on; empty if nothing is."""
    message: dict[str, Any] | None = None
    """As it came, where something is wrong with it."""
    uncounted: tuple[str, ...] = ()
    """`input_tokens`, `output_tokens`: those that the server did not count."""


def reply_of(choice: Completion, request: ChatRequest, price: Price | None, seconds: float = 0.0) -> ChatReply:
    """Return what a server answered to a request."""
    read, wrote = tokens_of(choice, request.messages, request.tools)
    if choice.output_tokens is None and not choice.written:
        wrote = request.max_tokens  # it may have thought, and not said so
    return ChatReply(
        content=choice.content or "",
        input_tokens=read,
        output_tokens=wrote,
        dollars=booked(request, choice.input_tokens, choice.output_tokens, price),
        seconds=seconds,
        finish=choice.finish,
        refusal=choice.refusal,
        tool_calls=choice.calls,
        problem=choice.problem,
        message=dict(choice.message) if choice.problem else None,
        uncounted=tuple(name for name in ("input_tokens", "output_tokens") if getattr(choice, name) is None),
    )


class ReplyStore:
    """A SQLite file of replies. Several programs may use it at once. Use it as a context.

    UsageError if the file is something else, StorageError if it cannot be read or written.
    """

    def __init__(self, path: Path):
        self.path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._connection = sqlite3.connect(path, timeout=60, isolation_level=None)
        except (OSError, sqlite3.Error) as error:
            raise StorageError(f"cannot open {path}: {error}") from error
        try:
            with self._errors():
                self._prepare()
        except BaseException:
            self._connection.close()
            raise

    def _prepare(self) -> None:
        (found,) = self._connection.execute("PRAGMA application_id").fetchone()
        (tables,) = self._connection.execute("SELECT COUNT(*) FROM sqlite_schema").fetchone()
        if tables and found != _APPLICATION:
            raise UsageError(f"{self.path} is a database of something else; name another file for the replies")
        self._connection.execute("PRAGMA journal_mode=WAL")
        self._connection.execute("PRAGMA synchronous=NORMAL")
        self._connection.execute(f"PRAGMA application_id={_APPLICATION}")
        self._connection.executescript(_TABLES)

    def __enter__(self) -> ReplyStore:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def get(self, key: str) -> ChatReply | None:
        """Return the reply that is kept under a key, or None."""
        with self._errors():
            row = self._connection.execute("SELECT reply FROM replies WHERE key = ?", (key,)).fetchone()
        return _reply_of(row[0]) if row else None

    def put(self, key: str, request: ChatRequest, reply: ChatReply) -> None:
        """Keep a reply. One that is there already stays: whatever was made from it is made again alike."""
        with self._errors():
            self._connection.execute(
                "INSERT OR IGNORE INTO replies VALUES (?, ?, ?)", (key, _asked(request), _json(_kept(reply)))
            )

    def lines(self, keys: Iterable[str]) -> Iterator[tuple[dict[str, Any], ChatReply]]:
        """Yield what was asked (`stage`, `messages`, `sample`) and answered, for the keys that are there."""
        for key in keys:
            with self._errors():
                row = self._connection.execute("SELECT request, reply FROM replies WHERE key = ?", (key,)).fetchone()
            if row:
                yield json.loads(row[0]), _reply_of(row[1])

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.DatabaseError as error:
            if "not a database" in str(error):
                raise UsageError(f"{self.path} is no database; name another file for the replies") from error
            raise StorageError(f"the replies in {self.path} cannot be read or written: {error}") from error


def _kept(reply: ChatReply) -> dict[str, Any]:
    return {field.name: getattr(reply, field.name) for field in fields(reply)}


def _reply_of(text: str) -> ChatReply:
    """Return a reply that was kept. One that an earlier version kept may hold thoughts."""
    kept = json.loads(text)
    lists = {name: tuple(kept.get(name, ())) for name in ("tool_calls", "uncounted")}
    return ChatReply(**{**kept, "content": spoken(kept["content"]).text, **lists})


def _asked(request: ChatRequest) -> str:
    messages = [dict(message) for message in request.messages]
    return _json({"stage": request.stage, "messages": messages, "sample": request.sample})


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
