"""What stands around the deed: a greeting, and who is speaking."""

from __future__ import annotations

import random
from collections.abc import Sequence

from toolscale.language.phrasing import expand_choices
from toolscale.patterns import regex
from toolscale.records import LanguageSpec, Persona

PLACE = regex(r"\{(\w+)(?:\.(\w+))?(\^)?(?:~(\w+))?(?:\|(\w+))?\}")
MORE = "more"
"""`{more}` in a body: where another sentence about the same matter fits. `{more_2}` is that of a second matter."""
NEXT = "{next}"
"""Stands between two matters of one request: each is a message of its own."""
_CAPITAL = regex(r"[A-Z](?=[a-z]+\b)|A(?= )")
_BEGINNING = regex(r"(?:So|And|Also|Well|OK|Oh|Anyway)\b,? (?=\S)")
_FIRST_PERSON = regex(r"I\b")


def compose_message(
    body: str, known: set[str], language: LanguageSpec, persona: Persona, rng: random.Random, *, anonymous: bool = False
) -> list[str]:
    """Return a message for each matter of a body, every choice made: the first with all that goes around it. `known`
    are the roles that a frame may name. `anonymous`: nothing says who is speaking."""
    first, *others = [expand_choices(part, rng.randrange).strip() for part in body.split(NEXT)]
    return [_framed(first, set() if anonymous else known, language, persona, rng, anonymous), *others]


SIGNED = ("I'm {0}.", "My name is {0}.", "This is {0}.", "{0}")


def signed(text: str, speaker: str, rng: random.Random) -> str:
    """Return a whole message, and behind it the role of who is speaking."""
    end = "" if text.rstrip()[-1:] in ".!?)" else "."
    return f"{text.rstrip()}{end} {rng.choice(SIGNED).format('{' + speaker + '}')}"


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


def _framed(
    text: str, known: set[str], language: LanguageSpec, persona: Persona, rng: random.Random, anonymous: bool
) -> str:
    """Put an opening before the text, or who is speaking behind it where that does not say it."""

    def fitting(own: Sequence[str], general: Sequence[str]) -> list[str]:
        return [frame for frame in own or general if set(names_in(frame)) <= known]

    def drawn(frames: Sequence[str]) -> str:
        return expand_choices(rng.choice(frames), rng.randrange) if frames else ""

    opening, ending = drawn(fitting(persona.openings, language.openings)), ""
    if not names_in(opening) and not anonymous:
        ending = drawn(fitting(persona.signatures, language.signatures))
    if opening.endswith(","):
        text = small(text)
    return " ".join(part for part in (opening, text, ending) if part)
