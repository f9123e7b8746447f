"""The way back: from the words of an instruction to the weights."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from toolscale.preferences.grammar import (
    AVOIDS,
    DIMENSIONS,
    FRAMES,
    LEVELS,
    LIKES,
    NOUNS,
    OPENINGS,
    OWN,
    PRIVATE,
    RATHERS,
    TOOL_WORDS,
    UNSAID,
)
from toolscale.records import Preference

_NOUN_DIMENSION = {noun: name for name in DIMENSIONS for noun in NOUNS[name]}
_NOUN = f"(?:{'|'.join(sorted(_NOUN_DIMENSION, key=len, reverse=True))})"
_NOUN_LIST = rf"{_NOUN}(?:,? (?:and|or) {_NOUN}|, {_NOUN})*"
_SENTENCE_END = re.compile(r"\.(?:\s+|$)")


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


@lru_cache(maxsize=1)
def _patterns() -> tuple[tuple[re.Pattern[str], re.Pattern[str] | None, dict[str, float]], ...]:
    """Return for each frame: the pattern of a whole sentence, the pattern of one part of it with `degree` and `nouns`,
    and degree -> level."""
    found: list[tuple[re.Pattern[str], re.Pattern[str] | None, dict[str, float]]] = []
    for frame in FRAMES:
        levels = {degree: level for degree, level in zip(frame.degrees, LEVELS, strict=True) if degree}
        degree = f"(?:{'|'.join(sorted(levels, key=len, reverse=True))})"
        whole, part = (
            _pattern(frame.some, *kinds)
            for kinds in ((degree, _NOUN_LIST), (f"(?P<degree>{degree})", f"(?P<nouns>{_NOUN_LIST})"))
        )
        found.append((re.compile(rf"{frame.first}{whole}(?:,(?: and)? {whole})*$"), re.compile(part), levels))
        found.append((re.compile(_pattern(frame.none, "", f"(?P<nouns>{_NOUN_LIST})") + "$"), None, {}))
    return tuple(found)


def _pattern(text: str, degree: str, nouns: str) -> str:
    return (
        text.replace("{matter}", "matters?")
        .replace("{do}", "(?:do|does)")
        .replace("{be}", "(?:is|are)")
        .replace("{degree}", degree)
        .replace("{nouns}", nouns)
    )


def _weights_of(sentence: str) -> dict[str, float] | None:
    for whole, part, levels in _patterns():
        if (match := whole.match(sentence)) is None:
            continue
        if part is None:
            return {_NOUN_DIMENSION[noun]: 0.0 for noun in re.findall(_NOUN, match["nouns"])}
        body = sentence.removeprefix("i care ").removeprefix("give ")
        return {
            _NOUN_DIMENSION[noun]: levels[each["degree"]]
            for each in part.finditer(body)
            for noun in re.findall(_NOUN, each["nouns"])
        }
    return None


def _tools_of(sentence: str, aliases: tuple[str, ...], basic_tools: tuple[str, ...]) -> dict[str, float] | None:
    tool = {TOOL_WORDS.get(name, name): name for name in (*aliases, *basic_tools)}
    name = f"(?:{'|'.join(re.escape(said) for said in sorted(tool, key=len, reverse=True))})" if tool else "(?!)"
    some = f"{name}(?: (?:and|or) {name})*"
    for patterns, weight in ((LIKES, 1.0), (AVOIDS, 0.0)):
        for pattern in patterns:
            if match := re.fullmatch(pattern.replace("{names}", f"(?P<names>{some})"), sentence):
                return {tool[said]: weight for said in re.findall(name, match["names"])}
    for pattern in RATHERS:
        if match := re.fullmatch(
            pattern.replace("{name}", f"(?P<name>{name})").replace("{other}", f"(?P<other>{name})"), sentence
        ):
            return {tool[match["name"]]: 1.0, tool[match["other"]]: 0.0}
    if any(re.fullmatch(pattern.replace("{own}", ".+").replace("{others}", ".+"), sentence) for pattern in PRIVATE):
        return {each: float(each in OWN) for each in (*basic_tools, *aliases) if each in TOOL_WORDS or each in aliases}
    return None
