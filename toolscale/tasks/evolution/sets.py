"""`batch`: the same for all rows that an adjective names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from toolscale.environment.environment import Environment
from toolscale.language.phrasing import alternatives
from toolscale.patterns import regex
from toolscale.records import CallStep, EachStep, Intent, Request, Tell
from toolscale.tasks.conjuncts import conjuncts
from toolscale.tasks.evolution.inapplicable import Inapplicable

_PARAMETER = regex(r"\{(\w+)\}")


def batch_options(environment: Environment, intent: Intent) -> Iterator[str]:
    """The object of the intent, if it is one row."""
    if (
        intent.object
        and intent.outcome == "fulfil"
        and intent.roles[intent.object].take == "one"
        and environment.spec.language.counts
    ):
        yield f"batch {intent.object}"


def batch(environment: Environment, intent: Intent, name: str) -> Intent:
    """Do it for all rows that the adjectives of the role's conditions name; tell how many there were, and what they
    come to."""
    language = environment.spec.language
    role = intent.roles.get(name)
    if role is None or role.first is not None or len(intent.do) != 1 or not isinstance(intent.do[0], CallStep):
        raise Inapplicable(f"{name} cannot become several")
    if any(other.only_said for other in intent.roles.values()):
        raise Inapplicable("what the request only mentions would be left out of it")
    known = language.adjectives.get(role.is_, {})
    parts = [text.replace(f"{name}.", "") for text in conjuncts(role.where)] if role.where else []
    if not parts or any(part not in known for part in parts):
        raise Inapplicable(f"{name} has a condition without an adjective")
    adjectives = " ".join(known[part] for part in parts)
    noun = language.plurals.get(role.is_, role.is_.replace("_", " "))
    several = role.model_copy(
        update={"take": "all", "by": None, "text": f"all my {adjectives} {noun}", "cues": ("all", adjectives)}
    )
    total = language.totals.get(role.is_)
    tells = [Tell.model_construct(kind="number", is_=f"(SELECT COUNT(*) FROM {name})", what=f"number of {noun}")]
    if total is not None:
        amount = f"(SELECT SUM({name}.{total.column}) FROM {name})"
        tells.append(Tell.model_construct(kind="money", is_=amount, what=f"total of the {noun}", before=True))
    if not intent.tell:  # what is not asked of one is not asked of all
        tells = []
    act = _act(intent.do[0], intent, language.acts)
    if any("{" + slot + "}" not in act for slot in intent.slots):
        raise Inapplicable("a value that the person says has no place in the words")
    if any(text.strip("'") in language.enum_cues for text in intent.do[0].arguments.values()):
        raise Inapplicable("a choice that the words of the phrasings state has no place in these")
    ask = total.ask if total else ""
    counts = [text.replace("{total}", ask) for text in language.counts if total or "{total}" not in text]
    if not counts:
        raise Inapplicable("nothing asks how many there were")
    asked = f" {alternatives(counts)}" if tells else ""
    bodies = (
        f"Please {act}. {{more}}{asked}",
        f"[Could you|Can you|Can you please] {act}? {{more}}{asked}",
        f"{act[:1].upper()}{act[1:]}[, please|]. {{more}}{asked}",
    )
    return intent.model_copy(
        update={
            "object": None,
            "roles": {**intent.roles, name: several},
            "when": (*_conditions(intent, name), f"(SELECT COUNT(*) FROM {name}) >= 2"),
            "do": (EachStep(each=name, do=intent.do),),
            "tell": tuple(tells),
            "requests": tuple(Request.model_construct(say=body, persona=None) for body in bodies),
        }
    )


def _conditions(intent: Intent, name: str) -> Iterator[str]:
    """The conditions of the case, over the sum of the rows instead of the one."""
    for text in (part for when in intent.when for part in conjuncts(when)):
        yield re.sub(rf"\b{name}\.(\w+_cents)\b", rf"(SELECT SUM({name}.\1) FROM {name})", text)


def _act(step: CallStep, intent: Intent, acts: Mapping[str, str]) -> str:
    """Put a call into words: its keys by roles, its values by slots."""
    if step.tool not in acts:
        raise Inapplicable(f"{step.tool} has no words")

    def place(match: re.Match[str]) -> str:
        owner, _, column = step.arguments.get(match[1], "").partition(".")
        if owner == "say" and column in intent.slots:
            return "{" + column + "}"
        if owner in intent.roles and column:
            return "{" + owner + "}"
        raise Inapplicable(f"{step.tool}: {match[1]} has no words")

    return _PARAMETER.sub(place, acts[step.tool])
