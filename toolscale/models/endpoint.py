"""An expert behind an OpenAI-compatible server: asked until it answers, refuses, or its deadline is reached.

What may pass is tried again; a refusal stops at once, and so does a reply that cannot be used. What may be paid for has
its tokens all the same, and where nobody counted them as many as there can be. Whatever happens is a reply, with an
`error` if there is no answer, so that a rollout records it and goes on.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from openai import AsyncOpenAI
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception_type

from toolscale.errors import UsageError
from toolscale.models import transport
from toolscale.models.chat.budget import most_read
from toolscale.models.chat.request import ChatRequest, Dialect, in_dialect
from toolscale.models.completion import GarbledError, clean, read_completion
from toolscale.models.expert import Message
from toolscale.models.simulated import drawn
from toolscale.models.transport import NoAnswerError, RefusedError
from toolscale.records import AnswerKey, Endpoint, ExpertReply, ExpertSpec, ToolCall

MOST_TOKENS = 16_384
"""Of one reply of an expert, with what it thinks: what a reply can cost must be known before it is asked for."""


@dataclass
class _Tries:
    """The tries of one question: what happened, and the tokens that may be paid for though nothing came of them."""

    failures: list[str] = field(default_factory=list)
    input_tokens: int = 0
    output_tokens: int = 0

    def lose(self, request: ChatRequest, read: int | None = None, wrote: int | None = None) -> None:
        """Count a try with the tokens that the server counted; None is not known, and then all that there can be."""
        self.input_tokens += most_read(request) if read is None else read
        self.output_tokens += request.max_tokens if wrote is None else wrote

    def charged(self, reply: ExpertReply) -> ExpertReply:
        """Return what came of them in the end, with the tokens of all."""
        read, wrote = self.input_tokens + reply.input_tokens, self.output_tokens + reply.output_tokens
        return reply.model_copy(update={"input_tokens": read, "output_tokens": wrote})


@dataclass
class EndpointExpert:
    """Asks the endpoint of its spec. UsageError at once if the address cannot be one, or the key is not in the
    environment."""

    spec: ExpertSpec
    _dialect: Dialect = field(default_factory=Dialect, repr=False, compare=False)
    """What the server understands, as far as it was seen to refuse."""

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
        began, tries = time.monotonic(), _Tries()
        # A policy may write half a surrogate pair, which no request can hold.
        said = clean([dict(message) for message in messages], "")
        request = ChatRequest(f"expert {self.spec.name}", tuple(said), tools=tuple(tools), max_tokens=MOST_TOKENS)
        try:
            # The client holds no connection beyond one answer: an expert is asked from one event loop after another.
            async with asyncio.timeout(endpoint.deadline_s), transport.open_client(endpoint, secret) as client:
                retrying = AsyncRetrying(
                    retry=retry_if_exception_type(NoAnswerError),
                    wait=lambda state: _wait(state, draw),
                    reraise=True,
                    stop=lambda state: (state.seconds_since_start or 0.0) + state.upcoming_sleep >= endpoint.deadline_s,
                )
                async for attempt in retrying:
                    with attempt:
                        answer = await self._ask(client, request, secret, tries)
            return tries.charged(answer.model_copy(update={"latency_s": time.monotonic() - began}))
        except NoAnswerError as error:
            asked = f", and it asks to wait {error.wait:.0f} s" if error.wait else ""
            problem = f"no answer in {endpoint.deadline_s:g} s: {error}{asked}"
        except TimeoutError:
            problem = (
                f"no answer in {endpoint.deadline_s:g} s: {tries.failures[-1] if tries.failures else 'it was silent'}"
            )
        except GarbledError as error:
            problem = f"its reply cannot be used: {error}"
        except RefusedError as error:
            problem = str(error)
        return tries.charged(ExpertReply(error=problem, latency_s=time.monotonic() - began, kind="endpoint"))

    async def _ask(self, client: AsyncOpenAI, request: ChatRequest, secret: str, tries: _Tries) -> ExpertReply:
        """Ask once. What came to nothing is added to `tries`, because the deadline may end this one or the next."""
        try:
            return read_completion(await self._sent(client, request, secret), secret, request.messages, request.tools)
        except NoAnswerError as error:
            tries.failures.append(str(error))
            if error.may_cost:
                tries.lose(request)
            raise
        except GarbledError as error:
            tries.lose(request, error.input_tokens, error.output_tokens)
            raise
        except asyncio.CancelledError:
            tries.lose(request)
            raise

    async def _sent(self, client: AsyncOpenAI, request: ChatRequest, secret: str) -> bytes:
        async def send(body: dict[str, Any]) -> bytes:
            return await transport.complete(client, endpoint_of(self.spec), secret, body)

        answer, self._dialect = await in_dialect(self._dialect, request, send)
        return answer


def endpoint_of(spec: ExpertSpec) -> Endpoint:
    """Return the endpoint of an expert that has one. UsageError if it has none."""
    if spec.endpoint is None:
        raise UsageError(f"the expert {spec.name!r} has no endpoint; add one in the catalogue")
    return spec.endpoint


def check_address(spec: ExpertSpec) -> None:
    """Raise UsageError if the address cannot be asked, or holds what should stand in the environment."""
    transport.check_address(endpoint_of(spec).base_url, f"the base_url of the expert {spec.name!r}")


def key_of(spec: ExpertSpec) -> str:
    """Return the key from the environment variable that the expert names, empty if it names none. UsageError if it is
    missing or cannot be one."""
    return transport.key_of(endpoint_of(spec), f"the expert {spec.name!r}")


def _wait(state: RetryCallState, draw: str) -> float:
    error = state.outcome.exception() if state.outcome else None
    chance = drawn(draw, f"try {state.attempt_number}").chance
    return transport.wait_before(state.attempt_number, error if isinstance(error, NoAnswerError) else None, chance)
