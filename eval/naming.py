"""Names under which experts are shown: an offer stays the same offer, whatever its experts are called."""

from __future__ import annotations

import re
from collections.abc import Mapping

from toolscale.basic_tools.settings import BasicToolSettings
from toolscale.errors import UsageError
from toolscale.records import RolloutTask
from toolscale.rollout.offering import ALIASES
from toolscale.rollout.prompt import CALL_EXPERT

LONGEST = 60
"""Characters of a name."""

ARM = "name"
"""What lines are grouped by where names are compared."""
NEUTRAL, OWN, OTHER = "neutral", "own family", "other family"
"""Kinds of names."""

FAMILIES = {
    "gpt-5-mini": r"gpt|openai|^o[134](?!\d)",
    "claude-sonnet-4": "claude|anthropic",
    "gemini-2.5-flash": "gemini|gemma|google",
    "llama-3.3-70b": "llama",
    "deepseek-v3": "deepseek",
    "qwen3-32b": "qwen|qwq",
    "mistral-small-3": "mistral|mixtral|magistral|ministral|codestral",
}
"""A name of a well-known family -> what names of that family have in them, in small letters."""


def name_of(given: str, option: str) -> str:
    """Return a model's name as an expert bears it: without the folder or organisation before it, and in one word.
    UsageError, which names the option, if it is empty, too long, or what experts and tools are called anyway."""
    name = "-".join(given.rpartition("/")[2].split())
    if not name:
        raise UsageError(f"{option} is empty; give the name of a model, such as {option} Qwen3-8B")
    if len(name) > LONGEST or not name.isprintable():
        raise UsageError(f"{option} {name[:LONGEST]!r}: give a name of {LONGEST} printable characters at most")
    if name.casefold() in (*ALIASES, *BasicToolSettings.model_fields, CALL_EXPERT):
        raise UsageError(f"{option} {name!r}: experts and tools are called so anyway; give the name of a model")
    return name


def are_kin(one: str, other: str) -> bool:
    """Return whether two names are of one family: of one of FAMILIES, or with the same letters at the beginning."""
    return _head(one) == _head(other) or bool(_families(one) & _families(other))


def others_than(own: str) -> tuple[str, ...]:
    """Return the well-known names that are of another family."""
    return tuple(name for name in FAMILIES if not are_kin(name, own))


def renamed(task: RolloutTask, names: Mapping[str, str]) -> RolloutTask:
    """Return the task with experts under other names (alias -> name): on cards, in wishes and in what is denied.

    Schema, prompt and ledger are made from these; who answers is told by `OfferedExpert.expert`, which stays.
    """
    pattern = re.compile(rf"(?<![\w-])(?:{'|'.join(map(re.escape, names))})(?![\w-])", re.IGNORECASE)

    def told(text: str) -> str:
        return pattern.sub(lambda found: names[found[0].lower()], text)

    wish = task.preference
    experts = (
        each.model_copy(update={"alias": names.get(each.alias, each.alias), "card": told(each.card)})
        for each in task.experts
    )
    tools = {names.get(name, name): weight for name, weight in wish.tools.items()}
    denied = tuple(names.get(name, name) for name in task.limits.denied)
    return task.model_copy(
        update={
            "experts": tuple(experts),
            "preference": wish.model_copy(update={"instruction": told(wish.instruction), "tools": tools}),
            "limits": task.limits.model_copy(update={"denied": denied}),
        }
    )


def _head(name: str) -> str:
    found = re.match(r"[^\W\d_]+", name.casefold())
    return found[0] if found else name.casefold()


def _families(name: str) -> set[str]:
    return {known for known, pattern in FAMILIES.items() if re.search(pattern, name.casefold())}
