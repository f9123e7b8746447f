"""Conversations to learn from, and their tokens: only what the assistant wrote is trained on."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from toolscale.canonical import canonical_json
from toolscale.dataset.columns import task_of
from toolscale.dataset.making.folder import read_dataset
from toolscale.dataset.manifest import world_folder
from toolscale.dataset.world import read_rows
from toolscale.environment import load_environment
from toolscale.environment.builtins import FINAL_ANSWER
from toolscale.errors import DatasetError, UsageError
from toolscale.records import Task, TokenTrace
from toolscale.rollout.person import answer_to
from toolscale.tasks.dialogue import question_for
from toolscale.verify import Judge
from training.chat import Codec

Conversation = Mapping[str, Any]
"""{"messages": OpenAI messages, "tools": OpenAI functions}."""


def read_conversations(path: Path) -> Iterator[Conversation]:
    """Yield the conversations of a JSONL file. Raises UsageError that names the line."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"conversations: {path}: cannot be read ({error}); name a JSONL file") from error
    for number, line in enumerate(lines, 1):
        try:
            found = json.loads(line)
        except ValueError as error:
            raise UsageError(f"{path}:{number}: is not JSON ({error}); write one object a line") from error
        if not isinstance(found, dict) or not isinstance(found.get("messages"), list):
            raise UsageError(f'{path}:{number}: has no list of messages; write {{"messages": […], "tools": […]}}')
        yield found


def golden_conversations(folder: Path) -> Iterator[Conversation]:
    """Yield the golden trajectories of the training split of a dataset: request, calls one by one with their results,
    final message."""
    reading = read_dataset(folder)
    for domain, rows in reading.domains.items():
        world = world_folder(folder, domain)
        if not world.is_dir():
            raise DatasetError(
                f"datasets: {folder} has tasks of {domain!r} without their environment ({world}); make or pull it whole"
            )
        environment = load_environment(world)
        judge = Judge(environment, read_rows(environment, world), audit_share=0.0, replica=False)
        try:
            for row in rows.splits["train"]:
                task = task_of(row)
                yield {
                    "messages": golden_messages(row["prompt"], task, judge.subject(task.candidate).answer),
                    "tools": json.loads(row["tools"]),
                }
        finally:
            judge.close()


def golden_messages(prompt: Sequence[Mapping[str, Any]], task: Task, answer: str) -> list[dict[str, Any]]:
    """The conversation in which the golden calls are made, and the answer given: in a message, or in the form of the
    task. In a dialogue what is missing is asked for first."""
    messages = [dict(message) for message in prompt]
    if task.candidate.held:
        question = question_for(task.candidate.held)
        messages.append({"role": "assistant", "content": question})
        messages.append({"role": "user", "content": answer_to(task.candidate, question)})
    for number, call in enumerate(task.golden_calls, 1):
        function = {"name": call.name, "arguments": canonical_json(call.arguments)}
        made = {"id": f"call_{number}", "type": "function", "function": function}
        messages.append({"role": "assistant", "content": None, "tool_calls": [made]})
        messages.append({"role": "tool", "tool_call_id": made["id"], "content": canonical_json(call.result)})
    if task.form is None:
        return [*messages, {"role": "assistant", "content": answer}]
    filled = {"id": "call_answer", "type": "function", "function": {"name": FINAL_ANSWER, "arguments": answer}}
    return [*messages, {"role": "assistant", "content": None, "tool_calls": [filled]}]


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
        said = codec.write(messages[place])
        ids += said
        written += [True] * len(said)
        if after is not None:
            seen = codec.next(messages[place + 1 : after])
            ids += seen
            written += [False] * len(seen)
    return TokenTrace(ids=tuple(ids), written=tuple(written), logprobs=(0.0,) * len(ids))
