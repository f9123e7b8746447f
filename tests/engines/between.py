"""A proxy before a real server, for what it does not do on demand: it answers late, or ends in the middle of a request.

with between(engine, late=…) as url: …
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx2
from engines import Engine

KEPT = ("content-type", "authorization")


@contextmanager
def between(engine: Engine, meanwhile: Callable[[str], None] = lambda path: None) -> Iterator[str]:
    """The address of a proxy. `meanwhile` is called with the path of each request when it was handed on, before its
    answer is handed back. What has no answer is a connection that is closed."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._hand_on(None)

        def do_POST(self) -> None:
            self._hand_on(self.rfile.read(int(self.headers.get("Content-Length") or 0)))

        def _hand_on(self, body: bytes | None) -> None:
            answers: list[httpx2.Response] = []
            headers = {name: value for name, value in self.headers.items() if name.lower() in KEPT}

            def ask() -> None:
                with suppress(httpx2.TransportError):
                    url = engine.url + self.path
                    answers.append(httpx2.request(self.command, url, content=body, headers=headers, timeout=600))

            asking = threading.Thread(target=ask, daemon=True)
            asking.start()
            meanwhile(self.path)
            asking.join()
            with suppress(OSError):  # the client may have hung up
                for answer in answers:
                    self.send_response(answer.status_code)
                    self.send_header("Content-Type", answer.headers.get("content-type", "text/plain"))
                    self.send_header("Content-Length", str(len(answer.content)))
                    self.end_headers()
                    self.wfile.write(answer.content)

        def log_message(self, *args: Any) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
