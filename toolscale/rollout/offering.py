"""What is offered for each task, drawn anew every time: which experts, under which names, at which prices, with which
tools and wishes.

An orchestrator that is trained on one fixed offer learns names, not trade-offs. Task n depends on the seed, the split,
the dials and n alone.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from toolscale.errors import UsageError
from toolscale.models.cards import CardStyle, card
from toolscale.models.pricing import price_of
from toolscale.preferences.drawing import preference
from toolscale.questions.generate import question as question_of
from toolscale.records import (
    CATEGORIES,
    TYPICAL_INPUT,
    Catalogue,
    ExpertSpec,
    Limits,
    OfferedExpert,
    Preference,
    Price,
    PriceList,
    Question,
    RolloutTask,
    Split,
    Task,
)

ALIASES = tuple(f"expert-{number}" for number in range(1, 7))

TOOLS = "tools"
"""The category of environment tasks."""

DrawQuestion = Callable[[str, Split, int, int], Question]
"""(category, split, seed, number) -> a question of that category."""

InputTokens = Callable[[Task], int]
"""What an expert reads for one answer in an environment task: `Domain.input_tokens` of its domain."""

DrawPreference = Callable[[int, int, Split, Sequence[str], Sequence[str], float], Preference]
"""(number, seed, split, aliases, basic tools, share of wishes about tools) -> what the user of a task cares for."""


def generated(category: str, split: Split, seed: int, number: int) -> Question:
    """Return a generated question; UsageError for a category without templates."""
    return question_of(number, seed, split, (category,))


@dataclass(frozen=True)
class Offering:
    """The dials of what is offered. Shares are from 0 to 1."""

    catalogue: Catalogue
    price_lists: Sequence[PriceList] = ()
    """One is drawn for each task; the prices of the catalogue are one more."""
    invented: Catalogue | None = None
    """Experts that do not exist (models/invented.py), at their own prices: `invented_share` of the tasks are offered
    these and no others."""
    invented_share: float = 0.0
    fewest: int = 2
    """Experts of one task: from `fewest` to `most`, each number as likely."""
    most: int = 6
    style: CardStyle = "prose"
    basic_tools: tuple[str, ...] = ()
    """Names of basic tools that the bench has."""
    basic_share: float = 0.7
    """How often each of them is offered."""
    denied_share: float = 0.1
    """How often one of the experts and basic tools may not be used."""
    wish_share: float = 0.5
    """How often a preference says something of single tools, where there is something to say."""
    limits: Limits = field(default_factory=Limits)
    draw_preference: DrawPreference = preference
    """Where preferences come from: by the grammar, or from a file in a model's words."""

    def __post_init__(self) -> None:
        most = min(len(ALIASES), len(self.catalogue.experts))
        if not 0 <= self.fewest <= self.most <= most:
            raise UsageError(
                f"experts of one task: {self.fewest} to {self.most} cannot be drawn; "
                f"give 0 <= fewest <= most <= {most} "
                f"({len(ALIASES)} aliases, {len(self.catalogue.experts)} experts in {self.catalogue.title!r})"
            )
        if self.invented_share and (self.invented is None or len(self.invented.experts) < self.most):
            raise UsageError(
                f"invented_share is {self.invented_share} and there are no {self.most} invented experts; "
                "give them, or leave it at 0"
            )
        known = {spec.name for spec in self.catalogue.experts}
        if both := sorted(known & {spec.name for spec in (self.invented.experts if self.invented is not None else ())}):
            raise UsageError(
                f"{both[0]!r} is an invented expert and one of {self.catalogue.title!r}; give one of them another name"
            )
        for name in ("invented_share", "basic_share", "denied_share", "wish_share"):
            if not 0 <= getattr(self, name) <= 1:
                raise UsageError(f"{name} is {getattr(self, name)}; a share is from 0 to 1")


class TaskSource:
    """Tasks by number, without end: `source[n]`. `mixture`: category -> weight; `tools` stands for environment tasks,
    taken from `tasks`. UsageError if it has an unknown category, no positive weight, or environment tasks without
    `tasks`.

    `input_tokens`: what an expert reads for one answer in them; without it the references of the reward count 200
    tokens, as for a question. Cards are kept, since writing one takes longer than all draws of a task.
    """

    def __init__(
        self,
        offering: Offering,
        split: Split,
        seed: int,
        mixture: Mapping[str, float],
        draw_question: DrawQuestion = generated,
        tasks: Sequence[Task] = (),
        input_tokens: InputTokens | None = None,
    ) -> None:
        _check(mixture, tasks)
        self.offering, self.split, self.seed = offering, split, seed
        self._draw_question = draw_question
        self._input_tokens = input_tokens
        self._categories = [category for category in CATEGORIES if mixture.get(category, 0) > 0]
        self._weights = list(itertools.accumulate(mixture[category] for category in self._categories))
        self._tasks = list(tasks)
        random.Random(f"order of tasks:{split}:{seed}").shuffle(self._tasks)
        self._cards: dict[tuple[str, str, str], tuple[Price, str]] = {}

    def __getitem__(self, number: int) -> RolloutTask:
        """Return task `number`. Environment tasks come once each before one comes again, as far as their share of the
        mixture lets them."""
        rng = random.Random(f"task:{self.split}:{self.seed}:{number}")
        category = rng.choices(self._categories, cum_weights=self._weights)[0]
        question = None if category == TOOLS else self._draw_question(category, self.split, self.seed, number)
        task = self._tasks[number % len(self._tasks)] if category == TOOLS else None
        read = TYPICAL_INPUT if task is None or self._input_tokens is None else self._input_tokens(task)
        return offer(
            self.offering,
            number,
            self.split,
            self.seed,
            question=question,
            task=task,
            rng=rng,
            cards=self._cards,
            input_tokens=read,
        )

    def __iter__(self) -> Iterator[RolloutTask]:
        return (self[number] for number in itertools.count())


def offer(
    offering: Offering,
    number: int,
    split: Split,
    seed: int,
    *,
    question: Question | None = None,
    task: Task | None = None,
    rng: random.Random | None = None,
    cards: dict[tuple[str, str, str], tuple[Price, str]] | None = None,
    input_tokens: int = TYPICAL_INPUT,
) -> RolloutTask:
    """Return a question or an environment task with an offer drawn for it. `cards`: kept from task to task, since a
    card takes longer than a draw."""
    rng = rng or random.Random(f"offer:{split}:{seed}:{number}")
    experts = _experts(offering, rng, {} if cards is None else cards)
    basic = tuple(name for name in offering.basic_tools if rng.random() < offering.basic_share)
    denied = _denied(offering, rng, [offered.alias for offered in experts], basic)
    allowed = [offered.alias for offered in experts if offered.alias not in denied]
    wish = offering.draw_preference(
        number, seed, split, allowed, [name for name in basic if name not in denied], offering.wish_share
    )
    name = question.id if question is not None else task.id[:12] if task is not None else ""
    return RolloutTask(
        id=f"{split}-{seed}-{number}-{name}",
        category=question.category if question is not None else TOOLS,
        question=question,
        task=task,
        preference=wish,
        experts=experts,
        basic_tools=basic,
        limits=offering.limits.model_copy(update={"denied": denied}),
        input_tokens=input_tokens,
        seed=seed,
    )


def _experts(
    offering: Offering, rng: random.Random, cards: dict[tuple[str, str, str], tuple[Price, str]]
) -> tuple[OfferedExpert, ...]:
    invented = offering.invented if offering.invented_share and rng.random() < offering.invented_share else None
    count = rng.randint(offering.fewest, offering.most)
    chosen = rng.sample((invented or offering.catalogue).experts, count)
    prices = rng.choice([None, *offering.price_lists]) if invented is None else None
    aliases = rng.sample(ALIASES[: offering.most], count)
    return tuple(
        _offered(spec, prices, alias, offering.style, cards)
        for alias, spec in sorted(zip(aliases, chosen, strict=True), key=_alias_of)
    )


def _alias_of(pair: tuple[str, ExpertSpec]) -> str:
    return pair[0]


def _offered(
    spec: ExpertSpec,
    prices: PriceList | None,
    alias: str,
    style: CardStyle,
    cards: dict[tuple[str, str, str], tuple[Price, str]],
) -> OfferedExpert:
    place = (spec.name, prices.provider if prices is not None else "", alias)
    if place not in cards:
        price = price_of(spec, prices)
        cards[place] = price, card(spec, price, alias, style)
    price, text = cards[place]
    return OfferedExpert(alias=alias, expert=spec.name, input_price=price.input, output_price=price.output, card=text)


def _denied(offering: Offering, rng: random.Random, aliases: Sequence[str], basic: Sequence[str]) -> tuple[str, ...]:
    """Deny one of several, so that something stays open."""
    names = [*aliases, *basic]
    refuses = rng.random() < offering.denied_share
    return (*offering.limits.denied, rng.choice(names)) if refuses and len(names) > 1 else offering.limits.denied


def _check(mixture: Mapping[str, float], tasks: Sequence[Task]) -> None:
    unknown = sorted(set(mixture) - set(CATEGORIES))
    if unknown:
        raise UsageError(f"the mixture names {unknown[0]!r}; its categories are {', '.join(CATEGORIES)}")
    if any(not 0 <= weight < float("inf") for weight in mixture.values()) or not any(mixture.values()):
        raise UsageError(f"the weights of the mixture ({dict(mixture)}) must be 0 or more, and one of them more than 0")
    if mixture.get(TOOLS, 0) > 0 and not tasks:
        raise UsageError(
            "the mixture wants environment tasks (`tools`) and no dataset was given; give tasks or leave it out"
        )
