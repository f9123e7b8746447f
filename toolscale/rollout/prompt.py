"""What an orchestrator is told: the first messages of a task, and the tools with their JSON Schemas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from toolscale.patterns import regex
from toolscale.records import RolloutTask
from toolscale.rollout.policy import Message, Tool

CALL_EXPERT = "call_expert"

QUESTION_SYSTEM = (
    "You answer the user's question. "
    "You may use the tools; each use costs money and time, and so does every word you write. "
    "When you have the answer, write it as your final message, without a call."
)

_QUESTION_EXPERT = (
    "Ask an expert a question. It sees nothing but your question. "
    "With final set to true its reply goes to the user as the final answer."
)
_TASK_EXPERT = (
    "Hand this turn over to an expert. It sees the conversation and the domain's tools. "
    "Its calls are made as if they were yours; if it writes a message instead, that is the final answer."
)

_GAP = "\n\n"
"""Between the question or request and each paragraph of wishes."""
_BLANK = regex(r"\n\s*\n")
_DENIAL = regex(r"Do not use [^\n]+: that is not allowed\.")


def first_messages(task: RolloutTask, system: str | None) -> list[Message]:
    """Return the system and the user message. `system`: that of the environment; none for questions.

    The user's wishes (the instruction, and what is denied) stand after the question or request, as one paragraph each:
    `body_of` counts on it.
    """
    body = (
        task.question.text
        if task.question is not None
        else task.task.candidate.opening
        if task.task is not None
        else ""
    )
    parts = [body, _BLANK.sub("\n", task.preference.instruction.strip()), denial(task.limits.denied)]
    return [
        {"role": "system", "content": QUESTION_SYSTEM if system is None else system},
        {"role": "user", "content": _GAP.join(part for part in parts if part)},
    ]


def body_of(message: str) -> str:
    """Return the question or request of a first user message, blank lines and all, without the wishes that
    `first_messages` puts after it.

    The wishes are the last paragraph; if that says what is denied, the one before it is a wish too. A paragraph is kept
    if it is the only one, or holds ``` (the end of a program). If there is no instruction, a question of several
    paragraphs loses its last one, since it looks the same as an instruction.
    """
    head, _, last = message.rpartition(_GAP)
    if head and _DENIAL.fullmatch(last):
        message = head
        head, _, last = message.rpartition(_GAP)
    return head if head and "```" not in last else message


def denial(denied: Sequence[str]) -> str:
    """Return the sentence that says which experts and tools may not be called, empty if all may."""
    if not denied:
        return ""
    names = denied[0] if len(denied) == 1 else f"{', '.join(denied[:-1])} or {denied[-1]}"
    return f"Do not use {names}: that is not allowed."


def offered_tools(task: RolloutTask, basic: Mapping[str, Tool], domain: Sequence[Tool]) -> list[Tool]:
    """Return the tools of a task: the experts first, then the basic tools that are offered, then those of the
    domain."""
    experts = [expert_tool(task)] if task.experts else []
    return [*experts, *(basic[name] for name in task.basic_tools), *domain]


def expert_tool(task: RolloutTask) -> Tool:
    """Return `call_expert`; its description lists the cards, one a line."""
    cards = "\n".join(
        offered.card if offered.card.startswith(offered.alias) else f"{offered.alias}: {offered.card}"
        for offered in task.experts
    )
    properties: dict[str, Any] = {"expert": {"type": "string", "enum": [offered.alias for offered in task.experts]}}
    required = ["expert"]
    if task.question is not None:
        properties["question"] = {"type": "string", "minLength": 1}
        properties["final"] = {"type": "boolean", "default": False}
        required.append("question")
    parameters = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
    text = f"{_QUESTION_EXPERT if task.question is not None else _TASK_EXPERT}\nExperts:\n{cards}"
    return {"type": "function", "function": {"name": CALL_EXPERT, "description": text, "parameters": parameters}}
