"""Verbs: their past forms, and which of them people use for one another."""

from __future__ import annotations

import re

_IRREGULAR = {
    "pay": ("paid",), "send": ("sent",), "freeze": ("froze", "frozen"), "unfreeze": ("unfroze", "unfrozen"),
    "set": ("set",), "put": ("put",), "make": ("made",), "take": ("took", "taken"), "give": ("gave", "given"),
    "withdraw": ("withdrew", "withdrawn"), "bring": ("brought",), "lift": ("lifted",),
    "cancel": ("canceled", "cancelled"), "transfer": ("transferred",), "stop": ("stopped",), "drop": ("dropped",),
    "plan": ("planned",), "end": ("ended",), "buy": ("bought",), "lend": ("lent",), "let": ("let",),
    "begin": ("began", "begun"), "go": ("went", "gone"), "strike": ("struck",), "hand": ("handed",),
    "refund": ("refunded",), "book": ("booked",), "reserve": ("reserved",), "top": ("topped",),
}  # fmt: skip
FAMILIES = tuple(
    frozenset(words.split())
    for words in (
        "pay settle clear move transfer send wire bring top shift remit sweep go",
        "schedule plan book",
        "cancel withdraw stop end remove delete drop revoke retract close terminate call strike",
        "freeze block lock deactivate suspend stop report",
        "unfreeze unblock release reactivate unlock reopen lift activate",
        "refund return reimburse reverse credit give",
        "dispute contest challenge open file raise",
        "raise lower increase reduce change set adjust update",
        "create set add open save register enter",
        "order replace request send",
        "hand pass escalate transfer forward put",
    )
)
"""Verbs that people use for one another: whoever withdraws an order has canceled it."""


def past_forms(verb: str) -> tuple[str, ...]:
    """Return the past and the participle of a verb, of its first word if it has several: `handed over`."""
    first, _, rest = verb.partition(" ")
    regular = (
        f"{first}d" if first.endswith("e") else f"{first[:-1]}ied" if re.search(r"[^aeiou]y$", first) else f"{first}ed"
    )
    forms = _IRREGULAR.get(first, (regular,))
    return tuple(f"{form} {rest}".strip() for form in forms)
