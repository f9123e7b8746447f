"""Whether a final message gives the answer to a question, compared by its type: numbers by value, names and choices as
they are written.

The answer stands in `\\boxed{..}`, else after `answer is` or `answer:` to the end of the clause, else anywhere. What is
said last counts: naming several numbers gains nothing. Numbers that the question gives may be repeated, and options
that it names; any other wrong name makes the answer wrong, wherever it stands. Doubt and denial are not read: *it is
not 42* gives 42, here as for math-verify (decision 55).
"""

from __future__ import annotations

import re
import unicodedata
from fractions import Fraction

from toolscale.language.numerals import NUMBER_WORDS_PATTERN, parse_number_words
from toolscale.patterns import regex
from toolscale.questions.facts import COUNTRIES, ELEMENTS, NATO
from toolscale.records import Question

LONGEST = 20_000
"""Characters of an answer; a longer one is not read."""
TOLERANCE = Fraction(1, 10**6)
"""How far a decimal may be off, relative to the answer."""

_BOXED = regex(r"\\boxed\{([^{}]*)\}")
_ANNOUNCED = regex(r"\b(?:answer|result|solution)\b[^\w\n=:]*(?:is|=|:)[\s*:]*(?=\S)", re.IGNORECASE)
_CLAUSE = regex(r".*?(?=[,;.!?](?:\s|$)|\n|\b(?:because|since|for|given|where)\b|$)", re.IGNORECASE)
_NUMBER = regex(
    r"(?<![\w.])(?<!\d,)[-+]?(?:\d{1,3}(?:,\d{3}){1,30}|\d{1,90})(?:\.\d{1,90})?(?:\s?/\s?\d{1,90})?"
    r"(?!\.?\d|,\d{3}\b|(?!g\b)[a-z]|[ -](?:hundred|thousand|million|billion|trillion|dozen)\b)",
    re.IGNORECASE,
)
_IN_WORDS = regex(rf"\b(minus |negative )?({NUMBER_WORDS_PATTERN})\b")
_MINUS = regex(r"\b(?:minus|negative) (?=\d)")
_SUPERSCRIPT = regex("[\u207a\u207b\u2070\u00b9\u00b2\u00b3\u2074-\u2079]+")
_KINDS = tuple(
    frozenset(names)
    for names in (
        [capital for *_, capital in COUNTRIES],
        [name for _, name in ELEMENTS],
        [name for _, name in NATO],
        ["north", "east", "south", "west"],
        ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"],
    )
)
"""Names that answer the same question: beside one of them, another is wrong."""
_NO_WORD = r"(?!'?\w| (?!(?:is|stands?|means|or)\b)[a-z])"
"""What follows a form of one or two letters where it is no English word: `I is iodine`, not `I think`."""


def grade_answer(question: Question, text: str | None) -> tuple[bool, str]:
    """Return whether a final message answers a question rightly, and what was found, in words."""
    if text is None or not text.strip():
        return False, "there is no answer"
    if len(text) > LONGEST:
        return False, f"the answer has {len(text)} characters, more than the {LONGEST} that are read"
    said, asked = _fold(text), _fold(question.text)
    told = _told(said)
    whole = told is None
    told = said.replace(asked, " ") if told is None else told
    if question.answer_kind in ("integer", "decimal"):
        right = Fraction(question.answer.replace(",", ""))
        close = TOLERANCE * abs(right) if question.answer_kind == "decimal" else 0
        given = set(_numbers(asked)) if whole else set()
        values = [value for value in _numbers(told) if abs(value - right) <= close or value not in given]
        fits, last = bool(values) and abs(values[-1] - right) <= close, f"{float(values[-1]):.12g}" if values else None
    else:
        names = _names(question, asked, told)
        fits, last = bool(names) and names[-1][1], names[-1][0] if names else None
    if fits:
        return True, f"the answer is {question.answer}"
    return False, f"the answer does not say {question.answer}" if last is None else f"the answer says {last}"


def _fold(text: str) -> str:
    """Return a text without accents, with plain quotes, and single spaces within its lines."""
    if not text.isascii():
        text = _SUPERSCRIPT.sub(lambda raised: f"^{raised[0]}", text)
        text = "".join(mark for mark in unicodedata.normalize("NFKD", text) if not unicodedata.combining(mark))
        text = text.translate({0x2019: "'", 0x2018: "'", 0x201C: '"', 0x201D: '"', 0x2212: "-", 0x2044: "/"})
    return "\n".join(" ".join(line.split()) for line in text.splitlines()).strip()


def _told(said: str) -> str | None:
    """Return what is announced as the answer, the last where several are; None where nothing is."""
    if boxed := _BOXED.findall(said):
        return str(boxed[-1])
    announced = [match.end() for match in _ANNOUNCED.finditer(said)]
    clause = _CLAUSE.match(said, announced[-1]) if announced else None
    return clause[0] if clause is not None and clause[0].strip() else None


def _numbers(text: str) -> list[Fraction]:
    """Return the numbers of a folded text; those in words where none is in digits."""
    found = []
    for match in _NUMBER.finditer(_MINUS.sub("-", text.lower())):
        above, _, below = match[0].replace(",", "").replace(" ", "").partition("/")
        if not below or int(below):
            found.append(Fraction(above) / int(below or 1))
    words = [] if found else _IN_WORDS.findall(text.lower())
    return found + [Fraction(parse_number_words(number) * (-1 if minus else 1)) for minus, number in words]


def _names(question: Question, asked: str, told: str) -> list[tuple[str, bool]]:
    """Return (name, whether it is right) for each that is told; only the wrong ones that the question does not name,
    where there are such."""
    right = {_fold(form) for form in (question.answer, *question.accepted)}
    others = {name for kind in _KINDS if kind & right for name in kind} | {_fold(form) for form in question.wrong}
    written = {form.lower() if len(form) > 2 else form: form for form in (*sorted(others), *sorted(right))}
    shapes = [
        rf"(?ai:{re.escape(form)})(?!\w)" if len(form) > 2 else re.escape(form) + _NO_WORD
        for form in sorted(written, key=len, reverse=True)
    ]
    found = [
        match[0] if len(match[0]) < 3 else written[match[0].lower()]
        for match in re.finditer(rf"(?<!\w)(?:{'|'.join(shapes)})", told)
    ]
    strange = [name for name in found if name not in right and name.lower() not in asked.lower()]
    return [(name, name in right) for name in strange or found]
