"""What a person says, read once: gates ask this record for words and values, and none reads the text itself."""

from __future__ import annotations

import re
from functools import cached_property, lru_cache

from toolscale.language.dates import Tense
from toolscale.language.mentions import Mention, lower_keeping_length, mentions
from toolscale.patterns import regex

SIDES: tuple[Tense, ...] = ("past", "future")
"""The tenses under which a date without its year may be another day."""


class Heard:
    """A text of a person: the request, or one message of it, said on `today`."""

    def __init__(self, text: str, today: str):
        self.text, self.today = text, today
        self._mentions: dict[Tense | None, tuple[Mention, ...]] = {}

    def mentions(self, tense: Tense | None = None) -> tuple[Mention, ...]:
        """All values that the text names, in order, under a tense."""
        if tense not in self._mentions:
            self._mentions[tense] = mentions(self.text, self.today, tense)
        return self._mentions[tense]

    def either_way(self) -> list[Mention]:
        """The values that it names under the past tense, and then those under the future one."""
        return [mention for tense in SIDES for mention in self.mentions(tense)]

    @cached_property
    def lower(self) -> str:
        """The text in lower case, each letter in its place."""
        return lower_keeping_length(self.text)

    def says(self, words: str) -> bool:
        """Whether words stand in the text as whole words, whatever their case and the space between them; inflected
        forms do not count."""
        return bool(self.spans(words))

    def spans(self, words: str) -> list[tuple[int, int]]:
        """Where words stand in the text. A pattern is made only for words whose letters are there."""
        if not all(part in self.lower for part in lower_keeping_length(words).split()):
            return []
        pattern = word_pattern(words)
        return [found.span() for found in pattern.finditer(self.lower)] if pattern else []

    def states(self, kind: str, value: str | int, tense: Tense | None = None) -> bool:
        """Whether the text names a value firmly: some mention of the kind reads as exactly that. Text and names must
        stand there word for word.

        A threshold (`under $300`) names its value; a hedge (`about $300`) and a denial (`not $300`) do not. An id or
        the digits of a card may also stand there word for word.
        """
        if kind in ("text", "name"):
            return self.says(str(value))
        wanted = frozenset((value,))
        for mention in self.mentions(tense):
            if mention.kind == kind and mention.readings == wanted and mention.qualifier in (None, "bound"):
                return True
            is_share = kind == "number" and mention.kind == "percent" and mention.readings == {str(value)}
            if is_share and not mention.qualifier:
                return True
        return kind in ("id", "digits") and self.says(str(value))


def contains_words(text: str, words: str) -> bool:
    """Whether words stand in any text, as `Heard.says` has it."""
    return Heard(text, "").says(words)


@lru_cache(maxsize=65536)
def word_pattern(words: str) -> re.Pattern[str] | None:
    """Return the pattern that finds `words` in lower-case text, None for no words."""
    parts = [re.escape(part) for part in lower_keeping_length(words).split()]
    return regex(r"(?<!\w)" + r"\s+".join(parts) + r"(?!\w)") if parts else None
