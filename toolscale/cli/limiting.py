"""The options that say how much a run may take: the same words for all verbs."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import click

from toolscale.limits import RunLimits

Verb = TypeVar("Verb", bound=Callable[..., Any])

_OPTIONS = {
    "max_candidates": click.option(
        "--max-candidates",
        type=click.IntRange(1),
        metavar="NUMBER",
        help="Draw no more candidates for a dataset; it is made of what is accepted of them.  [default: no limit]",
    ),
    "max_cost": click.option(
        "--max-cost",
        type=click.FloatRange(0, min_open=True),
        envvar="MAX_COST",
        metavar="DOLLARS",
        help="Stop before more is spent; what was paid for is kept.  [default: MAX_COST, else no cap]",
    ),
    "deadline_s": click.option(
        "--deadline",
        "deadline_s",
        type=click.FloatRange(0, min_open=True),
        metavar="SECONDS",
        help="Begin nothing new after so long; what is done by then is kept, and the same command goes on.  "
        "[default: none]",
    ),
}


def limited(*names: str) -> Callable[[Verb], Verb]:
    """Give a verb the options of these limits; it gets them as `limits`, whose time begins now."""

    def give(verb: Verb) -> Verb:
        @wraps(verb)
        def within(*args: Any, **rest: Any) -> Any:
            limits = RunLimits(**{name: rest.pop(name) for name in names})
            return verb(*args, limits=limits, **rest)

        for name in reversed(names):
            within = _OPTIONS[name](within)
        return within  # type: ignore[return-value]

    return give
