"""A scripted model that puts requests into other words, and is wrong where a test wants it to be."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from chat_server import Answer, said

USAGE = {"prompt_tokens": 1_000, "completion_tokens": 100}
REASONS = (
    "I have been away for a while.", "My desk is a mess.", "It's been a long week.", "I was ill.", "We moved house.",
    "My phone broke.", "I'm on the train.", "This is new to me.", "I only noticed today.", "My sister is visiting.",
)  # fmt: skip
"""Statements that ask for nothing."""

Write = Callable[[str, str], Any]
"""(the template's words, the same in other words of the plan) -> the reply: requests by style, or any text."""


@dataclass
class Writer:
    """Writes in each manner that the prompt names. What `others` has for a request takes the place of good words."""

    others: dict[str, Write] = field(default_factory=dict)
    always: Write | None = None

    def __call__(self, body: dict[str, Any]) -> Answer:
        prompt = body["messages"][1]["content"]
        template, other = (json.loads(line) for line in prompt.split("\n") if line.startswith('"'))
        written = (self.others.get(template) or self.always or good)(template, other)
        if isinstance(written, dict):
            styles = re.findall(r"^- `(\w+)`:", prompt, re.MULTILINE)
            first = next(iter(written.values()))
            requests = [{"style": style, "request": written.get(style, first)} for style in styles]
            written = json.dumps({"requests": requests})
        return said(written, usage=USAGE)


def good(template: str, other: str) -> dict[str, str]:
    return {"any": f"{REASONS[sum(map(ord, template)) % len(REASONS)]} {other}"}
