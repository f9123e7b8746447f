"""Answers as the `final_answer` that all tasks of a domain share takes them."""

from __future__ import annotations

import json
from typing import Any


def of_domain(answer: str) -> dict[str, Any]:
    """Return the arguments of the call that gives a filled form of a task."""
    values = json.loads(answer)
    return {"done": values.pop("done"), "reasons": values.pop("reasons", []), "values": values}
