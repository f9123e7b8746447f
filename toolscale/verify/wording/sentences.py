"""Every sentence is accounted for: what is wished for says only what the plan says, what is asked is told, and what is
merely stated wishes for nothing."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from toolscale.language.marks import MASK
from toolscale.language.mentions import mentions
from toolscale.patterns import regex
from toolscale.verify.wording.meaning import Meaning
from toolscale.verify.wording.reading import Clause, Reading, stem
from toolscale.verify.wording.vocabulary import ACTS, CAREFUL, FILLING, HARMLESS, JOINING, PLAIN, TELLING, WIDENING

_TELLING = regex(
    r"\b(?:tell|inform|confirm|report|state|specify|remind|show|list|read|provide|name (?:the|its)|give me"
    r"|let me know|let us know|"
    r"like to know|want to know|need to know|find out|look up|figure out|wondering|curious)\b"
)
_ASKED = regex(r"\b(?:how|what|what's|which|whose|who|when|where)\b")
_RELATIVE = regex(r"(?:which|who|where|when) (?:i|is|was|has|had|we|it)\b")
_ANYWHERE = regex(
    r"\b(?:how (?:much|many)|what (?:is|was|will|did|do)|what's|when (?:is|was|will)|who (?:is|was|got)"
    r"|which (?:one|is|was)|where (?:is|was))\b"
)
"""Questions within a sentence that runs on."""
_HOW = (("how", "much"), ("how", "many"))
_BEGINS = regex(
    r"\W*(?:(?:and|also|so|oh|then|but|ok|okay|well|plus)\b\W*)*(?:how|what|what's|which|whose|who|when|where)\b"
)
_GREETING = regex(r"\W*(?:hi|hello|hey|good|me|it's|dear|so|ok|right|well|morning)\b")
_KINDS = {
    "date": regex(r"\b(?:when|dates?|day|by what|how long|due|expir\w+|until|how soon)\b"),
    "time": regex(r"\b(?:when|times?|what time|hour|how (?:late|early|soon)|o'clock|until|by what)\b"),
    "duration": regex(r"\b(?:how long|how much time|duration|length|minutes|hours|long|time)\b"),
    "number": regex(r"\b(?:how many|(?:the|its|their) number|number of|count|how often|how long|many)\b"),
    "money": regex(
        r"\b(?:how much|amounts?|balances?|total|sum|cost|costs|fees?|left|remain\w*|price|owe|what(?:'s)?|much"
        r"|worth|limit|figures?|rate|paid|come)\b"
    ),
    "text": regex(r"\b(?:who|whom|which|what|what's|where|name|whose|company|how|status|place|shop|merchant)\b"),
}
"""Kind of a fact -> words with which one asks for it."""


_ARTICLES = frozenset(("my", "the", "a", "an", "this", "that", "his", "her", "our", "their", "no"))
"""Before a word that may be a deed they make a thing of it: *my phone*."""


def unknown_words(text: Reading, meaning: Meaning) -> Iterator[str]:
    """Yield words of wishes that the plan does not account for, and what a mere statement may not have."""
    for clause in text.clauses:
        words = [word for word in clause.words if word != MASK]
        if not clause.is_statement:
            strange = [word for word in words if stem(word) not in meaning.vocabulary and not word.isdigit()]
            if strange:
                yield f"nothing in the plan accounts for {strange[0]!r} in {_shown(clause)}"
            continue
        for before, word in pairwise(["", *words]):
            rough = stem(word)
            if rough in meaning.stems or rough in meaning.value_stems:
                continue
            if before not in _ARTICLES and (word in ACTS or rough in meaning.other_deeds):
                yield f"{word!r} in {_shown(clause)} is a deed that the plan does not have"
            elif rough in meaning.things:
                yield f"{word!r} in {_shown(clause)} is something that the plan is not about"


def widening_words(text: Reading, meaning: Meaning) -> Iterator[str]:
    """Yield words that say more, others, all, or again where no phrasing of the plan does."""
    first = text.sentences[0][1] if text.sentences else ""
    for clause in text.clauses:
        known = meaning.words if clause.sentence is first and _GREETING.match(first) else meaning.own_words
        for word in clause.words:
            joins = word in JOINING and not clause.is_statement
            if word in WIDENING and word not in known and not joins:
                yield f"{word!r} in {_shown(clause)} says more than the plan does"


def asks_of(reading: Reading) -> list[tuple[str, str]]:
    """Return (sentence, clause) of each question, and of each wish to be told."""
    found = []
    for clause in reading.clauses:
        words = " ".join(clause.words)
        wants_to_know = (
            clause.asked
            or clause.words[:2] in _HOW
            or _BEGINS.match(clause.sentence)
            or _TELLING.search(clause.sentence)
        )
        if _RELATIVE.match(words) and not clause.sentence.lstrip().startswith(words.split()[0]):
            continue
        if _TELLING.search(words) or (wants_to_know and _ASKED.search(words)):
            found += [(clause.sentence, words)] * max(1, len(_ASKED.findall(words)) if wants_to_know else 1)
    return found


def fragments_asked(reading: Reading, meaning: Meaning) -> list[str]:
    """Return questions without a question word: `Balance after that?`"""
    deeds = frozenset().union(*meaning.deeds.values()) if meaning.deeds else frozenset()
    found = []
    for _, sentence in reading.sentences:
        words = {word for clause in reading.clauses if clause.sentence == sentence for word in clause.words}
        plain = words <= PLAIN | CAREFUL | {MASK}
        asks = sentence.endswith("?") and not plain and not {stem(word) for word in words} & deeds
        if asks and not any(pattern.search(sentence) for pattern in (_ASKED, _TELLING, _REQUEST)):
            found.append(sentence)
    return found


_REQUEST = regex(r"\b(?:can|could|would|will|may|might) (?:you|we|i|it|that|the|my)\b|\bplease\b|\bmind\b")


def unanswered(text: Reading, meaning: Meaning) -> Iterator[str]:
    """Yield questions that nothing of the plan answers, and facts that nobody asks for."""
    asked = len(asks_of(text)) + len(fragments_asked(text, meaning))
    usual = [len(asks_of(one)) + len(fragments_asked(one, meaning)) for one in meaning.phrasings]
    most = max(max(usual), len(meaning.told)) if max(usual) else 0
    if asked > most:
        shown = [words for _, words in asks_of(text)] + fragments_asked(text, meaning)
        yield f"it asks {asked} times, at {shown[-1]!r} last, and the plan tells {most or 'nothing'}"
    if min(usual) and not asked and not _ANYWHERE.search(text.masked):
        yield "it asks nothing, and the plan tells something: ask for it"
    if asked and max(usual):
        yield from _kinds_asked(text, meaning)


def _kinds_asked(text: Reading, meaning: Meaning) -> Iterator[str]:
    def asking(reading: Reading) -> str:
        return " ".join(
            [*dict.fromkeys(sentence for sentence, _ in asks_of(reading)), *fragments_asked(reading, meaning)]
        )

    said, usual = asking(text), [asking(one) for one in meaning.phrasings]
    for kind, pattern in _KINDS.items():
        always = all(pattern.search(one) for one in usual)
        if kind in meaning.told and always and not pattern.search(text.masked):
            yield f"it does not ask for the {kind} that must be told"
    for kind in ("date", "number"):
        found = _KINDS[kind].search(said.replace("date of birth", ""))
        if found and kind not in meaning.told and not any(_KINDS[kind].search(one) for one in usual):
            yield f"it asks for a {kind}, at {found[0]!r}, and the plan tells none"


def wrong_wishes(text: Reading, meaning: Meaning) -> Iterator[str]:
    """Yield the deeds of the plan that all its phrasings say and the text does not, other deeds that begin a wish, and
    what the text says not to do."""
    for tool, verbs in meaning.deeds.items():
        if all(verbs & one.stems for one in meaning.phrasings) and not verbs & text.stems:
            yield f"it does not say the deed {tool}"
    usual = set().union(*(_heads(one) for one in meaning.phrasings))
    verbs = frozenset().union(*meaning.deeds.values()) if meaning.deeds else frozenset()
    others = {verb for bases in meaning.lexicon.verbs.values() for verb in bases}
    for head in sorted(_heads(text) - usual - {"make"}):
        if (head in ACTS or head in others) and stem(head) not in verbs and head not in TELLING | {"start", "look"}:
            yield f"it wants to {head}, and the plan does not"
    left = set().union(*(_forbidden(one) for one in meaning.phrasings))
    for word in sorted(_forbidden(text) - left):
        yield f"it says not to {word}, and the plan does not"


def _heads(reading: Reading) -> set[str]:
    """Return the word with which each wish begins, behind words of courtesy."""
    found = set()
    for clause in reading.clauses:
        if not clause.is_statement:
            found |= {next((word for word in clause.words if word not in FILLING), "")}
    return found - {"", MASK}


_NOT = regex(r"\b(?:don't|do not|never)(?: (?:please|ever|you|just))? (\w+)")


def _forbidden(reading: Reading) -> set[str]:
    """Return the words that follow *do not*, but for those of who speaks of what they do not know or have."""
    return {word for word in _NOT.findall(reading.masked) if word not in HARMLESS}


def strange_figures(text: Reading, meaning: Meaning) -> Iterator[str]:
    """Yield counts, shares, times and lengths that no phrasing of the plan says."""
    usual = {
        (mention.kind, mention.readings) for one in meaning.phrasings for mention in mentions(one.text, meaning.today)
    }
    spans = [(mark.start, mark.end) for mark in text.marks]
    for mention in mentions(text.text, meaning.today):
        inside = any(start <= mention.start < end or mention.start <= start < mention.end for start, end in spans)
        counted = _THINGS.match(text.text.lower(), mention.end)
        harmless = (
            counted is not None
            or mention.kind == "marker"
            or mention.readings == {1}
            or str(next(iter(mention.readings), "")) == meaning.today
        )
        if not inside and not harmless and (mention.kind, mention.readings) not in usual:
            yield f"the plan says nothing of {text.text[mention.start : mention.end]!r}"


_THINGS = regex(r"\s+(?:quick |little |small )?(?:things|requests|items|matters|questions|points)\b")
"""Behind a number that counts what the message is about."""


def _shown(clause: Clause) -> str:
    return repr(" ".join(clause.words).replace(MASK, "…")[:80])
