"""Many requests in one batch, at half the price (https://platform.openai.com/docs/guides/batch): their replies are kept
like all others, so that whoever asks afterwards finds them on disk. A run that is stopped meanwhile goes on waiting for
the same batch."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from openai import APIConnectionError, APIStatusError, AsyncOpenAI
from openai.types import Batch

from toolscale.errors import ModelUnavailableError
from toolscale.models.chat.budget import booked, most_of
from toolscale.models.chat.client import ChatClient
from toolscale.models.chat.replies import ChatReply, reply_of
from toolscale.models.chat.request import ChatRequest
from toolscale.models.completion import GarbledError, read_choice
from toolscale.models.transport import RefusedError, key_of, open_client, told_apart
from toolscale.records.dollars import dollars_of

SHARE = 0.5
"""Of the price of single requests, as OpenAI charges."""

MOST_REQUESTS = 10_000
"""Of one batch; OpenAI allows 50,000."""

MOST_BYTES = 256_000_000
"""Of the replies of one batch."""

FIRST_LOOK, LONGEST_LOOK = 2.0, 60.0
"""Seconds between two looks at a batch: longer each time."""

TRIES = 8
"""Of each look; the library waits between them, half a minute in all."""
_OVER = frozenset({"completed", "failed", "expired", "cancelled"})


async def ask_ahead(client: ChatClient, requests: Sequence[ChatRequest], first_look: float = FIRST_LOOK) -> int:
    """Have the requests answered whose replies are not on disk; return how many replies were kept.

    A request that fails within a batch is left to be asked alone, and so are all where the endpoint has no batches.
    ModelUnavailableError if the endpoint is lost meanwhile: the next run waits for the same batch. BudgetError if a
    batch might pass the cap.
    """
    endpoint, kept = client.model.endpoint, 0
    wanted = {request.key(client.name): request for request in map(client.bounded, requests)}
    secret = key_of(endpoint, f"the model {client.name!r}")
    async with open_client(endpoint, secret, most_bytes=MOST_BYTES, tries=TRIES) as openai:
        for number, asked in client.store.open_batches(endpoint.base_url):
            kept += await _collect(client, openai, number, asked, first_look)
        missing = {key: request for key, request in wanted.items() if client.store.get(key) is None}
        for part in _parts(missing):
            most = dollars_of(most_of(each, client.model.price) for each in part.values()) or 0.0
            async with client.budget.reserve(SHARE * most):
                try:
                    number = await _send(client, openai, part)
                except RefusedError as error:
                    if error.status in (404, 405, 501):
                        return kept
                    raise ModelUnavailableError(f"{endpoint.base_url}: a batch: {error}") from error
                kept += await _collect(client, openai, number, part, first_look)
    return kept


async def _send(client: ChatClient, openai: AsyncOpenAI, part: dict[str, ChatRequest]) -> str:
    """Send a batch; return its id."""
    lines = [
        json.dumps(
            {
                "custom_id": key,
                "method": "POST",
                "url": "/v1/chat/completions",
                "body": {"model": client.name, **client.dialect.body(request)},
            }
        )
        for key, request in part.items()
    ]
    content = "\n".join(lines).encode("utf-8", "replace")
    with _waited_for(client):
        file = await openai.files.create(file=("requests.jsonl", content), purpose="batch")
        batch = await openai.batches.create(
            input_file_id=file.id, endpoint="/v1/chat/completions", completion_window="24h"
        )
    client.store.open_batch(batch.id, client.model.endpoint.base_url, part)
    return batch.id


async def _collect(
    client: ChatClient, openai: AsyncOpenAI, number: str, part: dict[str, ChatRequest], first_look: float
) -> int:
    """Wait until a batch is over, and keep its replies; return how many there are."""
    look = first_look
    while True:
        with _waited_for(client):
            batch: Batch = await openai.batches.retrieve(number)
        if batch.status in _OVER:
            break
        await asyncio.sleep(look)
        look = min(LONGEST_LOOK, look * 1.5)
    kept = 0
    if batch.output_file_id:
        with _waited_for(client):
            answered = await openai.files.content(batch.output_file_id)
        for key, reply, dollars in _replies(client, answered.content, part):
            client.budget.spend(dollars)
            client.line_of(part[key]).pay(dollars)
            if reply is not None:
                client.store.put(key, part[key], reply)
                kept += 1
    client.store.close_batch(number)
    return kept


def _replies(
    client: ChatClient, body: bytes, part: dict[str, ChatRequest]
) -> Iterator[tuple[str, ChatReply | None, float | None]]:
    """Yield what was answered in a batch, and the dollars for it: None is what cannot be used, and is asked again alone
    like all that failed."""
    secret, price = key_of(client.model.endpoint, f"the model {client.name!r}"), client.model.price
    for line in body.decode("utf-8", "replace").splitlines():
        try:
            found: Any = json.loads(line)
            key, response = found["custom_id"], found["response"]
            request, told = part[key], json.dumps(response["body"]).encode()
            if response["status_code"] != 200:
                continue
        except (ValueError, KeyError, TypeError, RecursionError):
            continue
        try:
            reply = reply_of(read_choice(told, secret, bool(request.tools)), request, price, share=SHARE)
        except GarbledError as error:
            dollars = booked(request, error.input_tokens, error.output_tokens, price)
            yield key, None, None if dollars is None else SHARE * dollars
        else:
            yield key, reply, reply.dollars


def _parts(requests: dict[str, ChatRequest]) -> Iterator[dict[str, ChatRequest]]:
    items = list(requests.items())
    for begin in range(0, len(items), MOST_REQUESTS):
        yield dict(items[begin : begin + MOST_REQUESTS])


@contextmanager
def _waited_for(client: ChatClient) -> Iterator[None]:
    """Turn what the endpoint says, after all tries of its library, into errors of ours: RefusedError or
    ModelUnavailableError."""
    endpoint = client.model.endpoint
    try:
        yield
    except (APIConnectionError, APIStatusError) as error:
        told = told_apart(error, endpoint, key_of(endpoint, f"the model {client.name!r}"))
        if isinstance(told, RefusedError):
            raise told from error
        raise ModelUnavailableError(
            f"{endpoint.base_url}: a batch: {told}; run it again later: the batch is waited for"
        ) from error
