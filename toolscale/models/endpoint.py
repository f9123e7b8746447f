"""An expert behind an OpenAI-compatible server: asked until it answers, refuses, or its deadline is reached.

What may pass is tried again; a refusal stops at once, and so does a reply that cannot be used, which has its tokens
all the same. Whatever happens is a reply, with an `error` if there is no answer, so that a rollout records
it and goes on.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from openai import AsyncOpenAI
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception_type

from toolscale.errors import UsageError
from toolscale.models import transport
from toolscale.models.completion import GarbledError, clean, read_completion
from toolscale.models.expert import Message
from toolscale.models.pricing import approximate_input_tokens
from toolscale.models.simulated import drawn
from toolscale.models.transport import NoAnswerError, RefusedError
from toolscale.records import AnswerKey, Endpoint, ExpertReply, ExpertSpec, ToolCall


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
                        answer = await _ask(client, endpoint, secret, messages, tools, failures)
            return answer.model_copy(update={"latency_s": time.monotonic() - began})
        except NoAnswerError as error:
            asked = f", and it asks to wait {error.wait:.0f} s" if error.wait else ""
            problem = f"no answer in {endpoint.deadline_s:g} s: {error}{asked}"
        except TimeoutError:
            problem = f"no answer in {endpoint.deadline_s:g} s: {failures[-1] if failures else 'it was silent'}"
        except GarbledError as error:
            problem = f"its reply cannot be used: {error}"
            read = error.input_tokens
            counted = approximate_input_tokens(messages, tools) if read is None else read, error.output_tokens or 0
        except RefusedError as error:
            problem = str(error)
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
    """Ask once. What happened is added to `failures`, because the deadline may end the next try."""
    options: dict[str, Any] = {"tools": list(tools)} if tools else {}
    # A policy may write half a surrogate pair, which no request can hold.
    said = clean([dict(message) for message in messages], "")
    try:
        body = await transport.complete(client, endpoint, secret, {"messages": said, **options})
    except NoAnswerError as error:
        failures.append(str(error))
        raise
    return read_completion(body, secret, messages, tools)


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
