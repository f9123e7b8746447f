"""Questions that end with a full stop: `How much is it.`"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice

from toolscale.errors import SpecIssue
from toolscale.language.phrasing import every_choice
from toolscale.patterns import regex
from toolscale.records import EnvironmentSpec
from toolscale.tasks.message import MORE, PLACE

MOST = 300
"""Choices of one phrasing that are read."""

_IS = r"(?:is|are|was|were|am|do|does|did|will|would|can|could|should|may|has|have|had)"
_WHO = r"(?:i|we|you|they|he|she|it|there|this|that|these|those|the|my|our|your|any|an?)"
_PLAIN = rf"(?:(?!{_WHO}\b|{_IS}\b)[\w'’\ue000-]+ )"
_ASKS = r"(?:what|when|where|why|who|whom|whose|how)"
_LED = r"(?:(?:and|but|so|then|also) )*"
_ASKED = rf"(?:{_ASKS}|which) {_PLAIN}{{0,4}}{_IS} (?:{_WHO}\b|\ue000)"
"""When is it due, what does the plan cost."""
_CAN = r"(?:is|are|was|am|does|did|will|would|can|could|may|has)"
"""Is it free; but *could you close it* and *do it* ask for a deed."""
_CERTAIN = regex(rf"^{_LED}{_ASKED}", re.IGNORECASE)
_QUESTIONS = (
    regex(rf"(?:^|[,;:–—] ){_LED}{_ASKED}", re.IGNORECASE),
    regex(rf"^{_LED}(?:{_CAN} (?!you\b){_WHO}|(?:do|have) (?:i|we|they))\b", re.IGNORECASE),
    regex(rf"^{_LED}(?:{_ASKS} {_PLAIN}{{0,4}}|which {_PLAIN}{{1,4}}){_IS}\b", re.IGNORECASE),
)
"""What is asked apart from a deed. What is left, how many loans are open: as a whole sentence only, since *tell me what
is left* is no question. People write whole requests with fewer marks: there, only what is certain counts."""
_SENTENCE = regex(r"[^.!?\n]+(?:[.!?](?!\s|$)[^.!?\n]*)*[.!?]*")
_WORD = "\ue000"
"""Stands for a place that words fill."""
_MORE = regex(r"\s*\{" + MORE + r"(?:_\d+)?\}")


def check_questions(spec: EnvironmentSpec) -> Iterator[SpecIssue]:
    """Yield each text of which some choice of alternatives asks something and ends as a statement does."""
    for intent in spec.intents.intents:
        place = f"intents[{intent.id}]"
        for number, said in enumerate(intent.requests):
            yield from _stopped(said.say, "intents.yaml", f"{place}.requests[{number}]", (_CERTAIN,))
        for number, said in enumerate(intent.asks):
            yield from _stopped(said.say, "intents.yaml", f"{place}.asks[{number}]")
        for number, fact in enumerate(intent.tell):
            yield from _stopped(fact.what or "", "intents.yaml", f"{place}.tell[{number}].what")
    language = spec.language
    for number, text in enumerate(language.counts):
        yield from _stopped(text, "language.yaml", f"counts[{number}]")
    for name, private in language.private.items():
        for number, text in enumerate(private.asks):
            yield from _stopped(text, "language.yaml", f"private.{name}.asks[{number}]")


def _stopped(text: str, file: str, place: str, asked: Sequence[re.Pattern[str]] = _QUESTIONS) -> Iterator[SpecIssue]:
    if "." not in text:
        return
    plain = PLACE.sub(_WORD, _MORE.sub("", text))
    for words in islice(every_choice(plain), MOST):
        for sentence in _SENTENCE.findall(words):
            said = " ".join(sentence.split())
            if said.endswith(".") and any(each.search(said) for each in asked):
                problem = f"a question ends with a full stop: {said.replace(_WORD, '…')!r}"
                yield SpecIssue(file, place, problem, "end it with a question mark, or say *tell me* and what")
                return
