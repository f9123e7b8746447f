"""What a user cares for, in words and as weights: a small grammar that can be read back, and wording by a model."""

from toolscale.preferences.drawing import average_weights, preference, preferences
from toolscale.preferences.grammar import LEVELS, VOCABULARY, Phrasing, words
from toolscale.preferences.reading import read_instruction
from toolscale.preferences.wording import WordingCounts, reading_prompt, worded_by_model, wording_prompt

__all__ = [
    "LEVELS",
    "VOCABULARY",
    "Phrasing",
    "WordingCounts",
    "average_weights",
    "preference",
    "preferences",
    "read_instruction",
    "reading_prompt",
    "worded_by_model",
    "wording_prompt",
    "words",
]
