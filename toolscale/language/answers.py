"""Final messages that state facts, in five ways of writing."""

from __future__ import annotations

from collections.abc import Sequence

from toolscale.language.dates import MONTHS, WEEKDAYS, parse_day
from toolscale.language.labels import bare_label, is_card_ending
from toolscale.language.numerals import number_in_words
from toolscale.language.render import full_date, money, money_in_words, render
from toolscale.language.units import with_unit
from toolscale.records import Fact

STYLES = 5
"""How many ways of writing there are; style 0 is the plain one."""

_YES = ("Done.", "It's done.", "Yes, that is done.", "All done.", "Of course! I have done that for you.")
_NO = (
    "I'm sorry, but I can't do that.",
    "I am sorry, that is not possible.",
    "No, I'm afraid I cannot do that.",
    "Unfortunately, I am not able to do that.",
    "Of course I looked into it, but I cannot do that.",
)
_PART_YES = (
    "I have done that for {}.",
    "I've gone ahead and done that for {}.",
    "I have now done that for {}.",
    "I've done that for {}.",
    "I have just done that for {}.",
)
_PART_NO = (
    "I'm sorry, but I couldn't do that for {}.",
    "I am sorry, that was not possible for {}.",
    "I'm afraid I could not do that for {}.",
    "Unfortunately, I was not able to do that for {}.",
    "I looked into it, but I cannot do that for {}.",
)
_OPENING = (
    "",
    "Happy to help!",
    "Here is what you asked for:",
    "Thank you for your patience.",
    "Thanks for reaching out!",
)
_CLOSING = (
    "",
    "Is there anything else that I can help you with?",
    "",
    "Have a lovely day.",
    "Let me know if you need anything else.",
)


def state_facts(facts: Sequence[Fact], today: str, style: int = 0) -> str:
    """Return a final message in the second person that states every fact, one sentence each, with its label where it
    has one.

    Yes or no to all of it comes first, to a part of it in its place. What is withheld is not said. The styles differ in
    how amounts and dates are written and in what stands around them.
    """
    style %= STYLES
    answers, told = [], []
    refused, parts = False, set()
    for fact in facts:
        if fact.withheld:
            continue
        if fact.kind != "bool":
            told.append(fact)
        elif fact.about is None:
            answers.append((_YES if fact.value else _NO)[style])
            refused |= not fact.value
        else:
            told.append(fact)
            if not fact.value:
                parts.add(fact.about)
    sentences = [_sentence(fact, style, refused=refused or (fact.about in parts)) for fact in told]
    if style == 2:
        body = "\n".join(f"- {sentence}" for sentence in sentences)
        return "\n".join(
            filter(None, (*dict.fromkeys(answers), _OPENING[style] if not (refused or parts) and body else "", body))
        )
    opening = "" if answers or parts else _OPENING[style]
    return " ".join(filter(None, (opening, *dict.fromkeys(answers), *sentences, _CLOSING[style])))


def _sentence(fact: Fact, style: int, *, refused: bool) -> str:
    if fact.kind == "bool" and fact.about is not None:
        return (_PART_YES if fact.value else _PART_NO)[style].format(_yours(fact.about))
    value = written(fact, style)
    subject = _NOUNS[fact.kind] if not (refused and fact.kind == "money") else "limit"
    if fact.about is None:
        return f"Our records show {value}." if fact.kind == "text" else f"The {subject} is {value}."
    return f"For {_yours(fact.about)}, the {'entry' if fact.kind == 'text' else subject} is {value}."


_NOUNS = {
    "money": "amount", "date": "date", "time": "time", "duration": "duration", "number": "number", "digits": "card",
    "id": "reference", "text": "entry",
}  # fmt: skip


def _yours(label: str) -> str:
    """Return "your joint account" for a common noun, "the card ending in 4821" for digits, the name itself for a proper
    one."""
    if is_card_ending(label):
        return f"the card ending in {label}"
    if len(bare_label(label).split()) < len(label.split()):
        return f"your {label.split(maxsplit=1)[1]}"
    return f"your {label}" if label[:1].islower() else label


def written(fact: Fact, style: int) -> str:
    """Return the value of a fact as the style writes it."""
    if fact.kind == "money":
        return _money(int(fact.value), style)
    if fact.kind == "date":
        return _date(str(fact.value), style)
    if fact.kind == "time":
        return _time(str(fact.value), style)
    if fact.kind == "duration":
        return _length(int(fact.value), style)
    if fact.kind == "number" and fact.unit is not None:
        text = with_unit(int(fact.value), fact.unit)
        return f"**{text}**" if style == 4 else text
    if fact.kind == "number":
        return number_in_words(int(fact.value)) if style == 3 else f"{int(fact.value):,}"
    if fact.kind == "digits":
        return f"the one ending in {fact.value}"
    if fact.kind == "text" and style == 4:
        return f"**{fact.value}**"
    return str(fact.value)


def _money(cents: int, style: int) -> str:
    if style == 0 or cents < 0:
        return money(cents)
    whole, rest = divmod(cents, 100)
    if style == 1:
        return f"{whole:,}.{rest:02} dollars"
    if style == 2:
        return f"USD {whole:,}.{rest:02}"
    return money_in_words(cents) if style == 3 else f"**${whole}.{rest:02}**"


def _time(time: str, style: int) -> str:
    clock = render(time, "clock", "")
    return (
        clock,
        clock.replace(":", "."),
        render(time, "clock24", ""),
        render(time, "oclock", ""),
        f"**{render(time, 'clock24', '')}**",
    )[style]


def _length(minutes: int, style: int) -> str:
    hours, rest = divmod(minutes, 60)
    hm = render(minutes, "hm", "")
    in_words = f"{number_in_words(rest)} minute{'' if rest == 1 else 's'}"
    if hours:
        whole = f"{number_in_words(hours)} hour{'' if hours == 1 else 's'}"
        in_words = f"{whole} and {in_words}" if rest else whole
    return (
        render(minutes, "duration", ""),
        render(minutes, "minutes", ""),
        f"{hm} min" if hours and rest else hm,
        in_words,
        f"**{render(minutes, 'duration', '')}**",
    )[style]


def _date(day: str, style: int) -> str:
    made = parse_day(day)
    month = MONTHS[made.month - 1].capitalize()
    return (
        full_date(day),
        f"{made.day} {month} {made.year}",
        day,
        f"{WEEKDAYS[made.weekday()].capitalize()}, {full_date(day)}",
        f"{made.month}/{made.day}/{made.year}",
    )[style]
