"""Values in text: find them, write them, and grade an answer by them."""

from toolscale.language.answers import STYLES, state_facts, written
from toolscale.language.facts import grade_answer
from toolscale.language.mentions import Mention, mentions
from toolscale.language.phrasing import alternatives, expand_choices, holds_always
from toolscale.language.polarity import polarity
from toolscale.language.render import FORMS, contains_words, render, states
from toolscale.language.value_words import is_value_word

__all__ = [
    "FORMS", "STYLES", "Mention", "alternatives", "contains_words", "expand_choices", "grade_answer", "holds_always", "is_value_word", "mentions",
    "polarity", "render", "state_facts", "states", "written",
]  # fmt: skip
