"""What is promised of training, and whether the measurements keep it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from toolscale.preferences.grammar import LEVELS
from training.spread import (
    AVERAGE,
    CHAINED,
    RIVAL,
    TOLD,
    WHOLE,
    Measured,
    Spread,
    ahead,
    every,
    figures_of,
    leads,
    means_of,
    narrow,
    of_kind,
    over_seeds,
    positive,
    rewards_of,
    shown,
    with_seeds_of,
)


@dataclass(frozen=True)
class Finding:
    """One promise, and whether it is kept; none: the seeds leave it open."""

    words: str
    reached: bool | None

    @property
    def verdict(self) -> str:
        """In words."""
        return "not sure" if self.reached is None else "reached" if self.reached else "not reached"


def spearman(points: Sequence[Mapping[str, float]]) -> float:
    """Return Spearman's rank correlation of the weight of cost and the dollars that are spent, averaged over the
    weights of latency."""
    spent = [
        np.mean([point["trained_cost_usd"] for point in points if point["cost_weight"] == level]) for level in LEVELS
    ]
    return float(stats.spearmanr(LEVELS, spent).statistic)


def findings_of(measured: Measured) -> list[Finding]:
    """Return the promises, each with its figures."""
    return [
        *_unseen_words(measured),
        *_users(measured),
        _rewards(measured),
        *_unseen_experts(measured),
        _two_steps(measured),
        *_single_tools(measured),
    ]


def _rivals(table: Mapping[str, Mapping[str, Spread]]) -> str:
    return "; ".join(f"{name}: {table[name]['share'][0]:.1%}" for name in (RIVAL, AVERAGE))


def _unseen_words(measured: Measured) -> list[Finding]:
    clean, weights, strangers, third, a = (
        over_seeds(measured, WHOLE, table) for table in ("wording", "weights", "strangers", "third", "a")
    )
    plain, split = (table["trained"]["share"] for table in (weights, clean))
    rivals, plain_rivals, strange_rivals = (_rivals(table) for table in (clean, weights, strangers))
    strange = strangers["trained"]["share"]
    beyond = third["trained"]["share"][0]
    share, best = a["trained"]["share"][0], a["trained"]["best"][0]
    return [
        Finding(
            f"the clean split: {shown(split)} of the way; {rivals} (wanted: 93 %, with ± 3 or less)",
            split[0] >= 0.93 and narrow(split, 0.03),
        ),
        Finding(
            f"... where nothing is said of single tools and nothing is denied: {shown(plain)} of the way; "
            f"{plain_rivals} (93 %, with ± 3 or less, was set for these tasks, when there were no others)",
            plain[0] >= 0.93 and narrow(plain, 0.03),
        ),
        Finding(
            f"... there ahead of the {AVERAGE}, which reads no wish",
            ahead(measured, WHOLE, "weights", rival=AVERAGE),
        ),
        Finding(
            f"wishes in strangers' words too: {shown(strange)} of the way; {strange_rivals} "
            "(wanted: ahead of the first)",
            ahead(measured, WHOLE, "strangers"),
        ),
        Finding(f"a third catalogue of experts: {beyond:.1%} of the way (wanted: 85 %)", beyond >= 0.85),
        Finding(f"(a) {share:.1%} of the way from random to the optimum (wanted: 95 %)", share >= 0.95),
        Finding(f"(a) the optimum's choice in {best:.1%} of the tasks (wanted: 80 %)", best >= 0.8),
    ]


def _users(measured: Measured) -> list[Finding]:
    accurate, thrifty = (over_seeds(measured, WHOLE, table) for table in ("accurate", "thrifty"))
    right, strongest, rival_right, blind, told = (
        accurate[name]["right"][0] for name in ("trained", "always strongest", RIVAL, AVERAGE, TOLD)
    )
    worth, rival_worth = (thrifty[name]["utility"][0] for name in ("trained", RIVAL))
    spent, rival_spent = (100 * thrifty[name]["cost_usd"][0] for name in ("trained", RIVAL))
    saved, rival_saved = (thrifty[name]["right"][0] for name in ("trained", RIVAL))
    ranks = [spearman(found["c"]) for found in of_kind(measured, WHOLE)]
    return [
        Finding(
            f"(a) for users who only want a right answer {right:.1%} right; always the strongest: {strongest:.1%}",
            ahead(measured, WHOLE, "accurate", "right", "always strongest"),
        ),
        Finding(
            f"... {RIVAL}: {rival_right:.1%}; {AVERAGE}: {blind:.1%} (wanted: more than these); {TOLD}: {told:.1%}",
            every([ahead(measured, WHOLE, "accurate", "right", rival) for rival in (RIVAL, AVERAGE)]),
        ),
        Finding(
            f"(a) for users who want to save money it spends {spent:.3f} cents ({saved:.1%} right); "
            f"{RIVAL}: {rival_spent:.3f} ({rival_saved:.1%})",
            positive([-lead for lead in leads(measured, WHOLE, "thrifty", "cost_usd")]),
        ),
        Finding(
            f"... its utility for them is {worth:.3f}; {RIVAL}: {rival_worth:.3f}",
            ahead(measured, WHOLE, "thrifty", "utility"),
        ),
        Finding(
            "(c) Spearman of spending and the weight of cost: "
            f"{', '.join(f'{rank:.2f}' for rank in ranks)} (wanted: -0.9)",
            max(ranks) <= -0.9,
        ),
    ]


def _rewards(measured: Measured) -> Finding:
    full, *others = rewards_of(measured).items()
    shares = {name: reward["weights"]["share"][0] for name, reward in (full, *others)}
    told = [f"{name} {share:.1%}" for name, share in shares.items()]
    gaps = [positive(_gaps(measured, name)) for name, _ in others]
    return Finding(
        "(b) the clean split without wishes about single tools, with the full reward and with others: "
        f"{', '.join(told)} (wanted: 3 points ahead)",
        every(gaps),
    )


def _gaps(measured: Measured, kind: str) -> list[float]:
    """By how much more than 3 points the full reward is ahead of another, for the seeds that both have."""
    alike = with_seeds_of(measured, [kind])
    own, others = (figures_of(alike, each, "weights", "trained") for each in (WHOLE, kind))
    return [one - other - 0.03 for one, other in zip(own, others, strict=True)]


def _unseen_experts(measured: Measured) -> list[Finding]:
    tables = [over_seeds(measured, WHOLE, table) for table in ("a", "d")]
    share, unseen = (table["trained"]["share"][0] for table in tables)
    known, other = (100 * float(np.mean(leads(measured, WHOLE, table))) for table in ("a", "d"))
    kept = [
        after - 0.9 * before
        for before, after in zip(*(figures_of(measured, WHOLE, table, "trained") for table in ("a", "d")), strict=True)
    ]
    words = (
        f"(d) unseen experts and prices: {unseen:.1%} of the way, {unseen / share:.1%} of (a) (wanted: 90 %); "
        f"ahead of {RIVAL} by {other:.1f} points, by {known:.1f} in (a)"
    )
    beyond = over_seeds(measured, WHOLE, "beyond")
    both = f"(d) experts and words unseen: {shown(beyond['trained']['share'])} of the way"
    return [
        Finding(words, positive(kept)),
        Finding(f"{both}; {RIVAL}: {beyond[RIVAL]['share'][0]:.1%}", ahead(measured, WHOLE, "beyond")),
    ]


def _two_steps(measured: Measured) -> Finding:
    mixed = over_seeds(measured, CHAINED, "all")
    both = means_of([run["calls"]["both"]["trained"] for run in of_kind(measured, CHAINED)])["search, then interpreter"]
    return Finding(
        f"(g) with questions of two steps among the tasks {shown(mixed['trained']['share'])} of the way; "
        f"{RIVAL}: {mixed[RIVAL]['share'][0]:.1%}; of those that have both tools it searches and then computes in "
        f"{both:.1%}",
        ahead(measured, CHAINED, "all"),
    )


def _single_tools(measured: Measured) -> list[Finding]:
    wished, strangers = (over_seeds(measured, WHOLE, table) for table in ("wished", "wished_strangers"))
    told, strange_told = (
        f"{shown(table['trained']['share'])} of the way; {_rivals(table)} (wanted: ahead of the first)"
        for table in (wished, strangers)
    )
    called = means_of([run["obedience"] for run in of_kind(measured, WHOLE)])["denied"]["trained"]["denied"]
    fitting = means_of([run["denied_tools"] for run in of_kind(measured, WHOLE)])["called"]
    return [
        Finding(
            f"(h) users who speak of single tools: {told}",
            ahead(measured, WHOLE, "wished"),
        ),
        Finding(
            f"(h) ... in strangers' words: {strange_told}",
            ahead(measured, WHOLE, "wished_strangers"),
        ),
        Finding(
            f"(h) what may not be used is called first in {called:.1%} of the tasks; a denied tool that fits in "
            f"{fitting:.1%} (wanted: 1 %)",
            max(called, fitting) <= 0.01,
        ),
    ]
