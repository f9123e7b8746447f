"""For TRL: conversations for SFTTrainer, and rows with an environment for GRPOTrainer."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from toolscale.exports.format import ORDERS, Format, Options, Source, json_of, lines_of, render
from toolscale.exports.golden import Golden
from toolscale.forbidden_names import TRL

TESTED = "trl 1.16.0, datasets 5.2.0"


def sft_row(golden: Golden) -> dict[str, Any]:
    """Return a conversation with arguments as objects, which is what chat templates of transformers take."""
    called: dict[str, str] = {}
    messages = []
    for message in golden.messages:
        shown = {"role": message["role"], "content": message.get("content") or ""}
        functions = [call["function"] for call in message.get("tool_calls", ())]
        called |= {call["id"]: call["function"]["name"] for call in message.get("tool_calls", ())}
        if functions:
            shown["tool_calls"] = [
                {"type": "function", "function": {**function, "arguments": json.loads(function["arguments"])}}
                for function in functions
            ]
        if message["role"] == "tool":
            shown["name"] = called[message["tool_call_id"]]
        messages.append(shown)
    return {"id": golden.task.id, "messages": messages, "tools": list(golden.tools)}


def _sft(source: Source, _: Options) -> Iterator[tuple[str, str]]:
    for split in source.splits:
        yield f"{split}.jsonl", lines_of(sft_row(each) for golden in source.of(split) for each in golden.versions)
    yield "load.py", render("trl-sft/load.py.jinja")


def grpo_row(golden: Golden) -> dict[str, Any]:
    """Return a task: `environment` names the tools that it is offered."""
    return {"id": golden.task.id, "prompt": golden.listed_prompt, "environment": golden.task.domain}


def _grpo(source: Source, _: Options) -> Iterator[tuple[str, str]]:
    source.check_names(TRL)
    for split in source.splits:
        yield f"{split}.jsonl", lines_of(map(grpo_row, source.of(split)))
    yield "tools.json", json_of({golden.task.domain: golden.domain_tools for golden in source.golden})
    yield "toolscale_env.py", render("trl-grpo/toolscale_env.py.jinja")


FORMATS = (
    Format(
        "trl-sft",
        TESTED,
        "golden conversations with tool calls for SFTTrainer, and for whatever reads OpenAI messages",
        _sft,
        talks=True,
        options={
            ORDERS: "1: conversations of a task at most; more than one hold its writes in other orders that are right"
        },
        cannot=(
            "which of the assistant's turns to learn from: all are golden here",
            "that a result has a structure: results are JSON in a string",
        ),
    ),
    Format(
        "trl-grpo",
        TESTED,
        "prompts, an environment_factory and a reward function for GRPOTrainer",
        _grpo,
        plays=True,
        cannot=(
            "JSON Schema beyond types: the trainer makes schemas from signatures, so `ToolScaleTrainer` puts ours in "
            "their place, by a private attribute; arguments are checked when a tool is called in any case",
            "tools of one row: `final_answer` is the same for all tasks of a domain, and the prompt lists what it "
            "takes",
            "that an episode is over: worlds are given back when their environment is reset",
        ),
    ),
)
