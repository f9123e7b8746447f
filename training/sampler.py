"""Policies for the rollout loop that keep the tokens: many conversations wait at once, and one call writes the next
turn of all that wait.

Token ids are never made again from text. A session holds the ids of its conversation; observations are appended as ids,
and what the model writes is appended as it was drawn.
"""

from __future__ import annotations

import asyncio
import random
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from toolscale.errors import ContextFullError
from toolscale.records import Price, RolloutTask, TokenTrace
from toolscale.rollout.policy import Message, Tool, Turn
from training.chat import Codec
from training.config import RolloutSettings
from training.generation import Completion, GenerationSettings, Memory, Request, generate

QUIET_PASSES = 10
"""So many times the event loop runs without a new request before a batch begins: conversations whose tools answer at
once are then all in it."""

PAUSE_S = 0.001
"""Between looks at whether slower tools have answered."""

CUT = "Your message was cut off after {limit} tokens. Write a shorter one."


class Writer(Protocol):
    """Writes the next turn of a conversation."""

    async def write(self, request: Request) -> Completion:
        """Continue `request.ids`."""
        ...

    def opened(self) -> None:
        """A conversation began."""
        ...

    def closed(self) -> None:
        """A conversation ended."""
        ...

    async def settle(self) -> None:
        """Wait until nothing is written any more: a batch may outlast the conversations that asked for it."""
        ...


class Batcher:
    """Collects requests that wait at the same time and writes them with one call.

    In step: a batch begins when every open conversation waits for one, and runs in the event loop's own thread. Batches
    then depend on nothing but the conversations, so that a run repeats bit for bit. Not in step: the call runs in a
    thread, experts answer meanwhile, and what has come in by then is the next batch.
    """

    def __init__(
        self,
        run: Callable[[Sequence[Request]], list[Completion]],
        in_step: bool = True,
        forget: Callable[[], None] = lambda: None,
    ):
        self._run = run
        self._forget = forget  # called when no conversation is open: weights change only then
        self._in_step = in_step
        self._waiting: list[tuple[Request, asyncio.Future[Completion]]] = []
        self._serving: asyncio.Task[None] | None = None
        self._open = 0

    def opened(self) -> None:
        """A conversation began."""
        self._open += 1

    def closed(self) -> None:
        """A conversation ended."""
        self._open -= 1
        if self._open <= 0:
            self._forget()

    async def write(self, request: Request) -> Completion:
        """Wait for a place in the next batch, and for what it gives."""
        future: asyncio.Future[Completion] = asyncio.get_running_loop().create_future()
        self._waiting.append((request, future))
        if self._serving is None or self._serving.done():
            self._serving = asyncio.create_task(self._serve())
        return await future

    async def settle(self) -> None:
        """Wait for the batch that is under way in a thread, and drop what it kept. In step there is none."""
        if not self._in_step and self._serving is not None:
            await self._serving
            self._forget()

    async def _serve(self) -> None:
        while self._waiting:
            await self._gather()
            batch = [pair for pair in self._waiting if not pair[1].done()]  # the others were given up meanwhile
            self._waiting = []
            batch.sort(key=lambda pair: (str(pair[0].group), pair[0].sample))
            requests = [request for request, _ in batch]
            try:
                completions = self._run(requests) if self._in_step else await asyncio.to_thread(self._run, requests)
            except Exception as error:  # whoever waits learns it: a lost batch would leave them waiting for ever
                for _, future in batch:
                    if not future.done():
                        future.set_exception(error)
                continue
            for (_, future), completion in zip(batch, completions, strict=True):
                if not future.done():
                    future.set_result(completion)

    async def _gather(self) -> None:
        """Wait until nobody else is about to ask."""
        known, quiet = -1, 0
        while quiet < QUIET_PASSES or (self._in_step and len(self._waiting) < self._open):
            quiet = quiet + 1 if len(self._waiting) == known else 0
            known = len(self._waiting)
            await asyncio.sleep(0 if quiet < QUIET_PASSES else PAUSE_S)


class ModelPolicy:
    """An orchestrator whose tokens are known. `seed` names the run and the step: two steps never draw alike."""

    def __init__(self, name: str, codec: Codec, writer: Writer, settings: RolloutSettings, seed: str = "0"):
        self.name = name
        self.price = Price(input=settings.input_price, output=settings.output_price)
        self.codec = codec
        self.writer = writer
        self.settings = settings
        self.seed = seed
        self._prompts: dict[str, tuple[list[Message], tuple[int, ...]]] = {}
        self.cut = 0
        """Turns that were cut at max_new_tokens since `take_cut`."""

    def begin(self, seed: str) -> None:
        """Start another step: other draws, and no prompt is remembered."""
        self.seed = seed
        self._prompts.clear()

    def take_cut(self) -> int:
        """How many turns were cut since the last time this was asked."""
        cut, self.cut = self.cut, 0
        return cut

    def session(self, task: RolloutTask, messages: list[Message], tools: list[Tool], sample: int) -> TokenSession:
        """Begin a conversation. The prompt is made into ids once for all samples of a task."""
        known = self._prompts.get(task.id)
        if known is None or known[0] is not messages:
            known = (messages, tuple(self.codec.first(messages, tools)))
            self._prompts[task.id] = known
        self.writer.opened()
        return TokenSession(self, task.id, known[1], sample, messages, tools)


class TokenSession:
    """One conversation as ids."""

    def __init__(
        self,
        policy: ModelPolicy,
        task_id: str,
        prompt: tuple[int, ...],
        sample: int,
        messages: Sequence[Message] = (),
        tools: Sequence[Tool] = (),
    ):
        self._policy = policy
        self._task_id = task_id
        self._sample = sample
        self._conversation: list[Mapping[str, Any]] = list(messages)
        self._tools = tools
        self._ids = list(prompt)
        self._written = [False] * len(prompt)
        self._logprobs = [0.0] * len(prompt)
        self._turns = 0
        self._versions: dict[str, None] = {}
        # Once, at the latest when nobody holds this conversation any more.
        self._end = weakref.finalize(self, policy.writer.closed)

    async def turn(self, observations: Sequence[Mapping[str, Any]]) -> Turn:
        """Append the observations, write a turn, read it."""
        policy, settings = self._policy, self._policy.settings
        if observations:
            self._append(policy.codec.next(observations, self._conversation))
            self._conversation += observations
        fixed = policy.codec.turn_tokens
        limit = min(fixed or settings.max_new_tokens, settings.max_new_tokens, settings.context - len(self._ids))
        if limit < 1:
            raise ContextFullError(
                f"the conversation has no room left ({len(self._ids)} of {settings.context} tokens, rollout.context)"
            )
        read = len(self._ids)
        draws = random.Random(f"{policy.seed}|{self._task_id}|{self._sample}|{self._turns}")
        try:
            completion = await policy.writer.write(Request(self._task_id, tuple(self._ids), limit, draws, self._sample))
        except BaseException:  # given up: nobody waits for this conversation any more
            self._end()
            raise
        self._turns += 1
        self._ids += completion.ids
        self._written += [True] * len(completion.ids)
        self._logprobs += completion.logprobs
        self._versions |= dict.fromkeys(completion.versions)
        ids = completion.ids[:-1] if completion.finished else completion.ids
        message, malformed = policy.codec.read(ids, self._conversation, self._tools)
        if not completion.finished:
            self._append([policy.codec.end])  # the model did not write it, and the conversation needs it
        if not completion.finished and len(completion.ids) != fixed:
            policy.cut += 1
            malformed = CUT.format(limit=limit)
            message = {"role": "assistant", "content": message.get("content") or ""}
        for place, call in enumerate(message.get("tool_calls") or ()):
            call["id"] = f"call_{self._turns}_{place + 1}"
        spent = len(completion.ids)
        return Turn(message, malformed, read, spent, spent * settings.seconds_per_token)

    def trace(self) -> TokenTrace:
        """All tokens so far. The loop asks at the end of a rollout: others no longer wait for this one."""
        self._end()
        return TokenTrace(
            ids=tuple(self._ids),
            written=tuple(self._written),
            logprobs=tuple(self._logprobs),
            versions=tuple(self._versions),
        )

    def _append(self, ids: Sequence[int]) -> None:
        self._ids += ids
        self._written += [False] * len(ids)
        self._logprobs += [0.0] * len(ids)


def local_policy(
    model: Any, codec: Codec, settings: RolloutSettings, name: str = "orchestrator", temperature: float | None = None
) -> ModelPolicy:
    """A policy that samples from a model in this process; evaluation gives a temperature of its own (0: greedy)."""
    generation = GenerationSettings(
        stop=codec.stop,
        temperature=settings.temperature if temperature is None else temperature,
        batch_tokens=settings.batch_tokens,
        branched_tokens=settings.branched_tokens,
    )

    memory = Memory(settings.kept_tokens)

    def run(requests: Sequence[Request]) -> list[Completion]:
        return generate(model, requests, generation, memory)

    on_cpu = next(model.parameters()).device.type == "cpu"
    return ModelPolicy(name, codec, Batcher(run, on_cpu, memory.forget), settings)
