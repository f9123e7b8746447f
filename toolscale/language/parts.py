"""Whether one part of a request is said to be done, where an answer speaks of several."""

from __future__ import annotations

from functools import lru_cache

from toolscale.language.clauses import Answer
from toolscale.language.labels import Labels
from toolscale.language.polarity import PARTICIPLE, clause_polarity, hints_done, is_meant, leading_polarity, polarity
from toolscale.patterns import regex

_ELLIPTIC = regex(
    r"\W*(?:then\s|also\s|just\s|now\s|already\s|even\s|later\s)*\w+(?:ed|id|nt|t|ne|oze|ozen|ade|ook|de)\s(?!to\b)"
)
_OF_THE_SAME = regex(
    r"\b(?:it|that|this|them|so|which|done|whom?|through|the\s(?:transfer|payment|money|amount|request|rest|same))\b"
)
_ARRIVED = regex(
    r"\b(?:received|gets|got|on\s(?:its|the|their|his|her)\sway|has\s(?:the|that|it)\b|(?:was|were)\sable\sto)"
)
_TERSE = regex(rf"(?:^|:)\W*(?:\w+ly\s)?{PARTICIPLE}|\b{PARTICIPLE}\W*$")
_DEED = regex(rf"\b{PARTICIPLE}")
_NOT = regex(r"\b(?:not|never|no|nothing|without|cannot|until|once|unless|if|when)\b|n't\b")


_PRIVATE = regex(
    r"(?:\b(?:can(?:not|'t|\snot)|may\snot|not\s(?:able|allowed|permitted|free|possible)|unable|won't|must\snot|couldn't|haven't|don't)\b|\bonly\b"
    r"|\bdeclin|\bno\b).*\b(?:anybody|anyone|some(?:body|one)|others?|another|else|people|person|third\spart\w+|own|private|confidential|private)"
    r"|\b(?:private|confidential|privacy)\b"
)
_DID = regex(rf"\b(?:i|we)(?:'ve|\shave)?\s(?:(?:\w+ly|now|then|also|just)\s)*{PARTICIPLE}")
_DID_NOT = regex(
    r"\bnot\sthis\b|\b(?:if|unless)\s(?:it|this|that)\sis\b|\b(?:unable|cannot|failed)\b"
    r"|\b(?:i|we)\s?(?:could|can|did|have|was|were|am|are|will|would)?(?:\snot|n't)\b"
)
_LET_BE = regex(
    r"\b(?:i|we)(?:'ve|\shave)?\s(?:did\snot|didn't|have\snot|haven't|left|kept|let)\b.*\b(?:touch|touched|alone|as\sit|as\sthey|be|unchanged|do\sit)\b"
    r"|\bnothing\s(?:\w+\s)?(?:gone|sent|paid|moved)\b|\bno\s(?:payment|transfer|money|change)\b"
)
_SUPPOSED = regex(r"\bif\s(?:it|this|that)\s(?:is|was)\b")
_SOME = regex(r"\b(?:the\srest|half|partly|part\sof|some\sof|almost|nearly)\b")
_UNCHANGED = regex(
    r"\b(?:keeps?|stays?|remains?|left|leave|unchanged|as\s(?:it|they)\s(?:is|are|was|were)|untouched|nothing|none|not|no|never|without|cannot|unable"
    r"|too\s(?:much|many|high|large|big|late|old|early|soon|low|far)|most\s(?:that\s\w+\s)?(?:possible|allowed)|(?:highest|latest)\s(?:\w+\s)?possible"
    r"|has\sto\swait|have\sto\swait|exceed\w*|refus\w*|declin\w*|fell\s(?:away|short)|falls?\sshort|didn't|short\sof|below|less\sthan)\b|n't\b"
)


def part_finding(answer: Answer, labels: Labels, label: str, done: bool, private: bool = False) -> str | None:
    """Return None if the part with this label is said to be done (`done`) or not done, else what is wrong.

    Some clause must say so, either about this label or without any label; no clause about this label may say the
    opposite, plainly or in passing. A clause without a label that goes on about `it` belongs to the label before it in
    the sentence. What is said of other things does not matter. That something is done may be said by its deed alone
    (`canceled`); that it is not, by what stays as it is or is too much. `private`: it was refused because it is
    somebody else's affair, which may be all that is said.
    """
    said = opposite = False
    current: frozenset[str] = frozenset()
    sentence, lower = -1, answer.lower
    before: bool | None = None
    for index, clause in enumerate(answer.clauses):
        if clause.sentence != sentence:
            sentence, current, before = clause.sentence, frozenset(), None
        own = labels.within(index)
        text = lower[clause.start : clause.end]
        about = own if own or not _OF_THE_SAME.search(text) else current
        current = own or current
        if clause.asked:
            continue
        verdict = _verdict(text, before)
        before = verdict if verdict is not None else before
        if label in about:
            opposite |= verdict is (not done) or (
                not done and verdict is None and answer.is_firm(clause) and _in_passing(text)
            )
        if verdict is done and (label in about or not about) and answer.is_firm(clause):
            said = True
        elif verdict is None and is_meant(text) and (done or label in (about or current) or not (about or current)):
            said |= hints_deed(text) if done else _UNCHANGED.search(text) is not None
        if private and not done:
            said |= _PRIVATE.search(lower[slice(*clause.whole)]) is not None
    wanted = "yes or done" if done else "no or not done"
    if opposite:
        return f"says of {label} the opposite of {wanted}"
    return None if said else f"does not plainly say {wanted} of {label}"


def hints_deed(text: str) -> bool:
    """Whether a clause names a deed as done, however shortly: `$400 sent`, `off it went: canceled`."""
    return _DEED.search(text) is not None and not _NOT.search(text)


def whole_finding(answer: Answer, done: bool, private: bool = False) -> str | None:
    """The same for all of a request: what an answer says as a whole, or any clause of it where the whole says nothing
    plainly."""
    said = polarity(answer.lower)
    firm = [answer.lower[c.start : c.end] for c in answer.clauses if not c.asked and answer.is_firm(c)]
    if (
        said is None
        and not any(map(_SOME.search, firm))
        and "?" not in answer.text
        and not _SUPPOSED.search(answer.lower)
    ):
        did = any(_DID.search(text) and clause_polarity(text) for text in firm)
        if (did and not any(map(_DID_NOT.search, firm))) if done else (any(map(_LET_BE.search, firm)) and not did):
            said = done
    if not done and private and any(map(_PRIVATE.search, firm)):
        said = False
    return None if said == done else f"does not plainly say {'yes or done' if done else 'no or not done'}"


@lru_cache(maxsize=16384)
def _verdict(text: str, before: bool | None) -> bool | None:
    """Return what a clause says; one that goes on without a subject (`and sent $5 to ..`) says done if it is not
    denied."""
    leading = leading_polarity(text)
    if leading is not None:
        return leading
    verdict = clause_polarity(text)
    if verdict is None and hints_done(text):
        return True
    return True if verdict is None and before and _ELLIPTIC.match(text) and not _NOT.search(text) else verdict


def _in_passing(text: str) -> bool:
    """Whether a clause lets one think that the part was done after all (`your mother has received $5`, `to your mother:
    sent`)."""
    return (
        not _NOT.search(text)
        and not text.rstrip().endswith("stayed put")
        and (_ARRIVED.search(text) or _TERSE.search(text)) is not None
    )
