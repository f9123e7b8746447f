"""Figures as words: the same cells on the terminal, in Markdown and on the page."""

from __future__ import annotations

from collections.abc import Sequence

from eval.report.kinship_words import SHORT, short
from eval.statistics import Estimate
from eval.summary import Summary

NONE = "–"

RIGHT = ("policy", "right", "95 % interval", "tasks", "unscored", "errors", "utility", "regret")
SPENT = ("policy", "cents", "median", "p90", "cents for a right one", "seconds", "median", "p90")


def right_row(summary: Summary) -> tuple[str, ...]:
    """Return the cells of one policy, in the order of RIGHT."""
    counts = (f"{summary.tasks:,}", f"{summary.unscored:,}", f"{summary.errors:,}")
    accuracy = summary.accuracy
    interval = NONE if accuracy is None else f"{accuracy.low:.1%} to {accuracy.high:.1%}"
    worth = (_number(summary.utility, 3), _number(summary.regret, 3))
    return (summary.policy, _share(accuracy), interval, *counts, *worth)


def spent_row(summary: Summary) -> tuple[str, ...]:
    """Return the cells of one policy, in the order of SPENT."""
    cost, latency, per_right = summary.cost, summary.latency, summary.per_right
    if latency is None:
        return (summary.policy, *(NONE,) * (len(SPENT) - 1))
    cents = (cost.value if cost else None, summary.cost_median, summary.cost_p90)
    seconds = (latency.value, summary.latency_median, summary.latency_p90)
    return (
        summary.policy,
        *(NONE if value is None else f"{100 * value:.3f}" for value in cents),
        NONE if per_right is None else f"{100 * per_right[0]:.3f}",
        *(f"{value:.1f}" for value in seconds),
    )


def pass_rows(summaries: Sequence[Summary]) -> list[tuple[str, ...]]:
    """Return a table of pass^k, its head first, as far as every task has several samples; else nothing."""
    most = max((len(each.pass_hat) for each in summaries), default=0)
    if most < 2:
        return []
    head = ("policy", *(f"pass^{k}" for k in range(1, most + 1)))
    return [head, *((each.policy, *(_share(each.pass_hat.get(k)) for k in range(1, most + 1))) for each in summaries)]


def group_rows(summaries: Sequence[Summary]) -> dict[str, list[tuple[str, ...]]]:
    """Return name of a group -> a table of right answers, a column for each value, its head first."""
    found: dict[str, list[tuple[str, ...]]] = {}
    for name in dict.fromkeys(name for each in summaries for name in each.groups):
        values = list(dict.fromkeys(value for each in summaries for value in each.groups.get(name, {})))
        rows = [
            (each.policy, *(_share(each.groups.get(name, {}).get(value)) for value in values)) for each in summaries
        ]
        counts = next(each.groups[name] for each in summaries if name in each.groups)
        head = (f"by {name}", *(f"{value} ({counts[value].tasks})" if value in counts else value for value in values))
        found[name] = [head, *rows]
    return found


def failure_rows(summaries: Sequence[Summary]) -> list[tuple[str, ...]]:
    """Return a table of failures: of the scored samples of each policy, what went wrong in how many."""
    kinds = list(dict.fromkeys(kind for each in summaries for kind in each.failures))
    if not kinds:
        return []
    return [
        ("policy", *kinds),
        *((each.policy, *(f"{each.failures.get(kind, 0):,}" for kind in kinds)) for each in summaries),
    ]


def text_table(summaries: Sequence[Summary]) -> list[str]:
    """Return the lines of a table for a terminal."""
    shown = ("policy", "right", "95 % interval", "tasks", "errors", "utility")
    places = [RIGHT.index(name) for name in shown]
    is_named = any(each.kinship is not None for each in summaries)
    cells: list[tuple[str, ...]] = [(*shown, "cents", "seconds", *((SHORT,) if is_named else ()))]
    for each in summaries:
        right, spent = right_row(each), spent_row(each)
        row = (*(right[place] for place in places), spent[SPENT.index("cents")], spent[SPENT.index("seconds")])
        cells.append((*row, *((short(each),) if is_named else ())))
    widths = [max(len(line[column]) for line in cells) for column in range(len(cells[0]))]
    return [
        "  ".join(
            cell.ljust(width) if place == 0 else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in cells
    ]


def how(summaries: Sequence[Summary]) -> str:
    """Return how the intervals of the accuracies were made, in words."""
    told = {
        "wilson": "Wilson's",
        "t": "clustered standard error, t",
        "none": "none: one cluster alone",
    }
    methods = [each.accuracy.method for each in summaries if each.accuracy is not None]
    clusters = max((each.accuracy.clusters for each in summaries if each.accuracy is not None), default=0)
    return f"Intervals over {clusters:,} clusters: {'; '.join(told[name] for name in dict.fromkeys(methods))}."


def _number(estimate: Estimate | None, digits: int) -> str:
    return NONE if estimate is None else f"{estimate.value:.{digits}f}"


def _share(estimate: Estimate | None) -> str:
    return NONE if estimate is None else f"{estimate.value:.1%}"
