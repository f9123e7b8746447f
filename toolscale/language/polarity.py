"""Whether an answer says that it was done (or yes), that it was not (or no), or neither plainly."""

from __future__ import annotations

import re
from functools import lru_cache

from toolscale.patterns import regex

_DONE = (
    "paid sent transferred moved scheduled rescheduled frozen froze unfrozen unfroze blocked unblocked cancelled "
    "canceled refunded disputed opened reopened closed booked rebooked changed updated replaced ordered reordered "
    "returned exchanged shipped modified upgraded downgraded added removed created submitted processed completed filed "
    "reported issued placed activated deactivated locked unlocked enabled disabled waived approved granted executed "
    "reserved extended renewed registered settled wired assigned reassigned made deleted credited debited applied "
    "raised lowered increased reduced enrolled set put done reversed topped redeemed swapped switched taken reset "
    "resolved shared recorded corrected marked"
)
PARTICIPLE = rf"(?:{'|'.join(_DONE.split())})\b"
_NOT = r"(?:\s+not|n't)"
_OTHER_THAN_ACTS = (
    r"(?!\s+(?:been\s+)?(?:find|found|see|seen|need|needed|notice|noticed|have|had|require|know|known|want|mean|think|receive|received|get|"
    r"charge|charged|hear|heard|worry|hesitate|forget|forgotten|include|included|apply|cost|look|affect|affected|touch|touched|only|just|believe|"
    r"expect|recall|remember|understand|mind|miss|missed)\b)"
)
_UNDONE = (
    r"(?:can't|can\snot|cannot|couldn't|could\snot|won't|will\snot"
    r"|am\snot|'m\snot|are\snot|'re\snot|am\sunable|'m\sunable|are\sunable|'re\sunable)"
)
_NO = regex(
    rf"""
    \b(?:can\s?not|can't|could{_NOT}|won't|will\snot|would{_NOT})\b
        (?!\s+(?:wait|believe|thank|find|see|hesitate|lose|go\swrong|miss|complain|affect|change|cost|need|have\sto|notice|mind|agree\smore|not|help|reach|
            worry|dream|want|say|tell|confirm|resist|imagine|recommend|stress|be\s+(?:undone|reversed|used|changed|charged|happier|easier|simpler|better)))
    | (?:\bunable|(?:\bnot|n't)\s(?:currently\s|yet\s)?able)\s+to\b
    | (?:\bnot|n't)\s(?:possible|allowed|permitted|eligible|authori[sz]ed|approved|accepted|available)\b"""
    rf""" | \bimpossible\b | \bineligible\b
    | \b(?:i|we)\s(?:can\s?not|can't|could{_NOT}|won't)\schange\s(?:the|your|it|that|this)\b
    | \b(?:i|we)\s(?:do|did|have|had){_NOT}\b{_OTHER_THAN_ACTS} | \b(?:i|we)'ve\snot\b{_OTHER_THAN_ACTS}
    | \b(?:was|were|is|are|has|have|had){_NOT}\s(?:yet\s|been\s|be\s)*{PARTICIPLE}
    | \bnot\s(?:yet\s|be\s|been\s)*(?:proceed|go(?:ne|ing)?\sahead|{PARTICIPLE})
    | ^\W*(?:(?:but|and)\s)?not\s(?!only\b|to\s+worry\b|a\s+problem\b)
    | \b(?:declined|denied|rejected|refused|failed|refuse)\b
    | \b(?:i|we|must|have\sto|had\sto|need\sto|going\sto)\s(?:\w+ly\s)?(?:decline|refuse|turn\s(?:\w+\s)?down)\b
    | ^\W*(?:but\s)?no\W*$ | \ba\sno\W*$
    | \b(?:none|neither)\b(?:\s\w+){{0,5}}?\s(?:was|were|is|are|has\sbeen|have\sbeen|could\sbe|can\sbe)\s{PARTICIPLE}
    | \b(?:nothing|no\s(?!other|further|additional|more|one\selse)(?:\w+\s)?\w+)\s"""
    rf"""(?:was|were|has\sbeen|have\sbeen)\s{PARTICIPLE}
    | \bnothing\s(?:has\s)?changed\b | \b(?:did|changed|{PARTICIPLE})\snothing\b(?!\s(?:else|other|more))
    | \b(?:made|sent|moved|placed|booked)\sno\s(?!other|further|additional|more)
    | \b(?:'d|would|will|'ll|i)\s(?:rather|prefer|prefer\sto)\snot\b
    | (?:\bnot|n't)\s(?:something\b|(?:a\s\w+|one)\s(?:(?:that|which)\s)?(?:i|we)\b)
    | \b(?:beyond|outside|outside\sof)\swhat\s(?:i|we)(?:'m|'re|\s(?:can|am|are|may))\b
    | \bagainst\s(?:\w+\s)?(?:\w+\s)?(?:policy|policies|rules)\b | \bcan\sno\slonger\b
    | (?:\bnot|n't)\s(?:in\sa\sposition|going)\sto\b(?!\s(?:be\sa\sproblem|cost|charge|affect))"""
    rf""" | \bno\sway\s(?:for|to|that)\b
    | \bsays?\sno\b | \b(?:stays?|remains?|stayed|remained)\sunchanged\b"""
    rf""" | \b(?:afraid|unfortunately|regrettably|sadly)\snot\W*$
    | \bunpaid\b | \b(?:held|hold|holding)\soff\b | \bdecided\sagainst\b
    | \b(?:does|do){_NOT}\s(?:allow|permit|let)\b"""
    rf""" | \b(?:prevents?|forbids?|prohibits?|stops?|keeps?)\s(?:me|us|this|that|it)\b
    | \b(?:did|does|do){_NOT}\s(?:go\sthrough|succeed|work)\b"""
    rf""" | \b(?:i|we)(?:'ve|\shave)?\s(?:skipped|stopped\sshort)\b | \bunsuccessful\b
    | \b(?:i|we|it|that|this|they)\s?(?:was|is|has|have|did|were|could|can|do|does){_NOT}\W*$
    | \b(?:left|leave|leaving|kept|keep)\s(?:\S+\s){{1,6}}?
        (?:as\s(?:it|they|is|before)\b|where\s(?:it|they)\s(?:is|are|was|were)\b|unchanged|untouched|alone)
    """,
    re.VERBOSE,
)
_WISHED = regex(r"\b(?:i|we)\swish\s(?:that\s)?(?:i|we)\scould\b")
_THAT_NOT = regex(rf"\b(?:that|which|what|as)\s(?:i|we)\s?{_UNDONE}")
_NO_CUES = (
    "no", "n't", "unable", "impossible", "ineligible", "declin", "denied", "reject", "refuse", "failed", "left ",
    "leav", "kept ", "keep ", "beyond", "outside", "unpaid", "held off", "hold", "against", "prevent", "forbid",
    "prohibit", "stop", "skip", "unsuccess", "neither", "turn",
)  # fmt: skip
"""A clause without any of these cannot match `_NO`: looking for them first is faster than `_NO` itself."""

_YES = regex(
    rf"""
    (?:^|[\s,])(?<!not\s)(?<!never\s)(?<!be\s)(?<!get\s)(?<!it\s)(?<!than\s)(?<!being\s)(?:all\s)?done(?=\s*(?:[.!,;:-]|$))
    | (?<!not\s)\bwent\sthrough\b | \ball\sset\b | \btaken\scare\sof\b | (?<!not\s)\bsuccessfully\b
    | \b(?:i|we)(?:'ve|\shave)\s(?:(?:now|just|already|also|gone\sahead\sand|both|all|not\sonly|\w+ly)\s)*{PARTICIPLE}
    | \b(?:i|we)\s(?:(?:not\sonly|just|also|already|now|went\sahead\sand|\w+ly)\s)*{PARTICIPLE}
    | \b(?:i|we)\swent\sahead\b | \bgone\sahead\b
    """,
    re.VERBOSE,
)
_WEAK_YES = regex(
    r"(?<!could\s)(?<!should\s)(?<!must\s)(?<!will\s)(?<!would\s)(?<!might\s)(?<!may\s)(?<!that\s)"
    rf"\b(?:has|have)\s(?:(?:now|just|already|all|both)\s)*been\s(?:\w+ly\s)?{PARTICIPLE}"
    rf"|(?:(?<!that\s)\b(?:is|are|was|were)|\b(?:it|this|everything)'s|^\W*that's)\s(?:(?:now|all|both)\s)?{PARTICIPLE}|(?<!not\s)\ball\sdone\sfor\b"
    r"|\byou(?:'re|\sare)\s(?:(?:now|all|both)\s)?(?:booked|signed\sup|enrolled|registered)\b"
    r"|\b(?:booking|reservation|tickets?|seats?|table|trip|visit|appointment|order|alert)\s(?:is|are)\snow\s(?:for|on|at)\b"
)
_NOMINAL_YES = regex(
    r"\W*(?:(?:your|the)\s)?(?:(?:payment|transfer|bill|card|order|booking|refund|dispute|appointment|reservation|loan|request|money)\s)?"
    rf"(?:successfully\s)?(?:{PARTICIPLE}|complete)(?:\ssuccessfully)?\W*"
)
_NOT_MEANT = regex(
    r"\b(?:i\s(?:think|guess|hope|believe|suppose|assume|wish)|maybe|perhaps|probably|possibly|doubt|supposedly|not\s(?:sure|certain|know|think|"
    r"believe|true)|(?:might|may)\s(?:not\s)?(?:be|have)|almost|nearly|hardly|barely|scarcely|partially|partly|half|as\sgood\sas"
    r"|being\s(?:\w+ly\s)?\w+e[dn]|"
    rf"been\s(?:told|asked|informed)|so-called|pretend|twice|(?:get|getting|want|need)\s(?:this|it|that|them)\s(?:all\s)?{PARTICIPLE})\b"
    r"|n't\s(?:sure|certain|know|think|believe|true)\b"
)
_ATTRIBUTED = regex(
    r"\W*(?:(?:but|and|so|as|like)\s)?(?:you|they|he|she|someone|somebody)(?:'ve|\shave|\shad)?\s(?:\w+ly\s|also\s|just\s)?"
    r"(?:said|say|told|tell|asked|ask|mentioned|claim|claimed|thought|think|believe|believed|wrote|assume|assumed|expect|expected|hope|hoped)\b"
)
_NO_REFUSAL = regex(
    r"(?:\bnot|n't|\bnever|\bnothing\s(?:was|were|is))\s(?:been\s|be\s|yet\s)*(?:declined|denied|rejected|refused|impossible|ineligible|fail"
    r"|failed|unable)\b"
    r"|\b(?:unless|until|without|before|if|till)\s(?:you|your|i\shave\syour|i\sget\syour|we\shave\syour)\b.*?"
    r"(?:confirm|say|tell|agree|approve|approval|go-ahead|permission|consent|okay|ok\b|provide|give|verify|answer)"
    r"|\b(?:any|every|no|some)(?:thing|one|body)\selse\b"
    r"|\bthe\srest\b(?!(?:\sof\s(?:it|them|(?:the|that|your)\s(?:money|amount|payment|transfer|sum)))?\s(?:was|were|is|are|has|have|did|could|can"
    r"|will|failed|never)\b)|\b(?:any|no)\s(?:other|further|additional)\b|\bnothing\s(?:that\s)?(?:i|we)\b"
    r"|^\W*(?:last\stime|previously|at\sfirst|initially|in\sthe\spast|earlier)\b|\b(?:before|at\sfirst|initially|earlier)\W*$"
)
_NO_ACT = regex(
    r"\b(?:made|taken|added|set|put|sent|recorded|submitted|shared|done|opened|created|filed|raised)\s(?:\S+\s){0,3}?"
    r"(?:notes?|messages?|reminders?|look|best|everything|all\si|research|sure|requests?\s(?:to|for)|with\sa|your\s(?:request|file|case|question)|"
    r"enquiry|inquiry)\b"
    r"|\b(?:only\spart|part\sof|some\sof|none|neither|wrong|someone\selse|another\sperson|by\sothers)\b|\b(?:an?|the|this)\s(?:error|problem|issue)\b"
    r"|\b(?:payment|transfer|transaction)\s(?:has\sbeen|was|is)\s(?:now\s|\w+ly\s)?(?:blocked|reversed|locked|frozen|closed|refunded)\b"
)
_SUPPOSED = regex(
    r"\W*(?:(?:and|but|or|so|then)\s)?(?:if|unless|assuming|suppose|supposing|provided|in\scase|had\s(?:i|we|there|it))\b"
)
_RETRACTED = regex(r"\b(?:scratch|strike|ignore|disregard|forget)\sthat\b|\bi\smisspoke\b|\bjust\skidding\b")
_INTENT = regex(
    r"\W*(?:yes|yep|yeah)\W+(?:of\scourse\W+|sure\W+|certainly\W+)?(?:(?:i|we)(?:'ll|'d|\s(?:will|can|could|would|may|might|see|understand|know"
    r"|hear|'m|am)\b|"
    r"'m\b|'re\b)|that\s(?:is|can|should|will)\b|it\s(?:can|will|should)\b|but\b|and\sno\b)"
)
_LEADING = regex(
    r"\W*(?:(?:hi|hello|hey|dear|good\s(?:morning|afternoon|evening|day))(?:\s[\w.'-]+){0,3},\s)?"
    r"(?:(?:(?:i'm|i\sam|we're|we\sare)\s(?:so\s|very\s)?)?sorry\W+|unfortunately\W+|well\W+)?"
    r"(?:(?P<yes>yes|yep|yeah)|(?P<no>no|nope))(?=\s*(?:[,.!;:–—-]|$))(?!\W+(?:problem|worries|need)\b)"
)
_SENTENCE = regex(r"(?<=[.!?])\s+|\n+")
_CLAUSE = regex(r"[,;:()]\s*|\s[-–—]{1,2}\s|—|\s(?:and|but|while|so|because|since|as)\s")
_CONDITION = regex(
    r"\b(?:(?:if|unless|in case|whether|once|when|that|until|after)\s(?:you|i|we|it|this|that|they|anything|done)\b"
    r"|(?:if|unless|whether|once|when|until|before|as soon as)\s(?:the|your|my|a|an|there|it|this|that|everything)\b).*"
)
_AS = regex(r"\bas (?:soon|good) as\b|\bas (?:it|they|is|before)\b(?: (?:is|was|are|were)\b)?(?!\s*\w)")
_REGRET = ("sorry", "unfortunately", "afraid", "regret", "sadly")
_OTHERS_NO = regex(
    r"\b(?:you|they|nobody|no\sone|he|she)\s(?:also\s|now\s)?(?:can't|cannot|can\snot|won't|couldn't|shouldn't)\b"
)


@lru_cache(maxsize=16384)
def polarity(lower: str) -> bool | None:
    """Return True for yes or done, False for no or not done, None if the text says neither, or both.

    Each sentence speaks once: by a leading yes or no, else by what is said to have (not) been done. A polite opening
    (`Of course!`) says nothing, nor does what is supposed, doubted, half done or said by another. Passive statements
    (`Your card has been frozen`) and what others cannot do count only where nothing speaks plainly; a regret alone says
    nothing.
    """
    if _RETRACTED.search(lower):
        return None
    plain: set[bool] = set()
    weak: set[bool] = set()
    for sentence in _SENTENCE.split(lower):
        said, hinted = _sentence(sentence)
        plain |= said
        weak |= hinted
    decisive = plain or weak
    return decisive.pop() if len(decisive) == 1 else None


def _sentence(sentence: str) -> tuple[set[bool], set[bool]]:
    """Return what a sentence says plainly, and what it only hints at."""
    leading = _LEADING.match(sentence)
    if (not leading and sentence.rstrip().endswith("?")) or _SUPPOSED.match(sentence):
        return set(), set()
    clauses = _CLAUSE.split(_AS.sub(_without_as, sentence) if " as " in sentence else sentence)
    said = {verdict for clause in clauses if (verdict := clause_polarity(clause)) is not None}
    if leading:
        leads = leading["yes"] is not None
        if not leads:
            return {False} | (said if False not in said else set()), set()
        return (
            (set(), set())
            if _INTENT.match(sentence) and True not in said
            else ({True} | (said if True not in said else set()), set())
        )
    if said == {False} and _OTHERS_NO.search(sentence) and not any(word in sentence for word in _REGRET):
        return set(), {False}
    if said:
        return said, set()
    return said, {True} if _NOMINAL_YES.fullmatch(sentence) or any(map(hints_done, clauses)) else set()


def _without_as(found: re.Match[str]) -> str:
    """Return other words for those with an `as` that begins no clause."""
    return {"as soon as": "once", "as good as": "almost"}.get(found[0], "unchanged")


def leading_polarity(text: str) -> bool | None:
    """Return what a text says by beginning with yes or no; `yes, I can` says nothing."""
    leading = _LEADING.match(text)
    return None if leading is None or _INTENT.match(text) else leading["yes"] is not None


@lru_cache(maxsize=65536)
def clause_polarity(clause: str) -> bool | None:
    """Return what one clause plainly says: True for done, False for not done."""
    if "wish" in clause and _WISHED.search(clause):
        return False
    claimed = _CONDITION.sub("", clause)
    if any(cue in clause for cue in _NO_CUES) and (_NO.search(claimed) or _THAT_NOT.search(clause)):
        return None if _NO_REFUSAL.search(clause) or not is_meant(clause) else False
    return True if _YES.search(claimed) and not _NO_ACT.search(claimed) and is_meant(clause) else None


@lru_cache(maxsize=65536)
def hints_done(clause: str) -> bool:
    """Whether one clause says in the passive voice that something is done: `your card is now frozen`."""
    claimed = _CONDITION.sub("", clause)
    return _WEAK_YES.search(claimed) is not None and not _NO_ACT.search(claimed) and is_meant(clause)


@lru_cache(maxsize=65536)
def is_meant(clause: str) -> bool:
    """Whether what a clause says is meant: not doubted, nearly so, or another's words."""
    return not (_NOT_MEANT.search(clause) or _ATTRIBUTED.match(clause))
