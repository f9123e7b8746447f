"""Phrasings in which some choice of alternatives leaves broken words: a comma before a full stop, `pay the[ bill|].`
without its bill, a bracket that never closes. They are faults of brackets, in one of a thousand choices that no reader
of a few requests sees."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from toolscale.environment.environment import Environment
from toolscale.errors import SpecIssue
from toolscale.language.phrasing import every_choice
from toolscale.patterns import regex
from toolscale.records import LanguageSpec
from toolscale.tasks.message import MORE, PLACE

MOST = 1_000
"""Choices of one phrasing that are read; of one with more than MANY brackets, whose choices take long to make, a
fiftieth."""
MANY = 40

_WORD = "\ue000"
"""Stands for a place that words fill."""
_SPACE_BEFORE_MARK = regex(r" +(?=[,.!?;:])")
_MORE = regex(r"(?<!\s)\s*\{" + MORE + r"(?:_\d+)?\}")

_FRAGMENT = (
    (regex(r"[\[\]{}|]"), "a bracket that is not closed, or a place that is none"),
    (regex(r"(?<![\w.])(?!etc\b|[A-Z]\w{0,3}\.)[\w\ue000]+\.\s*[,;:]"), "marks in a row"),
    (regex(r"[!?]\s*[.,;:]|[,;:]\s*[,;.!?]|(?<!\.)\.\s*\.(?!\.)"), "marks in a row"),
    (regex(r"(?:^|\n)[^\S\n]*[,;.!?]"), "a mark where words should begin"),
    (
        regex(r"(?<!\bmy, )\b(?!my, my\b)(?<!\boh )(?:the|an|my|your|our)\s*(?:[,.!?;:]|$)", re.IGNORECASE),
        "an article that nothing follows",
    ),
    (
        regex(r"(?i)\b(the|an?|my|your|our|of|to|for|from|with|and|or|please|can|could|if|i|me|we)\s\1\b(?!['’])"),
        "a word twice",
    ),
)  # fmt: skip
"""What is broken in any text. `Co.,`, `a.m.,`, `etc.,` and `...` are not."""
_OBJECT = regex(r"\b(?:into|onto|from|of|with|at) ?\[([^\[\]]*)\] ?(?:[.,;!?]|$)")
"""A preposition before alternatives that end a clause: `from[ my card|].`"""
_NOUN = regex(r"(?:(?:my|the|an?|your|our|this|that)\b|\ue000)")
_WHOLE = (
    *_FRAGMENT,
    (regex(r"\b(?:and|or|but|because)\s*(?:[.!?;]|$)", re.IGNORECASE), "a word that goes on to nothing"),
)
"""What is broken in a sentence; a fragment may go on in other words."""


def check_broken(environment: Environment) -> Iterator[SpecIssue]:
    """Yield each phrasing that some choice of its alternatives breaks, with the words that are left."""
    for intent in environment.spec.intents.intents:
        place = f"intents[{intent.id}]"
        for number, request in enumerate(intent.requests):
            yield from _broken(request.say, "intents.yaml", f"{place}.requests[{number}]")
        for number, ask in enumerate(intent.asks):
            yield from _broken(ask.say, "intents.yaml", f"{place}.asks[{number}]")
        for name, role in intent.roles.items():
            if role.text is not None:
                yield from _broken(role.text, "intents.yaml", f"{place}.roles.{name}.text", is_whole=False)
    for place, text, is_whole in _texts(environment.spec.language):
        yield from _broken(text, "language.yaml", place, is_whole=is_whole)


def _texts(language: LanguageSpec) -> Iterator[tuple[str, str, bool]]:
    """Yield place, text and whether it is a sentence or more, of all phrasings of `language.yaml`."""
    for kind in ("signatures", "conditions", "fallbacks", "counts"):
        yield from ((f"{kind}[{number}]", text, True) for number, text in enumerate(getattr(language, kind)))
    for number, text in enumerate(language.openings):
        yield f"openings[{number}]", text, False  # `Hi,` goes on
    for table, descriptions in language.describe.items():
        yield from ((f"describe.{table}.{name}.text", item.text, False) for name, item in descriptions.items())
    for name, item in language.private.items():
        yield from ((f"private.{name}.asks[{number}]", text, True) for number, text in enumerate(item.asks))
    yield from ((f"acts.{tool}", text, False) for tool, text in language.acts.items())
    for name, quantity in language.quantities.items():
        yield from (
            (f"quantities.{name}.{part}", text, False) for part in ("text", "noun") if (text := getattr(quantity, part))
        )
    for name, persona in language.personas.items():
        for kind in ("openings", "signatures"):
            for number, text in enumerate(getattr(persona, kind)):
                yield f"personas.{name}.{kind}[{number}]", text, kind != "openings"


def _broken(text: str, file: str, place: str, *, is_whole: bool = True) -> Iterator[SpecIssue]:
    """Yield the first thing that is broken in some choice of a text."""
    plain, is_choice = PLACE.sub(_WORD, _MORE.sub("", text)), "[" in text
    if (lost := _lost_object(plain)) is not None:
        problem = f"an empty alternative leaves a word that goes on to nothing: {lost.replace(_WORD, '…')!r}"
        yield SpecIssue(file, place, problem, "put the word before the bracket into it")
        return
    for left in islice(every_choice(plain), MOST if plain.count("[") <= MANY else MOST // 50):
        words = _SPACE_BEFORE_MARK.sub("", left).strip()
        for fault, what in _WHOLE if is_whole else _FRAGMENT:
            if found := fault.search(words):
                shown = words[max(0, found.start() - 30) : found.end() + 20].replace(_WORD, "…").replace("\n", " ")
                problem = f"some choice of its alternatives leaves {what}" if is_choice else f"it has {what}"
                remedy = "put what belongs together into one bracket" if is_choice else "correct it"
                yield SpecIssue(file, place, f"{problem}: {shown!r}", remedy)
                return


def _lost_object(text: str) -> str | None:
    """Return a preposition with alternatives of which some are its object, and one is empty; None if there is none."""
    for found in _OBJECT.finditer(text):
        parts = [part.strip() for part in found[1].split("|")]
        if "" in parts and any(parts) and all(_NOUN.match(part) for part in parts if part):
            return found[0]
    return None
