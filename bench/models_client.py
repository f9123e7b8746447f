"""How much of the ideal throughput the client of chat models reaches: requests that take 300 ms each, so many at once.

The server is a process of its own, and answers without work. What our side adds is work of the processor: on a machine
that is twice as slow, it is twice as much.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from toolscale.models.chat import ChatClient, ChatModel, ChatRequest, ReplyStore
from toolscale.records import Endpoint

AT_ONCE = 64
SECONDS = 0.3
ROUNDS = 10
SHARE = 0.85
"""Promised."""

_BODY = json.dumps(
    {"choices": [{"message": {"role": "assistant", "content": "yes"}, "finish_reason": "stop"}]}
).encode()


def share_of_ideal(seconds: float, slow: float) -> float:
    """Return the share of the ideal throughput that a machine reaches which is `slow` times as fast."""
    ideal = ROUNDS * SECONDS
    return ideal / (ideal + (seconds - ideal) / slow)


def measure_client() -> float:
    """Return the seconds that ROUNDS * AT_ONCE requests take."""
    with subprocess.Popen([sys.executable, "-m", "bench.models_client"], stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        address = f"http://127.0.0.1:{int(server.stdout.readline())}/v1"
        try:
            return asyncio.run(_seconds(address))
        finally:
            server.terminate()


async def _seconds(address: str) -> float:
    with (
        tempfile.TemporaryDirectory(prefix="toolscale-bench-") as folder,
        ReplyStore(Path(folder) / "replies") as store,
    ):
        async with ChatClient(ChatModel(Endpoint(base_url=address, model="m"), at_once=AT_ONCE), store) as client:
            await _ask(client, "warm up", AT_ONCE)
            start = time.perf_counter()
            await _ask(client, "measured", ROUNDS * AT_ONCE)
            return time.perf_counter() - start


async def _ask(client: ChatClient, what: str, count: int) -> None:
    messages = [({"role": "user", "content": f"{what} {number}: is it so?"},) for number in range(count)]
    await asyncio.gather(*(client.ask(ChatRequest("bench", each)) for each in messages))


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(_BODY)}\r\n\r\n".encode()
    while asked := await reader.readuntil(b"\r\n\r\n"):
        length = next(
            line.split(b":")[1] for line in asked.split(b"\r\n") if line.lower().startswith(b"content-length")
        )
        await reader.readexactly(int(length))
        await asyncio.sleep(SECONDS)
        writer.write(head + _BODY)
        await writer.drain()


async def _serve() -> None:
    async def until_closed(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await _answer(reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(until_closed, "127.0.0.1", 0, backlog=2 * AT_ONCE)
    print(server.sockets[0].getsockname()[1], flush=True)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(_serve())
