"""How the limit of a rule is said: *no booking may be longer than 14 nights*, *it holds at most 5*, *14 or fewer*. Of
any other figure such words are a bound, and say nothing firm."""

from __future__ import annotations

from toolscale.language.clauses import Answer, is_unsure
from toolscale.patterns import regex

_NEAR = 70
"""Letters around a figure in which the words of a limit stand."""

_LESS = r"(?:fewer|less|lower|under|below|shorter|smaller|earlier|sooner)"
_MORE = r"(?:more|longer|larger|higher|greater|bigger|later|further|over|above|beyond|past|exceed(?:s|ing)?)"
_WORD = r"(?:\s+[\w'-]+)"
_BEFORE = regex(
    rf"\b(?:at\s(?:the\s)?(?:most|least|latest|earliest)|up\sto|(?:a\s|the\s)?(?:maximum|minimum|limit)(?:\sof)?|as\s(?:many|much|long)\sas)\s*$"
    rf"|\bno(?:t|thing)?\s(?:{_MORE}|{_LESS})\sthan\s*$"
    rf"|(?:\bno|\bnot|n't|\bnever|\bnobody|\bnothing|\bcannot|\bonly\sif)\b{_WORD}{{0,8}}?\s(?:{_MORE}|{_LESS})(?:\sthan)?\s*$"
    rf"|\bonly{_WORD}{{0,5}}?\s*$"
    rf"|\b(?:the|our)\s(?:most|least|longest|largest|highest|latest|earliest|shortest|smallest){_WORD}{{0,8}}?\sis\s*$"
)
_AFTER = regex(
    rf"^(?:\s+(?:[a-z]+))?(?:\s+[a-z]+)?\s*(?:\b(?:or|and)\s(?:{_LESS}|{_MORE})\b|\bat\s(?:the\s)?(?:most|least|latest|earliest)\b"
    r"|\b(?:maximum|minimum)\b)"
)
_MAY_BE = regex(r"\b(?:may|can|must|should)\s(?:not\s)?be\b")
"""What is allowed, not what is unsure."""
_VAGUE = regex(
    r"\b(?:about|around|roughly|approximately|nearly|almost|some|maybe|perhaps|probably|i\s(?:think|guess|believe)|or\sso)\b"
)


def is_limit(answer: Answer, start: int, end: int) -> bool:
    """Return whether the figure from `start` to `end` is said as a limit, plainly."""
    clause = answer.clauses[answer.clause_at(start)]
    begin, stop = clause.whole
    before, after = answer.lower[max(begin, start - _NEAR) : start], answer.lower[end : min(stop, end + _NEAR)]
    plain = _MAY_BE.sub("is", answer.lower[begin:stop])
    if clause.asked or is_unsure(plain) or _VAGUE.search(before) or _VAGUE.match(after.lstrip()):
        return False
    return _BEFORE.search(before) is not None or _AFTER.match(after) is not None
