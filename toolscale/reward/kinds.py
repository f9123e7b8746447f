"""The kinds of reward: the paper's, an absolute one, and two for comparison."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from pydantic import Field

from toolscale.models.pricing import References
from toolscale.records import Preference
from toolscale.records.base import Record
from toolscale.reward.group import Scale
from toolscale.reward.measures import Figures

CAP = 4.0
"""Cost and latency count for at most so many references: more is no worse, so that rewards stay bounded."""

TOOL_WEIGHT = 0.5
"""What wishes about single tools weigh. A right answer weighs as much as the user's weight of outcome says, 1 at
most."""


class RewardConfig(Record):
    """Which reward is trained on, and which samples."""

    kind: Literal["paper", "absolute", "outcome", "efficiency"] = "absolute"
    cap: float = Field(default=CAP, gt=0)
    """Most references that cost and latency count for (`absolute`, `efficiency`)."""
    tool_weight: float = Field(default=TOOL_WEIGHT, ge=0, le=1)
    """Weight of wishes about single tools (`absolute`; `paper` has the user's own weights for them). Where it is
    measured what a model is worth, it is the default."""
    cost_weight: float = Field(default=0.25, ge=0, le=1)
    """Fixed weight of cost; only `efficiency` has it."""
    latency_weight: float = Field(default=0.25, ge=0, le=1)
    """Fixed weight of latency; only `efficiency` has it."""
    unusable_penalty: float = Field(default=0.0, ge=0, le=4)
    """Taken from the reward of a rollout with a turn that could not be read or a call of what is denied, or without an
    answer. For models that are not filtered for it."""
    least_std: float = Field(default=0.1, ge=0)
    """A group whose rewards deviate less is not trained on."""
    scale: Scale = "group"
    """What advantages are divided by; `none` keeps them in units of the reward, and the bonus for entropy with them."""
    drop_unparsable: bool = False
    """Whether a rollout with a turn that could not be read is left out, even one that went on to an answer: how to
    recover is learned from those."""
    unanswered: Literal["lower", "keep", "drop"] = "lower"
    """What is done with a rollout without an answer: one that went round in circles, or filled its context. lower: it
    is trained on where its advantage is below zero and others of its group answered, so that the model does it less;
    keep: it is trained on as any other; drop: it is left out, and teaches nothing."""
    unanswered_penalty: float = Field(default=0.25, ge=0, le=4)
    """Taken from the reward of a rollout that a limit stopped: else to go round in circles for nothing is no worse than
    a wrong answer, and better than one that cost something."""
    drop_undecided: bool = True
    """Whether a rollout is left out whose final message rules cannot grade (docs/understand/grading.md)."""


def paper_rewards(group: Sequence[Figures], preference: Preference, tools: Sequence[str]) -> list[float]:
    """Return the reward of ToolOrchestra (arXiv 2511.21689) for each rollout of one group.

    M = [uses of tool 1..n, outcome, -cost, -latency]; each component is normalized to (x - min) / (max - min) over the
    group, and is 0 where max = min. R = M_norm . P if the rollout is right, else 0. Every R is between 0 and the sum of
    the weights. A tool without a weight weighs 0.

    This is the formula as printed. The released code differs, and we do not follow it: there more cost and more latency
    *raise* the reward (the table of minima and maxima holds negated values, the numerator the plain one), and the term
    has no bound when costs are close; outcome, cost and latency are added twice; the call that gives the final answer,
    most often the dearest, is free; a tool's range leaves out the rollouts that never used it; and a weight that is
    missing drops the whole batch.
    """
    columns = [
        (preference.tools.get(tool, 0.0), [float(figures.uses.get(tool, 0)) for figures in group]) for tool in tools
    ]
    columns.append((preference.outcome, [float(figures.right) for figures in group]))
    columns.append((preference.cost, [-figures.cost_usd for figures in group]))
    columns.append((preference.latency, [-figures.latency_s for figures in group]))
    totals = [0.0] * len(group)
    for weight, column in columns:
        least, most = min(column, default=0.0), max(column, default=0.0)
        if weight == 0 or most == least:
            continue
        for place, value in enumerate(column):
            totals[place] += weight * ((value - least) / (most - least))
    return [total if figures.right else 0.0 for figures, total in zip(group, totals, strict=True)]


def absolute_reward(
    figures: Figures,
    preference: Preference,
    references: References,
    cap: float = CAP,
    tool_weight: float = TOOL_WEIGHT,
) -> float:
    """Return P_o * right - P_c * min(cost / cost_ref, cap) - P_l * min(latency / latency_ref, cap) + w_t * heeded, with
    `heeded` of the tools that were used.

    It depends on no other rollout, and lies between -cap * (P_c + P_l) - w_t and P_o + w_t.
    """
    weighed = _weighed(figures, references, cap, preference.outcome, preference.cost, preference.latency)
    return weighed + tool_weight * heeded(preference, figures.uses)


def heeded(preference: Preference, used: Iterable[str]) -> float:
    """Return how well wishes about single tools are heeded by using these, from -1 to 1: the sum of 2 * P_t - 1 over
    those that the user speaks of, cut at both ends. One that is liked (P_t = 1) gives 1, one that is to be left alone
    (P_t = 0) takes 1, and how often it is used does not matter."""
    worth = sum(2 * preference.tools[name] - 1 for name in set(used) if name in preference.tools)
    return max(-1.0, min(1.0, worth))


def outcome_reward(figures: Figures) -> float:
    """Return 1 if right, else 0, whatever it cost."""
    return float(figures.right)


def efficiency_reward(figures: Figures, references: References, config: RewardConfig) -> float:
    """Return right - w_c * min(cost / cost_ref, cap) - w_l * min(latency / latency_ref, cap): the same fixed weights
    for every user."""
    return _weighed(figures, references, config.cap, 1.0, config.cost_weight, config.latency_weight)


def rewards_of(
    group: Sequence[Figures], preference: Preference, tools: Sequence[str], references: References, config: RewardConfig
) -> list[float]:
    """Return the reward of each rollout of one group, of the kind that the configuration names. `tools`: aliases and
    tools that the task offers."""
    if config.kind == "paper":
        return paper_rewards(group, preference, tools)
    if config.kind == "absolute":
        return [absolute_reward(figures, preference, references, config.cap, config.tool_weight) for figures in group]
    if config.kind == "outcome":
        return [outcome_reward(figures) for figures in group]
    return [efficiency_reward(figures, references, config) for figures in group]


def _weighed(
    figures: Figures, references: References, cap: float, outcome: float, cost: float, latency: float
) -> float:
    spent = min(figures.cost_usd / references.cost_usd, cap)
    waited = min(figures.latency_s / references.latency_s, cap)
    return outcome * figures.right - cost * spent - latency * waited
