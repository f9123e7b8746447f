"""Preferences in a model's words: one call writes the instruction, a second one reads it back, and what does not come
back the same is dropped."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from toolscale.preferences.grammar import DIMENSIONS, TOOL_WORDS
from toolscale.records import Preference
from toolscale.strict_json import read_json

Ask = Callable[[str], Awaitable[str | None]]
"""Sends one prompt to a model and returns its text; None if it gave none."""

Fault = Literal["silent", "unreadable", "mismatched"]

TOLERANCE = 0.2
"""How far a weight may be off when it is read back: one step of the levels."""
LONGEST = 600
"""Characters of an instruction."""

_SCALE = "0 means not at all, 0.2 a little, 0.4 somewhat, 0.6 quite, 0.8 a lot, 1 above all"


@dataclass(frozen=True, slots=True)
class WordingCounts:
    """What became of the drafts. asked = silent + unreadable + mismatched + kept."""

    asked: int = 0
    silent: int = 0
    """No text, or too long a text, was written."""
    unreadable: int = 0
    """The second call gave no weights."""
    mismatched: int = 0
    """The second call read something else than was meant."""
    kept: int = 0


def wording_prompt(draft: Preference) -> str:
    """Return the request to say the weights of a draft in words."""
    weights = [f"- {name}: {getattr(draft, name):g}" for name in DIMENSIONS]
    tools = [
        f"- {_said(name)}: {'use it gladly' if weight >= 0.5 else 'keep away from it'}"
        for name, weight in draft.tools.items()
    ]
    return "\n".join(
        (
            (
                "Write what a user says to an assistant before a task: "
                "what the user cares for, in one to three plain sentences."
            ),
            f"The weights ({_SCALE}); cost means a low cost, latency means a quick answer:",
            *weights,
            *(("What the user wants of tools:", *tools) if tools else ("Do not name any tool.",)),
            (
                "Say how much each of the three counts, without numbers. "
                "Use the names of tools as they are given. Write only the user's words."
            ),
        )
    )


def reading_prompt(instruction: str, aliases: Sequence[str], basic_tools: Sequence[str]) -> str:
    """Return the request to read an instruction as weights, in JSON."""
    names = ", ".join(_said(name) for name in (*aliases, *basic_tools)) or "none"
    return "\n".join(
        (
            "A user said this before a task:",
            "<instruction>",
            instruction,
            "</instruction>",
            (
                "How much does the user care for outcome (a right answer), cost (a low cost) "
                f"and latency (a quick answer)? {_SCALE}."
            ),
            (
                f"Which of these tools does the user want used (1) or kept away from (0)? Tools: {names}. "
                "Leave out those that the user does not speak of."
            ),
            'Answer with JSON only, such as {"outcome": 0.8, "cost": 0.2, "latency": 0, "tools": {"expert-1": 1}}.',
        )
    )


async def worded_by_model(
    drafts: Sequence[Preference],
    aliases: Sequence[str],
    basic_tools: Sequence[str],
    write: Ask,
    read: Ask,
    at_once: int = 8,
) -> tuple[list[Preference], WordingCounts]:
    """Return the drafts in the words of `write`, those that `read` reads back as they were meant, in order, and counts
    of the others.

    At most `at_once` drafts are worked on at the same time. What `write` and `read` raise is raised.
    """
    gate = asyncio.Semaphore(at_once)

    async def word(draft: Preference) -> Preference | Fault:
        async with gate:
            text = " ".join((await write(wording_prompt(draft)) or "").split()).strip('"')
            if not text or len(text) > LONGEST:
                return "silent"
            found = weights_in(await read(reading_prompt(text, aliases, basic_tools)) or "", aliases, basic_tools)
        if found is None:
            return "unreadable"
        return "mismatched" if _differs(draft, *found) else draft.model_copy(update={"instruction": text})

    worded = await asyncio.gather(*map(word, drafts))
    kept = [one for one in worded if isinstance(one, Preference)]
    faults = Counter(one for one in worded if not isinstance(one, Preference))
    counts = WordingCounts(
        asked=len(drafts),
        silent=faults["silent"],
        unreadable=faults["unreadable"],
        mismatched=faults["mismatched"],
        kept=len(kept),
    )
    return kept, counts


def weights_in(
    reply: str, aliases: Sequence[str], basic_tools: Sequence[str]
) -> tuple[dict[str, float], dict[str, float]] | None:
    """Return the weights and the tools of a reply to `reading_prompt`, tools by their own names; None if it is not such
    a reply."""
    match = re.search(r"\{.*\}", reply, re.DOTALL)
    try:
        read: Any = read_json(match[0]) if match else None
    except ValueError:
        return None
    if not isinstance(read, dict):
        return None
    tools = read.get("tools", {})
    names = {_said(name): name for name in (*aliases, *basic_tools)} | {name: name for name in (*aliases, *basic_tools)}
    weights: dict[str, Any] = {name: read.get(name) for name in DIMENSIONS}
    if (
        not isinstance(tools, dict)
        or not set(tools) <= set(names)
        or not all(map(_is_weight, (*weights.values(), *tools.values())))
    ):
        return None
    return {name: float(value) for name, value in weights.items()}, {
        names[said]: float(value) for said, value in tools.items()
    }


def _differs(draft: Preference, weights: dict[str, float], tools: dict[str, float]) -> bool:
    if set(tools) != set(draft.tools):
        return True
    pairs = [(getattr(draft, name), weights[name]) for name in DIMENSIONS] + [
        (draft.tools[name], tools[name]) for name in tools
    ]
    return any(abs(meant - read) > TOLERANCE + 1e-9 for meant, read in pairs)


def _is_weight(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1


def _said(name: str) -> str:
    return TOOL_WORDS.get(name, name)
