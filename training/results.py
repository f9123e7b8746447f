"""From measurements to docs/results: figures.json, a page of tables, and plots. Means over seeds with 95 % intervals of
Student's t."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from scipy import stats

from toolscale.preferences import LEVELS
from toolscale.reward.kinds import TOOL_WEIGHT
from training.evaluate import Ground
from training.starting import write_json
from training.tiny.board import CALLS, Result

FIGURES = ("utility", "share", "right", "cost_usd", "latency_s", "best")
RIVAL = "tools, else cheapest"
"""The rule that a user would begin with: it knows which tool fits and what experts cost, and nothing else."""
AVERAGE, TOLD = "best for the average user", "tools, else by the wish"
"""The best that reads no wish, and a rule that is told it."""
TABLES = (
    *("a", "d", "third", "beyond", "wording", "weights", "strangers", "accurate", "thrifty", "hasty"),
    *("wished", "wished_strangers", "denied"),
)
WHOLE = "whole"
"""The kind of run that is the configuration itself, with the full reward; others are named by their reward."""
FULL = "absolute"
"""Its reward."""
CHAINED = "two_steps"
"""The kind of run that has questions of two steps among its tasks."""
PARTS = ("all", "both", "lacking")
"""Its tables: all tasks, questions of two steps with both tools, and those that lack one."""
Measured = Mapping[str, Mapping[str, Any]]
"""Name of a run, `kind-seed` -> what `experiments.measure` found."""


@dataclass(frozen=True)
class Finding:
    """One promise, and whether it is kept; none: the seeds leave it open."""

    words: str
    reached: bool | None

    @property
    def verdict(self) -> str:
        """In words."""
        return "not sure" if self.reached is None else "reached" if self.reached else "not reached"


def frontier_of(ground: Ground, model: torch.nn.Module) -> list[dict[str, float]]:
    """Return what a model and the optimum get for each weight of cost and of latency, where a right answer weighs 1."""
    points = []
    for cost, latency in itertools.product(LEVELS, LEVELS):
        wished = ground.wishing({"outcome": 1.0, "cost": cost, "latency": latency})
        found = {"trained": wished.play(model, "trained"), "optimum": wished.baselines()["optimum"]}
        means = {
            f"{name}_{figure}": value for name, result in found.items() for figure, value in result.means().items()
        }
        points.append({"cost_weight": cost, "latency_weight": latency, **means})
    return points


FRONTIER_TASKS = 512
"""Tasks of the sweep over weights."""
PAIRS = {"cents": ("thrifty", "cost_usd"), "seconds": ("hasty", "latency_s")}
"""What is spent -> the user who wants little of it, compared with one who only wants a right answer."""


def pairs_of(wishing: Mapping[str, Mapping[str, Result]]) -> dict[str, dict[str, dict[str, float]]]:
    """Return, for pairs of users with the same task and offer: policy -> what is spent -> how often the one who wants
    little of it spends less, as much, or more than the one who only wants a right answer, and how often less without
    being given up. `wishing`: user -> policy -> what comes of it, with the orchestrator's own tokens for nothing: a
    wish of more words is no choice."""
    found: dict[str, dict[str, dict[str, float]]] = {}
    for policy in ("trained", "optimum"):
        found[policy] = {}
        for spent, (user, figure) in PAIRS.items():
            change = getattr(wishing[user][policy], figure) - getattr(wishing["accurate"][policy], figure)
            least = 1e-9 * np.abs(getattr(wishing["accurate"][policy], figure)).max()
            less, more = float((change < -least).mean()), float((change > least).mean())
            answered = 1 - wishing[user][policy].calls[:, CALLS.index("gives up")]
            found[policy][spent] = {
                "less": less,
                "less and answered": float(((change < -least) * answered).mean()),
                "as much": 1 - less - more,
                "more": more,
            }
    return found


def means_of(found: Sequence[Any]) -> Any:
    """Return one mapping with the means over seeds of numbers at the same places."""
    if isinstance(found[0], Mapping):
        return {name: means_of([each[name] for each in found]) for name in found[0]}
    return float(np.mean(found))


def kind_of(name: str) -> str:
    """Return the kind of a run, from its name `kind-seed`."""
    return name.rpartition("-")[0]


def seed_of(name: str) -> int:
    """Return the seed of a run, from its name `kind-seed`."""
    return int(name.rpartition("-")[2])


def of_kind(measured: Measured, kind: str) -> list[Mapping[str, Any]]:
    """Return what was found for the runs of a kind, in the order of their names."""
    return [run for name, run in sorted(measured.items()) if kind_of(name) == kind]


def used(calls: Mapping[str, Mapping[str, float]]) -> dict[str, dict[str, float]]:
    """Return shares of sorts of action by policy, without sorts that no policy uses."""
    sorts = [sort for sort in next(iter(calls.values())) if any(shares[sort] for shares in calls.values())]
    return {policy: {sort: shares[sort] for sort in sorts} for policy, shares in calls.items()}


def wishes_of(runs: Sequence[Sequence[Mapping[str, float]]]) -> list[dict[str, float]]:
    """Return one row for each weight of cost: means over the weights of latency and the seeds."""
    names = [name for name in runs[0][0] if not name.endswith("_weight")]
    points = [point for run in runs for point in run]
    return [
        {
            "weight": level,
            **{
                name: float(np.mean([point[name] for point in points if point["cost_weight"] == level]))
                for name in names
            },
        }
        for level in LEVELS
    ]


def spearman(points: Sequence[Mapping[str, float]]) -> float:
    """Return Spearman's rank correlation of the weight of cost and the dollars that are spent, averaged over the
    weights of latency."""
    spent = [
        np.mean([point["trained_cost_usd"] for point in points if point["cost_weight"] == level]) for level in LEVELS
    ]
    return float(stats.spearmanr(LEVELS, spent).statistic)


Spread = tuple[float, float | None]
"""A mean, and the half width of its 95 % interval; none: it is of one value."""


def interval(values: Sequence[float]) -> Spread:
    """Return the mean and the half width of its 95 % interval (Student's t)."""
    mean = float(np.mean(values))
    if len(values) < 2:
        return mean, None
    return mean, float(stats.t.ppf(0.975, len(values) - 1) * np.std(values, ddof=1) / np.sqrt(len(values)))


def shown(spread: Spread) -> str:
    """Return a share and its spread, %."""
    mean, half = spread
    return f"{mean:.1%} (one seed)" if half is None else f"{mean:.1%} ± {half:.1%}"


def narrow(spread: Spread, most: float) -> bool:
    """Whether the half width is known and at most this."""
    return spread[1] is not None and spread[1] <= most


def ahead(measured: Measured, kind: str, table: str, figure: str = "share", rival: str = RIVAL) -> bool | None:
    """Whether the trained model has more than a rival: by the 95 % interval of the differences, seed by seed. None: the
    model has more on average, and the interval reaches 0 or there is one seed."""
    rows = [{row["policy"]: row[figure] for row in run[table]} for run in of_kind(measured, kind)]
    mean, half = interval([row["trained"] - row[rival] for row in rows])
    return (None if half is None or half >= mean else True) if mean > 0 else False


def over_seeds(measured: Measured, kind: str, table: str) -> dict[str, dict[str, Spread]]:
    """Return policy -> figure -> (mean, half width), over the seeds of one kind of reward."""
    tables = [found[table] for found in of_kind(measured, kind)]
    policies = [row["policy"] for row in tables[0]]
    rows = {policy: [row for each in tables for row in each if row["policy"] == policy] for policy in policies}
    return {
        policy: {figure: interval([row[figure] for row in found]) for figure in FIGURES}
        for policy, found in rows.items()
    }


def rewards_of(measured: Measured) -> dict[str, dict[str, Any]]:
    """Return reward -> what its runs reach: figure -> (mean, half width) in words of training (`a`), on the clean split
    (`wording`) and there without wishes about single tools (`weights`), and `pairs`. The full reward comes first, with
    the seeds alone that the others have too."""
    others = list(dict.fromkeys(kind_of(name) for name in measured if kind_of(name) not in (WHOLE, CHAINED)))
    seeds = {seed_of(name) for name in measured if kind_of(name) in others}
    alike = {name: run for name, run in measured.items() if seed_of(name) in seeds}
    return {
        FULL if kind == WHOLE else kind: {
            **{table: over_seeds(alike, kind, table)["trained"] for table in ("a", "wording", "weights")},
            "pairs": means_of([run["pairs"]["trained"] for run in of_kind(alike, kind)]),
        }
        for kind in (WHOLE, *others)
    }


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


def _unseen_words(measured: Measured) -> list[Finding]:
    clean, weights, strangers, third, a = (
        over_seeds(measured, WHOLE, table) for table in ("wording", "weights", "strangers", "third", "a")
    )
    plain, split = (table["trained"]["share"] for table in (weights, clean))
    rivals, plain_rivals, strange_rivals = (
        f"{RIVAL}: {table[RIVAL]['share'][0]:.1%}; {AVERAGE}: {table[AVERAGE]['share'][0]:.1%}"
        for table in (clean, weights, strangers)
    )
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
            right >= strongest,
        ),
        Finding(
            f"... {RIVAL}: {rival_right:.1%}; {AVERAGE}: {blind:.1%} (wanted: more than these); {TOLD}: {told:.1%}",
            ahead(measured, WHOLE, "accurate", "right") and ahead(measured, WHOLE, "accurate", "right", AVERAGE),
        ),
        Finding(
            f"(a) for users who want to save money it spends {spent:.3f} cents ({saved:.1%} right); "
            f"{RIVAL}: {rival_spent:.3f} ({rival_saved:.1%})",
            spent < rival_spent,
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
    return Finding(
        "(b) the clean split without wishes about single tools, with the full reward and with others: "
        f"{', '.join(told)} (wanted: 3 points ahead)",
        all(shares[full[0]] >= shares[name] + 0.03 for name, _ in others),
    )


def _unseen_experts(measured: Measured) -> list[Finding]:
    tables = [over_seeds(measured, WHOLE, table) for table in ("a", "d")]
    share, unseen = (table["trained"]["share"][0] for table in tables)
    leads = [100 * (table["trained"]["share"][0] - table[RIVAL]["share"][0]) for table in tables]
    words = (
        f"(d) unseen experts and prices: {unseen:.1%} of the way, {unseen / share:.1%} of (a) (wanted: 90 %); "
        f"ahead of {RIVAL} by {leads[1]:.1f} points, by {leads[0]:.1f} in (a)"
    )
    beyond = over_seeds(measured, WHOLE, "beyond")
    both = f"(d) experts and words unseen: {shown(beyond['trained']['share'])} of the way"
    return [
        Finding(words, unseen >= 0.9 * share),
        Finding(f"{both}; {RIVAL}: {beyond[RIVAL]['share'][0]:.1%}", ahead(measured, WHOLE, "beyond")),
    ]


def _two_steps(measured: Measured) -> Finding:
    mixed = over_seeds(measured, CHAINED, "all")
    share, rival = (mixed[name]["share"][0] for name in ("trained", RIVAL))
    both = means_of([run["calls"]["both"]["trained"] for run in of_kind(measured, CHAINED)])["search, then interpreter"]
    return Finding(
        f"(g) with questions of two steps among the tasks {share:.1%} of the way; {RIVAL}: {rival:.1%}; "
        f"of those that have both tools it searches and then computes in {both:.1%} (one seed)",
        ahead(measured, CHAINED, "all"),
    )


def _single_tools(measured: Measured) -> list[Finding]:
    wished, strangers = (over_seeds(measured, WHOLE, table) for table in ("wished", "wished_strangers"))
    told, strange_told = (
        f"{shown(table['trained']['share'])} of the way; "
        + "; ".join(f"{name}: {table[name]['share'][0]:.1%}" for name in (RIVAL, AVERAGE))
        + " (wanted: ahead of the first)"
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


def write_results(out: Path, measured: Measured, steps: int) -> list[Finding]:
    """Write figures.json, README.md and the plots; return the findings. `steps`: of each run."""
    out.mkdir(parents=True, exist_ok=True)
    findings = findings_of(measured)
    whole, two_steps = of_kind(measured, WHOLE), of_kind(measured, CHAINED)
    tables = {table: over_seeds(measured, WHOLE, table) for table in TABLES}
    chained = {part: over_seeds(measured, CHAINED, part) for part in PARTS}
    found = {"seeds": len(whole), "compared_seeds": len(two_steps), "steps": steps}
    figures = {**found, "tables": tables, CHAINED: chained, "rewards": rewards_of(measured)}
    write_json(out / "figures.json", {**figures, "runs": measured})
    frontiers = [run["c"] for run in whole]
    page = page_of(
        "results.md.jinja",
        **found,
        findings=findings,
        tool_weight=TOOL_WEIGHT,
        tables=tables,
        rewards=figures["rewards"],
        wishes=wishes_of(frontiers),
        calls=used(means_of([run["calls"] for run in whole])),
        chained=chained,
        turns=[means_of(each) for each in zip(*(run["turns"] for run in two_steps), strict=True)],
        chained_calls=used(means_of([run["calls"]["both"] for run in two_steps])),
        pairs=means_of([run["pairs"] for run in whole]),
        obedience=means_of([run["obedience"] for run in whole]),
        denied_tools=means_of([run["denied_tools"] for run in whole]),
        counted=means_of([run["tasks"] for run in two_steps]),
        swept=FRONTIER_TASKS,
        by_seed=[row["share"] for run in whole for row in run["wording"] if row["policy"] == "trained"],
    )
    (out / "README.md").write_text(page, encoding="utf-8")
    draw_policies(out / "policies.png", tables["a"])
    draw_frontier(out / "frontier.png", frontiers)
    return findings


def page_of(template: str, **facts: Any) -> str:
    """Return a page: a template of training/templates, filled in."""
    templates = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"), undefined=StrictUndefined, trim_blocks=True
    )
    return templates.get_template(template).render(**facts)


def draw_policies(path: Path, table: Mapping[str, Mapping[str, Spread]]) -> None:
    """Accuracy against cost, one mark a policy."""
    pyplot = _pyplot()
    figure, panel = pyplot.subplots(figsize=(10, 5), constrained_layout=True)
    for policy, row in table.items():
        x, y = 100 * row["cost_usd"][0], 100 * row["right"][0]
        label = f"{policy} (U {row['utility'][0]:.2f})"
        panel.errorbar(
            x,
            y,
            xerr=100 * (row["cost_usd"][1] or 0.0),
            yerr=100 * (row["right"][1] or 0.0),
            marker="o",
            markersize=9,
            linestyle="none",
            label=label,
        )
    figure.legend(loc="outside right upper")
    panel.set_xscale("log")
    panel.set_xlabel("cents per task (logarithmic)")
    panel.set_ylabel("right answers, %")
    figure.savefig(path, dpi=110, metadata={"Software": None})
    pyplot.close(figure)


def draw_frontier(path: Path, runs: Sequence[Sequence[Mapping[str, float]]]) -> None:
    """What one model spends and gets for users of different wishes, beside the optimum for each of them."""
    pyplot = _pyplot()
    figure, panels = pyplot.subplots(1, 2, figsize=(12, 5), constrained_layout=True)
    for number, points in enumerate(runs):
        still = [point for point in points if point["latency_weight"] == 0]
        panels[0].plot(
            [100 * p["trained_cost_usd"] for p in still],
            [100 * p["trained_right"] for p in still],
            "o-",
            label=f"trained, seed {number}",
        )
        spent = [
            100 * float(np.mean([p["trained_cost_usd"] for p in points if p["cost_weight"] == level]))
            for level in LEVELS
        ]
        panels[1].plot(LEVELS, spent, "o-", label=f"trained, seed {number}")
    still = [point for point in runs[0] if point["latency_weight"] == 0]
    panels[0].plot(
        [100 * p["optimum_cost_usd"] for p in still], [100 * p["optimum_right"] for p in still], "k--", label="optimum"
    )
    spent = [
        100 * float(np.mean([p["optimum_cost_usd"] for p in runs[0] if p["cost_weight"] == level])) for level in LEVELS
    ]
    panels[1].plot(LEVELS, spent, "k--", label="optimum")
    panels[0].set(
        xscale="log",
        xlabel="cents per task (logarithmic)",
        ylabel="right answers, %",
        title="weights of cost from 0 to 1, of latency 0",
    )
    panels[1].set(
        yscale="log",
        xlabel="weight of cost",
        ylabel="cents per task (logarithmic)",
        title="mean over the weights of latency",
    )
    for panel in panels:
        panel.legend()
    figure.savefig(path, dpi=110, metadata={"Software": None})
    pyplot.close(figure)


def _pyplot() -> Any:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    return pyplot
