"""Where the values and cues of a plan stand: what goes to them or comes from them, what is denied, what stands under a
condition, what is taken back."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import combinations

from toolscale.language.render import spans_of
from toolscale.tasks.lint import SIZES, TIMES
from toolscale.verify.wording.meaning import Meaning
from toolscale.verify.wording.reading import MASK, Reading, stem, words_of
from toolscale.verify.wording.vocabulary import CORRECTING, ELSE, HIGH, LOW, NEGATIONS

_TO = frozenset(("to", "into", "onto", "toward", "towards"))
_FROM = frozenset(("from", "of", "off", "using", "use", "via", "debit", "with"))
_BETWEEN = frozenset("my the our his her their a an your account accounts called named ending in balance".split())
_STOPS = re.compile(r"[,;:.!?()—–]|\b(?:and|but|so|then|because|which|who)\b")
_NEAR = 60
_COMMON = frozenset(("most", "least", "first", "last", "next", "recent", "later", "earlier"))
_LEFT = re.compile(
    r"\b(?:leave (?:it|that|them|things|everything)|skip (?:it|that|them)|hold off|forget (?:it|about it|that)|don't (?:do|bother|pay|send|move)|do not (?:do|pay|send|move)"
    r"|can wait|do nothing|not do (?:it|anything)|let it be|nothing should)\b"
)
"""Words of leaving undone."""

Measure = Callable[[Reading, str], frozenset[object]]


def misplaced(text: Reading, meaning: Meaning) -> Iterator[str]:
    """Yield values that stand otherwise than in every phrasing of the plan."""
    for known in meaning.known:
        name, value = known.name, known.value
        for measure, problem in _MEASURES:
            if measure in (_branch, _direction) and not _is_used(meaning, name):
                continue
            usual = [measure(one, name) for one in meaning.phrasings if one.places(name)]
            said = measure(text, name)
            allowed = frozenset().union(*usual) if usual else frozenset()
            if allowed and (more := said - allowed):
                yield problem.format(value=value, how=min(map(str, more)))
            elif measure is _branch and usual and all(one == {True} for one in usual) and True not in said:
                yield f"it does not say that {value!r} is for the case where the condition does not hold"


def _is_used(meaning: Meaning, name: str) -> bool:
    """Whether a call takes a value, or the row that it names."""
    return bool(meaning.tools_of(name.partition(".")[0]))


def _direction(reading: Reading, name: str) -> frozenset[object]:
    """Whether something goes to a value or comes from it."""
    return frozenset(way for at, _ in reading.places(name) if (way := way_before(reading.masked, at)))


def way_before(masked: str, at: int) -> str | None:
    """Return `to` or `from` by the preposition before a place, articles and nouns of accounts between; or None."""
    words = words_of(masked[max(0, at - _NEAR) : at])
    for distance, word in enumerate(reversed(words[-4:])):
        if word in _TO:
            return "to"
        if word in _FROM:
            return "from"
        if word not in _BETWEEN and distance > 0:
            return None
        if word not in _BETWEEN and stem(word) in _VERBS:
            return None
    return None


_VERBS = frozenset(map(stem, "pay send move transfer cancel freeze settle set cover use take add remove close open stop top".split()))


def _denial(reading: Reading, name: str) -> frozenset[object]:
    """Whether a value is denied."""
    return frozenset(is_denied(reading, at) for at, _ in reading.places(name))


def is_denied(reading: Reading, at: int) -> bool:
    """Whether one of the eight words before a place denies it, in its own clause."""
    start, _ = reading.sentence_at(at)
    before = _STOPS.split(reading.masked[start:at])[-1]
    return bool(NEGATIONS & set(words_of(before)[-8:]))


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
    flips = len(re.findall(r"\bunless\b", before)) + len(
        re.findall(r"\b(?:isn't|aren't|doesn't have|don't have|is not|not have|haven't)\b(?! (?:over|more|less|under|above|below))", before)
    )
    return side if flips % 2 == 0 else {"most": "least", "least": "most"}[side]


_MEASURES: tuple[tuple[Measure, str], ...] = (
    (_direction, "{value!r} is said with {how!r}, which no phrasing of the plan does: something goes the other way"),
    (_denial, "{value!r} is denied, or its denial is missing"),
    (_branch, "{value!r} stands on the wrong side of the condition"),
    (_firmness, "{value!r} is said with a {how}, which changes it"),
    (_side, "{value!r} is a {how} here, which turns the condition round"),
)


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
            said = [_direction(reading, one) | _direction(reading, other) for reading in meaning.phrasings]
            if all(said) and not (_direction(text, one) | _direction(text, other)):
                yield f"it does not say which of the {table} something comes from or goes to"


def denied_cues(text: Reading, meaning: Meaning) -> Iterator[str]:
    """Yield cues of rows that stand under a denial, where no phrasing denies them."""
    for name, role in sorted(meaning.plan.roles.items()):
        cues = (*role.role.cues, *(role.description.cues if role.description else ()))
        for cue in cues:
            usual = {is_denied(one, at) for one in meaning.phrasings for at, _ in spans_of(cue, one.masked)}
            if any(is_denied(text, at) for at, _ in spans_of(cue, text.masked)) and True not in usual:
                yield f"the cue {cue!r} of {name} is denied"


def wrong_conditions(text: Reading, meaning: Meaning) -> Iterator[str]:
    """Yield a condition that was added or dropped, and a deed that is left undone on the wrong side of it."""
    usual = [one.conditions for one in meaning.phrasings]
    if text.conditions and not max(usual):
        yield "it sets a condition, and the plan has none"
    if min(usual) and not text.conditions:
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


def wrong_superlatives(text: Reading, meaning: Meaning) -> Iterator[str]:
    """Yield superlatives that the plan's words do not have, and those that stand with another noun."""
    nouns = {
        stem(word)
        for table in meaning.environment.schema.tables
        for word in (table, meaning.language.nouns.get(table, table), meaning.language.plurals.get(table, table))
    }

    def pairs(reading: Reading) -> set[tuple[str, str]]:
        words = reading.words
        return {
            (word, noun)
            for place, word in enumerate(words)
            if (word in SIZES or word in TIMES) and word not in _COMMON
            for noun in [next((stem(w) for w in words[place + 1 : place + 4] if stem(w) in nouns), "")]
            if noun
        }

    usual = set().union(*(pairs(one) for one in meaning.phrasings))
    for word in dict.fromkeys(text.words):
        if (word in SIZES or word in TIMES) and word not in _COMMON and word not in meaning.own_words:
            yield f"it says {word!r}, and the plan does not"
    for word, noun in sorted(pairs(text)):
        if any(word == known for known, _ in usual) and (word, noun) not in usual:
            yield f"{word!r} stands with {noun!r}, and in the plan with something else"


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
                    if own and tools and not tools & own:
                        found.add((name, verb))
                    elif not own and tools and root in mentioned and not is_left(reading, clause.sentence):
                        found.add((name, verb))
        return found

    mentioned = {n for n, role in meaning.plan.roles.items() if role.role.only_said and not role.role.taken_back}
    usual = set().union(*(joined(one) for one in meaning.phrasings))
    for name, verb in sorted(joined(text) - usual):
        yield f"{dict((k.name, k.value) for k in meaning.known)[name]!r} stands with the deed {verb!r}, which is about something else"


def is_left(reading: Reading, sentence: str) -> bool:
    """Whether a sentence speaks of leaving something."""
    return bool(NEGATIONS & set(words_of(sentence)))


def not_taken_back(text: Reading, meaning: Meaning) -> Iterator[str]:
    """Yield what the plan takes back and the text does not, or takes back the other way round."""
    intent = meaning.plan.intent
    gone = {name for name, role in intent.roles.items() if role.taken_back}
    gone |= {name for name, slot in intent.slots.items() if slot.taken_back}
    for known in meaning.known:
        if known.name.partition(".")[0] not in gone:
            continue
        kept = {
            other.name
            for other in meaning.known
            if other.name.partition(".")[0] not in gone and _is_like(meaning, known.name, other.name)
        }
        places = [at for at, _ in text.places(known.name) if not is_denied(text, at)]
        last, end = max(places, default=-1), len(text.masked)
        marks = [at for name in kept for at, _ in text.places(name) if at > last]
        corrected = CORRECTING.search(text.masked, last + 1) is not None or any(
            is_denied(text, at) for at, _ in text.places(known.name)
        )
        before = _STOPS.split(text.masked[text.sentence_at(last)[0] : last])[-1] if last >= 0 else ""
        if last >= 0 and (not corrected or not marks or _MEANT.search(before) or end == 0):
            yield f"it does not take back {known.value!r}"


_MEANT = re.compile(r"\b(?:make that|i mean|i meant|correction)\b")


def _is_like(meaning: Meaning, one: str, other: str) -> bool:
    roles = meaning.plan.roles
    left, right = one.partition(".")[0], other.partition(".")[0]
    if left in roles and right in roles:
        return roles[left].table == roles[right].table
    slots = meaning.plan.intent.slots
    return left in slots and right in slots and slots[left].kind == slots[right].kind
