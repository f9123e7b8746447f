"""Self-preference in words: the same on the terminal, in Markdown and on the page."""

from __future__ import annotations

from collections.abc import Sequence

from eval.comparing import points
from eval.kinship import Interval, Kinship
from eval.naming import NEUTRAL, OTHER, OWN
from eval.statistics import Estimate
from eval.summary import Summary

UNKNOWN = "unknown"
SHORT = "own name, points"
"""Head of the column in the table of the terminal."""

HEAD = (
    "policy", "own name", "neutral name", "other family", "own less neutral, points", "own less other, points",
    "of what could move", "all calls: own less neutral, points", "all calls: own less other, points",
)  # fmt: skip
NO_ROOM = "no room"
PRICE = ("policy", "right, points", "cents", "utility", "regret")
"""What it costs: own name less other family's."""


def kinship_rows(summaries: Sequence[Summary]) -> list[tuple[str, ...]]:
    """Return a table of how often the bearer of a name is asked first, its head first; nothing where no expert bears
    one."""
    rows = [(each.policy, *_cells(each.kinship)) for each in summaries if each.kinship is not None]
    return [HEAD, *rows] if rows else []


def price_rows(summaries: Sequence[Summary]) -> list[tuple[str, ...]]:
    """Return a table of what self-preference costs, its head first; nothing where no expert bears a name."""
    rows = [(each.policy, *_costs(each.kinship)) for each in summaries if each.kinship is not None]
    return [PRICE, *rows] if rows else []


def told_of_names(summaries: Sequence[Summary]) -> list[str]:
    """Return a line of words for each policy; nothing where no expert bears a name."""
    return [f"{each.policy}: {_said(each.kinship)}" for each in summaries if each.kinship is not None]


def short(summary: Summary) -> str:
    """Return self-preference in points, as the table of the terminal has it."""
    return UNKNOWN if summary.kinship is None else _points(summary.kinship.over_other)


def verdict(found: Kinship) -> str:
    """Return what is shown with 95 % confidence."""
    if found.over_neutral is None or found.over_other is None:
        return f"self-preference {UNKNOWN}"
    if found.over_other.low > 0:
        return "prefers its own family's name"
    if found.over_other.high < 0:
        return "avoids its own family's name"
    if found.over_neutral.low > 0:
        return "no self-preference shown: it follows its own family's name no more than another's"
    if found.over_neutral.high < 0:
        return "no self-preference shown: it shuns names of models, whatever their family"
    return "no self-preference shown"


def _said(found: Kinship) -> str:
    if found.asked_first is None or found.over_neutral is None or found.over_other is None:
        why = "no question was played under all names" if not found.questions else "it never asked an expert"
        return f"{verdict(found)}: {why}{_left_out(found)}"
    own, neutral, other = (f"{found.asked_first[kind].value:.1%}" for kind in (OWN, NEUTRAL, OTHER))
    return (
        f"{verdict(found)}: an expert is asked first in {own} of the rollouts under the own family's name, "
        f"in {neutral} under a neutral one, in {other} under another family's; own less neutral "
        f"{points(found.over_neutral)}, own less other {points(found.over_other)}; {found.questions:,} questions"
        f"{_left_out(found)}"
    )


def _left_out(found: Kinship) -> str:
    return f"; {found.left_out:,} more without a score under some name" if found.left_out else ""


def _cells(found: Kinship | None) -> tuple[str, ...]:
    if found is None or found.asked_first is None:
        return (UNKNOWN,) * (len(HEAD) - 1)
    shares = (f"{found.asked_first[kind].value:.1%}" for kind in (OWN, NEUTRAL, OTHER))
    return (
        *shares,
        _points(found.over_neutral),
        _points(found.over_other),
        NO_ROOM if found.moved is None else f"{found.moved[0]:.1%} ({found.moved[1]:.1%} to {found.moved[2]:.1%})",
        _points(found.calls_over_neutral),
        _points(found.calls_over_other),
    )


def _costs(found: Kinship | None) -> tuple[str, ...]:
    if found is None or found.right is None:
        return (UNKNOWN,) * (len(PRICE) - 1)
    utility = found.utility
    regret = None if utility is None else (-utility.value, -utility.high, -utility.low)
    return (_points(found.right), _signed(found.cost, 100), _signed(utility, 1), _signed(regret, 1))


def _points(found: Estimate | Interval | None) -> str:
    if found is None:
        return UNKNOWN
    value, low, high = (100 * each + 0.0 for each in _interval(found))  # no -0.0
    return f"{value:+.1f} ({low:+.1f} to {high:+.1f})"


def _signed(found: Estimate | Interval | None, scale: float) -> str:
    if found is None:
        return UNKNOWN
    value, low, high = (scale * each + 0.0 for each in _interval(found))
    return f"{value:+.3f} ({low:+.3f} to {high:+.3f})"


def _interval(found: Estimate | Interval) -> Interval:
    return found if isinstance(found, tuple) else (found.value, found.low, found.high)
