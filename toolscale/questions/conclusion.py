"""The part of a message in which the answer is given, and words that put an answer in doubt or take it back."""

from __future__ import annotations

import re

from toolscale.patterns import regex

ANNOUNCED = 300
"""Characters after `the answer is` that are read at most."""
_BOXED = regex(r"\\boxed\{([^{}]*)\}")
_ANNOUNCED = regex(
    r"(?:\b(?:the\s+)?(?:final\s+|correct\s+|right\s+)?(?:answer|result|solution)\b"
    r"(?:\s+to\s+(?:the|your)\s+question)?\s*(?:is|=|:|would\s+be)+\s*"
    r"|^\s*(?:final\s+)?answer\s*:\s*)",
    re.IGNORECASE | re.MULTILINE,
)
_BOLD = regex(r"\*\*([^*\n]+)\*\*")
_CONCLUDED = regex(
    r"(?:^|(?<=[.!?\n]))\s*(?:so|therefore|thus|hence|consequently"
    r"|in\s+conclusion|in\s+the\s+end|finally)\b,?\s+([^\n!?]{1,300})\Z",
    re.IGNORECASE,
)
_EQUALS = regex(r"(?<![!<>~/])=(?!>)\s*([^=\n]{1,80})\Z")
_END = regex(r"(?:[.!?](?=\s|$)|\n|\b(?:because|since|(?-i:as)|for|given|where|which|that\s+is|from)\b)", re.IGNORECASE)
DOUBT = regex(
    r"\b(?:maybe|perhaps|possibly|might|could\s+be|may\s+be|either|not\s+sure|unsure|uncertain"
    r"|cannot\s+(?:say|tell|know)|can't\s+(?:say|tell)"
    r"|don't\s+know|do\s+not\s+know|no\s+idea|a\s+guess|guessing|roughly|approximately|something\s+like"
    r"|or\s+so|unless)\b",
    re.IGNORECASE,
)
DOUBTED = regex(r"\b(?:i\s+guess|i\s+doubt|doubtful|probably|presumably)\b", re.IGNORECASE)
"""Words of doubt that mean an answer only in its own sentence: `this is probably a trick question. The answer is
42.`"""
SENTENCES = regex(r"(?<=[.!?;])\s+|\n")
_FALSE = r"(?:false|wrong|incorrect|untrue|mistaken|not\s+(?:true|right|correct|the\s+case))"
_CLAUSE = r"(?:(?!\b(?:but|and|so|hence|thus|therefore|because|since)\b)[^.!?;:,\n])*"
DISBELIEVED = regex(
    rf"(?:(?:\b(?:is|be|was|it|been)|'s)\s+(?:{_FALSE}|unlikely|a\s+lie|a\s+mistake|an\s+error)\s+"
    rf"(?:to\s+\w+\s+)?that\b{_CLAUSE}"
    r"|\b(?:(?<!no )(?<!n't )(?<!not )(?<!never )(?<!without )(?<!beyond )(?<!any )(?<!a )doubts?"
    rf"|deny|denies|denied)\s+(?:that|it|the)\b{_CLAUSE}"
    rf"|\b(?:not|never|don't|didn't|cannot|can't)\s+(?:think|believe|say|claim|mean)\b{_CLAUSE}"
    r"|(?<!is )(?<!was )(?<!not )\b(?:false|wrong|incorrect|untrue)"
    r"(?: (?:answer|result|solution|value|number|one|choice)"
    r"(?: (?:is|was|would be))?)? ?:? ?[\"'`*(]*)$",
    re.IGNORECASE,
)
"""What stands before an answer that is said to be none: `it is false that the answer is`, `the wrong answer is`."""
TAKEN_BACK = regex(
    r"[\s\"'`*.,;:!()-]*(?:(?:no|but|and|sorry),?\s+)*"
    r"(?:(?:which|that|this|it|(?:the|this|that)\s+answer)(?=\s|'s))?\s*"
    rf"(?:(?:is|was|would\s+be)\s+|'s\s+)(?:\w+ly\s+|just\s+)?(?:{_FALSE}\b(?!\s+(?:that|to)\b)"
    r"|not\s+(?:it\b|the\s+(?:\w+\s+)?(?:answer|result|solution)))|(?:\s+(?:is|was)n't|\s+cannot\s+be)\s+"
    r"(?:true|right|correct|the\s+(?:\w+\s+)?(?:answer|result|solution))| ?\**\s?\((?:wrong|false|incorrect)\)",
    re.IGNORECASE,
)
"""What stands after an answer that is said to be none: `42 is wrong`, `42. That is false.`"""


def part_told(said: str) -> tuple[str, bool]:
    """Return the part of a text that gives the answer, and whether it was announced. Several announcements count
    together."""
    if boxed := _BOXED.findall(said):
        return "\n".join(dict.fromkeys(map(str.strip, boxed))), True
    parts, leads = [], []
    for match in _ANNOUNCED.finditer(said):
        rest = said[match.end() : match.end() + ANNOUNCED]
        end = _END.search(rest)
        ended = end.start() if end else len(rest)
        if (
            (part := rest[:ended].strip())
            and not DISBELIEVED.search(words_before(said, match.start()))
            and not TAKEN_BACK.match(rest, ended)
        ):
            parts.append(part)
            leads.append(words_before(said, match.start()))
    if not parts and len(set(bold := _BOLD.findall(said))) == 1 and "\n" in said:
        parts = bold
    if (
        not parts
        and (end := _EQUALS.search(said[-100:]) or _CONCLUDED.search(said[-400:])) is not None
        and not re.search(r"[.]\s", end[1])
    ):
        leads = [words_before(said, len(said) - len(end[0]))]
        parts = [] if DISBELIEVED.search(leads[0]) else [end[1]]
    if parts and (before := DOUBT.search(said)) is not None and len(said) < 200:
        parts.append(before[0])
    parts += [doubt[0] for lead in leads if parts and (doubt := DOUBTED.search(SENTENCES.split(f"{lead} ")[-1]))]
    return ("\n".join(dict.fromkeys(parts)), True) if parts else (said, False)


def words_before(told: str, place: int) -> str:
    """Return the words right before a place: as many as a denial can span."""
    return told[max(0, place - 80) : place]
