"""Many requests in one batch at half the price: their replies are found on disk by whoever asks afterwards."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from toolscale.errors import BudgetError, ModelUnavailableError
from toolscale.limits import RunLimits
from toolscale.models.chat import Budget, ChatClient, ChatModel, ChatReply, ChatRequest, ReplyStore
from toolscale.models.chat.batches import SHARE, ask_ahead
from toolscale.models.chat.budget import most_of
from toolscale.records import Endpoint, Price


@dataclass
class BatchServer:
    """The files, batches and chat completions of OpenAI's interface, as far as a batch needs them. Each reply is the
    request in capitals; what holds `bad` fails within a batch, and what holds `torn` comes back as nothing that can be
    read."""

    base_url: str = ""
    looks: int = 2
    """How often a batch is looked at until it is over."""
    down: bool = False
    has_batches: bool = True
    files: dict[str, bytes] = field(default_factory=dict)
    batches: dict[str, dict[str, Any]] = field(default_factory=dict)
    alone: int = 0

    def answer(self, method: str, path: str, body: bytes) -> tuple[int, bytes]:
        if self.down:
            return 503, b"{}"
        if path == "/chat/completions":
            self.alone += 1
            return 200, json.dumps(self.completion(json.loads(body))).encode()
        if not self.has_batches:
            return 404, b'{"error": {"message": "no such path"}}'
        if (method, path) == ("POST", "/files"):
            lines = re.search(rb"\r\n\r\n(\{.*\})\r\n", body, re.DOTALL)
            assert lines and b'name="purpose"' in body
            name = f"file-{len(self.files)}"
            self.files[name] = lines[1]
            return 200, json.dumps(self.file(name)).encode()
        if (method, path) == ("POST", "/batches"):
            asked = json.loads(body)
            assert (asked["endpoint"], asked["completion_window"]) == ("/v1/chat/completions", "24h")
            name = f"batch_{len(self.batches)}"
            self.batches[name] = {"input": asked["input_file_id"], "looks": 0}
            return 200, json.dumps(self.batch(name)).encode()
        if found := re.fullmatch(r"/batches/(\w+)", path):
            self.batches[found[1]]["looks"] += 1
            return 200, json.dumps(self.batch(found[1])).encode()
        if found := re.fullmatch(r"/files/([\w-]+)/content", path):
            return 200, self.files[found[1]]
        return 404, b"{}"

    def batch(self, name: str) -> dict[str, Any]:
        batch, over = self.batches[name], self.batches[name]["looks"] >= self.looks
        if over and "output" not in batch:
            lines = [self.line(json.loads(line)) for line in self.files[batch["input"]].splitlines()]
            batch["output"] = f"file-{len(self.files)}"
            self.files[batch["output"]] = "\n".join([*lines, "not JSON", '{"custom_id": "unknown"}']).encode()
        return {
            "id": name, "object": "batch", "endpoint": "/v1/chat/completions", "input_file_id": batch["input"],
            "completion_window": "24h", "created_at": 0, "status": "completed" if over else "in_progress",
            "output_file_id": batch.get("output"),
        }  # fmt: skip

    def line(self, asked: dict[str, Any]) -> str:
        text = asked["body"]["messages"][-1]["content"]
        bad, torn = "bad" in text, "torn" in text
        response = {"status_code": 500 if bad else 200, "body": {} if bad or torn else self.completion(asked["body"])}
        return json.dumps({"id": "x", "custom_id": asked["custom_id"], "response": response, "error": None})

    def completion(self, body: dict[str, Any]) -> dict[str, Any]:
        assert body["model"] == "m"
        message = {"role": "assistant", "content": body["messages"][-1]["content"].upper()}
        return {"choices": [{"message": message}], "usage": {"prompt_tokens": 100, "completion_tokens": 10}}

    def file(self, name: str) -> dict[str, Any]:
        about = {"bytes": 1, "created_at": 0, "filename": "f", "purpose": "batch", "status": "processed"}
        return {"id": name, "object": "file", **about}


@contextmanager
def batch_server(**options: Any) -> Iterator[BatchServer]:
    state = BatchServer(**options)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._give(*state.answer("GET", self.path.removeprefix("/v1"), b""))

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            self._give(*state.answer("POST", self.path.removeprefix("/v1"), body))

        def _give(self, status: int, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    state.base_url = f"http://127.0.0.1:{server.server_port}/v1"
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def request(text: str) -> ChatRequest:
    return ChatRequest("pets", ({"role": "user", "content": text},), max_tokens=10)


def ahead(
    server: BatchServer, path: Path, texts: list[str], most: float | None = None
) -> tuple[int, list[ChatReply], ChatClient]:
    """Have requests answered ahead, then ask each."""

    async def work() -> tuple[int, list[ChatReply], ChatClient]:
        endpoint = Endpoint(base_url=server.base_url, model="m", timeout_s=5, deadline_s=20)
        with ReplyStore(path) as store:
            async with ChatClient(
                ChatModel(endpoint, Price(input=10, output=100)), store, Budget(RunLimits(max_cost=most))
            ) as client:
                kept = await ask_ahead(client, [request(text) for text in texts], first_look=0.01)
                return kept, [await client.ask(request(text)) for text in texts], client

    return asyncio.run(work())


def test_a_batch_is_answered_at_half_the_price_and_what_failed_in_it_is_asked_alone(tmp_path: Path) -> None:
    with batch_server() as server:
        kept, replies, client = ahead(server, tmp_path / "replies", ["one", "bad", "three"])
        assert (kept, [reply.content for reply in replies]) == (2, ["ONE", "BAD", "THREE"])
        assert [reply.dollars for reply in replies] == [0.001, 0.002, 0.001] and server.alone == 1
        assert client.budget.spent == client.ledger.total().paid_usd == pytest.approx(0.004)
        kept, again, client = ahead(server, tmp_path / "replies", ["one", "bad", "three"])
        assert (kept, again, client.budget.spent) == (0, replies, 0.0) and len(server.batches) == 1


def test_what_comes_back_of_a_batch_and_cannot_be_read_is_booked_and_asked_alone(tmp_path: Path) -> None:
    with batch_server() as server:
        kept, replies, client = ahead(server, tmp_path / "replies", ["one", "torn"])
        assert (kept, [reply.content for reply in replies], server.alone) == (1, ["ONE", "TORN"], 1)
        lost = SHARE * most_of(request("torn"), client.model.price)
        assert client.budget.spent == client.ledger.total().paid_usd == pytest.approx(0.001 + lost + 0.002)


def test_an_endpoint_without_batches_is_asked_one_by_one(tmp_path: Path) -> None:
    with batch_server(has_batches=False) as server:
        kept, replies, _ = ahead(server, tmp_path / "replies", ["one", "two"])
        assert (kept, [reply.content for reply in replies], server.alone) == (0, ["ONE", "TWO"], 2)


def test_a_run_that_was_stopped_goes_on_waiting_for_the_same_batch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("toolscale.models.chat.batches.TRIES", 2)
    with batch_server(looks=10_000) as server:

        async def stopped() -> None:
            endpoint = Endpoint(base_url=server.base_url, model="m", timeout_s=5, deadline_s=20)
            with ReplyStore(tmp_path / "replies") as store:
                async with ChatClient(ChatModel(endpoint), store) as client:
                    waiting = asyncio.create_task(ask_ahead(client, [request("one")], first_look=0.01))
                    while not server.batches or not server.batches["batch_0"]["looks"]:
                        await asyncio.sleep(0.01)
                    server.down = True
                    await waiting

        with pytest.raises(ModelUnavailableError, match="it answered 503; run it again later: the batch is waited for"):
            asyncio.run(stopped())
        server.down, server.looks = False, 0
        kept, replies, _ = ahead(server, tmp_path / "replies", ["one"])
        assert (kept, [reply.content for reply in replies], server.alone, len(server.batches)) == (1, ["ONE"], 0, 1)


def test_a_batch_that_might_pass_the_cap_is_not_sent(tmp_path: Path) -> None:
    with batch_server() as server:
        with pytest.raises(BudgetError, match=r"the next request may cost \$0\.00"):
            ahead(server, tmp_path / "replies", ["one", "two"], most=0.001)
        assert server.files == {}
