"""Knowledge: facts that public tables state, asked both ways."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

from toolscale.questions.facts import (
    ASCII_MARKS,
    COUNTRIES,
    ELEMENTS,
    GREEK,
    MORSE,
    NATO,
    PREFIXES,
    RESISTORS,
    SPELLINGS,
    UNITS,
)
from toolscale.questions.phrasings import phrasings_of
from toolscale.questions.templates import Drawn, QuestionTemplate, integer, word


def _column(
    rows: tuple[tuple[str, ...], ...], asked: int, told: int, near: bool = False
) -> Callable[[random.Random], Drawn]:
    """Return a drawing of one row: column `told` fills the slot {given}, column `asked` is the answer; others of that
    column are wrong."""

    def draw(rng: random.Random) -> Drawn:
        place = rng.randrange(len(rows))
        answer = rows[place][asked]
        beside = [rows[other % len(rows)][asked] for other in (place + 1, place - 1, place + 2, place - 2)]
        others = beside if near else [rows[other][asked] for other in rng.sample(range(len(rows)), min(len(rows), 8))]
        # `magnetic flux density` is not `magnetic flux`.
        longer = [row[asked] for row in rows if row[asked].startswith(f"{answer} ")]
        others = [other for other in dict.fromkeys((*longer, *others)) if other != answer][:4]
        if answer.isdigit():
            return replace(integer(rng, {"given": rows[place][told]}, int(answer)), wrong=tuple(others))
        return word({"given": rows[place][told]}, answer, others, SPELLINGS.get(answer, ()))

    return draw


def _number(rows: tuple[tuple[str, ...], ...], told: int) -> Callable[[random.Random], Drawn]:
    """Return a drawing of one row, counted from 1: the number of the row is the answer."""

    def draw(rng: random.Random) -> Drawn:
        place = rng.randrange(len(rows))
        return integer(rng, {"given": rows[place][told]}, place + 1)

    return draw


def _ascii(rng: random.Random) -> Drawn:
    code, name = rng.choice(ASCII_MARKS)
    return integer(rng, {"given": name}, code)


def _prefix(rng: random.Random) -> Drawn:
    name, power = rng.choice(PREFIXES)
    others = [3, -3, 6]
    return integer(rng, {"given": name}, power, -power, *(power + (other if power > 0 else -other) for other in others))


TEMPLATES = (
    QuestionTemplate("atomic number", phrasings_of("knowledge/atomic number"), _number(ELEMENTS, 1)),
    QuestionTemplate("symbol", phrasings_of("knowledge/symbol"), _column(ELEMENTS, 0, 1)),
    QuestionTemplate("element", phrasings_of("knowledge/element"), _column(ELEMENTS, 1, 0, near=True)),
    QuestionTemplate("capital", phrasings_of("knowledge/capital"), _column(COUNTRIES, 2, 1)),
    QuestionTemplate("country code", phrasings_of("knowledge/country code"), _column(COUNTRIES, 0, 1)),
    QuestionTemplate("prefix", phrasings_of("knowledge/prefix"), _prefix),
    QuestionTemplate("ascii", phrasings_of("knowledge/ascii"), _ascii, tuple(name for _, name in ASCII_MARKS)),
    QuestionTemplate("unit", phrasings_of("knowledge/unit"), _column(UNITS, 1, 0)),
    QuestionTemplate("greek", phrasings_of("knowledge/greek"), _number(GREEK, 0)),
    QuestionTemplate("morse", phrasings_of("knowledge/morse"), _column(MORSE, 0, 1)),
    QuestionTemplate("spelling", phrasings_of("knowledge/spelling"), _column(NATO, 1, 0, near=True)),
    QuestionTemplate(
        "resistor", phrasings_of("knowledge/resistor"), _column(RESISTORS, 0, 1), tuple(name for _, name in RESISTORS)
    ),
)
