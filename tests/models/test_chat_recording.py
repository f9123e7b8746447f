"""The replies of a run as a file, and a server that gives them again."""

from __future__ import annotations

import asyncio
import gzip
from pathlib import Path
from typing import Any

import pytest
from chat_server import chat_server, said
from served_recording import served

from toolscale.errors import UsageError
from toolscale.models.chat import ChatClient, ChatModel, ChatReply, ChatRequest, ReplyStore
from toolscale.models.chat.recording import Recorded, read_recording, recording_server, write_recording
from toolscale.records import Endpoint

REQUESTS = [
    ChatRequest("pets", ({"role": "user", "content": "Name a pet."},)),
    ChatRequest("pets", ({"role": "user", "content": "Name a pet."},), sample=1),
    ChatRequest("pets", ({"role": "user", "content": "Ein Tier, bitte: ä, 🐕"},)),
]


def ask(address: str, path: Path, requests: list[ChatRequest]) -> tuple[list[ChatReply], ChatClient]:
    async def work() -> tuple[list[ChatReply], ChatClient]:
        model = ChatModel(Endpoint(base_url=address, model="m", timeout_s=5, deadline_s=20))
        with ReplyStore(path) as store:
            async with ChatClient(model, store) as client:
                return [await client.ask(each) for each in requests], client

    return asyncio.run(work())


def record(tmp_path: Path) -> tuple[Path, list[ChatReply]]:
    """Record three replies."""
    numbers = iter(range(100))
    with chat_server(reply=lambda body: said(f"Rex {next(numbers)}")) as server:
        replies, client = ask(server.base_url, tmp_path / "replies", REQUESTS)
    path = tmp_path / "run.jsonl.gz"
    with ReplyStore(tmp_path / "replies") as store:
        assert write_recording(path, store, client.used, "m") == 3
    return path, replies


def without_time(reply: ChatReply) -> dict[str, Any]:
    return {name: getattr(reply, name) for name in ("content", "input_tokens", "output_tokens", "refusal", "uncounted")}


def test_a_recording_gives_the_same_replies_and_records_to_the_same_bytes(tmp_path: Path) -> None:
    path, replies = record(tmp_path)
    with served(path) as address:
        again, client = ask(address, tmp_path / "other", REQUESTS)
    assert [without_time(reply) for reply in again] == [without_time(reply) for reply in replies]
    assert [reply.content for reply in again] == ["Rex 0", "Rex 1", "Rex 2"]
    with ReplyStore(tmp_path / "other") as store:
        write_recording(tmp_path / "again.jsonl.gz", store, client.used, "m")
    assert gzip.decompress((tmp_path / "again.jsonl.gz").read_bytes()) == gzip.decompress(path.read_bytes())


def test_a_reply_that_cannot_be_read_is_recorded_as_it_came(tmp_path: Path) -> None:
    torn = ChatRequest("pets", ({"role": "user", "content": "Find a pet."},), tools=({"function": {"name": "find"}},))
    with chat_server(said("<think>I call", [{"id": "c", "function": None}])) as server:
        (first,), client = ask(server.base_url, tmp_path / "replies", [torn])
    with ReplyStore(tmp_path / "replies") as store:
        write_recording(tmp_path / "run.jsonl.gz", store, client.used, "m")
    with served(tmp_path / "run.jsonl.gz") as address:
        (again,), _ = ask(address, tmp_path / "other", [torn])
    assert first.problem.startswith("its thoughts have no end")
    assert (again.problem, again.message, again.content) == (first.problem, first.message, first.content)


def test_what_was_asked_in_other_words_gets_the_nearest_reply_that_is_left() -> None:
    """So a recording outlives a change of the prompts. The same question has the same answer again."""

    def line(text: str, content: str) -> dict[str, Any]:
        return {"messages": [{"role": "user", "content": text}], "sample": 0, "content": content}

    def asked(text: str) -> str | None:
        found = recorded.reply([{"role": "user", "content": text}], 0)
        return found["content"] if found else None

    lines = {"a": line("Write\nthe schema\nof a bank", "schema"), "b": line("Write\nthe tools\nof a bank", "tools")}
    recorded = Recorded(lines, nearest=True)
    assert [asked("Please write\nthe tools\nof a bank"), asked("Write\nall tools\nof a bank")] == ["tools", "schema"]
    assert asked("Please write\nthe tools\nof a bank") == "tools" and asked("the schema") is None


def test_what_is_not_recorded_is_refused_in_one_line(tmp_path: Path) -> None:
    path, _ = record(tmp_path)
    with served(path) as address, pytest.raises(UsageError, match=r"404: no reply to this conversation is recorded"):
        ask(address, tmp_path / "other", [ChatRequest("pets", ({"role": "user", "content": "Name two."},))])


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"text",
        gzip.compress(b"x" * 99)[:-4],
        gzip.compress(b"text\n"),
        gzip.compress(b'{"messages": []}\n'),
        gzip.compress(b"\xff\n"),
    ],
    ids=["empty", "plain text", "cut short", "no JSON", "no reply", "no UTF-8"],
)
def test_a_file_that_is_no_recording_is_one_line(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "run.jsonl.gz"
    path.write_bytes(content)
    with pytest.raises(
        UsageError, match=r"run\.jsonl\.gz is no recording of replies .*; name the file that was recorded"
    ):
        read_recording(path)


def test_a_port_that_is_taken_is_one_line() -> None:
    with chat_server(said("Rex")) as server, pytest.raises(UsageError, match=r"cannot be had .*; choose another"):
        recording_server({}, "127.0.0.1", int(server.base_url.split(":")[2].removesuffix("/v1")))
