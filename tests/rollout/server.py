"""A chat server on loopback that says what it is told to, with faults."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from toolscale.records import Endpoint

Say = Callable[[dict[str, Any]], "tuple[int, str]"]
"""The request -> status and body."""


def completion(
    message: dict[str, Any], prompt: int = 20, written: int = 10, finish: str | None = None
) -> tuple[int, str]:
    """A chat completion with one choice. Servers end one that calls tools with another reason than one that says
    something, and one that was cut with `length`, calls or not."""
    usage = {"prompt_tokens": prompt, "completion_tokens": written, "total_tokens": prompt + written}
    finish = finish or ("tool_calls" if message.get("tool_calls") else "stop")
    choice = {"index": 0, "finish_reason": finish, "message": {"role": "assistant", **message}}
    return 200, json.dumps(
        {"id": "c", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice], "usage": usage}
    )


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 512


@contextmanager
def chat_server(say: Say) -> Iterator[Endpoint]:
    """Serve until the end of the block."""

    class Handler(BaseHTTPRequestHandler):
        """Answers each request with what `say` says."""

        def do_POST(self) -> None:
            """Answer."""
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            status, text = say(asked)
            body = text.encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    server = _Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield Endpoint(base_url=f"http://127.0.0.1:{server.server_port}/v1", model="m", timeout_s=300, deadline_s=300)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
