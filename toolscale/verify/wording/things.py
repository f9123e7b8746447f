"""Where the values and cues of a plan stand: what goes to them or comes from them, what is denied, what stands under a
condition, what is taken back."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import combinations

from toolscale.language.marks import MASK
from toolscale.language.render import spans_of
from toolscale.patterns import regex
from toolscale.tasks.lint import SIZES, TIMES
from toolscale.verify.wording.meaning import Meaning
from toolscale.verify.wording.patterns import ELSE, HIGH, LOW
from toolscale.verify.wording.reading import Reading, stem, words_of
from toolscale.verify.wording.vocabulary import BETWEEN, DOING, LACKING, NEGATIONS

_TO = frozenset(("to", "into", "onto", "toward", "towards"))
_FROM = frozenset(("from", "of", "off", "using", "use", "via", "debit", "with"))
_STOPS = regex(r"[,;:.!?()—–]|\b(?:and|but|so|then|because|which|who)\b")
_ENDS = regex(r"[.!?;\n]")
_NEAR = 60
_COMMON = frozenset(("most", "least", "first", "last", "next", "recent", "later", "earlier"))
_LEFT = regex(
    r"\b(?:leave (?:it|that|them|things|everything)|skip (?:it|that|them)|hold off|forget (?:it|about it|that)"
    r"|don't (?:do|bother|pay|send|move)|do not (?:do|pay|send|move)"
    r"|can wait|do nothing|not do (?:it|anything)|let it be|nothing should)\b"
)
"""Words of leaving undone."""

Measure = Callable[[Reading, str], frozenset[object]]


def misplaced(text: Reading, meaning: Meaning) -> Iterator[str]:
    """Yield values that stand otherwise than in every phrasing of the plan."""
    for known in meaning.known:
        name, value = known.name, known.value
        used = bool(meaning.tools_of(name.partition(".")[0]))
        for measure, problem in _MEASURES:
            if (measure in _OF_USED and not used) or (measure is _side and used):
                continue
            usual = [measure(one, name) for one in meaning.phrasings if one.places(name)]
            said = measure(text, name)
            allowed = frozenset().union(*usual) if usual else frozenset()
            if allowed and (more := said - allowed):
                yield problem.format(value=value, how=min(map(str, more)))
            elif measure is _branch and usual and all(one == {True} for one in usual) and True not in said:
                yield f"it does not say that {value!r} is for the case where the condition does not hold"


def _direction(reading: Reading, name: str) -> frozenset[object]:
    """Whether something goes to a value or comes from it."""
    return frozenset(way for at, _ in reading.places(name) if (way := way_before(reading.masked, at)))


def way_before(masked: str, at: int) -> str | None:
    """Return `to` or `from` by the preposition before a place, articles and nouns of accounts between; or None."""
    words = words_of(_ENDS.split(masked[max(0, at - _NEAR) : at])[-1])
    for distance, word in enumerate(reversed(words[-4:])):
        if word in _TO or (word == "up" and words[-4:][: -distance - 1][-1:] in (("top",), ("topping",))):
            return "to"
        if word in _FROM:
            return "from"
        if word == MASK or (word not in BETWEEN and (distance > 0 or stem(word) in _VERBS)):
            return None
    return None


_VERBS = frozenset(map(stem, DOING))


def _denial(reading: Reading, name: str) -> frozenset[object]:
    """How a value is denied."""
    return frozenset(denial(reading, at) for at, _ in reading.places(name))


def denial(reading: Reading, at: int) -> str:
    """How one of the eight words before a place denies it, in its own clause: from `near`, from `far`, or `not`."""
    start, _ = reading.sentence_at(at)
    before = _STOPS.split(reading.masked[start:at])[-1]
    words = words_of(before)[-8:]
    if NEGATIONS & set(words[-2:]):
        return "near"
    return "far" if NEGATIONS & (set(words[-3:]) | (set(words) - _CLOSE)) else "not"


_CLOSE = frozenset(("except", "excluding", "without"))
"""Denials of what stands right behind them."""


def _branch(reading: Reading, name: str) -> frozenset[object]:
    """Whether a value stands where the other way begins."""
    found = []
    for at, _ in reading.places(name):
        start, _ = reading.sentence_at(at)
        found.append(ELSE.search(reading.masked, max(start, at - 45), at) is not None)
    return frozenset(found)


def _firmness(reading: Reading, name: str) -> frozenset[object]:
    """How firmly a value is said."""
    return frozenset(mark.qualifier or "flatly" for _, mark in reading.places(name))


def _side(reading: Reading, name: str) -> frozenset[object]:
    """Whether a threshold is a least or a most; nothing for a value that is none."""
    sides: set[object] = set()
    for at, mark in reading.places(name):
        start, sentence = reading.sentence_at(at)
        before, after = reading.masked[max(start, at - 30) : at], reading.masked[at + 1 : at + 14]
        low = max((found.end() for found in LOW.finditer(before)), default=-1)
        high = max((found.end() for found in HIGH.finditer(before)), default=-1)
        if low < 0 and high < 0:
            low, high = (1 if LOW.match(after.strip()) else -1), (1 if HIGH.match(after.strip()) else -1)
        if mark.qualifier != "bound" and not re.search(r"\b(?:if|unless|whether)\b", sentence[: at - start]):
            continue
        if low != high:
            sides.add(_turned("most" if low > high else "least", sentence[: at - start]))
    return frozenset(sides)


def _turned(side: str, before: str) -> str:
    turns = len(re.findall(r"\bunless\b", before)) + len(
        re.findall(
            r"\b(?:isn't|aren't|doesn't have|don't have|is not|not have|haven't)\b(?! (?:over|more|less|under"
            r"|above|below))",
            before,
        )
    )
    return f"{side} behind {'unless' if turns % 2 else 'if'}"


_MEASURES: tuple[tuple[Measure, str], ...] = (
    (_direction, "{value!r} is said with {how!r}, which no phrasing of the plan does: something goes the other way"),
    (_denial, "{value!r} is denied, or its denial is missing"),
    (_branch, "{value!r} stands on the wrong side of the condition"),
    (_firmness, "{value!r} is said with a {how}, which changes it"),
    (_side, "{value!r} is a {how} here, which turns the condition round"),
)
_OF_USED = (_direction, _branch)
"""Those that matter only for what a call takes, or for the rows that it is about."""


def unpaired(text: Reading, meaning: Meaning) -> Iterator[str]:
    """Yield pairs of rows of one table of which the text does not say which gives and which takes."""
    names: dict[str, list[str]] = {}
    for known in meaning.known:
        role = known.name.partition(".")[0]
        if role in meaning.plan.roles and meaning.tools_of(role):
            names.setdefault(meaning.plan.roles[role].table, []).append(known.name)
    for table, found in sorted(names.items()):
        for one, other in combinations(found, 2):
            if one.partition(".")[0] == other.partition(".")[0]:
                continue
            if verb := _exchanged(text, meaning, one, other):
                yield f"it says {verb!r} of one of the {table} and means another"
            said = [_direction(reading, one) | _direction(reading, other) for reading in meaning.phrasings]
            if all(said) and not (_direction(text, one) | _direction(text, other)):
                yield f"it does not say which of the {table} something comes from or goes to"


def _exchanged(text: Reading, meaning: Meaning, one: str, other: str) -> str | None:
    """Return a verb that stands before one of two values, and in the plan's phrasings only before the other."""
    usual = {
        name: set().union(*(_verbs_before(each, name, meaning) for each in meaning.phrasings)) for name in (one, other)
    }
    for name, rival in ((one, other), (other, one)):
        wrong = (_verbs_before(text, name, meaning) & usual[rival]) - usual[name]
        if wrong:
            return min(wrong)
    return None


def _verbs_before(reading: Reading, name: str, meaning: Meaning) -> set[str]:
    """Return the stem of the nearest word before each place of a value that says what is done with it."""
    known = _DOING.union(*meaning.deeds.values())
    found = set()
    for at, _ in reading.places(name):
        start, _ = reading.sentence_at(at)
        before = [stem(word) for word in words_of(reading.masked[start:at])[-14:]]
        found |= {word for word in [next((word for word in reversed(before) if word in known), "")] if word}
    return found


_DOING = frozenset(map(stem, LACKING))
"""Words besides verbs of deeds."""


def denied_cues(text: Reading, meaning: Meaning) -> Iterator[str]:
    """Yield cues of rows that stand under a denial, where no phrasing denies them."""
    for name, role in sorted(meaning.plan.roles.items()):
        cues = (*role.role.cues, *(role.description.cues if role.description else ()))
        for cue in cues:
            usual = {denial(one, at) for one in meaning.phrasings for at, _ in spans_of(cue, one.masked)} | {"not"}
            if {denial(text, at) for at, _ in spans_of(cue, text.masked)} - usual:
                yield f"the cue {cue!r} of {name} is denied"


def wrong_conditions(text: Reading, meaning: Meaning) -> Iterator[str]:
    """Yield a condition that was added or dropped, and a deed that is left undone on the wrong side of it."""
    usual = [one.conditions for one in meaning.phrasings]
    if text.conditions and not max(usual):
        yield "it sets a condition, and the plan has none"
    if (min(usual) and not text.conditions) or (
        all(one.opens_condition for one in meaning.phrasings) and not text.opens_condition
    ):
        yield "it drops the condition of the plan"
    if min(usual):
        sides = {side for one in meaning.phrasings for side in _left_undone(one)}
        if _left_undone(text) - sides:
            yield "it leaves the deed undone where the condition holds"


def _left_undone(reading: Reading) -> set[bool]:
    """Whether what is said to be left undone stands behind `otherwise`, in its own sentence or at its beginning."""
    found = set()
    for left in _LEFT.finditer(reading.masked):
        start, _ = reading.sentence_at(left.start())
        found.add(ELSE.search(reading.masked, start, left.start()) is not None)
    return found


def wrong_company(text: Reading, meaning: Meaning) -> Iterator[str]:
    """Yield superlatives that the plan's words do not have, and words of size, number and extent that stand with
    another noun than there."""
    for word in dict.fromkeys(text.words):
        if (word in SIZES or word in TIMES) and word not in _COMMON and word not in meaning.own_words:
            yield f"it says {word!r}, and the plan does not"
    usual = set().union(*(_pairs(one, meaning) for one in meaning.phrasings))
    for word, noun in sorted(_pairs(text, meaning) - usual):
        if any(word == known for known, _ in usual) or word in _EXTENT:
            yield f"{word!r} stands with {noun!r}, and in the plan with something else"
    for word in _COUNTED:
        if text.words.count(word) > max(one.words.count(word) for one in meaning.phrasings):
            yield f"it says {word!r} more often than the plan does"


_EXTENT = frozenset(("all", "both", "every", "each", "any", "other", "another"))
_WHOLE = frozenset(("all", "both", "every", "each"))
_COUNTED = ("twice", "double", "everything", "except", "both", "rest")
_ASKING = frozenset(("many", "which", "what", "whose", "total"))
_ARTICLES = frozenset(("my", "the", "of", "our", "your", "these", "those", "i", "have"))


def _pairs(reading: Reading, meaning: Meaning) -> set[tuple[str, str]]:
    """Return words of size with the noun of the trade right behind them, and words of extent with whatever is."""
    words, found, boxes = words_of(reading.masked), set(), 0
    names = [sorted(mark.names)[0] for mark in reading.marks]
    for place, word in enumerate(words):
        boxes += word == MASK
        if ((word in SIZES or word in TIMES) and word not in _COMMON) or word in _ASKING:
            found |= {(word, stem(noun)) for noun in [*words[place + 1 : place + 4]] if stem(noun) in meaning.nouns}
        elif word in _EXTENT:
            behind = next((next_ for next_ in words[place + 1 : place + 5] if next_ not in _ARTICLES), "")
            if behind == MASK and boxes < len(names) and word in _WHOLE:
                found.add((word, names[boxes]))
            elif stem(behind) in meaning.nouns:
                found.add((word, stem(behind)))
    return found


def wrong_deeds(text: Reading, meaning: Meaning) -> Iterator[str]:
    """Yield values that stand in one clause with a deed that is done to something else."""

    def joined(reading: Reading) -> set[tuple[str, str]]:
        found = set()
        for clause in reading.clauses:
            stems = {stem(word) for word in clause.words}
            for name in clause.names:
                root = name.partition(".")[0]
                own = meaning.tools_of(root)
                for verb in stems:
                    tools = {tool for tool, verbs in meaning.deeds.items() if verb in verbs}
                    if (own and tools and not tools & own) or (
                        not own and tools and root in mentioned and not is_left(reading, clause.sentence)
                    ):
                        found.add((name, verb))
        return found

    mentioned = {n for n, role in meaning.plan.roles.items() if role.role.only_said}
    usual = set().union(*(joined(one) for one in meaning.phrasings))
    values = {known.name: known.value for known in meaning.known}
    for name, verb in sorted(joined(text) - usual):
        yield f"{values[name]!r} stands with the deed {verb!r}, which is about something else"


def is_left(reading: Reading, sentence: str) -> bool:
    """Whether a sentence speaks of leaving something."""
    return bool(NEGATIONS & set(words_of(sentence)))
