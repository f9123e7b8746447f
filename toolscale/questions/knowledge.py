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
    QuestionTemplate(
        "atomic number",
        (
            "What is the atomic number of {given}?",
            "Which atomic number does the chemical element {given} have?",
            "The chemical element {given} stands at which atomic number of the periodic table?",
        ),
        _number(ELEMENTS, 1),
    ),
    QuestionTemplate(
        "symbol",
        (
            "What is the chemical symbol of {given}?",
            "Which chemical symbol does the element {given} have?",
            "By which chemical symbol is the element {given} known?",
        ),
        _column(ELEMENTS, 0, 1),
    ),
    QuestionTemplate(
        "element",
        (
            "Which chemical element has the symbol {given}?",
            "What is the name of the chemical element with the symbol {given}?",
            "For which chemical element does the symbol {given} stand?",
        ),
        _column(ELEMENTS, 1, 0, near=True),
    ),
    QuestionTemplate(
        "capital",
        (
            "What is the capital of {given}?",
            "Which city is the capital of {given}?",
            "Name the capital city of {given}.",
        ),
        _column(COUNTRIES, 2, 1),
    ),
    QuestionTemplate(
        "country code",
        (
            "What is the two-letter country code of {given}?",
            "Which ISO country code of two letters does {given} have?",
            "By which two-letter ISO country code is {given} known?",
        ),
        _column(COUNTRIES, 0, 1),
    ),
    QuestionTemplate(
        "prefix",
        (
            "Which power of ten does the metric prefix {given} stand for? Give the exponent.",
            "The metric prefix {given} means ten to the power of what?",
            "What is the exponent of ten for the metric prefix {given}?",
        ),
        _prefix,
    ),
    QuestionTemplate(
        "ascii",
        (
            "What is the decimal ASCII code of the {given}?",
            "Which decimal number is the ASCII code of the {given}?",
            "In ASCII, which decimal code does the {given} have?",
        ),
        _ascii,
        tuple(name for _, name in ASCII_MARKS),
    ),
    QuestionTemplate(
        "unit",
        (
            "What does the SI unit {given} measure?",
            "Which quantity is measured in the SI unit {given}?",
            "The SI unit {given} is a unit of which quantity?",
        ),
        _column(UNITS, 1, 0),
    ),
    QuestionTemplate(
        "greek",
        (
            "At which place of the Greek alphabet does the letter {given} stand, counted from one?",
            "Which number does the letter {given} have in the order of the Greek alphabet?",
            "Counted from one, which letter of the Greek alphabet is {given}? Give its number.",
        ),
        _number(GREEK, 0),
    ),
    QuestionTemplate(
        "morse",
        (
            "Which letter is {given} in Morse code?",
            "What letter does the Morse code {given} stand for?",
            "Someone sends {given} in Morse code. Which letter is that?",
        ),
        _column(MORSE, 0, 1),
    ),
    QuestionTemplate(
        "spelling",
        (
            "Which word stands for the letter {given} in the NATO spelling alphabet?",
            "What is the word for the letter {given} in the NATO alphabet?",
            "How is the letter {given} spoken in the NATO spelling alphabet?",
        ),
        _column(NATO, 1, 0, near=True),
    ),
    QuestionTemplate(
        "resistor",
        (
            "Which digit does the color {given} stand for on a resistor?",
            "What digit does a {given} ring mean in the color code of resistors?",
            "In the color code of resistors, which digit is {given}?",
        ),
        _column(RESISTORS, 0, 1),
        tuple(name for _, name in RESISTORS),
    ),
)
