"""How long a server waits for a client, how many may be connected, and how a server runs with that."""

from __future__ import annotations

import asyncio
import json
import resource
from contextlib import suppress
from functools import cache
from typing import Any

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.auto import AutoHTTPProtocol

HEAD_S = 20.0
"""Seconds in which the head of a request has to come, from the connection or the first byte of it on."""
KEEP_S = 75.0
"""Seconds that a connection is kept between two requests: models think between two calls."""
MOST_CONNECTIONS = 16_384
SPARE_FILES = 256
"""Files that a process has open beside its connections."""


def said(status: int, reason: str, message: str) -> bytes:
    """Return a whole answer as every route tells an error, for a client that has not said a whole request."""
    body = json.dumps({"error": message}).encode()
    head = f"HTTP/1.1 {status} {reason}\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n"
    return f"{head}connection: close\r\n\r\n".encode() + body


LATE = said(408, "Request Timeout", f"no whole request came within {HEAD_S:g} s; send it at once")
FULL = "too many connections are open; close some, or use one for many requests"


class _Patient:
    """What is added to a protocol of uvicorn: the head of a request comes in time, or the connection is closed with a
    word; and so is one too many."""

    head_s = HEAD_S
    most = MOST_CONNECTIONS
    _late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:
        super().connection_made(transport)  # type: ignore[misc]
        if len(self.connections) > self.most:  # type: ignore[attr-defined]
            transport.write(said(503, "Service Unavailable", FULL))
            transport.close()
        else:
            self._wait()

    def data_received(self, data: bytes) -> None:
        self._rest()
        super().data_received(data)  # type: ignore[misc]
        cycle = self.cycle  # type: ignore[attr-defined]
        if cycle is None or (cycle.response_complete and self.timeout_keep_alive_task is None):  # type: ignore[attr-defined]
            self._wait()

    def connection_lost(self, error: Exception | None) -> None:
        self._rest()
        super().connection_lost(error)  # type: ignore[misc]

    def _wait(self) -> None:
        self._late = self.loop.call_later(self.head_s, self._leave)  # type: ignore[attr-defined]

    def _rest(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def _leave(self) -> None:
        transport = self.transport  # type: ignore[attr-defined]
        if not transport.is_closing():
            transport.write(LATE)
            transport.close()


@cache
def patient_protocol(head_s: float = HEAD_S, most: int | None = None) -> type[asyncio.Protocol]:
    """Return the protocol that uvicorn would choose, with patience: `head_s` seconds for a head, and at most so many
    connections, or as many as files may be open."""
    most = most or min(MOST_CONNECTIONS, most_files() - SPARE_FILES)
    return type("PatientProtocol", (_Patient, AutoHTTPProtocol), {"head_s": head_s, "most": most})


def config_of(app: ASGIApp, **how: Any) -> uvicorn.Config:
    """Return how an application is served."""
    protocol = patient_protocol()
    keep = int(KEEP_S)
    return uvicorn.Config(
        app, http=protocol, ws="none", log_level="info", access_log=False, timeout_keep_alive=keep, backlog=4_096, **how
    )


def run_app(app: ASGIApp, **how: Any) -> None:
    """Serve an application until told to stop; a signal is the usual end."""
    with suppress(KeyboardInterrupt):
        uvicorn.Server(config_of(app, **how)).run()


def most_files() -> int:
    """Return how many files this process may have open, once the soft limit is as high as it may be."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return MOST_CONNECTIONS + SPARE_FILES if hard == resource.RLIM_INFINITY else hard
