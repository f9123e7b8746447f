"""A chat server of one's own: a real HTTP server on a free port of loopback that gives the answers it is told to give,
one after the other.

What it was asked is kept, headers included. The last answer is given again and again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any


@dataclass(frozen=True)
class Answer:
    """What one request gets: a status, a body, more headers; `cut` closes the connection halfway, `held` never answers
    while the server runs."""

    body: bytes = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    cut: bool = False
    held: bool = False
    drip: float = 0.0
    """Seconds between single bytes of the body."""


@dataclass
class ChatServer:
    """What a test sees of the server."""

    base_url: str
    answers: list[Answer]
    asked: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    echo: Callable[[dict[str, str]], Answer] | None = None
    reply: Callable[[dict[str, Any]], Answer] | None = None
    """What answers a request by its body, whatever the order in which requests come."""
    other: Callable[[str, dict[str, Any] | None], Answer | None] = lambda path, body: None
    """What answers other paths, by path and body; None: there is no such path."""


def said(content: str | None, calls: list[dict[str, Any]] | None = None, **rest: Any) -> Answer:
    """An answer in OpenAI form."""
    message: dict[str, Any] = {"role": "assistant", "content": content}
    if calls:
        message["tool_calls"] = calls
    choice = {"index": 0, "finish_reason": "tool_calls" if calls else "stop", "message": message}
    return Answer(json.dumps({"id": "1", "object": "chat.completion", "choices": [choice], **rest}).encode())


NOT_FOUND = Answer(b'{"detail": "Not Found"}', 404)


@contextmanager
def chat_server(
    *answers: Answer,
    echo: Callable[[dict[str, str]], Answer] | None = None,
    reply: Callable[[dict[str, Any]], Answer] | None = None,
    other: Callable[[str, dict[str, Any] | None], Answer | None] = lambda path, body: None,
) -> Iterator[ChatServer]:
    """Run a server that gives these answers."""
    closing = Event()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._give(state.other(self.path, None) or NOT_FOUND)

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.path != "/v1/chat/completions" and (told := state.other(self.path, json.loads(body))):
                self._give(told)
                return
            number = len(state.asked)
            state.asked.append({"path": self.path, **json.loads(body)})
            state.headers.append({name.lower(): value for name, value in self.headers.items()})
            if state.reply:
                answer = state.reply(json.loads(body))
            else:
                answer = (
                    state.echo(state.headers[-1]) if state.echo else state.answers[min(number, len(state.answers) - 1)]
                )
            if answer.held:
                closing.wait()
                return
            with suppress(OSError):  # the client may have hung up
                self._give(answer)

        def _give(self, answer: Answer) -> None:
            self.send_response(answer.status)
            for name, value in {"Content-Type": "application/json", **answer.headers}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(answer.body) + (10 if answer.cut else 0)))
            self.end_headers()
            for part in (answer.body[i : i + 1] for i in range(len(answer.body))) if answer.drip else (answer.body,):
                if closing.wait(answer.drip) if answer.drip else False:
                    return
                self.wfile.write(part)
                self.wfile.flush()

        def log_message(self, *args: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        request_queue_size = 128  # many connect at once

        def handle_error(self, request: Any, client_address: Any) -> None:
            """Say nothing of a client that hung up in the middle of its request: nothing here reads errors."""

    server = Server(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    state = ChatServer(f"http://127.0.0.1:{server.server_port}/v1", list(answers), echo=echo, reply=reply, other=other)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield state
    finally:
        closing.set()
        server.shutdown()
        server.server_close()
        thread.join()
