"""Whether an answer says that it was done (or yes), that it was not (or no), or neither plainly."""

from __future__ import annotations

import re
from functools import lru_cache

_DONE = (
    "paid sent transferred moved scheduled rescheduled frozen froze unfrozen unfroze blocked unblocked cancelled canceled refunded "
    "disputed opened reopened closed booked rebooked changed updated replaced ordered reordered returned exchanged shipped modified "
    "upgraded downgraded added removed created submitted processed completed filed reported issued placed activated deactivated locked "
    "unlocked enabled disabled waived approved granted executed reserved extended renewed registered settled wired assigned reassigned "
    "made deleted credited debited applied raised lowered increased reduced enrolled set put done reversed topped redeemed swapped "
    "switched taken reset resolved shared recorded corrected marked"
)
_PARTICIPLE = rf"(?:{'|'.join(_DONE.split())})\b"
_NOT = r"(?:\s+not|n't)"
_OTHER_THAN_ACTS = (
    r"(?!\s+(?:been\s+)?(?:find|found|see|seen|need|needed|notice|noticed|have|had|require|know|known|want|mean|think|receive|received|get|"
    r"charge|charged|hear|heard|worry|hesitate|forget|include|included|apply|cost|look|affect|affected)\b)"
)
_NO = re.compile(
    rf"""
    \b(?:can\s?not|can't|could{_NOT}|won't|will\snot|would{_NOT})\b
        (?!\s+(?:wait|believe|thank|find|see|hesitate|lose|go\swrong|miss|complain|be\s+(?:undone|reversed|used|changed|charged)|affect|change|cost|find))
    | (?:\bunable|(?:\bnot|n't)\s(?:currently\s|yet\s)?able)\s+to\b
    | (?:\bnot|n't)\s(?:possible|allowed|permitted|eligible|authori[sz]ed|approved|accepted|available)\b | \bimpossible\b | \bineligible\b
    | \b(?:i|we)\s(?:do|did|have|had){_NOT}\b{_OTHER_THAN_ACTS} | \b(?:i|we)'ve\snot\b{_OTHER_THAN_ACTS}
    | \b(?:was|were|is|are|has|have|had){_NOT}\s(?:yet\s|been\s|be\s)*{_PARTICIPLE}
    | \bnot\s(?:yet\s|be\s|been\s)*(?:proceed|go(?:ne|ing)?\sahead|{_PARTICIPLE})
    | ^\W*(?:(?:but|and)\s)?not\s(?!only\b|to\s+worry\b|a\s+problem\b)
    | \b(?:declined|denied|rejected|refused|failed|refuse)\b | \bmust\sdecline\b | \bhave\sto\s(?:decline|refuse)\b
    | \b(?:nothing|no\s(?:\w+\s)?\w+)\s(?:was|were|has\sbeen|have\sbeen)\s{_PARTICIPLE}
    | \b(?:left|leave|leaving|kept|keep)\s(?:\S+\s){{1,6}}?(?:as\s(?:it|they|is|before)\b|unchanged|untouched|alone)
    """,
    re.VERBOSE,
)
_NO_CUES = (
    "not", "n't", "no ", "nothing", "unable", "impossible", "ineligible", "declin", "denied", "reject", "refuse", "failed", "left ", "leav", "kept ",
    "keep ",
)  # fmt: skip
"""Without one of these a clause cannot match `_NO`, which is slow to say no."""

_YES = re.compile(
    rf"""
    (?:^|[\s,])(?<!not\s)(?<!be\s)(?<!get\s)(?<!it\s)(?:all\s)?done(?=\s*(?:[.!,;:-]|$))
    | (?<!not\s)\bwent\sthrough\b | \ball\sset\b | \btaken\scare\sof\b | (?<!not\s)\bsuccessfully\b
    | \b(?:i|we)(?:'ve|\shave)\s(?:(?:now|just|already|also|gone\sahead\sand|both|all|\w+ly)\s)*{_PARTICIPLE}
    | \b(?:i|we)\s(?:(?:just|also|already|now|went\sahead\sand|\w+ly)\s)*{_PARTICIPLE}
    | \b(?:i|we)\swent\sahead\b | \bgone\sahead\b
    """,
    re.VERBOSE,
)
_WEAK_YES = re.compile(
    rf"\b(?:has|have)\s(?:(?:now|just|already|all|both)\s)*been\s(?:\w+ly\s)?{_PARTICIPLE}|\b(?:is|are|was|were)\s(?:(?:now|all|both)\s)?{_PARTICIPLE}"
)
_LEADING = re.compile(
    r"\W*(?:(?:(?:i'm|i\sam|we're|we\sare)\s(?:so\s|very\s)?)?sorry\W+|unfortunately\W+|well\W+)?"
    r"(?:(?P<yes>yes|yep|yeah)|(?P<no>no|nope))(?=\s*(?:[,.!;:–—-]|$))(?!\W+(?:problem|worries|need)\b)"
)
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_CLAUSE = re.compile(r"[,;:()]\s*|\s[-–—]{1,2}\s|—|\s(?:and|but|while|so|because|since|as)\s")
_CONDITION = re.compile(r"\b(?:if|unless|in case|whether|once|when|that|until|after)\s(?:you|i|we|it|this|that|they|anything|done)\b.*")


@lru_cache(maxsize=16384)
def polarity(lower: str) -> bool | None:
    """Return True for yes or done, False for no or not done, None if the text says neither, or both.

    Each sentence speaks once: by a leading yes or no, else by what is said to have (not) been done. A polite opening (`Of course!`) says nothing.
    Passive statements (`Your card has been frozen`) count only where nothing speaks plainly; a regret alone says nothing.
    """
    plain: set[bool] = set()
    weak: set[bool] = set()
    for sentence in _SENTENCE.split(lower):
        leading = _LEADING.match(sentence)
        if leading:
            plain.add(leading["yes"] is not None)
        elif not sentence.rstrip().endswith("?"):
            said = {verdict for clause in _CLAUSE.split(sentence) if (verdict := _clause(clause)) is not None}
            plain |= said
            if not said:
                weak |= {True} if _WEAK_YES.search(_CONDITION.sub("", sentence)) else set()
    decisive = plain or weak
    return decisive.pop() if len(decisive) == 1 else None


def _clause(clause: str) -> bool | None:
    claimed = _CONDITION.sub("", clause)
    if any(cue in claimed for cue in _NO_CUES) and _NO.search(claimed):
        return False
    return True if _YES.search(claimed) else None
