"""An expert behind an OpenAI-compatible server: asked until it answers, refuses, or its deadline is reached.

What may pass (429, 408, 5xx, a lost connection, a timeout) is tried again; any other refusal stops at once, and so does
a reply that cannot be used, which has the tokens that its server counted. Whatever happens is a reply, with an `error`
if there is no answer, so that a rollout records it and goes on. The key is read from the environment when a request is
made; no object holds it, and what a server repeats of it is hidden.
"""

from __future__ import annotations

import asyncio
import os
import ssl
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC
from email.utils import parsedate_to_datetime
from functools import cache
from typing import Any
from urllib.parse import urlsplit

import httpx2
from openai import APIConnectionError, APIStatusError, AsyncOpenAI
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception_type

from toolscale.errors import UsageError
from toolscale.models.completion import GarbledError, clean, excerpt, read_completion
from toolscale.models.expert import Message
from toolscale.models.simulated import drawn
from toolscale.records import AnswerKey, Endpoint, ExpertReply, ExpertSpec, ToolCall

FIRST_WAIT, LONGEST_WAIT = 0.5, 20.0
MOST_BYTES = 8_000_000
"""Of one reply. A longer one is not read."""

_SENT = frozenset({"accept", "accept-encoding", "connection", "content-length", "content-type", "host", "user-agent"})
"""Headers that are sent. The library would add what OPENAI_* variables of the environment say, to whatever server."""


class NoAnswerError(Exception):
    """There was no answer, or one that says to try again: what happened, and how long the server asks to wait."""

    def __init__(self, what: str, wait: float = 0.0):
        super().__init__(what)
        self.wait = wait


class _Client(httpx2.AsyncClient):
    """Sends only the headers that are ours, and reads no more than MOST_BYTES of a reply, as it came."""

    def __init__(self, key: str, timeout_s: float):
        super().__init__(timeout=timeout_s, follow_redirects=False, verify=_trusted())
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


@dataclass(frozen=True, slots=True)
class EndpointExpert:
    """Asks the endpoint of its spec. UsageError at once if the address cannot be one, or the key is not in the
    environment."""

    spec: ExpertSpec

    def __post_init__(self) -> None:
        """Fail before anything runs."""
        check_address(self.spec)
        key_of(self.spec)

    async def reply(
        self,
        messages: Sequence[Message],
        tools: Sequence[Message],
        *,
        key: AnswerKey | None,
        category: str,
        draw: str,
        made: Sequence[ToolCall],
    ) -> ExpertReply:
        """Ask the model. Its latency is measured, waiting between tries included; of `key` and `made` it learns
        nothing."""
        endpoint, secret = endpoint_of(self.spec), key_of(self.spec)
        began, failures, counted = time.monotonic(), list[str](), (0, 0)
        try:
            async with asyncio.timeout(endpoint.deadline_s), _client(endpoint, secret) as client:
                retrying = AsyncRetrying(
                    retry=retry_if_exception_type(NoAnswerError),
                    wait=lambda state: _wait(state, draw),
                    reraise=True,
                    stop=lambda state: (state.seconds_since_start or 0.0) + state.upcoming_sleep >= endpoint.deadline_s,
                )
                async for attempt in retrying:
                    with attempt:
                        answer = await _ask(client, endpoint, secret, messages, tools, failures)
            return answer.model_copy(update={"latency_s": time.monotonic() - began})
        except NoAnswerError as error:
            asked = f", and it asks to wait {error.wait:.0f} s" if error.wait else ""
            problem = f"no answer in {endpoint.deadline_s:g} s: {error}{asked}"
        except TimeoutError:
            problem = f"no answer in {endpoint.deadline_s:g} s: {failures[-1] if failures else 'it was silent'}"
        except GarbledError as error:
            problem, counted = f"its reply cannot be used: {error}", (error.input_tokens, error.output_tokens)
        except APIStatusError as error:
            problem = f"it refused ({error.status_code}: {excerpt(_said(error), secret) or 'no reason given'})"
        return ExpertReply(
            error=problem,
            input_tokens=counted[0],
            output_tokens=counted[1],
            latency_s=time.monotonic() - began,
            kind="endpoint",
        )


async def _ask(
    client: AsyncOpenAI,
    endpoint: Endpoint,
    secret: str,
    messages: Sequence[Message],
    tools: Sequence[Message],
    failures: list[str],
) -> ExpertReply:
    """Ask once. NoAnswerError if another try may succeed. What happened is added to `failures`, because the deadline
    may end the next try."""
    options: dict[str, Any] = {"tools": list(tools)} if tools else {}
    # A policy may write half a surrogate pair, which no request can hold.
    said = clean([dict(message) for message in messages], "")
    try:
        async with asyncio.timeout(endpoint.timeout_s):
            raw = await client.chat.completions.with_raw_response.create(model=endpoint.model, messages=said, **options)
        return read_completion(raw.http_response.content, secret, messages, tools)
    except APIStatusError as error:
        if error.status_code not in (408, 429) and error.status_code < 500:
            raise
        limited = "the rate limit is reached (429)" if error.status_code == 429 else f"it answered {error.status_code}"
        failure = NoAnswerError(limited, _told_to_wait(error.response.headers))
    except (TimeoutError, APIConnectionError) as error:
        failure = NoAnswerError(_lost(error, endpoint, secret))
    failures.append(str(failure))
    raise failure


async def _body(response: httpx2.Response) -> bytes:
    if response.headers.get("Content-Encoding", "identity") != "identity":
        raise GarbledError("it is compressed, which it was asked not to be")
    body = bytearray()
    async for chunk in response.aiter_raw():
        body += chunk
        if len(body) > MOST_BYTES:
            raise GarbledError(f"it is longer than {MOST_BYTES // 1_000_000} MB")
    return bytes(body)


def endpoint_of(spec: ExpertSpec) -> Endpoint:
    """Return the endpoint of an expert that has one. UsageError if it has none."""
    if spec.endpoint is None:
        raise UsageError(f"the expert {spec.name!r} has no endpoint; add one in the catalogue")
    return spec.endpoint


def check_address(spec: ExpertSpec) -> None:
    """Raise UsageError if the address cannot be asked, or holds what should stand in the environment."""
    address = endpoint_of(spec).base_url
    with suppress(ValueError):
        parts = urlsplit(address)
        if parts.username or parts.password or parts.query:  # the address is not repeated: it may hold a secret
            where = f"the base_url of the expert {spec.name!r} holds a user, a password or a query"
            raise UsageError(
                f"{where}; leave only the address there, "
                "and put the key into the environment variable that api_key_env names"
            )
        if parts.scheme in ("http", "https") and parts.hostname and (parts.port is None or parts.port):
            return
    raise UsageError(
        f"{address!r}, the base_url of the expert {spec.name!r}, is not an address; write it as https://host/v1"
    )


def key_of(spec: ExpertSpec) -> str:
    """Return the key from the environment variable that the expert names, empty if it names none. UsageError if it is
    missing or cannot be one."""
    name = endpoint_of(spec).api_key_env
    if name is None:
        return ""
    found = os.environ.get(name, "")
    if not found:
        raise UsageError(
            f"the expert {spec.name!r} needs a key, and {name} is not set; "
            f"set it to the key of {endpoint_of(spec).base_url}"
        )
    if not (found.isascii() and found.isprintable() and " " not in found):
        raise UsageError(
            f"the key in {name} has a character that no key has; set it again, without spaces and line ends"
        )
    return found


@cache
def _trusted() -> ssl.SSLContext:
    """Return the certificates that are trusted: reading them takes longer than all else before a request."""
    return httpx2.create_ssl_context()


def _client(endpoint: Endpoint, secret: str) -> AsyncOpenAI:
    """Return a client for one answer: it holds no connection beyond it, so that an expert can be asked from one event
    loop after another."""
    return AsyncOpenAI(
        api_key="sent by the client below",
        base_url=endpoint.base_url,
        max_retries=0,
        timeout=endpoint.timeout_s,
        http_client=_Client(secret, endpoint.timeout_s),
    )


def _lost(error: Exception, endpoint: Endpoint, secret: str) -> str:
    """Say what became of a request that had no answer."""
    cause = error.__cause__
    if isinstance(error, TimeoutError) or isinstance(cause, httpx2.TimeoutException):
        return f"a request had no answer after {endpoint.timeout_s:g} s"
    said = excerpt(str(cause or ""), secret).rstrip(".")
    return f"the connection failed ({said or type(cause or error).__name__})"


def _said(error: APIStatusError) -> str:
    """Return the reason that a refusal gives: its message, if it has one where OpenAI puts it."""
    body = error.body
    inner = body.get("message") if isinstance(body, dict) else None
    return inner if isinstance(inner, str) else error.response.text


def _told_to_wait(headers: httpx2.Headers) -> float:
    """Return the seconds of Retry-After, a number or a date; 0 if it says nothing that can be read."""
    told = headers.get("Retry-After", "").strip()
    if told.replace(".", "", 1).isdecimal():
        return float(told)
    with suppress(ValueError, OverflowError):
        date = parsedate_to_datetime(told)
        return max(0.0, (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp() - time.time())
    return 0.0


def _wait(state: RetryCallState, draw: str) -> float:
    """Return the seconds until the next try: at least those that the server asks for, and more with every try.

    Rollouts that were refused together come back one after the other: the wait is spread by half of it either way, by
    the rollout's draw.
    """
    error = state.outcome.exception() if state.outcome else None
    longer = float(min(LONGEST_WAIT, FIRST_WAIT * 2 ** min(state.attempt_number - 1, 10)))
    spread = 0.5 + drawn(draw, f"try {state.attempt_number}").chance
    return max(error.wait if isinstance(error, NoAnswerError) else 0.0, longer * spread)
