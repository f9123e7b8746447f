"""The one loop of training and evaluation: an orchestrator writes messages, its calls are made, and every token, dollar
and second is booked."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from itertools import takewhile
from typing import Any

from toolscale.canonical import canonical_json
from toolscale.environment.builtins import FINAL_ANSWER
from toolscale.errors import (
    ContextFullError,
    ModelUnavailableError,
    SandboxLimitError,
    UnusableReplyError,
    VoidConversationError,
)
from toolscale.models.pricing import cost_usd
from toolscale.records import Charge, ExpertReply, Rollout, Stop, ToolCall
from toolscale.rollout.bench import Setting
from toolscale.rollout.calls import Call, read_arguments
from toolscale.rollout.domain import Episode
from toolscale.rollout.grading import grade_outcome, judge_outcome
from toolscale.rollout.person import STILL_THERE
from toolscale.rollout.policy import Message, Policy, Turn
from toolscale.rollout.prompt import CALL_EXPERT
from toolscale.rollout.talk import Talk
from toolscale.verify.filled import read_form

MOST_TURNS = 50
"""A rollout has so many turns at most, whatever its limits say."""

_USE_FORM = f"This task is answered by a call of {FINAL_ANSWER}, not by a message."
_EMPTY = "Your message is empty. Call a tool, or write the final answer."


async def run_rollout(setting: Setting, policy: Policy, sample: int, seconds: float | None = None) -> Rollout:
    """Run one policy on one task, once, and grade it. A world that it borrowed is given back even if it is
    cancelled.

    `seconds`: after so many by the wall clock it ends as failed, with what it did until then; None: never.
    """
    with ExitStack() as borrowed:
        return await _Run(setting, policy, sample, borrowed).play(seconds)


class _Run:
    """The state of one rollout."""

    def __init__(self, setting: Setting, policy: Policy, sample: int, borrowed: ExitStack) -> None:
        self.setting, self.policy, self.sample = setting, policy, sample
        self.task = setting.task
        self.session = policy.session(setting.task, setting.messages, setting.tools, sample)
        self.messages: list[Message] = list(setting.messages)
        self.fresh: list[Message] = []
        """Messages since the orchestrator's last one."""
        self.handed: list[Message] = list(setting.shown)
        """The conversation as an expert sees it that takes over a turn."""
        self.calls: list[ToolCall] = []
        self.ledger: list[Charge] = []
        self.turn = 0
        self.tokens = 0
        self.spent = 0.0
        self.malformed = 0
        self._is_reminded = False
        self.answer: str | None = None
        self.failure: str | None = None
        self.draw = f"{setting.task.seed}:{sample}:{setting.task.id}"
        self._borrowed = borrowed
        self._episode: Episode | None = None
        environment_task = setting.task.task
        is_dialogue = environment_task is not None and environment_task.turns == "dialogue"
        self._talk = Talk(environment_task.candidate, setting.person) if environment_task and is_dialogue else None

    async def play(self, seconds: float | None) -> Rollout:
        """Take turns until there is an answer or a limit is reached."""
        try:
            async with asyncio.timeout(seconds) as clock:
                stop = await self._turns()
        except TimeoutError:
            if not clock.expired():  # somebody else's
                raise
            self.failure, stop = f"it was not done after {seconds:g} s", "failed"
        except SandboxLimitError as error:  # it ended the episode: what was done in it is gone
            self.failure, stop = f"a call hit a limit of the sandbox: {error}", "failed"
        except VoidConversationError as error:
            self.failure, stop = str(error), "void"
        except (ModelUnavailableError, UnusableReplyError) as error:  # whoever plays the person gave no answer
            self.failure, stop = f"the person: {error}", "failed"
        right, finding, judge = await self._graded(stop)
        return Rollout(
            id=f"{self.task.id}:{self.policy.name}:{self.sample}",
            task_id=self.task.id,
            category=self.task.category,
            policy=self.policy.name,
            sample=self.sample,
            messages=tuple(self.messages),
            calls=tuple(self.calls),
            ledger=tuple(self.ledger),
            answer=self.answer,
            stop=stop,
            malformed=self.malformed,
            right=right,
            finding=finding,
            judge=judge,
            trace=self.session.trace(),
        )

    async def _graded(self, stop: Stop) -> tuple[bool, str, str]:
        """Whether it is right, what was found, and the judge if one read its message."""
        if self.failure is not None:
            return False, f"no answer: {self.failure}", ""
        domain = self.setting.domain
        if self.answer is None:
            return *grade_outcome(self.task, domain, self.calls, None, stop), ""
        if domain is not None:
            graded = await judge_outcome(self.task, domain, self.calls, self.answer, self.setting.judge)
            return graded.score == 1, graded.finding, graded.judge
        known = self.setting.findings
        if self.answer not in known:
            known[self.answer] = grade_outcome(self.task, None, self.calls, self.answer, stop)
        return *known[self.answer], ""

    async def _turns(self) -> Stop:
        limits = self.task.limits
        while True:
            if self.turn >= min(limits.turns, MOST_TURNS):
                return "turns"
            if limits.tokens is not None and self.tokens >= limits.tokens:
                return "tokens"
            try:
                turn = await self.session.turn(self.fresh)
            except ContextFullError:
                return "context"
            except (ModelUnavailableError, UnusableReplyError) as error:
                self.failure = f"{self.policy.name}: {error}"
                return "failed"
            self._book_turn(turn)
            raw, content = turn.message.get("tool_calls") or (), turn.message.get("content")
            if turn.malformed is not None:
                self._not_understood(turn.malformed)
            elif raw:
                stop = await self._make(turn.message, raw)
                if stop is not None:
                    return stop
            elif isinstance(content, str) and content.strip():
                if (stop := await self._say(content)) is not None:
                    return stop
            else:
                self._not_understood(_EMPTY)
            self.turn += 1

    async def _say(self, content: str) -> Stop | None:
        """Say something to whoever asked. Return why the rollout ends, None if it goes on.

        Where a form takes the answer, a message that is nothing but the filled form is one; any other is said to the
        person of a dialogue, and elsewhere answered by how to answer: it is malformed from the second time on.
        """
        if self._form is not None and not isinstance(read_form(self._form, content), str) and self._is_heard_out():
            self.answer = content
            return "answered"
        if self._form is not None and self._talk is None:
            self.malformed += self._is_reminded
            self._is_reminded = True
            self._tell({"role": "user", "content": canonical_json({"error": _USE_FORM})})
            return None
        if self._talk is None:
            self.answer = content
            return "answered"
        reply = await self._talk.say(content, self.messages[:-1])
        if reply is None:
            self.answer = self._talk.answer
            return "answered"
        if self._talk.is_left:
            return "left"
        self._tell({"role": "user", "content": reply})
        self.handed += [{"role": "assistant", "content": content}, self.fresh[-1]]
        return None

    def _book_turn(self, turn: Turn) -> None:
        self.messages.append(turn.message)
        self.fresh = []
        self.tokens += turn.input_tokens + turn.output_tokens
        cost, price = turn.dollars, self.policy.price
        if cost is None and price is not None:
            cost = cost_usd(price, turn.input_tokens, turn.output_tokens)
        self._book("orchestrator", self.policy.name, turn.input_tokens, turn.output_tokens, cost, turn.latency_s)

    def _book(
        self,
        kind: Any,
        name: str,
        input_tokens: int = 0,
        output_tokens: int = 0,
        cost: float | None = 0.0,
        latency_s: float = 0.0,
        *,
        terminal: bool = False,
        error: str | None = None,
    ) -> None:
        self.spent += cost or 0.0
        self.ledger.append(
            Charge(
                turn=self.turn,
                kind=kind,
                name=name,
                input_tokens=input_tokens,
                output_tokens=output_tokens,
                cost_usd=cost,
                latency_s=latency_s,
                terminal=terminal,
                error=error,
            )
        )

    def _not_understood(self, problem: str) -> None:
        """Nothing could be read: the error comes as a message of the user."""
        self.malformed += 1
        self._tell({"role": "user", "content": canonical_json({"error": problem})})

    def _tell(self, message: Message) -> None:
        self.messages.append(message)
        self.fresh.append(message)

    def _reply(self, call: Call, content: str, *, handed: bool = False) -> None:
        message = {"role": "tool", "tool_call_id": call.id, "content": content}
        self._tell(message)
        if handed:
            self.handed.append(message)

    def _refuse(self, call: Call, problem: str, **charge: Any) -> None:
        """Answer a call that is not made, or that gave nothing, with an error."""
        self._reply(call, canonical_json({"error": problem}))
        self._book(*self._booked_as(call), error=problem, **charge)

    def _booked_as(self, call: Call) -> tuple[str, str]:
        """The kind and the name under which a call stands in the ledger."""
        if call.name == CALL_EXPERT:
            alias = call.arguments.get("expert")
            return "expert", alias if isinstance(alias, str) and alias in self.setting.experts else CALL_EXPERT
        return (
            "domain" if self.setting.domain is not None and call.name not in self.setting.basic else "basic"
        ), call.name[:80]

    async def _make(self, message: Message, raw: Sequence[Any]) -> Stop | None:
        """Make the calls of one message in order. Return why the rollout ends, None if it goes on."""
        calls = [self.setting.reader.read(item) for item in raw]
        self.malformed += any(call.error is not None for call in calls)
        self._show_to_experts(message, raw, calls)
        for place, call in enumerate(calls):
            if self._is_broke():
                return self._leave(calls[place:], "dollars", "Not made: the limit of dollars was reached.")
            if (problem := self._problem(call)) is not None:
                self._refuse(call, problem)
            elif call.name == CALL_EXPERT and self.setting.domain is not None:
                return await self._hand_over(call, calls[place + 1 :])
            elif call.name == CALL_EXPERT:
                await self._ask(call)
            elif call.name in self.setting.basic:
                await self._use_basic(call)
            elif self._form is not None and call.name == FINAL_ANSWER:
                self._fill(call)
            else:
                self._use_domain(call)
            if self.answer is not None:
                return self._leave(calls[place + 1 :], "answered", "Not made: the final answer was given before.")
        return None

    @property
    def _form(self) -> dict[str, Any] | None:
        return self.task.task.form if self.task.task is not None else None

    def _fill(self, call: Call, *, by_expert: bool = False) -> None:
        """Take the filled form as the final answer, if it is one. An expert that takes over a whole task, as simulated
        ones do, speaks with nobody."""
        assert self._form is not None
        answer = canonical_json(call.arguments)
        if isinstance(problem := read_form(self._form, answer), str):
            return self._refuse(call, problem)
        if not by_expert and not self._is_heard_out():
            self._reply(call, canonical_json({"error": STILL_THERE}))
            return self._book("domain", call.name, error=STILL_THERE)
        self.answer = answer
        self._reply(call, canonical_json({"taken": True}))
        self._book("domain", call.name)

    def _is_heard_out(self) -> bool:
        return self._talk is None or self._talk.is_over

    def _is_broke(self) -> bool:
        limit = self.task.limits.dollars
        return limit is not None and self.spent >= limit

    def _problem(self, call: Call) -> str | None:
        """Why a call must not be made, in words that the orchestrator can act on."""
        if call.error is not None:
            return call.error
        _, name = self._booked_as(call)
        denied = next((found for found in (name, call.name) if found in self.setting.denied), None)
        return None if denied is None else f"{denied} may not be used for this task. Go on without it."

    def _leave(self, calls: Sequence[Call], stop: Stop, why: str) -> Stop:
        """Answer the calls that are not made because the rollout ends: a conversation in which each call is answered
        can be read again."""
        for call in calls:
            self._reply(call, canonical_json({"error": why}))
        return stop

    def _show_to_experts(self, message: Message, raw: Sequence[Any], calls: Sequence[Call]) -> None:
        """Add a message to what experts see, without the calls of experts, without what comes after one, and without
        calls that are not made."""
        if self.setting.domain is None:
            return
        before = list(takewhile(lambda pair: pair[1].name != CALL_EXPERT, zip(raw, calls, strict=True)))
        made = [item for item, call in before if self._problem(call) is None]
        content = message.get("content")
        if made:
            self.handed.append({"role": "assistant", "content": content, "tool_calls": made})
        elif content:
            self.handed.append({"role": "assistant", "content": content})

    async def _ask(self, call: Call) -> None:
        """Ask an expert a plain question."""
        alias, final = call.arguments["expert"], bool(call.arguments.get("final", False))
        reply = await self._reply_of(alias, [{"role": "user", "content": call.arguments["question"]}], ())
        problem = self._failure_of(alias, reply)
        if problem is not None:
            return self._refuse(call, problem, **self._charge_of(alias, reply))
        content = str(reply.content)
        self._reply(call, content)
        self._book("expert", alias, **self._charge_of(alias, reply), terminal=final)
        self.answer = content if final else None

    async def _reply_of(self, alias: str, messages: Sequence[Message], tools: Sequence[Message]) -> ExpertReply:
        _, expert, _ = self.setting.experts[alias]
        return await expert.reply(
            messages, tools, key=self.setting.key, category=self.task.category, draw=self.draw, made=self.calls
        )

    def _failure_of(self, alias: str, reply: ExpertReply) -> str | None:
        if reply.error is not None:
            return f"{alias} gave no answer: {reply.error}"
        if not reply.tool_calls and not (reply.content or "").strip():
            return f"{alias} gave an empty answer."
        return None

    def _charge_of(self, alias: str, reply: ExpertReply) -> dict[str, Any]:
        price = self.setting.experts[alias][2]
        cost = cost_usd(price, reply.input_tokens, reply.output_tokens)
        return {
            "input_tokens": reply.input_tokens,
            "output_tokens": reply.output_tokens,
            "cost": cost,
            "latency_s": reply.latency_s,
        }

    async def _hand_over(self, call: Call, rest: Sequence[Call]) -> Stop | None:
        """Let an expert write the next message, as if the orchestrator had. The calls after this one are not made: the
        turn is the expert's now."""
        alias, domain = call.arguments["expert"], self.setting.domain
        assert domain is not None
        reply = await self._reply_of(
            alias, self.handed, domain.tools if self.task.task is None else domain.tools_of(self.task.task)
        )
        problem, charge = self._failure_of(alias, reply), self._charge_of(alias, reply)
        if problem is not None:
            self._refuse(call, problem, **charge)
        else:
            self._reply(call, f"{alias} answers this turn.")
            self._book("expert", alias, **charge, terminal=not reply.tool_calls)
        for other in rest:
            self._refuse(
                other,
                f"Not made: {alias} was asked to answer this turn. Make it in the next turn if it is still wanted.",
            )
        if problem is not None:
            return None
        calls = [self.setting.reader.read(item) for item in reply.tool_calls]
        message: Message = {"role": "assistant", "content": reply.content}
        if calls:
            message["tool_calls"] = [_readable(item, read) for item, read in zip(reply.tool_calls, calls, strict=True)]
        self._tell(message)
        if calls:
            self.handed.append(message)
            return self._make_for_expert(calls)
        fresh, malformed = len(self.fresh), self.malformed
        stop = await self._say(str(reply.content))
        if self._form is not None and self._talk is None and stop is None:
            self.malformed = malformed  # it was the expert's message
            self.handed += [message, *self.fresh[fresh:]]
        return stop

    def _make_for_expert(self, calls: Sequence[Call]) -> Stop | None:
        """Make the calls of an expert to the domain's tools. If one is wrong, the error goes into the conversation, but
        is not counted against the orchestrator."""
        assert self.setting.domain is not None
        for place, call in enumerate(calls):
            if self._is_broke():
                return self._leave(calls[place:], "dollars", "Not made: the limit of dollars was reached.")
            problem = self._problem(call)
            if problem is None and self._form is not None and call.name == FINAL_ANSWER:
                self._fill(call, by_expert=True)
                if self.answer is None:
                    self.handed.append(self.fresh[-1])
                    continue
                return self._leave(calls[place + 1 :], "answered", "Not made: the final answer was given before.")
            if problem is None and call.name not in self.setting.domain.environment.tools:
                problem = f"{call.name} is not a tool of the domain. Call one of those."
            if problem is None:
                self._use_domain(call)
            else:
                self._refuse(call, problem)
                self.handed.append(self.fresh[-1])
        return None

    def _use_domain(self, call: Call) -> None:
        """Call a tool of the domain. A refusal is a result that the agent reads, and stands in the ledger as an
        error."""
        assert self.setting.domain is not None
        if self._episode is None:
            self._episode = self._borrowed.enter_context(self.setting.domain.episode())
        self.calls.append(ToolCall(name=call.name, arguments=call.arguments))
        result = self._episode.call(self.calls[-1])
        if self._talk is not None and result.error is None and self.setting.domain.writes(call.name):
            self._talk.changed()
        self._reply(
            call, canonical_json(result.value if result.error is None else {"error": result.error}), handed=True
        )
        self._book("domain", call.name, error=result.error)

    async def _use_basic(self, call: Call) -> None:
        """Call a basic tool. What went wrong in it is a result that the agent reads."""
        result = await self.setting.basic[call.name].call(call.arguments)
        self._reply(call, result.content, handed=self.setting.domain is not None)
        self._book("basic", call.name, cost=result.cost_usd, latency_s=result.latency_s, error=result.error)


def _readable(raw: Mapping[str, Any], call: Call) -> Mapping[str, Any]:
    """Return a call as it may stand in a conversation: servers refuse a history with arguments that are not JSON."""
    if call.error is None or read_arguments(str(raw["function"]["arguments"]))[1] is None:
        return raw
    return {**raw, "function": {**raw["function"], "arguments": "{}"}}
