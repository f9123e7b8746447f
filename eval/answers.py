"""Answers in words against a reference: equality, then numbers, then dates, then a judge with a fixed prompt."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from typing import Any

from eval.benchmark import Case, Graded
from eval.grading import NOBODY, RULES
from toolscale.language.dates import MONTHS
from toolscale.models.chat import ChatClient, ChatRequest
from toolscale.records import Rollout

STAGE = "judge"
SHORT = 3
"""Letters of a word whose capitals count."""
LONGEST = 20_000
"""Characters of an answer that are read."""

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "final_answer": {"type": "string"},
        "explanation": {"type": "string"},
        "correct": {"type": "string", "enum": ["yes", "no"]},
    },
    "required": ["final_answer", "explanation", "correct"],
    "additionalProperties": False,
}

PROMPT = """\
You compare a response with a reference answer. Do not solve the question, and do not use what you know of it: the
reference is right.

1. final_answer: the answer that the response ends with, word for word; None if it gives none, or several that differ.
2. explanation: what differs between it and the reference in meaning. How it is worded does not matter; what the
   reference says must all be there. For numbers, a difference by rounding alone is none.
3. correct: yes if nothing that matters differs, else no.

Question:
{question}

Response:
{response}

Reference answer:
{reference}"""

_NUMBER = re.compile(r"[-+]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?")
_FINAL = re.compile(
    r"(?:^|\n)\W*(?:exact |final )?answer\W*:\W*(?P<line>[^\n]+)|\\boxed\{(?P<box>[^{}]+)\}", re.IGNORECASE
)
_CONFIDENCE = re.compile(r"(?:^|\n)\W*confidence\W*:?\W*(\d{1,3}(?:\.\d+)?)\s*%?", re.IGNORECASE)
_MONTHS = {name: number for number, month in enumerate(MONTHS, 1) for name in (month, month[:3])} | {"sept": 9}
_DATES = (
    re.compile(r"(?P<year>\d{4})-(?P<month>\d{1,2})-(?P<day>\d{1,2})"),
    re.compile(r"(?P<day>\d{1,2})(?:st|nd|rd|th)? (?:of )?(?P<month>[a-z]+)\.? (?P<year>\d{4})"),
    re.compile(r"(?P<month>[a-z]+)\.? (?P<day>\d{1,2})(?:st|nd|rd|th)? (?P<year>\d{4})"),
)


@dataclass(frozen=True)
class AnswerJudge:
    """Grades answers to questions with one reference. Without a model, what rules cannot decide is unscored."""

    client: ChatClient | None = None
    states_confidence: bool = False

    async def grade(self, case: Case, rollout: Rollout) -> Graded:
        """Grade a rollout. ModelUnavailableError or UnusableReplyError if the judge gives no verdict."""
        question = case.task.question
        assert question is not None, "only questions have one reference"
        answer = (rollout.answer or "").strip()
        if not answer:
            return Graded("scored", 0.0, "no answer", RULES)
        confidence = stated_confidence(answer) if self.states_confidence else None
        verdict = compare_answers(question.answer, answer)
        if verdict is not None:
            told = "the same as the reference" if verdict else f"not the reference {question.answer!r}"
            return Graded("scored", float(verdict), told, RULES, confidence)
        if self.client is None:
            return Graded("unscored", None, "rules cannot tell, and there is no judge", NOBODY, confidence)
        prompt = PROMPT.format(question=question.text, response=answer[:LONGEST], reference=question.answer)
        said = await self.client.ask_json(
            ChatRequest(STAGE, ({"role": "user", "content": prompt},), schema=SCHEMA, temperature=0.0)
        )
        return Graded("scored", float(said["correct"] == "yes"), said["explanation"], self.client.name, confidence)


def compare_answers(reference: str, answer: str) -> bool | None:
    """Return whether an answer is the reference, by rules that do not err; None where they cannot tell.

    Right: the same words after normalization, the same number, the same day. Wrong: both are whole numbers, or both are
    days, and they differ; whether 3.14 is near enough is for a judge. Only what the answer announces as final counts,
    or all of it if it announces nothing.
    """
    final = final_answer(answer)
    if normalized(final) == normalized(reference):
        return True
    for read in (_number, _day):
        wanted: Fraction | date | None = read(reference)
        given: Fraction | date | None = read(final)
        if wanted is not None and wanted == given:
            return True
        if wanted is not None and given is not None and _is_exact(wanted) and _is_exact(given):
            return False
    return None


def final_answer(answer: str) -> str:
    """Return what a text announces as its answer, the last time that it does; else all of it."""
    found = list(_FINAL.finditer(answer[:LONGEST]))
    return (found[-1]["line"] or found[-1]["box"]).strip() if found else answer[:LONGEST].strip()


def stated_confidence(answer: str) -> float:
    """Return the confidence that an answer states, from 0 to 1; 1 if it states none, as the judge of HLE has it."""
    found = list(_CONFIDENCE.finditer(answer[:LONGEST]))
    return min(1.0, float(found[-1][1]) / 100) if found else 1.0


def normalized(text: str) -> str:
    """Return a text without accents, articles, quotes, commas and stops that do not count. Signs that can mean
    something stay (-5, C#, 2!), and so do the capitals of short words (Co is not CO)."""
    plain = "".join(letter for letter in unicodedata.normalize("NFKD", text) if not unicodedata.combining(letter))
    plain = re.sub(r"[\"`“”*_;]|(?<!\w)['‘’]|['‘’](?!\w)|(?<!\d)[,.]|[,.](?!\d)|(?<=[^\W\d])-(?=[^\W\d])", " ", plain)
    words = [word.casefold() if len(word) > SHORT else word for word in plain.split()]
    # Inside, `a` may be a name: vitamin A.
    first = 1 if len(words) > 1 and words[0].casefold() in ("a", "an", "the") else 0
    return " ".join(word for word in words[first:] if word != "the")


def _is_exact(value: Fraction | date) -> bool:
    return isinstance(value, date) or value.denominator == 1


def _number(text: str) -> Fraction | None:
    plain = text.strip().strip(".*").replace("−", "-").strip()
    return Fraction(plain.replace(",", "")) if _NUMBER.fullmatch(plain) else None


def _day(text: str) -> date | None:
    plain = re.sub(r"[\s,]+", " ", text.strip().strip(".").lower())
    for form in _DATES:
        if (found := form.fullmatch(plain)) is None:
            continue
        month = int(found["month"]) if found["month"].isdigit() else _MONTHS.get(found["month"], 0)
        try:
            return date(int(found["year"]), month, int(found["day"]))
        except ValueError:
            return None
    return None
