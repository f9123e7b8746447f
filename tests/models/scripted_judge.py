"""A scripted model that judges final messages: right, unless a test says which are wrong."""

from __future__ import annotations

import json
import re
from collections.abc import Container
from dataclasses import dataclass, field
from typing import Any

from chat_server import Answer, said

USAGE = {"prompt_tokens": 1_000, "completion_tokens": 100}

_ASKED = re.compile(r"\nMESSAGE ([0-9a-f]{16})\n(.*)\nEND OF MESSAGE \1\n")


def asked_about(body: dict[str, Any]) -> tuple[str, str]:
    """Return the id and the message that a judge is asked about."""
    found = _ASKED.search(body["messages"][1]["content"])
    assert found is not None, "a judge is shown one message, on one line"
    return found[1], json.loads(found[2])


@dataclass
class ScriptedJudge:
    """Gives its verdicts in the form that is wanted, but for what a test alters in them."""

    wrong: Container[str] = ()
    """Messages that are wrong."""
    altered: dict[str, Any] = field(default_factory=dict)

    def __call__(self, body: dict[str, Any]) -> Answer:
        id_, message = asked_about(body)
        verdict = "wrong" if message in self.wrong else "right"
        told = {"message": id_, "sentence": message, "why": f"It is {verdict}.", "verdict": verdict}
        return said(json.dumps(told | self.altered), usage=USAGE)
