"""What an intent asks for, apart from its words: two intents that ask for the same are one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from toolscale.canonical import canonical_json

_WORDS = {"roles": {"text", "cues", "by"}, "slots": {"from", "sql", "tense"}, "tell": {"what"}}
"""What of roles, slots and facts is words or picks the case: it makes no other intent."""


def meaning_of(intent: Mapping[str, Any]) -> str:
    """Return what an intent asks for, as `intents.yaml` has it: outcome, rule, rows, calls and facts, whatever its
    roles, slots and steps are called. Equal texts, the same intent."""
    parts = {
        "outcome": intent.get("outcome", "fulfil"),
        "rule": intent.get("rule"),
        "roles": [_without(role, "roles") for role in _values(intent.get("roles"))],
        "slots": [_without(slot, "slots") for slot in _values(intent.get("slots"))],
        "tell": [_without(fact, "tell") for fact in _items(intent.get("tell"))],
        **{part: intent.get(part) or [] for part in ("do", "refused")},
    }
    names = dict.fromkeys([*_keys(intent.get("roles")), *_keys(intent.get("slots")), *_steps(intent.get("do"))])
    text = " ".join(canonical_json(parts).split())
    for number, name in enumerate(names):
        text = re.sub(rf"\b{re.escape(name)}\b(?!\()", f"name{number}", text)
    return text


def _steps(steps: Any) -> Iterator[str]:
    """Yield the names of the steps of a plan."""
    for step in _items(steps):
        if not isinstance(step, Mapping):
            continue
        if inner := [step[key] for key in ("then", "else", "do") if key in step]:
            for each in inner:
                yield from _steps(each)
        elif len(step) == 1 and isinstance(next(iter(step.values())), Mapping):
            yield str(next(iter(step)))


def _without(value: Any, part: str) -> Any:
    if not isinstance(value, Mapping):
        return value
    return {key: inner for key, inner in value.items() if key not in _WORDS[part]}


def _values(value: Any) -> list[Any]:
    return list(value.values()) if isinstance(value, Mapping) else []


def _keys(value: Any) -> list[str]:
    return [str(key) for key in value] if isinstance(value, Mapping) else []


def _items(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list) else []
