"""Evolutions by name: a chain of lines applied to an intent, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from toolscale.environment import Environment
from toolscale.records import Intent
from toolscale.tasks.evolution.composition import compose
from toolscale.tasks.evolution.conditions import constrain, constrain_options
from toolscale.tasks.evolution.descriptions import correct, correct_options, distract, distract_options, obscure, obscure_options
from toolscale.tasks.evolution.inapplicable import Inapplicable
from toolscale.tasks.evolution.refusals import pry, pry_options, refuse, refuse_options
from toolscale.tasks.evolution.sets import batch, batch_options

Options = Callable[[Environment, Intent], Iterator[str]]

OPERATORS: Mapping[str, tuple[Callable[..., Intent], Options | None]] = {
    "obscure": (obscure, obscure_options),
    "distract": (distract, distract_options),
    "correct": (correct, correct_options),
    "constrain": (constrain, constrain_options),
    "batch": (batch, batch_options),
    "pry": (pry, pry_options),
    "refuse": (refuse, refuse_options),
    "compose": (compose, None),
}
"""Name -> (what it does to an intent, which lines it offers for one). The partners of `compose` are chosen by whoever draws a chain."""


def evolve(environment: Environment, intents: Mapping[str, Intent], intent_id: str, evolutions: Sequence[str]) -> Intent:
    """Apply a chain of evolutions to an intent. Raises Inapplicable for a line that does not fit, KeyError for an intent that is not there."""
    intent = intents[intent_id]
    for line in evolutions:
        intent = evolve_once(environment, intents, intent, line)
    return intent


def evolve_once(environment: Environment, intents: Mapping[str, Intent], intent: Intent, line: str) -> Intent:
    """Apply one evolution. Raises Inapplicable."""
    operator, *arguments = line.split()
    if operator not in OPERATORS or not arguments:
        raise Inapplicable(f"{line!r} is no evolution; use one of {', '.join(OPERATORS)} and what it acts on")
    if operator == "compose":
        if arguments[0] not in intents:
            raise Inapplicable(f"there is no intent {arguments[0]}")
        return compose(environment, intent, intents[arguments[0]])
    return OPERATORS[operator][0](environment, intent, *arguments)
