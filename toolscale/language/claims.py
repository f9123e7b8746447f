"""Whether a value that stands in an answer is claimed to hold: not denied, supposed, told by another, compared with, or
a part of something."""

from __future__ import annotations

import re
from functools import lru_cache

from toolscale.language.clauses import Answer, Clause, is_unsure
from toolscale.patterns import regex

_RESET = regex(r".*(?:[:;]\s|\b(?:because|as|since|so|due\s+to|given|than|where|which|that\s+is|until)\b)", re.DOTALL)
_NEGATION = regex(
    r"(?:\b(?:not|never|nor|neither|none|nobody|nothing|cannot|hardly|barely|scarcely|without|except|excluding|excludes?|unlike|no\s+longer"
    r"|instead\s+of|rather\s+than)\b|n't\b"
    r"|\bfar\s+from\b|\bnowhere\s+near\b|\b(?:anything|everything|all)\s+but\b|\b(?:apart|aside)\s+from\b|\bbesides\b|\bfail(?:s|ed)?\s+to\b"
    r"|\bno\b(?!\.|\s+(?:problem|worries|doubt|later|more|less|need|matter|other|further|additional|changes?)\b)|\black(?:s|ing)?\b|\byet\s+to\b"
    r"|\bwill\s+become\b)"
    r"(?!\s+only\b|\s+just\b)"
)
_ACT = (
    r"(?:pay|send|transfer|move|schedule|freeze|unfreeze|make|go|take|renew|cancel|book|order|ship|return|exchange|refund|do|proceed|approve|use"
    r"|cover|"
    r"exceed|spend|waive|accept|issue|apply|place|process|complete|execute|carry|change|update|withdraw|dispute|reschedule|reserve|pass|top|raise|"
    r"settle|wire|paid|sent|transferred|moved|scheduled|frozen|made|gone|taken|renewed|cancelled|canceled|booked|ordered|shipped|returned|"
    r"refunded|done|approved|used|covered|exceeded|spent|processed|completed|changed|updated|disputed|settled|wired|allow|permit|able|possible"
    r"|enough)"
)
_UNDONE = regex(rf"\s*(?:\w+ly\s+|yet\s+|be(?:en)?\s+|have\s+|able\s+to\s+|going\s+to\s+)*{_ACT}\b")
_DEFINITE = regex(r"\b(?:the|your|this|that|its|their|my|our|his|her|which|with|under|within|due|limit)\b")
_BEFORE = regex(
    r"\b(?:would|could|should|might|may|must|ought\s+to|'d)\s+(?:\w+ly\s+|now\s+|then\s+|still\s+|also\s+|only\s+|have\s+)*"
    r"(?:be|been|have|cost|come|total|amount|leave|make|mean|bring|give|fall|read)\b(?!\s+(?:over|above|beyond|more|outside|against|too|exceed"
    r"|in\s+excess))"
    r"|\b(?:it|that|this|there|balance|fee|total|amount)'d\b|\bwouldn't|\bused\s+to\b|\bgoing\s+to\s+be\b"
    r"|\b(?:seem|appear)(?:s|ed)?\s+(?:to|like)\b|\bsupposed\s+to\b|\b(?:i'd|i\s+would|let's)\s+say\b|\b(?:likely|apparently|seemingly|allegedly"
    r"|reportedly)\b"
    r"|\b(?:guess|estimate[ds]?|reckon|doubt|assum\w+|hopefully|hoping|hope|suspect|imagine|pretend|suppose|predict\w*|expect(?:s|ed|ing)?"
    r"|forecast\w*)\b"
    r"|\b(?:if|whether|unless|e\.g\.|example|instance|hypothetical\w*)(?=\W|$)|\bsuch\s+as\b"
    r"|\b(?:somewhere|anywhere|neighbou?rhood|ballpark|vicinity)\b|\bin\s+the\s*$"
    r"|\b(?:normally|usually|typically|often|generally|sometimes|occasionally|ordinarily|theoretically|in\s+theory|on\s+average|otherwise"
    r"|chances?|odds|rumou?r)\b"
    r"|\b(?:possible|probable|plausible|conceivable)\s+that\b|\b(?:can|could|might|may)\s+(?:\w+\s+)?(?:be|reach|cost|go|vary|pay|keep|want)\b"
    r"|\bonce\s+you\b"
    r"|\bas\s+(?:high|low|much|little|many|few|early|late)\s+as\b|\b(?:tried|try|attempted)\s+to\b|\bnot\s*[:,]\s*$"
    r"|\b(?:was|am|been|were)\s+(?:told|informed)\b|\b(?:colleague|neighbou?r|elsewhere|other\s+(?:banks?|shops?|stores?|customers?))\b"
    r"|\b(?:false|untrue|incorrect|wrong|mistaken|mistakenly|wrongly|myth)\b|\bclaims?\b"
    r"|\b(?:twice|thrice|double|triple|half|third|quarter|percent|%|part|portion|fraction|share|multiples?|most|some|any)\s+(?:of\s+)?"
    r"(?:the\s+|that\s+|your\s+|this\s+)?(?:(?!by\b|at\b|to\b|for\b|is\b|are\b|was\b|from\b|in\b|with\b)\w+\s+)?$"
    r"|\d\s*[x×*]\s*$|\b(?:further|additional|another|extra|plus|minus|times|less|starts?\s+at|starting\s+at|capped\s+at)\s+"
    r"(?:a\s+|the\s+)?$"
    r"|\b(?:increas|decreas|ris|rose|drop|fell|fall|climb|grew|grow|reduc|lower|rais|shrink|shrank|sank|jump|went\s+up|went\s+down|goes\s+up"
    r"|goes\s+down|go\s+up|"
    r"go\s+down|gone\s+up|up|down|short|differ|exceed|over(?!drawn)|under|missing|behind|ahead|off)\w*\s+(?:\w+\s+)?by\s*(?:an?\s+|exactly\s+)?$"
    r"|\b(?:increas|decreas|ris|rose|dropp|fell|climb|grew|jump)\w*\s+$"
    r"|[^\w\s]\s*[-–]\s*$|\d\s*(?:-|–|—)\s*$|\bweek\s+of\s+$|\b(?:days?|weeks?|months?)\s+from\s+$|\bas\s+of\s+$|\busual\s+$|\b(?:i"
    r"|we)\s+(?:\w+\s+)?(?:said|thought|wrote|quoted|claimed)\b"
)
_FROM = regex(r"\bfrom\s+(?:a\s+|the\s+)?$")
_RANGE = regex(r"\d\s*(?:to|through)\s*$")
_MOVED = regex(
    r"\b(?:chang|mov|rais|increas|decreas|reduc|lower|went|go(?:es|ne)|dropp|rose|fell|updat|reschedul|adjust|up|down)\w*\b"
)
_BEFORE_CUES = regex(
    r"n't|'d\b|[%x×*:\d–-]|\b(?:not?|nev|nor|neit|nob|none|nothing|no|cannot|hard|bare|scarc|with|exc|unl|far|nowh|any|all|every|apart|aside"
    r"|besid|fail|lack|would|could|"
    r"should|might|may|must|ought|used|going|seem|appear|suppos|say|like|appar|alleg|report|guess|estim|reck|doubt|assum|hop|suspect|imag|pret|pred|"
    r"expect|fore|if|wheth|e\.g|exam|inst|hypo|such|some|neigh|ball|vicin|in the"
    r"|false|untrue|incor|wrong|mist|myth|claim|twice|thri|doub|trip|half|third|"
    r"quart|perc|part|port|frac|share|multi|most|furth|add|anoth|extra|plus|minus|times|less|start|from|cap|by|incr|decr|ris|rose|drop|fell|clim"
    r"|grew|jump|"
    r"week|days?|months?|as of|yet|become|said|wrote|quoted|instead|rather"
    r"|normal|usual|typic|often|gener|sometimes|occas|ordin|theor|in theor|on av|otherw|chance|odds|rumo"
    r"|possib|probab|plaus|conceiv|can|once|as|tried|"
    r"try|attempt|told|informed|been|coll|other|else|you|they|he|she|someone|somebody|please|confirm|check|verify|make|ensure|forget|ignore"
    r"|disregard|remember|don)"
)
_ORDERED = regex(
    r"\W*(?:(?:but|and|so)\s+)?(?:please\s+)?(?:confirm|check|verify|make\s+sure|ensure|forget|ignore|disregard|don't|do\s+not|never|tell\s+me"
    r"|enter|pay|send)\b"
)
_ATTRIBUTED = regex(
    r"\W*(?:(?:but|and|so|while|although|though)\s+)?(?:you|they|he|she|someone|somebody|your\s+(?:friend|mother|husband|wife))(?:'ve|'d|\s+have"
    r"|\s+had|\s+were|\s+was)?\s+"
    r"(?:\w+ly\s+|also\s+|just\s+)?(?:said|say|told|mention(?:ed)?|ask(?:ed)?|claim(?:ed)?|thought|think|believed?|wrote|assumed?|expect(?:ed)?"
    r"|hoped?|wanted|"
    r"want|requested|suggested|quoted|guess(?:ed)?|estimated|remember(?:ed)?|recall(?:ed)?)\b"
)
_AFTER = regex(
    r"\s*(?:(?:is|was|are|were|has|have|does|did|do|can|could|would|will)(?:\s+not|n't|\s+never)\s+(?:been\s+|be\s+|actually\s+|really\s+)?"
    r"(?:the|your|my|its|an?|what|right|correct|accurate|it|true|current|valid|apply|exist|hold|real|relevant|applicable|how)\b"
    r"|(?:is|was|are|were|seems|looks|sounds|would\s+be)\s+(?:\w+ly\s+)?(?:wrong|incorrect|false|off|a\s+mistake|an?\s+error|outdated|a\s+guess"
    r"|an\s+estimate|"
    r"my\s+(?:best\s+)?guess|a\s+typo|only\s+an\s+estimate|out\s+of\s+date)\b"
    r"|(?:more|extra|off|over(?!\s+(?:from|to)\b)|under|less|fewer|cheaper|higher|lower|greater|smaller|bigger|short|too)\b(?!\s+to\b|\s+the\s+(?:weekend|phone))"
    r"|(?:could|might|may|would)\s+(?:\w+ly\s+|also\s+)?be\b(?!\s+(?:over|above|beyond|more))"
    r"|plus\b|and\s+(?:change|a\s+half|some|counting)\b|[-–]?\s?something\b|[-–]\s?\$?\d|\+|[x×*]\s*\d|times\s+(?:\d|the\b|that\b|as\b)|(?:to"
    r"|through)\s+\$?\d"
    r"|(?:figure|price|amount|number|sum|date|value)?\s*(?:\w+\s+){0,2}(?:no\s+longer\s+(?:applies|apply|holds?|valid|current|correct|accurate)"
    r"|(?:is|was)\s+(?:outdated|wrong|not\s+what))\b"
    r"|for\s+(?:others|everyone|non-?members|members|new|other|someone|somebody|people)\b|before\s+tax|excluding|not\s+(?:counting|including)"
    r"|you\s+(?:mentioned|quoted|said|saw)\b|what\s+you'd"
    r"|(?:range|ballpark|mark|area)\b|ago\b|out\s+of\s+(?:\$?\d|a\s|all\b|possible)|until\s+(?:yesterday|recently|last)\b|at\s+first\b)"
)
_AFTER_ANYWHERE = regex(
    r"\b(?:if|unless|provided|providing|assuming|as\s+long\s+as|so\s+long\s+as|on\s+condition|more\s+or\s+less|i\s+(?:think|guess|believe|suppose"
    r"|reckon|assume|hope)|once\s+you|when\s+you|"
    r"apparently|probably|presumably|supposedly|maybe|perhaps|possibly|at\s+a\s+guess|estimated?|roughly|approximately|"
    r"as\s+far\s+as\s+i|off\s+the\s+top|if\s+memory|thereabouts)\b"
)
_FOLLOWING = regex(
    r"\W*(?:(?:but|and|though|or)\s+)?(?:only\s+)?(?:if|unless|provided|providing|assuming|as\s+long\s+as|so\s+long\s+as|in\s+case|i\s+(?:think"
    r"|guess|believe|suppose|reckon|"
    r"assume|hope)|apparently|probably|presumably|supposedly|maybe|perhaps|possibly|more\s+or\s+less|give\s+or\s+take|roughly|approximately"
    r"|approx|estimate[ds]?|an\s+estimate|"
    r"as\s+far\s+as\s+i|off\s+the\s+top|plus\b|at\s+(?:the\s+)?(?:most|latest|earliest)|subject\s+to|at\s+a\s+guess|or\s+so|or\s+thereabouts"
    r"|unconfirmed|not\s+confirmed|not\s+(?:counting"
    r"|including)|excluding|before\s+tax|pending|to\s+be\s+confirmed|tbc|change|a\s+half|counting|some\s+change|tentative(?:ly)?|hypothetical(?:ly)?|"
    r"(?:that|this|which)\s+(?:is|was)(?:\s+not|n't)\s+(?:right|correct|true|accurate)|(?:which|that|this)\s+(?:is|was)\s+(?:wrong|incorrect"
    r"|false|a\s+mistake)"
    r"|no\s+longer|not\s+any\s*more)\b(?!\W*you\s+(?:have|need|want|would|wish|like|'d|should)\b)(?!\W*(?:there|anything|i\s+can|it\s+helps))"
)
_POLITE = regex(r"\b(?:let\s+me\s+know|feel\s+free|tell\s+me|contact\s+us|reach\s+out|just\s+ask|happy\s+to\s+help)\b")
_TAG = 16
"""Characters of a question that asks for a yes to what was said before it (`.., right?`)."""
_ALL_BUT = regex(r"\b(?:anything|everything|all)\s+but$")
_LEADING_CONDITION = regex(
    r"\W*(?:(?:and|but|so|or|then|only|even)\s+)*(?:if|unless|assuming|suppose|supposing|provided|providing|imagine|in\s+case|had\s+(?:you|i|we"
    r"|there)|"
    r"as\s+long\s+as|so\s+long\s+as|for\s+example|for\s+instance|e\.g|hypothetically|say|normally|usually|typically|generally|ideally|otherwise"
    r"|sometimes|"
    r"in\s+theory|on\s+average|at\s+(?:best|worst)|in\s+the\s+(?:best|worst)\s+case|without\s+(?:the|a|any|your))\b"
)
_DOUBTED_AFTERWARDS = regex(
    r"\W*(?:(?:but|though|although|however|that\s+said|or)\W+)*(?:i(?:'m|\s+am)\s+not\s+(?:\w+\s+)?(?:sure|certain|positive|confident)"
    r"|i\s+(?:could|might|may)\s+be\s+"
    r"(?:wrong|mistaken)|don't\s+quote|(?:that|this|it)(?:'s|\s+is|\s+was)\s+(?:\w+\s+)?(?:a\s+guess|an\s+estimate|my\s+guess|a\s+joke"
    r"|approximate|unconfirmed|not\s+"
    r"(?:certain|confirmed|final|correct|right))|just\s+(?:kidding|a\s+guess)|is\s+it\b|take\s+(?:that|this)\s+with|i\s+(?:cannot|can't"
    r"|could\s+not|couldn't)\s+"
    r"(?:confirm|verify|be\s+sure))"
)
_SENTENCE_DOUBT = regex(
    r"\b(?:doubt|best\s+guess|my\s+guess|as\s+far\s+as\s+i|if\s+i(?:'m|\s+am)\s+not\s+mistaken|if\s+i\s+(?:remember|recall)|if\s+memory|guessing|"
    r"hypothetical\w*|for\s+example|for\s+instance|(?:don't|do\s+not|didn't|did\s+not)\s+(?:think|believe)|can't\s+be\s+sure|cannot\s+be\s+sure|"
    r"not\s+(?:entirely\s+|quite\s+|fully\s+)?(?:confident|positive)|off\s+the\s+top\s+of|made\s+up|ballpark)\b"
)
_SENTENCE_CUES = regex(
    r"doubt|guess|as far|mistaken|rememb|recall|memory"
    r"|hypoth|examp|instance|think|believe|sure|confid|posit|off the|made up|ballp"
)


_WAS_TO_BE = regex(
    r"\b(?:would|should|was\s+(?:going\s+|due\s+|set\s+)?to)\s+(?:\w+ly\s+|next\s+)*(?:have\s+)?(?:been\s+)?"
    r"(?:run|gone|go|left|leave|paid|pay|arriv\w*|reach|come|fallen|fall|sent|follow\w*|be(?:en)?\s(?:with|here|at|in|there))\b[^,;]*$"
    r"|\b(?:may|can|could|should|might)\s+expect\b[^,;]*$|\bexpected\b[^,;]*$|\bexpect\b(?:\s+\w+){0,3}\s*$"
)
"""Before a date: words that say what was planned for that day, or is expected on it. The date is claimed all the
same."""


_USED_TO_BE = regex(
    r"\bwould\s+(?:be|cost|come\s+to|have\s+been)\b|\bused\s+to\s+(?:be|stand|have|pay)\b"
    r"|\b(?:(?:up|down)\s+)?from\s+(?:an?\s+|the\s+)?$"
)
_HAD_BEEN = regex(r"'d\s+been\b")
_STARTS_AT = regex(r"\b(?:starts?|starting)\s+(?:at\s+)?$")
"""Before a time it says when; before an amount it says from how much on."""
_IN_THE = regex(r"\bin\s+the\s*$")
"""Before a text it says where; before an amount it begins `in the region of`."""
_ASKED_ABOUT = regex(
    r"\byou(?:'d|'ve|\s+had|\s+have)?\s+(?:also\s+)?asked\s+(?:about\b|what\b|when\b|how\b|where\b)[^:]*:\s"
    r"|\byou(?:'d|'ve|\s+had|\s+have)?\s+asked\s+for\s+(?:it|them|this|that|those)\b(?=[^,;]*$)"
)
"""Words about a question, or about when something was asked for, and not about what somebody said."""
_WOULD = regex(
    r"(?:\bwould|'d)\s+(?:\w+ly\s+|now\s+|then\s+|still\s+|also\s+|only\s+|have\s+)*"
    r"(?:be|been|cost|come|total|amount|leave|make|mean|bring|brought|give|given|get|got|receive|received|pay|paid|owe|owed)\b"
)
_IF_DONE = regex(r"\bif\s+(?:you|they|it|both|that|this|i|we)\b")
_EXPECTED = regex(r"\b(?:expect(?:s|ed|ing)?|forecast\w*|predict\w*)\b")
_FETCHED = regex(r"\bwhen\s+you\s+(?:collect|pick|come|arrive|get)\b")
_TO_ANOTHER = regex(r"^\s*to\s+\S*\d\S*")
_THE_EXTRA = regex(r"\bthe\s+(?:extra|additional|other)\s+$")
_SHORT = regex(r"^\s*short\b(?!\s+of\b)")
_TO_WHICH = regex(r"[^\w\s]?\d[\d.,]*\s+to\s*$")
_LESS_OF = regex(r"\s*(?:of|from)\b")
_SHORT_BY = regex(r"\b(?:short|missing)\s+(?:by|of)\s+(?:exactly\s+)?$")


def is_claimed(
    answer: Answer,
    start: int,
    end: int,
    kind: str = "money",
    past: bool = False,
    missing: bool = False,
    quoted: bool = False,
) -> bool:
    """Whether the value from `start` to `end` is claimed by its clause, the clauses around it and its sentence.

    An amount or number in `from $5` or `5 to $6` is the end of a range and not claimed; `5 to $6` is claimed if
    something was moved from one to the other. `past`: the value is a former one, so that `it used to be $5` claims it.
    `missing`: the amount was moved to where it was missing, so that `you were short by $5` claims it. `quoted`: the
    value was looked up and nothing was written with it, so that `it would be $5 if you cancelled` claims it.
    """
    clauses, lower = answer.clauses, answer.lower
    index = answer.clause_at(start)
    here = clauses[index]
    if index and _ALL_BUT.search(lower, max(0, here.start - 16), here.start):
        return False
    before, after = _HAD_BEEN.sub(" had been", lower[here.start : start]), lower[end : here.end]
    if past:
        before, after = _USED_TO_BE.sub(" ", before), _TO_ANOTHER.sub(" ", after)
    if missing and _SHORT_BY.search(before) and not _LESS_OF.match(lower, end, here.end):
        before = _SHORT_BY.sub("of ", before)
    if kind == "money":
        before, after = _THE_EXTRA.sub("the ", before), _SHORT.sub(" ", after)
    if kind in ("date", "time"):
        before = _STARTS_AT.sub("at ", _WAS_TO_BE.sub(" on ", before))
    if kind == "text":
        before = _IN_THE.sub("in ", before)
    if quoted:
        before = _EXPECTED.sub(" ", _IF_DONE.sub(" ", _WOULD.sub(" ", before)))
    before, after = _ASKED_ABOUT.sub(" ", before), _FETCHED.sub(" ", after)
    moved = _MOVED.search(lower, here.whole[0], start) is not None
    if not (
        _claimed_after(after)
        and _claimed_before(before, kind in ("money", "number", "duration"), moved)
        and (answer.is_firm(here) or (quoted and _is_condition(answer, here)))
    ):
        return False
    return _is_left_standing(answer, index, end) and not _is_led_away(answer, index, start, quoted)


def _is_condition(answer: Answer, clause: Clause) -> bool:
    """Whether a clause begins with what the person might do, and is firm otherwise: `if you cancelled you'd get $5`."""
    begin, end = clause.whole
    return (
        not clause.asked
        and _IF_DONE.match(answer.lower, clause.start, clause.end) is not None
        and not is_unsure(answer.lower[begin:end])
    )


def _is_left_standing(answer: Answer, index: int, end: int) -> bool:
    """Whether what follows the clause of a value does not make it doubtful."""
    clauses, lower = answer.clauses, answer.lower
    here, after = clauses[index], index + 1
    if after < len(clauses) and clauses[after].sentence == here.sentence:
        following = clauses[after]
        if following.asked and following.end - following.start < _TAG:
            return False
        if _FOLLOWING.match(lower, following.start, following.end) and not _POLITE.search(
            lower, here.start, following.end
        ):
            return False
    return here.whole[1] >= len(lower) or not _DOUBTED_AFTERWARDS.match(lower, here.whole[1] + 1)


def _is_led_away(answer: Answer, index: int, start: int, quoted: bool) -> bool:
    """Whether the sentence, up to a value, begins with a condition or says that the speaker doubts it. A condition
    under which a quoted value holds leads to it."""
    clauses, lower, begin = answer.clauses, answer.lower, answer.clauses[index].whole[0]
    first = index
    while first and clauses[first - 1].sentence == clauses[index].sentence:
        first -= 1
    for clause in clauses[first : index + 1]:
        if _LEADING_CONDITION.match(lower, clause.start, clause.end) and not (
            quoted and _IF_DONE.search(lower, clause.start, clause.end)
        ):
            return True
    return (
        first < index
        and _SENTENCE_CUES.search(lower, begin, start) is not None
        and _SENTENCE_DOUBT.search(lower, begin, start) is not None
    )


@lru_cache(maxsize=16384)
def _claimed_before(before: str, ranged: bool, moved: bool) -> bool:
    """Whether the words of a clause before a value leave it claimed."""
    if not _BEFORE_CUES.search(before):
        return True
    if ranged and (_FROM.search(before) or (_RANGE.search(before) and not moved)):
        return False
    if moved:
        before = _TO_WHICH.sub(" to ", before)
    if _BEFORE.search(before) or _ORDERED.match(before) or _ATTRIBUTED.match(before) or _SENTENCE_DOUBT.search(before):
        return False
    reset = _RESET.match(before)
    tail = before[reset.end() :] if reset else before
    for negation in _NEGATION.finditer(tail):
        rest = tail[negation.end() :]
        undone = _UNDONE.match(rest)
        if not undone or not _DEFINITE.search(rest, undone.end()):
            return False
    return True


@lru_cache(maxsize=16384)
def _claimed_after(after: str) -> bool:
    """Whether the words of a clause after a value leave it claimed."""
    if not after:
        return True
    if _AFTER.match(after):
        return False
    return not _AFTER_ANYWHERE.search(after) or _POLITE.search(after) is not None
