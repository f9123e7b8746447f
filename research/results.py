"""From measurements to docs/results: figures.json, a page of tables, and plots."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from research.spread import TABLES, WHOLE, Measured, Spread, kind_of, means_of, of_kind, over_seeds, rewards_of
from toolscale.dataset.describing.drawing import own_settings
from toolscale.preferences.grammar import LEVELS
from toolscale.reward.kinds import TOOL_WEIGHT
from training.evaluate import Ground
from training.starting import write_json
from training.tiny.board import Result


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


TASKS_OF = {"familiar": "known intents", "heldout": "new intents"}
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
            answered = 1 - wishing[user][policy].shares[:, -1]  # the last action is to give up
            found[policy][spent] = {
                "less": less,
                "less and answered": float(((change < -least) * answered).mean()),
                "as much": 1 - less - more,
                "more": more,
            }
    return found


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


def write_results(out: Path, measured: Measured, steps: int) -> dict[str, dict[str, dict[str, Spread]]]:
    """Write figures.json, README.md and the plots; return table -> policy -> figure -> mean and half width. `steps`: of
    each run."""
    out.mkdir(parents=True, exist_ok=True)
    whole = of_kind(measured, WHOLE)
    tables = {table: over_seeds(measured, WHOLE, table) for table in TABLES}
    compared = min(sum(kind_of(name) == kind for name in measured) for kind in {*map(kind_of, measured)})
    facts: dict[str, Any] = {"seeds": len(whole), "compared_seeds": compared, "steps": steps}
    facts |= {"tables": tables, "rewards": rewards_of(measured)}
    write_json(out / "figures.json", {**facts, "runs": measured})
    frontiers = [run["c"] for run in whole]
    means = {name: means_of([run[name] for run in whole]) for name in ("pairs", "obedience", "denied_tools")}
    page = page_of(
        "results.md.jinja",
        **facts,
        **means,
        tool_weight=TOOL_WEIGHT,
        wishes=wishes_of(frontiers),
        swept=FRONTIER_TASKS,
        by_seed=[row["share"] for run in whole for row in run["wording"] if row["policy"] == "trained"],
    )
    (out / "README.md").write_text(page, encoding="utf-8")
    draw_policies(out / "policies.png", tables["a"])
    draw_frontier(out / "frontier.png", frontiers)
    return tables


def page_of(template: str, **facts: Any) -> str:
    """Return a page: a template of research/templates, filled in."""
    templates = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"), undefined=StrictUndefined, trim_blocks=True
    )
    return templates.get_template(template).render(**facts)


@own_settings()
def draw_policies(path: Path, table: Mapping[str, Mapping[str, Spread]]) -> None:
    """Accuracy against cost, one mark a policy, but for giving up."""
    pyplot = _pyplot()
    figure, panel = pyplot.subplots(figsize=(10, 5), constrained_layout=True)
    shown = {policy: row for policy, row in table.items() if policy != "gives up"}
    for (policy, row), marker in zip(shown.items(), itertools.cycle("osD^v<>Pp*X")):
        x, y = 100 * row["cost_usd"][0], 100 * row["right"][0]
        label = f"{policy} (U {row['utility'][0]:.2f})"
        panel.errorbar(
            x,
            y,
            xerr=100 * (row["cost_usd"][1] or 0.0),
            yerr=100 * (row["right"][1] or 0.0),
            marker=marker,
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


@own_settings()
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


@own_settings()
def draw_curve(path: Path, found: Mapping[str, Mapping[str, Any]], read: Mapping[str, Mapping[str, int]]) -> None:
    """What runs of SFT make of tasks against how many conversations they read: golden calls made, and whole tasks
    right, with 95 % intervals. `found`: benchmark -> run -> figures; `read`: run -> `conversations`, `wrong`. The
    control is hollow; runs that go on with GRPO are not drawn."""
    pyplot = _pyplot()
    figure, panels = pyplot.subplots(1, 2, figsize=(10, 4), constrained_layout=True, sharey=True)
    for colour, (benchmark, runs) in enumerate(found.items()):
        points = sorted(
            (own["conversations"], name, own["wrong"]) for name, own in read.items() if own and name in runs
        )
        for golden in (True, False):
            own = [(count, runs[name]) for count, name, wrong in points if (wrong == 0) == golden]
            look = {"color": f"C{colour}", "fmt": "o-" if golden else "o", "mfc": None if golden else "none"}
            label = f"{TASKS_OF[benchmark]}{'' if golden else ', control'}"
            for panel, shares in (
                (panels[0], [each["reference"]["calls"] for _, each in own]),
                (panels[1], [each["accuracy"] for _, each in own]),
            ):
                values = [100 * each["value"] for each in shares]
                below = [100 * (each["value"] - each["low"]) for each in shares]
                above = [100 * (each["high"] - each["value"]) for each in shares]
                panel.errorbar([count for count, _ in own], values, yerr=[below, above], label=label, capsize=3, **look)
    panels[0].set(title="golden calls made", xlabel="conversations read", ylabel="%", ylim=(-3, 100))
    panels[1].set(title="whole tasks right", xlabel="conversations read")
    panels[1].legend()
    figure.savefig(path, dpi=110, metadata={"Software": None})
    pyplot.close(figure)


def _pyplot() -> Any:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    return pyplot
