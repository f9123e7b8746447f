"""Seeded questions without end, by number, for training and for testing."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence

from toolscale.errors import UsageError
from toolscale.questions import arithmetic, knowledge, lookup, mathematics, programs, reasoning, two_steps
from toolscale.questions.templates import FIRST_NAMES, QuestionTemplate
from toolscale.records import AnswerKey, Question, Script, Split

TEMPLATES: dict[str, tuple[QuestionTemplate, ...]] = {
    "arithmetic": arithmetic.TEMPLATES,
    "code": programs.TEMPLATES,
    "lookup": lookup.TEMPLATES,
    "mathematics": mathematics.TEMPLATES,
    "knowledge": knowledge.TEMPLATES,
    "reasoning": reasoning.TEMPLATES,
}
"""Category -> its templates."""

VOCABULARY = frozenset(word for templates in TEMPLATES.values() for template in templates for word in template.words())
"""Every word of a question, in small letters, besides numbers, names and code."""

NAMES = FIRST_NAMES
"""First names of the people in puzzles."""


def questions(split: Split, seed: int, categories: Sequence[str] | None = None) -> Iterator[Question]:
    """Yield questions without end, the categories (none: all) in turn. UsageError for a category without templates."""
    return (question(number, seed, split, categories) for number in itertools.count())


def question(number: int, seed: int, split: Split, categories: Sequence[str] | None = None) -> Question:
    """Return question `number` of a split: category number mod the count of categories. The splits share no phrasing
    and no values.

    UsageError for a category without templates.
    """
    chosen = tuple(categories or TEMPLATES)
    category = chosen[number % len(chosen)]
    if category not in TEMPLATES:
        raise UsageError(f"there are no questions of the category {category!r}; use some of {', '.join(TEMPLATES)}")
    return _question(category, category, TEMPLATES[category], split, seed, number)


def two_step_question(number: int, seed: int, split: Split) -> Question:
    """Return question `number` of a split that wants a look-up and then a computation. Its category is `lookup`: that
    is what an expert must be good at."""
    return _question("two-steps", "lookup", two_steps.TEMPLATES, split, seed, number)


def _question(
    name: str, category: str, templates: Sequence[QuestionTemplate], split: Split, seed: int, number: int
) -> Question:
    rng = random.Random(f"question:{name}:{split}:{seed}:{number}")
    template = rng.choice(templates)
    text, drawn = template.drawn(rng, split)
    return Question(
        id=f"{name}-{split}-{seed}-{number}",
        category=category,
        text=text,
        answer=drawn.answer,
        answer_kind=drawn.kind,
        accepted=drawn.accepted,
        wrong=drawn.wrong,
        snippet=drawn.snippet,
        lookup=drawn.lookup,
        fact=drawn.fact,
        source=f"toolscale questions, {template.name}, seed {seed}",
    )


def answer_key(question: Question) -> AnswerKey:
    """Return what a simulated expert plays on a question: the bare answer, or one of the wrong ones."""
    return AnswerKey(
        right=Script(answer=question.answer), wrong=tuple(Script(answer=wrong) for wrong in question.wrong)
    )
