"""What stands around the deed: greeting, who is speaking, thanks, and how two matters of one message are joined."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

from toolscale.language.phrasing import expand_choices
from toolscale.patterns import regex
from toolscale.records import LanguageSpec, Persona

PLACE = regex(r"\{(\w+)(?:\.(\w+))?(\^)?(?:~(\w+))?(?:\|(\w+))?\}")
MORE = "more"
"""`{more}` in a body: where another sentence about the same matter fits. `{more_2}` is that of a second matter."""
NEXT = "{next}"
"""Stands between two matters of one request until they are joined."""
MATTERS = ("first", "second", "third")
"""The places of a join, one for each matter."""

MIDDLE_SHARE = 0.5
"""The share of messages that say who is speaking between two sentences, among those of one matter that do not begin
with it and have a place for it."""

_MORE = regex(r"\s*\{more(?:_\d+)?\}")
_CAPITAL = regex(r"[A-Z](?=[a-z]+\b)|A(?= )")
_BEGINNING = regex(r"(?:So|And|Also|Well|OK|Oh|Anyway)\b,? (?=\S)")
_FIRST_PERSON = regex(r"I\b")
_PLAIN = regex(r"[^.!?:;\n]+\.")
_JOIN_PLACE = regex(r"\{(" + "|".join(MATTERS) + r")\}")
LONGEST_HALF = 14
"""Words of a matter that still goes into one sentence with the next."""


def compose_message(
    body: str, known: set[str], language: LanguageSpec, persona: Persona, rng: random.Random, *, anonymous: bool = False
) -> str:
    """Return the body with all that goes around it, every choice made; `known` are the roles that a frame may name.
    `anonymous`: nothing says who is speaking."""
    parts = [expand_choices(part, rng.randrange).strip() for part in body.split(NEXT)]
    text = _joined(parts, language, persona, rng)
    return _framed(text, set() if anonymous else known, language, persona, rng, anonymous)


def small(text: str) -> str:
    """Return a text as it goes on within a sentence: its first letter small, unless it says I; a word that only begins
    a speech is left away."""
    text = _BEGINNING.sub("", text)
    place = PLACE.match(text)
    if place and place[3]:
        return text[: place.start(3)] + text[place.end(3) :]
    if _FIRST_PERSON.match(text) or not _CAPITAL.match(text):
        return text
    return text[0].lower() + text[1:]


def names_in(template: str) -> list[str]:
    """The names of the places of a template."""
    return [match.group(1) for match in PLACE.finditer(template)]


def _joined(parts: Sequence[str], language: LanguageSpec, persona: Persona, rng: random.Random) -> str:
    if len(parts) == 1:
        return parts[0]
    fitting = [join for joins in (persona.joins, language.joins) for join in joins if _fits(join, parts)]
    own = [join for join in fitting if join in persona.joins]
    if not fitting:
        return "\n\n".join(parts)
    join = expand_choices(rng.choice(own or fitting), rng.randrange)
    texts = dict(zip(MATTERS, parts, strict=False))

    def place(match: re.Match[str]) -> str:
        text = texts[match[1]]
        if join[match.end() : match.end() + 1] == ",":
            text = _MORE.sub("", text).removesuffix(".")
        return text if _begins(join[: match.start()]) else small(text)

    return _JOIN_PLACE.sub(place, join)


def _fits(join: str, parts: Sequence[str]) -> bool:
    """Whether a join has a place for each matter; one that goes on with a comma takes one plain sentence before it."""
    if set(_JOIN_PLACE.findall(join)) != set(MATTERS[: len(parts)]):
        return False
    halves = [_MORE.sub("", part) for name, part in zip(MATTERS, parts, strict=False) if f"{{{name}}}," in join]
    return all(_PLAIN.fullmatch(half) and len(half.split()) <= LONGEST_HALF for half in halves)


def _begins(before: str) -> bool:
    """Whether a sentence begins after this text."""
    text = before.rstrip(" ")
    return not text or text[-1] in ".!?)\n"


def _framed(
    text: str, known: set[str], language: LanguageSpec, persona: Persona, rng: random.Random, anonymous: bool
) -> str:
    """Put an opening before the text and a closing after it; who speaks is said in one of them, or in between."""

    def fitting(own: Sequence[str], general: Sequence[str]) -> list[str]:
        return [frame for frame in own or general if set(names_in(frame)) <= known]

    def drawn(frames: Sequence[str]) -> str:
        return expand_choices(rng.choice(frames), rng.randrange) if frames else ""

    openings = fitting(persona.openings, language.openings)
    opening, ending = drawn(openings), ""
    if openings and not names_in(opening) and not anonymous:
        middles, places = fitting(persona.middles, language.middles), list(_MORE.finditer(text))
        if middles and len(places) == 1 and rng.random() < MIDDLE_SHARE:
            at = places[0].start()
            text = f"{text[:at]} {drawn(middles)}{text[at:]}"
        else:
            ending = drawn(fitting(persona.signatures, language.signatures))
    if not ending:
        ending = drawn(fitting(persona.closings, language.closings))
    if opening.endswith(","):
        text = small(text)
    return " ".join(part for part in (opening, text, ending) if part)
