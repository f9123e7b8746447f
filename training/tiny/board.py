"""All that can come of each decision in many question tasks, exactly: the ground on which the tiny model is measured.

Where experts are simulated the best trade-off is computable, so a policy is scored by the expected absolute utility of
what it chooses, without a single draw: U = E[P_o right - P_c min(cost / cost_ref, cap) - P_l min(latency / latency_ref,
cap)] + w_t heeded, the reward `absolute` of toolscale/reward/kinds.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from toolscale.models.pricing import approximate_tokens, expected_cost, factors, latency_s, output_tokens
from toolscale.preferences.drawing import average_weights
from toolscale.questions.corpus import corpus
from toolscale.questions.grade import grade_answer
from toolscale.records import Catalogue, Preference, Question, RolloutTask
from toolscale.reward.kinds import CAP, TOOL_WEIGHT, heeded
from toolscale.rollout.actions import (
    BASIC_FIGURES,
    WAYS,
    actions,
    offered_specs,
    price_at,
    references,
    used_by,
)
from training.tiny.codec import answering_sentence, number_found

MINDS, GIVES_UP = 0.2, 0.5
"""Of the rule `tools, else by the wish`: the best of 0, 0.2, 0.4, 0.6 and of 0, 0.5, 0.6, 0.75, 1, 1.25 in words of
training."""


@dataclass(frozen=True)
class Board:
    """Tasks by actions. `open`: whether the action is there; elsewhere figures are 0. Aliases first, then WAYS, then
    giving up."""

    tasks: tuple[RolloutTask, ...]
    actions: tuple[str, ...]
    open: np.ndarray
    right: np.ndarray
    """Probability of a right answer."""
    costs: np.ndarray
    """(tasks, actions, 16): dollars, each as likely; the orchestrator's own tokens are not in it."""
    latencies: np.ndarray
    """(tasks, actions, 16): seconds."""
    heeded: np.ndarray
    """How well the user's wishes about single tools are heeded, from -1 to 1."""
    references: np.ndarray
    """(tasks, 2): dollars and seconds that one unit of cost and of latency is."""

    def utilities(self, extra_cost: np.ndarray | float = 0.0, extra_latency: np.ndarray | float = 0.0) -> np.ndarray:
        """Return (tasks, actions): expected absolute utility. `extra_*`: what the orchestrator itself takes, (tasks,
        actions) or a number."""
        weights = self.weights()
        extra = [
            np.broadcast_to(np.asarray(value, dtype=float), self.right.shape)[..., None]
            for value in (extra_cost, extra_latency)
        ]
        cost = np.minimum((self.costs + extra[0]) / self.references[:, None, None, 0], CAP).mean(axis=2)
        latency = np.minimum((self.latencies + extra[1]) / self.references[:, None, None, 1], CAP).mean(axis=2)
        spent = weights[:, 1:2] * cost + weights[:, 2:3] * latency
        return weights[:, 0:1] * self.right - spent + TOOL_WEIGHT * self.heeded

    def weights(self) -> np.ndarray:
        """Return (tasks, 3): the weights of outcome, cost and latency."""
        return np.array(
            [[task.preference.outcome, task.preference.cost, task.preference.latency] for task in self.tasks]
        )

    def wishing(self, preference: Preference) -> Board:
        """The same tasks for users who all wish this, and nothing of single tools."""
        tasks = tuple(task.model_copy(update={"preference": preference}) for task in self.tasks)
        return replace(self, tasks=tasks, heeded=np.zeros_like(self.heeded))


def make_board(tasks: Sequence[RolloutTask], catalogue: Catalogue, aliases: Sequence[str]) -> Board:
    """Work out what each action gives in each task. Tools that fit a question are right; what TinyCodec reads out of
    them is, but for a few look-ups in words that it does not know (tested)."""
    names = (*aliases, *WAYS, "give_up")
    shape = (len(tasks), len(names))
    is_open, right, wished = np.zeros(shape, dtype=bool), np.zeros(shape), np.zeros(shape)
    costs, latencies, refs = np.zeros((*shape, 16)), np.zeros((*shape, 16)), np.zeros((len(tasks), 2))
    for row, task in enumerate(tasks):
        refs[row] = references(task, catalogue)
        offered = offered_specs(task, catalogue)
        asked = approximate_tokens(task.question.text) if task.question is not None else 0
        for action in actions(task):
            column = names.index(action.alias or action.kind)
            is_open[row, column] = True
            wished[row, column] = heeded(task.preference, used_by(action))
            if action.alias is None:
                right[row, column] = 1.0 if task.question is None else read_right(action.kind, task.question)
                figures = np.sum([BASIC_FIGURES[tool] for tool in WAYS[action.kind]], axis=0)
                costs[row, column], latencies[row, column] = figures
                continue
            expert, spec = offered[action.alias]
            price, drawn = price_at(expert), factors(spec.spread)
            right[row, column] = spec.skills[task.category]
            tokens = np.array([output_tokens(spec, task.category, factor) for factor in drawn])
            costs[row, column] = (asked * price.input + tokens * price.output) / 1e6
            latencies[row, column] = [latency_s(spec, task.category, factor) for factor in drawn]
        is_open[row, -1] = True
    return Board(tuple(tasks), names, is_open, right, costs, latencies, wished, refs)


def read_right(way: str, question: Question) -> float:
    """Return 1 if TinyCodec reads the right answer, or the number to compute with, out of what a tool says that fits
    the question, 0 if not."""
    passage = _passages().get(question.lookup or "") if "local_search" in WAYS[way] else None
    if passage is None:
        return 1.0
    if question.fact is not None:
        return float(number_found(question.text, passage) == question.fact)
    return float(grade_answer(question, answering_sentence(question.text, passage))[0])


@cache
def _passages() -> dict[str, str]:
    """Title -> what local search finds first for it."""
    return {entry.title: f"[1] {entry.title}\n{entry.text}" for entry in corpus()}


@dataclass(frozen=True)
class Result:
    """What a policy gets on a board, exactly. Arrays have one number for each task."""

    name: str
    utility: np.ndarray
    right: np.ndarray
    cost_usd: np.ndarray
    latency_s: np.ndarray
    best: np.ndarray
    """Probability that the optimum's action is chosen."""
    shares: np.ndarray
    """(tasks, actions): probability of each action; the last is to give up."""
    liked: np.ndarray
    """Probability that what is used is liked, on the whole."""
    unwanted: np.ndarray
    """Probability that what is used is to be left alone, on the whole."""
    denied: np.ndarray
    """Probability that what may not be used is called first; this comes to nothing."""

    def obedience(self) -> dict[str, float]:
        """Return the share of tasks in which it uses what is liked, what is to be left alone, and calls what may not be
        used."""
        return {name: float(getattr(self, name).mean()) for name in ("liked", "unwanted", "denied")}

    def means(self) -> dict[str, float]:
        """Return the mean of each figure."""
        names = ("utility", "right", "cost_usd", "latency_s", "best")
        return {name: float(getattr(self, name).mean()) for name in names}


def chosen(
    board: Board,
    name: str,
    shares: np.ndarray,
    extra_cost: np.ndarray | float = 0.0,
    extra_latency: np.ndarray | float = 0.0,
    denied: np.ndarray | None = None,
) -> Result:
    """Return what comes of choosing actions with these probabilities, (tasks, actions), each row adding up to 1.
    `denied`: how likely what may not be used is called first; none: never."""
    utilities = board.utilities(extra_cost, extra_latency)
    cost = board.costs.mean(axis=2) + extra_cost
    latency = board.latencies.mean(axis=2) + extra_latency
    best = one_hot(board, utilities)
    utility, right, cost_usd, latency_s, chosen_best, liked, unwanted = (
        (shares * values).sum(axis=1)
        for values in (utilities, board.right, cost, latency, best, board.heeded > 0, board.heeded < 0)
    )
    never = np.zeros(len(shares))
    figures = (utility, right, cost_usd, latency_s, chosen_best, shares, liked, unwanted)
    return Result(name, *figures, never if denied is None else denied)


def one_hot(board: Board, worth: np.ndarray) -> np.ndarray:
    """Return (tasks, actions): all weight on the open action that is worth most, the first of equals."""
    found = np.zeros_like(board.right)
    found[np.arange(len(worth)), np.where(board.open, worth, -np.inf).argmax(axis=1)] = 1.0
    return found


def baselines(
    board: Board, catalogue: Catalogue, extra_cost: np.ndarray | float = 0.0, extra_latency: np.ndarray | float = 0.0
) -> dict[str, Result]:
    """Return what model-free policies get: the optimum, an even choice among what is offered, giving up, the strongest,
    the dearest, the cheapest, and the rivals.

    `tools, else by the wish` is told the user's weights and what he says of single tools (`by_the_wish`). `best for the
    average user` knows all figures and reads no wish: it chooses what is best with the average weights of training.
    """
    experts = board.open & np.array([name.startswith("expert-") for name in board.actions])
    tools = board.open & np.array([name in WAYS for name in board.actions])
    offered = board.open & np.array([name != "give_up" for name in board.actions])
    typical = _typical_costs(board, catalogue)
    average = board.wishing(Preference.model_validate({"instruction": "", **average_weights("train")}))
    policies = {
        "optimum": one_hot(board, board.utilities(extra_cost, extra_latency)),
        "random": offered / offered.sum(axis=1, keepdims=True),
        "gives up": one_hot(board, -1.0 * offered),
        "always strongest": one_hot(board, np.where(experts, board.right - 1e-6 * typical, -np.inf)),
        "always dearest": one_hot(board, np.where(experts, typical, -np.inf)),
        "always cheapest": one_hot(board, np.where(experts, -typical, -np.inf)),
        "tools, else cheapest": one_hot(board, np.where(experts, -typical, np.where(tools, 1.0, -np.inf))),
        "tools, else by the wish": one_hot(board, by_the_wish(board, experts, tools)),
        "best for the average user": one_hot(board, average.utilities(extra_cost, extra_latency)),
    }
    return {name: chosen(board, name, shares, extra_cost, extra_latency) for name, shares in policies.items()}


def by_the_wish(board: Board, experts: np.ndarray, tools: np.ndarray) -> np.ndarray:
    """Return (tasks, actions): how a rule that is told what the user cares for ranks actions. A tool that fits; else
    nothing, for users to whom a right answer is worth less than GIVES_UP times their weights of cost and latency; else
    the strongest expert for who minds neither much (MINDS), the cheapest for who minds cost more, the quickest for the
    rest. What is to be left alone comes last."""
    outcome, cost, latency = board.weights().T[:, :, None]
    quick, cheap = -board.latencies.mean(axis=2), -board.costs.mean(axis=2)
    ranked = [
        values / (1e-12 + np.abs(values).max(axis=1, keepdims=True))
        for values in (np.where(experts, each, 0.0) for each in (board.right, cheap, quick))
    ]
    worth = np.where(np.maximum(cost, latency) <= MINDS, ranked[0], np.where(cost >= latency, ranked[1], ranked[2]))
    worth = np.where(tools, 4.0, np.where(experts, worth, np.where(outcome <= GIVES_UP * (cost + latency), 2.0, -4.0)))
    return worth - 8.0 * (board.heeded < 0)


def _typical_costs(board: Board, catalogue: Catalogue) -> np.ndarray:
    """Expected dollars of one answer of each expert that is offered."""
    costs = np.zeros_like(board.right)
    for row, task in enumerate(board.tasks):
        for alias, (offered, spec) in offered_specs(task, catalogue).items():
            costs[row, board.actions.index(alias)] = expected_cost(spec, price_at(offered), task.category)
    return costs


def share_of_way(result: Result, found: dict[str, Result]) -> float:
    """Return how far a policy is on the way from random (0) to the optimum (1), in utility."""
    low, high = found["random"].utility.mean(), found["optimum"].utility.mean()
    return float((result.utility.mean() - low) / (high - low))
