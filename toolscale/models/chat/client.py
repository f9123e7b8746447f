"""Ask a chat model: each reply is paid for once, kept on disk, and booked; a cap on dollars is not passed."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception_type

from toolscale.errors import DeadlineError, ModelUnavailableError, UnusableReplyError, UsageError
from toolscale.models.chat.budget import Budget, booked, most_of, most_read
from toolscale.models.chat.ledger import Ledger, StageCost
from toolscale.models.chat.places import Places
from toolscale.models.chat.replies import ChatReply, ReplyStore, reply_of
from toolscale.models.chat.request import ChatRequest, Dialect, in_dialect
from toolscale.models.chat.settings import PRICE, ChatModel
from toolscale.models.chat.structured import findings, read_json
from toolscale.models.completion import GarbledError, clean, read_choice
from toolscale.models.simulated import drawn
from toolscale.models.transport import NoAnswerError, RefusedError, complete, key_of, open_client, wait_before

LONGEST_TOLD = 60.0
"""Seconds of a Retry-After that are waited at most before the next try."""

GARBLED = 6
"""Tries after which replies that cannot be read end the request: they are paid for."""

SHOWN = 30_000
"""Characters of a reply that a model is shown again when it is told what is wrong with it: all of an honest one, and
each end of one that is longer than two of these."""

GRACE_S = 60.0
"""Seconds that replies to what was sent are waited for when a run ends early."""

Problem = Callable[[Any], Sequence[str]]
"""What is wrong with a value that fits its schema, a line each; none if nothing is."""


@dataclass
class Lost:
    """What tries that came to nothing are booked at."""

    input_tokens: int = 0
    output_tokens: int = 0
    failure: str = ""
    """Why the last one had no answer."""


@dataclass
class ChatClient:
    """A model that is asked from one event loop; use it as a context.

    UsageError at once if the key is missing, or if there is a cap on dollars and no price.
    """

    model: ChatModel
    store: ReplyStore
    budget: Budget = field(default_factory=Budget)
    ledger: Ledger = field(default_factory=Ledger)
    used: dict[str, None] = field(default_factory=dict)
    """The keys of all replies that were given out, in the order in which they were first asked for."""
    dialect: Dialect = field(default_factory=Dialect)
    draw: str = ""
    """What the waits between tries depend on, beside the request."""
    garbled: int = GARBLED
    grace_s: float = GRACE_S
    _lost: dict[str, Lost] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        if self.budget.most is not None and self.model.price is None:
            raise UsageError(
                f"MAX_COST needs a price: set {PRICE} to dollars for a million tokens in and out, as 0.25/2"
            )
        self._secret = key_of(self.model.endpoint, f"the model {self.name!r}")
        self._places = Places(self.model.at_once)
        self._stack = AsyncExitStack()
        self._under_way: dict[str, asyncio.Task[ChatReply]] = {}
        self._sent_by: set[asyncio.Task[ChatReply]] = set()
        self._is_closing = False

    @property
    def name(self) -> str:
        """The name of the model."""
        return self.model.endpoint.model

    async def __aenter__(self) -> ChatClient:
        self._openai = await self._stack.enter_async_context(
            open_client(self.model.endpoint, self._secret, connections=self.model.at_once)
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close. What was sent is paid for: its replies are waited for, and kept; nothing more is sent."""
        for task in set(self._under_way.values()) - self._sent_by:
            task.cancel()
        self._is_closing = True
        if self._sent_by:
            await asyncio.wait(self._sent_by, timeout=self.grace_s)
        left = list(self._under_way.values())
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        await self._stack.aclose()

    def bounded(self, request: ChatRequest) -> ChatRequest:
        """Return a request as it is sent and kept: for no longer a reply than the settings of the model allow, and with
        their choice of tools."""
        most = min(request.max_tokens, self.model.most_tokens or request.max_tokens)
        return replace(request, max_tokens=most, tool_choice=self.model.tool_choice)

    def line_of(self, request: ChatRequest) -> StageCost:
        """Return the line under which a request is booked; without a price its dollars are not known."""
        line = self.ledger.of(request.stage, self.name)
        if self.model.price is None:
            line.paid_usd = line.worth_usd = None
        return line

    async def ask(self, request: ChatRequest) -> ChatReply:
        """Return the reply to a request: the one on disk if it was asked before, by whatever program.

        A message that is none, or whose calls cannot be read, is a reply with a `problem`. ModelUnavailableError if
        none came until the deadline, UsageError if the server refuses, UnusableReplyError if what it sends is no chat
        completion, BudgetError if it might pass the cap, DeadlineError after the deadline.
        """
        request = self.bounded(request)
        key = request.key(self.name)
        self.used[key] = None
        if (kept := self.store.get(key)) is not None:
            return self._booked(request, kept, paid=False)
        if (same := self._under_way.get(key)) is not None:
            return self._booked(request, await asyncio.shield(same), paid=False)
        task = self._under_way[key] = asyncio.create_task(self._paid(request, key))
        task.add_done_callback(lambda done: self._over(key, done))
        return await asyncio.shield(task)

    def _lost_by(self, request: ChatRequest) -> Lost:
        return self._lost.setdefault(request.key(self.name), Lost())

    def lost_on(self, request: ChatRequest) -> Lost:
        """Return what was booked for tries of a request that came to nothing, and forget it."""
        return self._lost.pop(self.bounded(request).key(self.name), Lost())

    def _over(self, key: str, done: asyncio.Task[ChatReply]) -> None:
        """Forget a request that is over. Whoever waited for it may have been cancelled meanwhile: then nobody else
        looks at its error, and it would be printed when the task is collected."""
        self._under_way.pop(key, None)
        if not done.cancelled():
            done.exception()

    async def ask_json(
        self, request: ChatRequest, problem: Problem = lambda value: (), taken: list[ChatReply] | None = None
    ) -> Any:
        """Return the JSON value of the reply, which fits the schema of the request and has no `problem`. A reply that
        does not is shown to the model once, with what is wrong. UnusableReplyError if the next one does not either.

        `taken`: the replies that it took are put here, those that cannot be used too."""
        request = self.bounded(request)
        reply = await self.ask(request)
        _note(taken, reply)
        value, wrong = _value_of(reply, request, problem)
        if not wrong:
            return value
        again = replace(request, messages=(*request.messages, *_correction(reply, wrong)))
        reply = await self.ask(again)
        _note(taken, reply)
        value, wrong = _value_of(reply, request, problem)
        if wrong:
            raise UnusableReplyError(
                f"{request.stage}: the model {self.name!r} wrote what cannot be used, twice: {'; '.join(wrong[:3])}",
                reply.content,
            )
        return value

    async def _paid(self, request: ChatRequest, key: str) -> ChatReply:
        reply = await self._answered(request, key)
        self.store.put(key, request, reply)
        return self._booked(request, reply, paid=True)

    def _booked(self, request: ChatRequest, reply: ChatReply, *, paid: bool) -> ChatReply:
        line = self.line_of(request)
        line.replies += 1
        line.kept += not paid
        line.input_tokens += reply.input_tokens
        line.output_tokens += reply.output_tokens
        line.value(reply.dollars)
        if paid:
            line.pay(reply.dollars)
            line.seconds += reply.seconds
        return reply

    async def _answered(self, request: ChatRequest, key: str) -> ChatReply:
        """Ask until there is an answer."""
        endpoint, garbled = self.model.endpoint, 0

        def must_stop(state: RetryCallState) -> bool:
            nonlocal garbled
            error = state.outcome.exception() if state.outcome else None
            garbled += isinstance(error, GarbledError)
            late = (state.seconds_since_start or 0.0) + state.upcoming_sleep >= endpoint.deadline_s
            return garbled >= self.garbled or late or self._is_closing

        retrying = AsyncRetrying(
            retry=retry_if_exception_type((NoAnswerError, GarbledError)),
            wait=lambda state: _wait(state, key + self.draw, self.budget.limits.left_s),
            stop=must_stop,
            reraise=True,
        )
        try:
            async for attempt in retrying:
                with attempt:
                    return await self._attempt(request)
        except NoAnswerError as error:
            raise ModelUnavailableError(
                f"{endpoint.base_url}: no answer in {endpoint.deadline_s:g} s: {error}; "
                "run it again later: what was paid for is kept"
            ) from error
        except GarbledError as error:
            raise UnusableReplyError(
                f"{endpoint.base_url}: {garbled} replies to one request cannot be used: {error}"
            ) from error
        raise AssertionError("tenacity returns or raises")

    async def _attempt(self, request: ChatRequest) -> ChatReply:
        """Ask once, in the widest dialect that the server was not seen to refuse. What it may cost is reserved for each
        try: what is sent may be paid for, whatever comes back."""
        line, price = self.line_of(request), self.model.price
        async with self.budget.reserve(most_of(request, price)), self._places, self._noted():
            self.budget.check_time()  # it may have waited for a place
            began = time.monotonic()
            try:
                choice = read_choice(await self._in_time(request), self._secret, bool(request.tools))
            except NoAnswerError as error:
                line.failures += 1
                self._lost_by(request).failure = str(error)
                if error.may_cost:
                    self._charge(request, None, None)
                if error.is_busy:
                    self._places.complained()
                raise
            except GarbledError as error:
                line.failures += 1
                self._charge(request, error.input_tokens, error.output_tokens)
                raise
            except (asyncio.CancelledError, DeadlineError):
                self._charge(request, None, None)
                raise
            self._places.answered()
            reply = reply_of(choice, request, price, time.monotonic() - began)
            self.budget.spend(reply.dollars)
        return reply

    @asynccontextmanager
    async def _noted(self) -> AsyncIterator[None]:
        """Note that the task that runs has sent something."""
        running = asyncio.current_task()
        mine = {task for task in self._under_way.values() if task is running}
        self._sent_by |= mine
        try:
            yield
        finally:
            self._sent_by -= mine

    async def _in_time(self, request: ChatRequest) -> bytes:
        """Return the answer to what is sent now: it is paid for, so it is waited for some time after the deadline."""
        left = self.budget.limits.left_s
        try:
            async with asyncio.timeout(None if left is None else left + self.grace_s):
                return await self._sent(request)
        except TimeoutError:
            self.budget.check_time()
            raise

    async def _sent(self, request: ChatRequest) -> bytes:
        async def send(body: dict[str, Any]) -> bytes:
            return await complete(self._openai, self.model.endpoint, self._secret, clean(body, ""))

        try:
            answer, self.dialect = await in_dialect(self.dialect, request, send)
        except RefusedError as error:
            where = self.model.endpoint.base_url
            raise UsageError(f"{where}: {error}; {error.remedy}") from error
        return answer

    def _charge(self, request: ChatRequest, read: int | None, wrote: int | None) -> None:
        """Book what may be paid for and cannot be used, with the tokens that the server counted: None is not known, and
        then it is all that there can be."""
        dollars = booked(request, read, wrote, self.model.price)
        line = self.line_of(request)
        for each in (line, self._lost_by(request)):
            each.input_tokens += most_read(request) if read is None else read
            each.output_tokens += request.max_tokens if wrote is None else wrote
        line.pay(dollars)
        line.value(dollars)
        self.budget.spend(dollars)


def _value_of(reply: ChatReply, request: ChatRequest, problem: Problem) -> tuple[Any, Sequence[str]]:
    """Return the JSON value of a reply, and what is wrong with it."""
    if reply.refusal:
        return None, [f"the model refuses: {reply.refusal}"]
    cut = f"; it was cut off after {request.max_tokens} tokens, so write less" if reply.finish == "length" else ""
    if not reply.content:
        return None, [f"{reply.problem or 'it is empty'}{cut}"]
    try:
        value = read_json(reply.content)
    except ValueError as error:
        return None, [f"{error}{cut}"]
    return value, findings(value, request.schema or {}) or list(problem(value))


def _note(taken: list[ChatReply] | None, reply: ChatReply) -> None:
    if taken is not None:
        taken.append(reply)


def _correction(reply: ChatReply, wrong: Sequence[str]) -> list[dict[str, str]]:
    """Return the messages that show a model its reply again, and say what is wrong with it."""
    text = reply.content or reply.refusal
    shown = text if len(text) <= 2 * SHOWN else f"{text[:SHOWN]}\n…\n{text[-SHOWN:]}"
    listed = "\n".join(f"- {line}" for line in wrong)
    told = f"This reply cannot be used:\n{listed}\n\nWrite it again, whole and corrected."
    return [{"role": "assistant", "content": shown}, {"role": "user", "content": told}]


def _wait(state: RetryCallState, key: str, left_s: float | None) -> float:
    """Return the seconds before the next try: at most those until the deadline, which ends the tries."""
    error = state.outcome.exception() if state.outcome else None
    told = NoAnswerError(str(error), min(error.wait, LONGEST_TOLD)) if isinstance(error, NoAnswerError) else None
    wait = wait_before(state.attempt_number, told, drawn(key, f"try {state.attempt_number}").chance)
    return wait if left_s is None else min(wait, left_s)
