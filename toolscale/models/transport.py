"""Requests to an OpenAI-compatible server, and what may be tried again: 429, 408, 5xx, a lost connection, a timeout.

Only headers of ours are sent, no redirect is followed, and no more than a bound is read of a reply. The key is read
from the environment when a request is made; no object that is printed holds it, and what a server repeats of it is
hidden.
"""

from __future__ import annotations

import asyncio
import os
import re
import ssl
import time
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC
from email.utils import parsedate_to_datetime
from functools import cache
from typing import Any
from urllib.parse import urlsplit

import httpx2
from openai import APIConnectionError, APIStatusError, AsyncOpenAI  # first: httpx2 belongs to other extras too

from toolscale.errors import UsageError
from toolscale.models.completion import GarbledError, excerpt
from toolscale.patterns import regex
from toolscale.records import Endpoint

FIRST_WAIT, LONGEST_WAIT = 0.5, 20.0
MOST_BYTES = 8_000_000
"""Of one reply. A longer one is not read."""

_SENT = frozenset({"accept", "accept-encoding", "connection", "content-length", "content-type", "host", "user-agent"})
"""Headers that are sent. The library would add what OPENAI_* variables of the environment say, to whatever server."""

_TOO_LONG = regex(r"context (?:size|length|window)|maximum context|too many tokens|prompt is too long", re.IGNORECASE)
"""How servers say that a request does not fit: llama.cpp's `exceeds the available context size`, vLLM's and OpenAI's
`maximum context length`."""

_NOT_SENT = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout, httpx2.UnsupportedProtocol)
"""What ends a request before it is sent."""


class NoAnswerError(Exception):
    """There was no answer, or one that says to try again: what happened, how long the server asks to wait, whether it
    has more to do than it can, and whether it may charge what it was sent: it was sent, and no error came back."""

    def __init__(self, what: str, wait: float = 0.0, is_busy: bool = False, may_cost: bool = False):
        super().__init__(what)
        self.wait = wait
        self.is_busy = is_busy
        self.may_cost = may_cost


class RefusedError(Exception):
    """The server refuses the request as it is: its status, and the reason that it gives, on one line without the
    key."""

    def __init__(self, status: int, reason: str):
        super().__init__(f"it refused ({status}: {reason or 'no reason given'})")
        self.status = status

    @property
    def remedy(self) -> str:
        """What to do about it."""
        if self.status in (400, 413, 422) and _TOO_LONG.search(str(self)):
            return "the request is too long for it: start it with a longer context, or take a model that has one"
        return "check the address, the key and the name of the model"


class _Client(httpx2.AsyncClient):
    """Sends only the headers that are ours, and reads no more than MOST_BYTES of a reply, as it came."""

    def __init__(self, key: str, timeout_s: float, connections: int):
        limits = httpx2.Limits(max_connections=connections, max_keepalive_connections=connections)
        super().__init__(timeout=timeout_s, follow_redirects=False, verify=_trusted(), limits=limits)
        self._key = key

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        """Send a request, and read the whole reply. GarbledError if it is too long or compressed, unless it is a
        refusal: then it is returned with an empty body."""
        headers = {name: value for name, value in request.headers.items() if name in _SENT} | {
            "accept-encoding": "identity"
        }
        if self._key:
            headers["authorization"] = f"Bearer {self._key}"
        sent = httpx2.Request(
            request.method, request.url, headers=headers, stream=request.stream, extensions=request.extensions
        )
        response = await super().send(sent, **{**options, "stream": True, "follow_redirects": False})
        try:
            body = await _body(response)
        except GarbledError:
            if response.status_code < 400:
                raise
            body = b""
        finally:
            await response.aclose()
        told = {name: response.headers[name] for name in ("Content-Type", "Retry-After") if name in response.headers}
        return httpx2.Response(response.status_code, headers=told, content=body, request=request)


def open_client(endpoint: Endpoint, secret: str, connections: int = 100) -> AsyncOpenAI:
    """Return a client of an endpoint; use it as a context, within one event loop."""
    return AsyncOpenAI(
        api_key="sent by the client below",
        base_url=endpoint.base_url,
        max_retries=0,
        timeout=endpoint.timeout_s,
        http_client=_Client(secret, endpoint.timeout_s, connections),
    )


async def complete(client: AsyncOpenAI, endpoint: Endpoint, secret: str, body: Mapping[str, Any]) -> bytes:
    """Ask once for a chat completion; return the body of the reply. NoAnswerError if another try may succeed,
    RefusedError if not, GarbledError if the reply is not read."""
    try:
        async with asyncio.timeout(endpoint.timeout_s):
            # Not `chat.completions.create`: that spends a fifth of its time on parameters that are plain JSON here.
            response: httpx2.Response = await client.post(
                "/chat/completions", body={"model": endpoint.model, **body}, cast_to=httpx2.Response
            )
        return response.content
    except (TimeoutError, APIConnectionError, APIStatusError) as error:
        raise told_apart(error, endpoint, secret) from error


def told_apart(
    error: TimeoutError | APIConnectionError | APIStatusError, endpoint: Endpoint, secret: str
) -> NoAnswerError | RefusedError:
    """Return what a failed request means: whether another try may succeed."""
    if not isinstance(error, APIStatusError):
        is_sent = not isinstance(error.__cause__, _NOT_SENT)
        return NoAnswerError(_lost(error, endpoint, secret), may_cost=is_sent)
    status = error.status_code
    if status not in (408, 429) and status < 500:
        return RefusedError(status, excerpt(_said(error), secret))
    reason = excerpt(_message_of(error), secret)  # not the page of a proxy
    told = "the rate limit is reached (429)" if status == 429 else f"it answered {status}"
    return NoAnswerError(
        f"{told}: {reason}" if reason else told, _told_to_wait(error.response.headers), is_busy=status in (429, 503)
    )


def wait_before(attempt: int, error: NoAnswerError | None, chance: float) -> float:
    """Return the seconds until the next try, `attempt` tries made: at least those that the server asks for, and more
    with every try.

    Requests that were refused together come back one after the other: the wait is spread by half of it either way, by
    `chance`, which is from 0 to 1.
    """
    longer = float(min(LONGEST_WAIT, FIRST_WAIT * 2 ** min(attempt - 1, 10)))
    return max(error.wait if error else 0.0, longer * (0.5 + chance))


def check_address(address: str, what: str) -> None:
    """Raise UsageError if the address cannot be asked, or holds what should stand in the environment. `what` names it:
    `the base_url of the expert 'one'`."""
    with suppress(ValueError):
        parts = urlsplit(address)
        if parts.username or parts.password or parts.query:  # the address is not repeated: it may hold a secret
            raise UsageError(
                f"{what} holds a user, a password or a query; leave only the address there, "
                "and put the key into the environment variable that api_key_env names"
            )
        if parts.scheme in ("http", "https") and parts.hostname and (parts.port is None or parts.port):
            return
    raise UsageError(f"{address!r}, {what}, is not an address; write it as https://host/v1")


def key_of(endpoint: Endpoint, who: str) -> str:
    """Return the key from the environment variable that the endpoint names, empty if it names none. UsageError if it
    is missing or cannot be one. `who` needs it: `the expert 'one'`."""
    name = endpoint.api_key_env
    if name is None:
        return ""
    found = os.environ.get(name, "")
    if not found:
        raise UsageError(f"{who} needs a key, and {name} is not set; set it to the key of {endpoint.base_url}")
    if not (found.isascii() and found.isprintable() and " " not in found):
        raise UsageError(
            f"the key in {name} has a character that no key has; set it again, without spaces and line ends"
        )
    return found


async def _body(response: httpx2.Response) -> bytes:
    if response.headers.get("Content-Encoding", "identity") != "identity":
        raise GarbledError("it is compressed, which it was asked not to be")
    body = bytearray()
    async for chunk in response.aiter_raw():
        body += chunk
        if len(body) > MOST_BYTES:
            raise GarbledError(f"it is longer than {MOST_BYTES // 1_000_000} MB")
    return bytes(body)


@cache
def _trusted() -> ssl.SSLContext:
    """Return the certificates that are trusted: reading them takes longer than all else before a request."""
    return httpx2.create_ssl_context()


def _lost(error: Exception, endpoint: Endpoint, secret: str) -> str:
    """Say what became of a request that had no answer."""
    cause = error.__cause__
    if isinstance(error, TimeoutError) or isinstance(cause, httpx2.TimeoutException):
        return f"a request had no answer after {endpoint.timeout_s:g} s"
    said = excerpt(str(cause or ""), secret).rstrip(".")
    return f"the connection failed ({said or type(cause or error).__name__})"


def _said(error: APIStatusError) -> str:
    """Return the reason that a refusal gives: its message, if it has one where OpenAI puts it."""
    return _message_of(error) or error.response.text


def _message_of(error: APIStatusError) -> str:
    inner = error.body.get("message") if isinstance(error.body, dict) else None
    return inner if isinstance(inner, str) else ""


def _told_to_wait(headers: httpx2.Headers) -> float:
    """Return the seconds of Retry-After, a number or a date; 0 if it says nothing that can be read."""
    told = headers.get("Retry-After", "").strip()
    if told.replace(".", "", 1).isdecimal():
        return float(told)
    with suppress(ValueError, OverflowError):
        date = parsedate_to_datetime(told)
        return max(0.0, (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp() - time.time())
    return 0.0
