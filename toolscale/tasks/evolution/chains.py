"""Which chains of evolutions are drawn for an intent."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence

from toolscale.environment.environment import Environment
from toolscale.records import QUIET, Intent
from toolscale.tasks.evolution.evolve import OPERATORS, evolve_once
from toolscale.tasks.evolution.inapplicable import Inapplicable

DEEP = ("constrain", "batch")
"""Operators that change what is done within one matter."""

ALONE = (*DEEP, "obscure")
"""Those that make one matter harder."""

Shapes = Mapping[tuple[tuple[str, ...], ...], int]
"""Shapes of chains with weights: each place names the operators of which one is drawn."""

Asked = Callable[[Sequence[str]], bool]
"""Whether people come with an intent after a chain."""

SINGLE: Shapes = {(ALONE,): 4, (("batch",), ("obscure",)): 1}
"""Of a request that is fulfilled, and said at once: people write about one thing at a time."""

TALKED: Shapes = {
    (ALONE,): 25,
    (("compose",),): 25,
    (ALONE, ("compose",)): 25,
    (("pry",),): 10,
    (("compose",), ("pry",)): 5,
    (("compose",), ("compose",)): 10,
}
"""Of one in a dialogue, where people come back with the next matter."""

REFUSED: Shapes = {(("obscure",),): 1}
"""For a request that is refused or handed over."""

TURNED: Shapes = {(("refuse",),): 1, (("refuse",), ("obscure",)): 1}
"""That turn a request that is fulfilled into one that is refused."""

WEIGHTS: Mapping[str, float] = {"batch": 3, "obscure": 3, "constrain": 0.3}
"""How much sooner an operator is tried than the others. Few people write conditions, and readers take such
messages for a machine's."""

PARTNERS = {"fulfil": 86, "refuse": 10, "transfer": 4}
"""Weights of the outcomes of what is composed."""

QUIET_SHARE = 0.75
"""The share of the matters with separate questions (`asks`) that ask nothing."""

TRIES = 8
"""Shapes that are tried before a number is given up."""


def draw_chain(
    environment: Environment,
    intents: Mapping[str, Intent],
    intent: Intent,
    partners: Sequence[Intent],
    *,
    turned: bool,
    talked: bool,
    rng: random.Random,
    asked: Asked,
) -> tuple[str, ...]:
    """Draw a chain of evolutions that applies to an intent; an empty one if none does. `partners` are what may be
    composed, `talked` whether it is for a dialogue."""
    shapes = _shapes(intent, turned, talked)
    for _ in range(TRIES):
        start: tuple[str, ...] = (QUIET,) if not turned and is_quiet(intent, rng) else ()
        (shape,) = rng.choices(list(shapes), list(shapes.values()))
        chain = _draw(environment, intents, intent, partners, shape, rng, start)
        if chain and asked(chain):
            return chain
    return ()


def is_quiet(intent: Intent, rng: random.Random) -> bool:
    """Draw whether an intent asks nothing."""
    return bool(intent.asks) and rng.random() < QUIET_SHARE


def first_lines(
    environment: Environment, intents: Mapping[str, Intent], intent: Intent, partners: Sequence[Intent], *, turned: bool
) -> Iterator[str]:
    """Yield every line that a chain of an intent can begin with. If there is none, no chain is ever drawn for it."""
    shapes = [shape for talked in (False, True) for shape in _shapes(intent, turned, talked)]
    for operator in dict.fromkeys(name for shape in shapes for name in shape[0]):
        options = OPERATORS[operator][1]
        lines = (
            options(environment, intent)
            if options
            else (f"compose {partner.id}" for partner in partners if partner.id != intent.id)
        )
        for line in lines:
            try:
                evolve_once(environment, intents, intent, line)
            except Inapplicable:
                continue
            yield line


def _repeats(line: str, chain: Sequence[str]) -> bool:
    """Whether a line gives a role another description, and the chain has done so already."""
    role = line.partition(":")[0]
    return role.startswith("obscure ") and any(other.partition(":")[0] == role for other in chain)


def _shapes(intent: Intent, turned: bool, talked: bool) -> Shapes:
    if turned or intent.outcome != "fulfil":
        return TURNED if turned else REFUSED
    return TALKED if talked else SINGLE


def _draw(
    environment: Environment,
    intents: Mapping[str, Intent],
    intent: Intent,
    partners: Sequence[Intent],
    shape: Sequence[Sequence[str]],
    rng: random.Random,
    start: tuple[str, ...],
) -> tuple[str, ...]:
    chain = list(start)
    for line in start:
        intent = evolve_once(environment, intents, intent, line)
    for operators in shape:
        for line in _lines(environment, intent, partners, operators, chain, rng):
            try:
                intent = evolve_once(environment, intents, intent, line)
            except Inapplicable:
                continue
            chain.append(line)
            break
        else:
            return ()
    return tuple(chain)


def _lines(
    environment: Environment,
    intent: Intent,
    partners: Sequence[Intent],
    operators: Sequence[str],
    chain: Sequence[str],
    rng: random.Random,
) -> Iterator[str]:
    """Lines of the operators, in an order that is drawn: an operator first, then one of its lines."""
    weights: dict[str, float] = dict(WEIGHTS)
    weights.update(environment.spec.language.weights.items())
    for operator in sorted(operators, key=lambda name: -(rng.random() ** (1 / weights.get(name, 1)))):
        options = OPERATORS[operator][1]
        if options is not None:
            lines = [line for line in options(environment, intent) if not _repeats(line, chain)]
            yield from rng.sample(lines, len(lines))[:3]
            continue
        taken = {intent.id, *(line.split()[1] for line in chain if line.startswith("compose"))}
        (outcome,) = rng.choices(list(PARTNERS), list(PARTNERS.values()))
        fitting = [partner for partner in partners if partner.outcome == outcome and partner.id not in taken]
        for partner in rng.sample(fitting, min(3, len(fitting))):
            yield f"compose {partner.id}" + (f" {QUIET}" if is_quiet(partner, rng) else "")
