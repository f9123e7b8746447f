"""The golden message of a task: its facts, a plain sentence each."""

from __future__ import annotations

from collections.abc import Sequence

from toolscale.language.render import full_date, money, render, with_unit
from toolscale.records import Fact

_NOUNS = {
    "money": "amount", "date": "date", "time": "time", "duration": "duration", "number": "number", "digits": "card",
    "id": "reference", "text": "entry", "yes_no": "answer",
}  # fmt: skip
_POSSESSIVES = ("my", "your", "the", "his", "her", "their", "our")


def state_facts(facts: Sequence[Fact], today: str) -> str:
    """Return a message in the second person that states every fact, one sentence each, with its label where it has one.

    Yes or no to all of it comes first, to a part of it in its place. What is withheld is not said.
    """
    told = [fact for fact in facts if not fact.withheld]
    whole = [fact for fact in told if fact.kind == "bool" and fact.about is None]
    parts = {fact.about for fact in told if fact.kind == "bool" and fact.about is not None and not fact.value}
    refused = any(not fact.value for fact in whole)
    answers = dict.fromkeys("Done." if fact.value else "I'm sorry, but I can't do that." for fact in whole)
    sentences = [_sentence(fact, today, refused=refused or fact.about in parts) for fact in told if fact not in whole]
    return " ".join((*answers, *sentences))


def _sentence(fact: Fact, today: str, *, refused: bool) -> str:
    if fact.kind == "bool":
        of = _yours(fact.about or "")
        return f"I have done that for {of}." if fact.value else f"I'm sorry, but I couldn't do that for {of}."
    value = _written(fact, today)
    noun = "limit" if refused and fact.kind == "money" else _NOUNS[fact.kind]
    if fact.about is None:
        return f"Our records show {value}." if fact.kind == "text" else f"The {noun} is {value}."
    return f"For {_yours(fact.about)}, the {noun} is {value}."


def bare_label(label: str) -> str:
    """Return a label without a leading possessive or article, in lower case."""
    words = label.lower().split()
    return " ".join(words[1:] if len(words) > 1 and words[0] in _POSSESSIVES else words)


def _yours(label: str) -> str:
    """Return "your joint account" for a common noun, "the card ending in 4821" for digits, the name itself for a proper
    one."""
    if len(label) == 4 and label.isascii() and label.isdigit():
        return f"the card ending in {label}"
    if len(bare_label(label).split()) < len(label.split()):
        return f"your {label.split(maxsplit=1)[1]}"
    return f"your {label}" if label[:1].islower() else label


def _written(fact: Fact, today: str) -> str:
    if fact.kind == "money":
        return money(int(fact.value))
    if fact.kind == "date":
        return full_date(str(fact.value))
    if fact.kind in ("time", "duration"):
        return render(fact.value, "clock" if fact.kind == "time" else "duration", today)
    if fact.kind == "yes_no":
        return "yes" if fact.value else "no"
    if fact.kind == "number":
        return f"{int(fact.value):,}" if fact.unit is None else with_unit(int(fact.value), fact.unit)
    return f"the one ending in {fact.value}" if fact.kind == "digits" else str(fact.value)
