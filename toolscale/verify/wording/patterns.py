"""Patterns of conditions, bounds and what is no prose."""

from __future__ import annotations

import re

from toolscale.patterns import regex

CONDITION = regex(
    r"\b(?:only if|if|unless|provided|as long as|so long as|assuming|otherwise|in case|on condition|whether"
    r"|supposing|contingent|depending)\b"
)
OPENING = regex(
    r"\b(?:if|unless|provided|as long as|so long as|assuming|in case"
    r"|on condition|whether|sure|check|supposing|depending)\b"
)
"""What opens a condition; `otherwise` only goes on with one."""

COURTESY = regex(
    r"\b(?:if|in case) (?:you can|you could|you would|you don't mind|you do not mind|you have (?:a|the) \w+"
    r"|you need (?:that|it|this|me|anything|more|any)"
    r"|possible|at all possible|that's (?:ok|okay|fine|alright|all right|possible)|that is (?:ok|okay|fine"
    r"|alright|all right|possible)|it's (?:ok|okay|possible)"
    r"|it is possible|it's not too much trouble|i may|that works|so|that helps|it helps|you please|needed"
    r"|necessary|there (?:is|are) any(?:thing)? "
    r"(?:else|questions?|problems?|issues?))\b[^.!?,]*|\b(?:let me know|tell me|know|wonder(?:ing)?"
    r"|ask(?:ing)?) if you (?:can|could|would)\b"
)
"""Where `if` sets no condition."""

LOW = regex(
    r"\b(?:under|below|less than|lower than|smaller than|fewer than|no more than|not more than|at most|not over"
    r"|up to|or less|or under|or below|by|no later than|"
    r"not later than|on or before|before|within|doesn't exceed|does not exceed|isn't more than|is not more than"
    r"|isn't over|is not over|"
    r"not above|maximum|max|cheaper than|earlier than|not exceed(?:ing)?|never more than)\b"
)
HIGH = regex(
    r"\b(?:over|above|more than|greater than|higher than|bigger than|at least|no less than|not less than"
    r"|not under|not below|or more|or over|or above|after|"
    r"exceeds?|exceeding|isn't less than|is not less than|isn't under|minimum|min|later than|not fall below"
    r"|not drop below|doesn't (?:fall|drop|go) below"
    r"|no earlier than|from)\b"
)
"""How a threshold is held against: below it, above it."""

ELSE = regex(
    r"\b(?:otherwise|if not|else|failing that|if it isn't|if it's not|if there isn't|if that's not"
    r"|if it doesn't|or else)\b"
)
"""Where the other way begins."""

MARKUP = regex(r"https?:|www\.|://|\b\w+@\w|```|[<>{}\[\]\\|`=~^_@]|\*\*|^\s*#|\b[a-z]+\(\)|--\s|/\*", re.MULTILINE)
ROLE = regex(
    r"(?:^|\n)\s*(?:system|assistant|user|human|developer|tool)\s*[:>]|\b(?:ignore|disregard|override)\s+(?:all"
    r"|any|the|your|previous|prior|above)\b"
    r"|\bforget\s+(?:all|any|your|everything|previous|prior|what you)\b"
)
ALLOWED_MARKS = frozenset(" \n.,;:!?'\"()-–—/&$%+…’‘“”#*•")
"""Characters besides letters and digits."""
