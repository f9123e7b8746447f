"""The words with which people are asked for something, as patterns over text in lower case."""

from __future__ import annotations

import re

from toolscale.patterns import regex
from toolscale.records import FactKind


def either(*alternatives: str) -> re.Pattern[str]:
    """Return a pattern of one of several."""
    return regex("|".join(alternatives))


TELLING = (
    "tell|give|provide|share|send|specify|state|confirm|verify|clarify|indicate|supply|communicate|identify|choose|pick|"
    "advise|reply|respond|answer|include|describe|name|write down|fill|enter|let (?:me|us) (?:know|have)|help me|decide"
)
OFFER = either(
    r"(?<!before )\b(?:anything|something|nothing|what|who|how) else\b",
    r"\belse (?:i|we) can\b",
    r"\bfeel free\b",
    r"\b(?:any|other|more|further|additional) (?:\w+ )?(?:questions?|help|assistance|requests?|concerns?|"
    r"changes?)\b",
    r"\b(?:happy|glad|here) to help\b",
    r"\blet (?:me|us) know (?:if|whether|how|when)\b",
    r"\byou(?:'re| are) welcome to\b",
    r"\bif you(?:'d| would| ever| should)? (?:need|have (?:any|more|further|other|questions)|want|like|wish|"
    r"prefer|change|decide)\b",
    r"\bshould you\b",
)
"""What is offered besides: nobody has to answer that."""

WANTS = either(
    rf"\b(?:please|kindly|just) (?:also |first )?(?:{TELLING})\b",
    rf"(?:^|[,:] |\band |\bso )(?:{TELLING})\b.*\b(?:your?|which|me)\b",
    rf"\b(?:could|can|would|will|may|might) (?:you|i|we)\b.*\b(?:{TELLING}|have|get|ask|know)\b",
    r"\b(?:i|we)(?:'ll| will| would| do| still|'d)*(?: first| just| also| only)* (?:need|require|request|ask|"
    r"have to know)\b",
    r"\b(?:i|we) (?:\w+ ){0,2}(?:like|want|wish|love|have|need)(?: to)? (?:know|verify|confirm|check|ask|"
    r"have your|identify)\b",
    r"\bi'd (?:like|need|want|love) (?:to have )?your\b",
    r"\bgo-ahead\b",
    r"\byou are (?:therefore )?asked\b",
    r"\blooking for your\b",
    r"\b(?:don't|do not|can't|cannot|not) (?:\w+ ){0,2}(?:know|tell|clear|evident|sure|certain|say|"
    r"obvious)(?: to me)? (?:who|which|whose|where|what|when|whether|if)\b",
    r"\bunsure\b.*\bwhich\b",
    r"\bi (?:was|am|just)? ?wonder(?:ing)?\b",
    r"\bif you(?:'d| would|'ll|'re| could)? (?:be so (?:good|kind)|so kind|please|tell|give|share|specify|"
    r"(?:don't|wouldn't) mind)\b",
    r"\b(?:until|unless) you (?:specify|tell|give|provide|send|name|share)\b",
    r"\bfill me in\b",
    r"\b(?:there's|there is|remains) (?:just |only )?the question\b",
    r"\bi must ask you\b",
)
"""What wants an answer without a question mark."""

HINTS = either(
    r"\b(?:please|pls|plz|need|needs|require|requires|request|asks?|asking|want|wants|know|knowing|missing|"
    r"without|once|as soon as|first|grateful|lovely|helpful|indispensable|necessary|only|haven't got|start|"
    r"beginning|help|could)\b",
    r"\?",
)
"""Beside what says who somebody is, each of them asks for it."""

DONE = either(
    r"\b(?:i|we)(?:'ve| have| just)* (?:confirmed|verified|provided|shared|specified|clarified|checked|"
    r"found)\b",
    r"\b(?:thank you|thanks) for (?:\w+ )?(?:confirming|providing|sharing|your (?:name|details))\b",
)
"""What was asked for earlier, and is thanked for now."""

PERMISSION = either(
    r"\b(?:shall|should|may|can|could) (?:i|we)\b",
    r"\b(?:would|do) you (?:like|want|wish|prefer|agree|confirm)\b",
    r"\b(?:go ahead|go-ahead|proceed|is (?:that|this|it|everything) (?:ok|okay|fine|right|correct|alright)|"
    r"correct\?|right\?)",
    r"\b(?:ok\?|okay\?|are you sure|confirm|sounds? (?:good|right))",
)
"""Whether to go on, and proposals."""

PURPOSE = either(
    r"(?:\b(?:so that|in order (?:to|that)|so (?:i|we) can|before (?:i|we)|then (?:i|we)|and (?:i|we)(?:'ll|"
    r" will)|to be able to|until (?:i|we)|as soon as (?:i|we) (?:know|have)|once (?:i|we)|if (?:i|we)|for the|"
    r"to (?:look|find|see|check|change|locate|pull|list|get|help|start|do|deal|approve|cancel|pay|move|book|"
    r"add|apply|be sure|make sure|begin))\b[^,:;?]*)",
)
"""What the answer is needed for: things named there are not asked for."""

WHO = either(
    r"\bidentif(?:y|ying|ication)\b",
    r"\bidentity\b",
    r"\bverif(?:y|ication)\b.*\byou\b",
    r"\bwho(?:m)? (?:you are|are you|am i|i am|i'm|is (?:this|asking|writing)|i have)\b",
    r"\byour (?:\w+ ){0,2}(?:details|information|info|particulars|credentials)\b",
    r"\b(?:look|pull) you up\b",
    r"\b(?:find|locate) you\b",
)
"""Who somebody is, in general."""

NAME = either(
    r"(?<!in your )(?<!'s )\b(?:sur)?names?\b(?! of (?!(?:the |your |that )?(?:contact|person|patient|"
    r"customer|guest|account)))(?! the\b)",
    r"\bwhich \w+ is (?:writing|asking)\b",
    r"\bwho(?:m)? (?:am i|i am|i'm|i have|do i have) (?:\w+ ){0,2}(?:speaking|talking|chatting|dealing|"
    r"writing|pleasure)",
    r"\bwho(?:'s| is) (?:asking|writing|this)\b",
    r"\bwho you are\b",
    r"\bwho are you\b",
)
"""The name of whoever is speaking."""

POINTS = either(
    r"\bwhich(?: ones?| of (?:them|these|those|the (?:two|three|\w+ ones)))?(?= |\?|$)(?! (?:date|day|time|hour|amount|"
    r"number|you|i|we|is|are|"
    r"was|were|has|have|can|could|would (?:be|cost|come)|it|they|makes|means|costs)\b)",
    r"\bwhich (?:one|is it|do you|would you|you (?:mean|want|have in mind))\b",
    r"\bpick one\b",
    r"\bpossibly mean\b",
)
"""*Which one*: of things named before."""

CHOICE = either(
    r"\bdo you mean\b",
    r"\bor (?:rather|would|the one|both|just|that|the)\b",
    r"\bwhich\b",
    r"\bwhere\b",
    r"\bboth\b",
)
"""A choice between things that the agent sees: whoever held something back says which it is."""

SAID_AS: dict[str, re.Pattern[str]] = {
    "date of birth": regex(r"\bbirth ?-?(?:date|day)?\b|\bborn\b|\bd\.?o\.?b\b"),
    "email": regex(r"\be-?mails?\b"),
    "organisation": regex(r"\borgani[sz]ations?\b|\bcompany\b|\bemployer\b|\bfirm\b"),
}
"""Columns that are asked for by other words than their own."""

OF_KIND: dict[FactKind, re.Pattern[str]] = {
    "money": either(
        r"\bhow much\b",
        r"\b(?:what|which|exact|new) (?:\w+ )?(?:amount|sum|limit|figure)\b",
        r"\bthe (?:amount|sum)\b",
    ),
    "date": either(
        r"\bwhen (?:should|shall|do|would|exactly|is it)\b",
        r"\b(?:which|what|new|exact|preferred|until what) (?:\w+ )?(?:day|date)\b",
    ),
    "time": either(
        r"\b(?:what|which) (?:\w+ )?(?:time|hour)s?\b",
        r"\bwhen (?:should|shall|do|would|exactly)\b",
    ),
    "number": either(
        r"\bhow many\b",
        r"\bnumber of\b",
        r"\b(?:what|which) (?:quantity|value|number)\b",
    ),
    "duration": either(
        r"\bhow long\b",
        r"\bhow many (?:minutes|hours)\b",
    ),
}
"""How a value is asked for by its kind."""
