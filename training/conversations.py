"""Conversations to learn from, and their tokens: only what the assistant wrote is trained on."""

from __future__ import annotations

import random
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from toolscale.environment.builtins import FINAL_ANSWER
from toolscale.errors import UsageError
from toolscale.exports.golden import golden_trajectories
from toolscale.records import TokenTrace
from toolscale.strict_json import read_json
from training.chat import Codec

Conversation = Mapping[str, Any]
"""{"messages": OpenAI messages, "tools": OpenAI functions}."""


def read_conversations(path: Path) -> Iterator[Conversation]:
    """Yield the conversations of a JSONL file. Raises UsageError that names the line."""
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"conversations: {path}: cannot be read ({error}); name a JSONL file") from error
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            found = read_json(line)
        except ValueError as error:
            raise UsageError(f"{path}:{number}: is not JSON ({error}); write one object a line") from error
        if not isinstance(found, dict) or not isinstance(found.get("messages"), list):
            raise UsageError(f'{path}:{number}: has no list of messages; write {{"messages": […], "tools": […]}}')
        yield found


def golden_conversations(folder: Path, decoys: int | None = None) -> Iterator[Conversation]:
    """Yield the golden trajectories of the training split of a dataset: request, calls one by one with their results,
    final message. `decoys`: with the tools that a trajectory calls and so many others; none: with all."""
    for golden in golden_trajectories(folder, ("train",)):
        tools = list(golden.tools)
        if decoys is not None:
            called = {call.name for call in golden.task.golden_calls}
            tools = among_decoys(tools, called, decoys, random.Random(f"decoys|{golden.task.id}"))
        yield {"messages": golden.messages, "tools": tools}


def among_decoys(
    tools: Sequence[dict[str, Any]], called: Collection[str], decoys: int, rng: random.Random
) -> list[dict[str, Any]]:
    """The tools that are called, the one that answers, and so many of the others, in their order."""
    wanted = {FINAL_ANSWER, *called}
    others = [name for each in tools if (name := each["function"]["name"]) not in wanted]
    kept = wanted | set(rng.sample(others, min(decoys, len(others))))
    return [each for each in tools if each["function"]["name"] in kept]


def encode_conversation(codec: Codec, conversation: Conversation) -> TokenTrace:
    """The tokens of a conversation up to the last message of the assistant. Raises UsageError if the assistant says
    nothing."""
    messages, tools = conversation["messages"], conversation.get("tools") or []
    turns = [place for place, message in enumerate(messages) if message["role"] == "assistant"]
    if not turns or turns[0] == 0:
        raise UsageError("a conversation needs a message to the assistant and one of the assistant")
    ids = list(codec.first(messages[: turns[0]], tools))
    written = [False] * len(ids)
    for place, after in zip(turns, [*turns[1:], None], strict=True):
        said = codec.write(messages[place], tools)
        ids += said
        written += [True] * len(said)
        if after is not None:
            seen = codec.next(messages[place + 1 : after], messages[:place])
            ids += seen
            written += [False] * len(seen)
    return TokenTrace(ids=tuple(ids), written=tuple(written), logprobs=(0.0,) * len(ids))
