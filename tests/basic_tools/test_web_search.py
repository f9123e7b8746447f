"""Search on the web, against an HTTP server of the test's own that behaves well, slowly, or badly."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from toolscale.basic_tools import BasicResult, BasicToolSettings, WebSearch, WebSearchSettings, open_basic_tools
from toolscale.errors import UsageError

KEY = "tvly-secret"
GOOD = {
    "results": [
        {
            "title": "Lund\n harbour",
            "url": "https://lund.example/ferry",
            "content": "The ferry\u001b[31m leaves at 22:40.",
        },
        {"title": 5, "content": "No title."},
        {"title": "no content"},
        "nonsense",
    ]
}
SHOWN = "[1] Lund harbour (https://lund.example/ferry)\nThe ferry [31m leaves at 22:40.\n\n[2]  ()\nNo title."


class Engine(ThreadingHTTPServer):
    """Answers in the order of `planned`: (status, body, headers); the last one again and again. `seen` has the
    requests."""

    daemon_threads = True

    def __init__(self) -> None:
        self.planned: list[tuple[int, bytes, dict[str, str]]] = [(200, json.dumps(GOOD).encode(), {})]
        self.seen: list[tuple[str, str | None, Any]] = []
        self.held = threading.Event()
        self.holds = False
        super().__init__(("127.0.0.1", 0), Handler)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    server: Engine

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.seen.append((self.path, self.headers["Authorization"], json.loads(body)))
        if self.server.holds:
            self.server.held.wait(20)
        status, answer, headers = self.server.planned.pop(0) if len(self.server.planned) > 1 else self.server.planned[0]
        self.send_response(status)
        for name, value in {"Content-Length": str(len(answer)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        try:
            self.wfile.write(answer)
        except OSError:  # the client has read enough
            self.close_connection = True

    def log_message(self, *_arguments: Any) -> None:
        pass


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    monkeypatch.setenv("TAVILY_API_KEY", KEY)
    monkeypatch.setattr("toolscale.basic_tools.web_search.FIRST_WAIT", 0.01)
    server = Engine()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.held.set()
    server.shutdown()
    thread.join()
    server.server_close()


def ask(engine: Engine, query: str = "last ferry", **changed: Any) -> BasicResult:
    settings = WebSearchSettings(base_url=engine.address, latency_per_call=2.0, **changed)
    return asyncio.run(WebSearch(settings).call({"query": query}))


def test_what_the_model_reads(engine: Engine) -> None:
    assert ask(engine, results=3) == BasicResult(SHOWN, None, 0.01, 2.0)
    assert engine.seen == [("/search", f"Bearer {KEY}", {"query": "last ferry", "max_results": 3})]


def test_a_busy_engine_is_asked_again(engine: Engine) -> None:
    engine.planned = [(429, b"", {"Retry-After": "0"}), (503, b"", {}), *engine.planned]
    assert ask(engine) == BasicResult(SHOWN, None, 0.01, 2.0)
    assert len(engine.seen) == 3


BAD = {
    "busy for ever": ([(429, b"", {})], "the search engine is busy: it answered 429"),
    "a wrong key": ([(401, b"", {})], "the search engine refused the search: it answered 401"),
    "a redirect": (
        [(302, b"", {"Location": "http://127.0.0.1:1/"})],
        "the search engine refused the search: it answered 302",
    ),
    "no JSON": ([(200, b"<html>", {})], "the search engine sent something that is not a list of results"),
    "no UTF-8": ([(200, b"\xff\xfe\xff", {})], "the search engine sent something that is not a list of results"),
    "nested without end": (
        [(200, b"[" * 100_000, {})],
        "the search engine sent something that is not a list of results",
    ),
    "a list": ([(200, b"[]", {})], "the search engine sent something that is not a list of results"),
    "no list of results": (
        [(200, b'{"results": {}}', {})],
        "the search engine sent something that is not a list of results",
    ),
    "too long": ([(200, b" " * 200_000, {})], "the search engine sent more than 100,000 bytes"),
    "cut short": ([(200, b"{", {"Content-Length": "9"})], "the search engine was not reached (RemoteProtocolError)"),
}


@pytest.mark.parametrize(("planned", "error"), BAD.values(), ids=BAD)
def test_an_engine_that_fails(engine: Engine, planned: list[tuple[int, bytes, dict[str, str]]], error: str) -> None:
    engine.planned = planned
    assert ask(engine, attempts=2, body_bytes=100_000) == BasicResult(f"Error: {error}", error, 0.0, 2.0)


@pytest.mark.parametrize(
    ("limits", "error"),
    [
        ({"deadline_s": 0.3}, "the search engine did not answer within 0.3 seconds"),
        ({"timeout_s": 0.2, "attempts": 1}, "the search engine was not reached (ReadTimeout)"),
    ],
)
def test_an_engine_that_says_nothing(engine: Engine, limits: dict[str, Any], error: str) -> None:
    engine.holds = True
    assert ask(engine, **limits) == BasicResult(f"Error: {error}", error, 0.0, 2.0)


def test_an_engine_that_is_not_there(engine: Engine) -> None:
    settings = WebSearchSettings(base_url="http://127.0.0.1:9", attempts=2, latency_per_call=2.0)
    error = "the search engine was not reached (ConnectError)"
    assert asyncio.run(WebSearch(settings).call({"query": "x"})) == BasicResult(f"Error: {error}", error, 0.0, 2.0)


def test_half_a_character_is_sent_as_a_question_mark(engine: Engine) -> None:
    assert ask(engine, "ferry \ud800").error is None
    assert engine.seen == [("/search", f"Bearer {KEY}", {"query": "ferry ?", "max_results": 5})]


def test_a_query_that_is_none_is_not_sent(engine: Engine) -> None:
    why = "`query` has 401 characters; at most 400 are taken"
    assert ask(engine, "x" * 401) == BasicResult(f"Error: {why}", why, 0.0, 0.0)
    assert engine.seen == []


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("api.tavily.com", "is not an address; write https://host, with a path if there is one"),
        ("ftp://host", "is not an address"),
        ("https://ho st", "is not an address"),
        ("https://host\x00", "is not an address"),
        ("https://host:x", "is not an address"),
        ("https://user:word@host", "is not an address"),
        ("https://host/?key=1", "is not an address"),
        ("http://host", "would send the key without encryption; write https://"),
    ],
)
def test_addresses(monkeypatch: pytest.MonkeyPatch, address: str, why: str) -> None:
    monkeypatch.setenv("TAVILY_API_KEY", KEY)
    with pytest.raises(UsageError, match=why):
        WebSearch(WebSearchSettings(base_url=address))


@pytest.mark.parametrize(
    ("key", "why"),
    [
        ("", "is not set"),
        ("two words", "has a character that no key has"),
        ("né", "has a character that no key has"),
    ],
)
def test_a_key_that_is_none(monkeypatch: pytest.MonkeyPatch, key: str, why: str) -> None:
    monkeypatch.setenv("TAVILY_API_KEY", key)
    with pytest.raises(UsageError) as caught:
        WebSearch(WebSearchSettings())
    assert (
        str(caught.value)
        == f"web_search: the environment variable TAVILY_API_KEY {why}; set it to the key of https://api.tavily.com"
    )


def test_opening_what_is_asked_for(engine: Engine, monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    (tmp_path / "a.txt").write_text("one")
    settings = BasicToolSettings.model_validate(
        {"local_search": {"corpus": str(tmp_path)}, "web_search": {"base_url": engine.address}}
    )
    with open_basic_tools(settings) as tools:
        assert list(tools) == ["python", "local_search", "web_search"]
        assert [tool.function()["function"]["parameters"]["required"] for tool in tools.values()] == [
            ["code"],
            ["query"],
            ["query"],
        ]
        assert asyncio.run(tools["python"].call({"code": "print(6 * 7)"})).content == "42"
    monkeypatch.delenv("TAVILY_API_KEY")
    with open_basic_tools(settings.model_copy(update={"python": None})) as tools:
        assert list(tools) == ["local_search"]
