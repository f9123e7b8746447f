"""An expert behind an OpenAI-compatible server, asked through the client of all models (`chat`).

Whatever happens is a reply, with an `error` if there is no answer, so that a rollout records it and goes on. What may
be paid for has its tokens all the same, and where nobody counted them as many as there can be.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from toolscale.canonical import content_hash
from toolscale.errors import ModelUnavailableError, UnusableReplyError, UsageError
from toolscale.models import transport
from toolscale.models.chat.client import ChatClient, Lost
from toolscale.models.chat.replies import UNKEPT, ChatReply, ReplyStore
from toolscale.models.chat.request import ChatRequest, Dialect
from toolscale.models.chat.settings import ChatModel
from toolscale.models.completion import GarbledError, clean
from toolscale.models.expert import Message
from toolscale.models.transport import NoAnswerError
from toolscale.records import AnswerKey, Endpoint, ExpertReply, ExpertSpec, ToolCall

MOST_TOKENS = 16_384
"""Of one reply of an expert, with what it thinks: what a reply can cost must be known before it is asked for."""

NOTHING = ChatReply("", 0, 0, None, 0.0)


@dataclass
class EndpointExpert:
    """Asks the endpoint of its spec: with the client of a purse, which keeps and pays the replies (one sample of a task
    asks the same question once), or else with one of its own for each question, until its deadline. UsageError at once
    if the address cannot be one, or the key is not in the environment."""

    spec: ExpertSpec
    client: ChatClient | None = field(default=None, repr=False, compare=False)
    _dialect: Dialect = field(default_factory=Dialect, repr=False, compare=False)
    """What the server understands, as far as it was seen to refuse."""

    def __post_init__(self) -> None:
        """Fail before anything runs."""
        who, endpoint = f"the expert {self.spec.name!r}", endpoint_of(self.spec)
        transport.check_address(endpoint.base_url, f"the base_url of {who}")
        transport.key_of(endpoint, who)

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
        """Ask the model; of `key` and `made` it learns nothing. Its latency is measured, waiting between tries
        included, unless the reply may have been kept. BudgetError if it might pass the cap of its purse."""
        # A policy may write half a surrogate pair, which no request can hold.
        said, began = clean([dict(message) for message in messages], ""), time.monotonic()
        request = ChatRequest(f"expert {self.spec.name}", tuple(said), tools=tuple(tools), max_tokens=MOST_TOKENS)
        if self.client is not None:
            request = replace(request, sample=int(content_hash(draw)[:8], 16) >> 1)  # 31 bits, as servers take a seed
            reply = await self._asked(self.client, request)
            return reply if reply.latency_s else _timed(reply, began)
        endpoint = endpoint_of(self.spec)
        # The client holds no connection beyond one answer: an expert is asked from one event loop after another.
        with ReplyStore(UNKEPT) as store:
            model = ChatModel(endpoint, self.spec.price)
            client = ChatClient(model, store, dialect=self._dialect, draw=draw, garbled=1, grace_s=0.0)
            try:
                async with asyncio.timeout(endpoint.deadline_s), client:
                    reply = await self._asked(client, request)
            except TimeoutError:
                lost = client.lost_on(request)
                problem = f"no answer in {endpoint.deadline_s:g} s: {lost.failure or 'it was silent'}"
                reply = expert_reply(NOTHING, lost, problem)
        self._dialect = client.dialect
        return _timed(reply, began)

    async def _asked(self, client: ChatClient, request: ChatRequest) -> ExpertReply:
        """Return what came of a question, with the tokens of all tries; a reply has its own seconds."""
        found, problem = NOTHING, None
        try:
            found = await client.ask(request)
            problem = f"its reply cannot be used: {found.problem}" if found.problem else None
        except (ModelUnavailableError, UnusableReplyError, UsageError) as error:
            problem = _told(error, endpoint_of(self.spec))
        return expert_reply(found, client.lost_on(request), problem)


def expert_reply(found: ChatReply, lost: Lost, problem: str | None) -> ExpertReply:
    """Return a reply of an expert, with the tokens of the tries that came to nothing; `problem`: why it is none."""
    return ExpertReply(
        content=None if problem else found.content or found.refusal or None,
        tool_calls=found.tool_calls,
        input_tokens=lost.input_tokens + found.input_tokens,
        output_tokens=lost.output_tokens + found.output_tokens,
        latency_s=found.seconds,
        error=problem,
        kind="endpoint",
    )


def endpoint_of(spec: ExpertSpec) -> Endpoint:
    """Return the endpoint of an expert that has one. UsageError if it has none."""
    if spec.endpoint is None:
        raise UsageError(f"the expert {spec.name!r} has no endpoint; add one in the catalogue")
    return spec.endpoint


def _timed(reply: ExpertReply, began: float) -> ExpertReply:
    return reply.model_copy(update={"latency_s": time.monotonic() - began})


def _told(error: Exception, endpoint: Endpoint) -> str:
    """Return what became of a question, without what whoever runs the client should do about it."""
    cause = error.__cause__
    if isinstance(cause, NoAnswerError):
        wait = f", and it asks to wait {cause.wait:.0f} s" if cause.wait else ""
        return f"no answer in {endpoint.deadline_s:g} s: {cause}{wait}"
    return f"its reply cannot be used: {cause}" if isinstance(cause, GarbledError) else str(cause or error)
