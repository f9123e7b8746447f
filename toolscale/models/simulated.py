"""An expert that no model stands behind: it is right as often as its published skills say, and takes what its published
effort says.

One draw per (seed, sample and task of the rollout, name of the expert) decides whether it is right, which wrong answer
it gives if not, and the size of its answers. So asking again repeats the answer, and the same rollout is the same on
every machine.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from toolscale.canonical import canonical_json, short_id
from toolscale.errors import UsageError
from toolscale.models.expert import Message
from toolscale.models.pricing import DRAWS, approximate_input_tokens, factors, latency_s, output_tokens
from toolscale.records import CATEGORIES, AnswerKey, ExpertReply, ExpertSpec, Script, ToolCall


@dataclass(frozen=True, slots=True)
class Draw:
    """What one draw decides."""

    chance: float
    """From 0 to 1, 1 excluded; the answer is right if it is below the skill."""
    pick: int
    """Which wrong answer: modulo how many there are."""
    factor: int
    """Which of the 16 factors of size."""


def drawn(draw: str, expert: str) -> Draw:
    """Return the draw of an expert for a rollout: three independent parts of one SHA-256."""
    digest = hashlib.sha256(canonical_json([draw, expert]).encode()).digest()
    chance = (int.from_bytes(digest[:8], "big") >> 11) / 2**53
    return Draw(chance, int.from_bytes(digest[8:16], "big"), digest[16] % DRAWS)


def chosen(key: AnswerKey, skill: float, draw: Draw) -> Script:
    """Return what the expert plays: the right script with probability `skill`, else one of the wrong ones."""
    return key.right if draw.chance < skill else key.wrong[draw.pick % len(key.wrong)]


def steps_made(script: Script, made: Sequence[ToolCall]) -> int:
    """Return how many of the script's calls, from its first on, were made in this order; other calls may stand between
    them."""
    done = 0
    for call in made:
        if done < len(script.calls) and call == script.calls[done]:
            done += 1
    return done


def worded(answer: str) -> str:
    """Return the answer to a plain question as a sentence."""
    return f"The answer is {answer}."


@dataclass(frozen=True, slots=True)
class SimulatedExpert:
    """Plays the answer key. `pace`: seconds that are really waited for every simulated second; 0 waits for nothing."""

    spec: ExpertSpec
    pace: float = 0.0

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
        """Play the next step of the script that was drawn: a call, or its answer. UsageError without a key, or in a
        category that is none."""
        if key is None:
            raise UsageError(
                f"the simulated expert {self.spec.name!r} cannot answer without an answer key; "
                "give it an endpoint in the catalogue"
            )
        if category not in CATEGORIES:
            raise UsageError(f"{category!r} is not a category of tasks; use one of {', '.join(CATEGORIES)}")
        fate = drawn(draw, self.spec.name)
        script = chosen(key, self.spec.skills[category], fate)
        factor = factors(self.spec.spread)[fate.factor]
        step = steps_made(script, made)
        seconds = latency_s(self.spec, category, factor)
        if self.pace > 0:
            await asyncio.sleep(seconds * self.pace)
        calls = (
            _as_tool_call(script.calls[step], short_id("call_", draw, self.spec.name, len(made)))
            if step < len(script.calls)
            else ()
        )
        answer = script.answer if tools else worded(script.answer)
        return ExpertReply(
            content=None if calls else answer,
            tool_calls=calls,
            latency_s=seconds,
            kind="simulated",
            input_tokens=approximate_input_tokens(messages, tools),
            output_tokens=output_tokens(self.spec, category, factor),
        )


def _as_tool_call(call: ToolCall, name: str) -> tuple[dict[str, object], ...]:
    return (
        {"id": name, "type": "function", "function": {"name": call.name, "arguments": canonical_json(call.arguments)}},
    )
