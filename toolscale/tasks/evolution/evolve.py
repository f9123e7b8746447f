"""Evolutions by name: a chain of lines applied to an intent, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from toolscale.environment.environment import Environment
from toolscale.records import QUIET, Intent
from toolscale.tasks.asking import asking, quiet
from toolscale.tasks.evolution.composition import compose
from toolscale.tasks.evolution.conditions import constrain, constrain_options
from toolscale.tasks.evolution.descriptions import obscure, obscure_options
from toolscale.tasks.evolution.inapplicable import Inapplicable
from toolscale.tasks.evolution.refusals import pry, pry_options, refuse, refuse_options
from toolscale.tasks.evolution.sets import batch, batch_options


def _quiet(environment: Environment, intent: Intent) -> Intent:
    """Leave out the question. Raises Inapplicable if the intent has none apart from its requests."""
    if not intent.asks:
        raise Inapplicable(f"{intent.id} has no question apart from what it asks for")
    return quiet(intent)


Options = Callable[[Environment, Intent], Iterator[str]]

OPERATORS: Mapping[str, tuple[Callable[..., Intent], Options | None]] = {
    "obscure": (obscure, obscure_options),
    "constrain": (constrain, constrain_options),
    "batch": (batch, batch_options),
    "pry": (pry, pry_options),
    "refuse": (refuse, refuse_options),
    "compose": (compose, None),
    QUIET: (_quiet, None),
}
"""Name -> (what it does to an intent, which lines it offers for one). The partners of `compose`, and what is quiet, are
chosen by whoever draws a chain."""


def evolve(
    environment: Environment, intents: Mapping[str, Intent], intent_id: str, evolutions: Sequence[str]
) -> Intent:
    """Apply a chain of evolutions to an intent. Raises Inapplicable for a line that does not fit, KeyError for an
    intent that is not there."""
    intent = intents[intent_id]
    for line in evolutions:
        intent = evolve_once(environment, intents, intent, line)
    return asking(intent)


def evolve_once(environment: Environment, intents: Mapping[str, Intent], intent: Intent, line: str) -> Intent:
    """Apply one evolution. Raises Inapplicable. An intent that was neither left quiet nor refused asks its question
    from here on."""
    operator, *arguments = line.split()
    if operator not in OPERATORS or bool(arguments) == (operator == QUIET):
        raise Inapplicable(f"{line!r} is no evolution; use one of {', '.join(OPERATORS)} and what it acts on")
    if operator == "compose":
        if arguments[0] not in intents:
            raise Inapplicable(f"there is no intent {arguments[0]}")
        other = intents[arguments[0]]
        return compose(
            environment, asking(intent), _quiet(environment, other) if arguments[1:] == [QUIET] else asking(other)
        )
    if operator not in (QUIET, "refuse"):
        intent = asking(intent)
    return OPERATORS[operator][0](environment, intent, *arguments)
