"""What a model thinks before it speaks: many servers leave it in the text of a reply. It is no part of what is said."""

from __future__ import annotations

import re
from dataclasses import dataclass

from toolscale.patterns import regex

_BEGIN = regex(r"\s*(?:<(think|thinking|thought|reasoning)>|\[(think)\])", re.IGNORECASE)
_END = regex(r"</(think|thinking|thought|reasoning)>|\[/(think)\]", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Spoken:
    """What a text says, and what was thought before it."""

    text: str
    thoughts: str = ""
    is_open: bool = False
    """Whether the thoughts have no end: then nothing was said, and a call that follows was thought too."""
    is_stray: bool = False
    """Whether thoughts end that had no beginning: templates may write it into the prompt."""


def spoken(text: str) -> Spoken:
    """Return what is said in a text. One without thoughts comes back as it is."""
    begin = _BEGIN.match(text)
    kind = (begin[1] or begin[2]).lower() if begin else "think"
    ends = [end for end in _END.finditer(text) if (end[1] or end[2]).lower() == kind]
    first = begin.end() if begin else 0
    if not ends:
        return Spoken("", text[first:].strip(), is_open=True) if begin else Spoken(text)
    rest = spoken(text[ends[-1].end() :].strip())
    thoughts = "\n".join(filter(None, (text[first : ends[-1].start()].strip(), rest.thoughts)))
    return Spoken(rest.text, thoughts, rest.is_open, begin is None or len(ends) > 1 or rest.is_stray)
