"""The tool `web_search`: a search engine with the interface of Tavily, POST {base_url}/search with a bearer key,
bounded in time and size.

Answer: {"results": [{"title", "url", "content"}, ...]}. What the engine sends is untrusted: what is not text is left
out, control characters go, and an excerpt is cut. The key is read from the environment when the tool is opened; it is
in no message, and no redirect is followed with it.
"""

from __future__ import annotations

import asyncio
import json
import os
import ssl
import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import httpx2
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception_type, stop_after_attempt

from toolscale.basic_tools.base import BasicResult, one_text, one_text_function, refused
from toolscale.basic_tools.settings import WebSearchSettings
from toolscale.errors import UsageError

BUSY = frozenset({408, 429, 500, 502, 503, 504})
LOCAL = frozenset({"localhost", "127.0.0.1", "::1"})
FIRST_WAIT, LONGEST_WAIT = 0.5, 10.0
TITLE_CHARS, URL_CHARS = 200, 300


class BusyError(Exception):
    """The engine may answer the same question later: what happened, and how long it asks to wait."""

    def __init__(self, what: str, wait: float = 0.0):
        super().__init__(what)
        self.wait = wait


class NoAnswerError(Exception):
    """The engine's answer cannot be used, and asking again would not help."""


class WebSearch:
    """Search on the web. It holds no connection between calls, so it serves any event loop."""

    name = "web_search"
    description = "Searches the web and returns the pages that fit best: title, address, and an excerpt."

    def __init__(self, settings: WebSearchSettings):
        """Take the key from the environment. Raises UsageError if there is none, or if the address cannot be one."""
        self._settings = settings
        self._url = _checked_address(settings.base_url) + "/search"
        self._key = os.environ.get(settings.api_key_env, "").strip()
        if not (self._key and self._key.isascii() and self._key.isprintable() and " " not in self._key):
            state = "has a character that no key has" if self._key else "is not set"
            raise UsageError(
                f"web_search: the environment variable {settings.api_key_env} {state}; "
                f"set it to the key of {settings.base_url}"
            )
        self._tls: ssl.SSLContext | bool = httpx2.create_ssl_context() if self._url.startswith("https:") else True

    def function(self) -> dict[str, Any]:
        """Return the tool as an OpenAI function."""
        return one_text_function(self.name, self.description, "query", "What to search for.")

    async def call(self, arguments: Mapping[str, Any]) -> BasicResult:
        """Search for `query`. An engine that fails is told in the result, and costs nothing."""
        query, problem = one_text(arguments, "query", self._settings.query_chars)
        if problem:
            return refused(problem)
        started = time.perf_counter()
        error = None
        try:
            async with asyncio.timeout(self._settings.deadline_s):
                content = self._worded(await self._asked(query))
        except TimeoutError:
            error = f"the search engine did not answer within {self._settings.deadline_s:g} seconds"
        except (BusyError, NoAnswerError) as failure:
            error = str(failure)
        taken = time.perf_counter() - started
        latency = taken if self._settings.latency_per_call is None else self._settings.latency_per_call
        if error:
            return BasicResult(f"Error: {error}", error, 0.0, latency)
        return BasicResult(content, None, self._settings.price_per_call, latency)

    async def _asked(self, query: str) -> list[Any]:
        """Return the results, asking again while the engine is busy."""
        attempts = AsyncRetrying(
            retry=retry_if_exception_type(BusyError),
            stop=stop_after_attempt(self._settings.attempts),
            wait=_wait,
            reraise=True,
        )
        body: bytes = await attempts(self._ask_once, query)
        try:
            results = json.loads(body)["results"]
        except (ValueError, KeyError, TypeError, RecursionError):
            results = None
        if not isinstance(results, list):
            raise NoAnswerError("the search engine sent something that is not a list of results")
        return results

    async def _ask_once(self, query: str) -> bytes:
        headers = {"Authorization": f"Bearer {self._key}", "Accept-Encoding": "identity"}
        whole = query.encode(errors="replace").decode()  # half a character (a lone surrogate) cannot be sent
        request = {"query": whole, "max_results": self._settings.results}
        try:
            # trust_env=False: a .netrc would put another password in the place of the key.
            async with (
                httpx2.AsyncClient(
                    verify=self._tls, timeout=self._settings.timeout_s, follow_redirects=False, trust_env=False
                ) as client,
                client.stream("POST", self._url, json=request, headers=headers) as response,
            ):
                if response.status_code in BUSY:
                    told = response.headers.get("Retry-After", "").strip()
                    raise BusyError(
                        f"the search engine is busy: it answered {response.status_code}",
                        float(told) if told.isdecimal() else 0.0,
                    )
                if response.status_code != 200:
                    raise NoAnswerError(f"the search engine refused the search: it answered {response.status_code}")
                body = b""
                async for part in response.aiter_raw():
                    body += part
                    if len(body) > self._settings.body_bytes:
                        raise NoAnswerError(f"the search engine sent more than {self._settings.body_bytes:,} bytes")
                return body
        except httpx2.TransportError as error:
            raise BusyError(f"the search engine was not reached ({type(error).__name__})") from error
        except httpx2.HTTPError as error:
            raise NoAnswerError(f"the search engine's answer cannot be read ({type(error).__name__})") from error

    def _worded(self, results: list[Any]) -> str:
        shown: list[str] = []
        for result in results[: self._settings.results]:
            if not isinstance(result, dict) or not isinstance(result.get("content"), str):
                continue
            title, url, content = (
                _clean(result.get(key), most)
                for key, most in (
                    ("title", TITLE_CHARS),
                    ("url", URL_CHARS),
                    ("content", self._settings.excerpt_chars),
                )
            )
            shown.append(f"[{len(shown) + 1}] {title} ({url})\n{content}")
        return "\n\n".join(shown) or "(Nothing was found. Try other words.)"


def _checked_address(address: str) -> str:
    """Return an address without the last slash; a key travels over TLS only, except to this machine. Raises
    UsageError."""
    try:
        parts = urlsplit(address)
        httpx2.URL(address)
        host = parts.hostname
        is_right = (
            bool(host) and not (parts.query or parts.fragment or parts.username or parts.password) and parts.port != 0
        )
    except (ValueError, httpx2.InvalidURL):
        is_right, host = False, None
    if not is_right or parts.scheme not in ("http", "https") or not address.isprintable() or " " in address:
        raise UsageError(
            f"web_search: base_url {address!r} is not an address; write https://host, with a path if there is one"
        )
    if parts.scheme == "http" and host not in LOCAL:
        raise UsageError(f"web_search: base_url {address!r} would send the key without encryption; write https://")
    return address.rstrip("/")


def _clean(value: Any, most: int) -> str:
    """Return a text in one line, without control characters, cut."""
    if not isinstance(value, str):
        return ""
    clean = " ".join("".join(letter if letter.isprintable() else " " for letter in value[: 8 * most]).split())
    return clean if len(clean) <= most else clean[:most].rstrip() + " …"


def _wait(state: RetryCallState) -> float:
    """Return the seconds until the next try: more with every try, and at least what the engine asks for."""
    busy = state.outcome.exception() if state.outcome else None
    asked = busy.wait if isinstance(busy, BusyError) else 0.0
    return max(asked, float(min(LONGEST_WAIT, FIRST_WAIT * 2 ** (state.attempt_number - 1))))
