"""The way back: from the words of an instruction to the weights."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from toolscale.patterns import regex
from toolscale.preferences.grammar import (
    DIMENSIONS,
    LEVELS,
    OPENINGS,
    OWN,
    SLOTS,
    TOOL_WORDS,
    UNSAID,
    WORDINGS,
    Frame,
    WishKind,
)
from toolscale.records import Preference

_NOUN_DIMENSION = {noun: name for wording in WORDINGS.values() for name in DIMENSIONS for noun in wording.nouns[name]}
_NOUN = f"(?:{'|'.join(sorted(_NOUN_DIMENSION, key=len, reverse=True))})"
_NOUN_LIST = rf"{_NOUN}(?:,? (?:and|or) {_NOUN}|, {_NOUN})*"
_NAMED: dict[WishKind, float] = {"like": 1.0, "avoid": 0.0}
_SENTENCE_END = regex(r"\.(?:\s+|$)")


def read_instruction(
    instruction: str, aliases: Sequence[str] = (), basic_tools: Sequence[str] = ()
) -> Preference | None:
    """Return what an instruction of our grammar says, for a task that offers these; None if some sentence is none of
    ours."""
    text = next(
        (instruction.removeprefix(opening) for opening in OPENINGS if opening and instruction.startswith(opening)),
        instruction,
    )
    weights: dict[str, float] = {}
    tools: dict[str, float] = {}
    for sentence in _SENTENCE_END.split(text):
        if not sentence:
            continue
        if (found := _weights_of(sentence)) is not None:
            weights |= found
        elif (told := _tools_of(sentence, tuple(aliases), tuple(basic_tools))) is not None:
            tools |= told
        else:
            return None
    if not weights and not tools:
        return None
    given = UNSAID | weights
    return Preference(
        instruction=instruction, outcome=given["outcome"], cost=given["cost"], latency=given["latency"], tools=tools
    )


class _Pattern(NamedTuple):
    """How one frame is recognized."""

    whole: re.Pattern[str]
    """A sentence that says that something counts."""
    part: re.Pattern[str]
    """One group of it, with `degree` and `nouns`."""
    none: re.Pattern[str]
    """A sentence that says that `nouns` do not count."""
    first: str
    levels: dict[str, float]
    """Degree -> level."""


@lru_cache(maxsize=1)
def _patterns() -> tuple[_Pattern, ...]:
    return tuple(_pattern_of(frame) for wording in WORDINGS.values() for frame in wording.frames)


def _pattern_of(frame: Frame) -> _Pattern:
    levels = {degree: level for degree, level in zip(frame.degrees, LEVELS, strict=True) if degree}
    degree = f"(?:{'|'.join(sorted(levels, key=len, reverse=True))})"
    group = _pattern(frame.some, degree, _NOUN_LIST)
    return _Pattern(
        regex(rf"{frame.first}{group}(?:,(?: and)? {group})*$"),
        regex(_pattern(frame.some, f"(?P<degree>{degree})", f"(?P<nouns>{_NOUN_LIST})")),
        regex(_pattern(frame.none, "", f"(?P<nouns>{_NOUN_LIST})") + "$"),
        frame.first,
        levels,
    )


def _pattern(text: str, degree: str, nouns: str) -> str:
    return (
        text.replace("{matter}", "matters?")
        .replace("{do}", "(?:do|does)")
        .replace("{be}", "(?:is|are)")
        .replace("{degree}", degree)
        .replace("{nouns}", nouns)
    )


def _weights_of(sentence: str) -> dict[str, float] | None:
    for pattern in _patterns():
        if match := pattern.none.match(sentence):
            return {_NOUN_DIMENSION[noun]: 0.0 for noun in re.findall(_NOUN, match["nouns"])}
        if pattern.whole.match(sentence):
            return {
                _NOUN_DIMENSION[noun]: pattern.levels[each["degree"]]
                for each in pattern.part.finditer(sentence.removeprefix(pattern.first))
                for noun in re.findall(_NOUN, each["nouns"])
            }
    return None


def _tools_of(sentence: str, aliases: tuple[str, ...], basic_tools: tuple[str, ...]) -> dict[str, float] | None:
    tool = {TOOL_WORDS.get(name, name): name for name in (*aliases, *basic_tools)}
    name = f"(?:{'|'.join(re.escape(said) for said in sorted(tool, key=len, reverse=True))})" if tool else "(?!)"
    some = f"{name}(?: (?:and|or) {name})*"
    for kind, weight in _NAMED.items():
        if match := _told(kind, sentence, names=f"(?P<names>{some})"):
            return {tool[said]: weight for said in re.findall(name, match["names"])}
    if match := _told("rather", sentence, name=f"(?P<name>{name})", other=f"(?P<other>{name})"):
        return {tool[match["name"]]: 1.0, tool[match["other"]]: 0.0}
    if _told("private", sentence, own=".+", others=".+"):
        return {each: float(each in OWN) for each in (*basic_tools, *aliases) if each in TOOL_WORDS or each in aliases}
    return None


def _told(kind: WishKind, sentence: str, **slots: str) -> re.Match[str] | None:
    """The match of the first sentence about tools of this kind, with patterns for its slots."""
    sentences = (SLOTS.split(text) for wording in WORDINGS.values() for text in wording.tools[kind])
    patterns = (
        "".join(slots[part] if number % 2 else re.escape(part) for number, part in enumerate(parts))
        for parts in sentences
    )
    return next((match for pattern in patterns if (match := re.fullmatch(pattern, sentence))), None)
