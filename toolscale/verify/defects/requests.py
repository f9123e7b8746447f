"""Defects of the words: the request says less, more or other than the case it was made for."""

from __future__ import annotations

import random
import re
from datetime import date, timedelta

from toolscale.language.dates import MONTHS, WEEKDAYS
from toolscale.language.heard import Heard
from toolscale.language.render import render
from toolscale.language.times import clock_text, minutes_of
from toolscale.patterns import regex
from toolscale.records import Candidate
from toolscale.tasks.asking import is_owed
from toolscale.tasks.names import columns_of
from toolscale.tasks.phrase import FORM_OF_KIND
from toolscale.verify.defects.planting import (
    Defect,
    Ground,
    Planted,
    Spoken,
    pick,
    shuffled,
    spoken,
    standing,
    words_of,
)
from toolscale.verify.mutants import OFF
from toolscale.verify.referents import Scene, named_twice

HEDGES = ("about", "around", "roughly", "approximately", "maybe", "perhaps", "nearly", "almost")
BOUNDS = ("less than", "more than", "at least", "at most", "up to", "under", "over")
ADDED = (
    "Actually, make it {}.",
    "{} of it is for my sister.",
    "Oh, and {} on top.",
    "It was {} last time.",
    "I mean {}, of course.",
)
OPPOSITES = {
    "lowest": "highest",
    "smallest": "largest",
    "least": "most",
    "earliest": "latest",
    "oldest": "newest",
    "older": "newer",
    "first": "last",
    "biggest": "smallest",
    "largest": "smallest",
    "highest": "lowest",
    "most": "least",
    "newest": "oldest",
    "latest": "earliest",
    "next": "last",
}


def _reworded(candidate: Candidate, request: str, what: str) -> Planted | None:
    text = re.sub(r"\s+([,.!?;:])", r"\1", re.sub(r"\s+", " ", request)).strip()
    return Planted(candidate.model_copy(update={"request": text}), what) if text != candidate.request else None


def _said(ground: Ground, candidate: Candidate, rng: random.Random, *kinds: str) -> Spoken | None:
    found: Spoken | None = pick(rng, [value for value in spoken(ground, candidate) if value.kind in kinds])
    return found


def _instead(candidate: Candidate, said: Spoken | None, other: str | None) -> Planted | None:
    if said is None or other is None or other == said.written:
        return None
    return Planted(said.replaced(candidate, other), f"{said.written!r} is written {other!r}")


def hedged_amount(ground: Ground, candidate: Candidate, rng: random.Random) -> Planted | None:
    """An amount, or a length of time, is said with a hedge before it."""
    said = _said(ground, candidate, rng, "money", "duration")
    return _instead(candidate, said, f"{rng.choice(HEDGES)} {said.written}" if said else None)


def hedged_date(ground: Ground, candidate: Candidate, rng: random.Random) -> Planted | None:
    """A date, or a time of day, is said with a hedge before it."""
    said = _said(ground, candidate, rng, "date", "time")
    return _instead(candidate, said, f"{rng.choice(HEDGES)} {said.written}" if said else None)


def bound_for_amount(ground: Ground, candidate: Candidate, rng: random.Random) -> Planted | None:
    """An amount that a call takes as it is is said as a bound. A threshold is none: there the words may be right."""
    plan = ground.plan_of(candidate)
    sources = [expression.source for call in plan.calls() for expression in call.arguments.values()]
    taken = {column for source in sources for column in columns_of(source, "say", "", "")}
    said = pick(rng, [v for v in spoken(ground, candidate) if v.kind in ("money", "duration") and v.name in taken])
    return _instead(candidate, said, f"{rng.choice(BOUNDS)} {said.written}" if said else None)


def cents_for_dollars(ground: Ground, candidate: Candidate, rng: random.Random) -> Planted | None:
    """The cents of an amount are written as dollars."""
    said = _said(ground, candidate, rng, "money")
    return _instead(candidate, said, render(int(said.value) * 100, said.form, ground.today) if said else None)


def another_amount(ground: Ground, candidate: Candidate, rng: random.Random) -> Planted | None:
    """The words say another amount, or another length of time, than the plan has."""
    said = _said(ground, candidate, rng, "money", "duration")
    factor = rng.choice((-1, 1)) * rng.choice((1, 9, 10, 90, 100, 900, 1000))
    return _instead(
        candidate, said, render(abs(int(said.value) + factor) or 1, said.form, ground.today) if said else None
    )


def off_by_one_day(ground: Ground, candidate: Candidate, rng: random.Random) -> Planted | None:
    """A date is written as the day before or after, a time of day as one some minutes, an hour or 12 hours away."""
    said = _said(ground, candidate, rng, "date", "time")
    if said is None:
        return None
    if said.kind == "time":
        return _instead(candidate, said, render(clock_text(minutes_of(said.value) + rng.choice(OFF)), said.form, ""))
    day = date.fromisoformat(str(said.value)[:10]) + timedelta(days=rng.choice((-1, 1)))
    return _instead(candidate, said, render(day.isoformat(), "date", ground.today))


def two_reading_date(ground: Ground, candidate: Candidate, rng: random.Random) -> Planted | None:
    """A date is written so that it has two readings: the day first, without its year or month, or as a weekday; a time
    of day without am or pm."""
    said = _said(ground, candidate, rng, "date", "time")
    if said is None:
        return None
    if said.kind == "time":
        return _instead(candidate, said, render(said.value, "clock", "")[:-3])
    day = date.fromisoformat(str(said.value)[:10])
    away = (day - date.fromisoformat(ground.today)).days
    weekday = WEEKDAYS[day.weekday()].capitalize()
    forms = [f"next {weekday}", weekday] if abs(away) > 7 else []
    if day.day <= 12 and day.day != day.month:
        forms.append(f"{day.day}/{day.month}/{day.year}")
    if abs(away) > 366:
        forms.append(f"{MONTHS[day.month - 1].capitalize()} {day.day}")
    return _instead(candidate, said, pick(rng, forms))


def another_name(ground: Ground, candidate: Candidate, rng: random.Random) -> Planted | None:
    """The words name another row: the value of a described column is that of some other row of the table."""
    plan = ground.plan_of(candidate)
    places = [value for value in spoken(ground, candidate) if "." in value.name and value.kind in ("text", "digits")]
    said = pick(rng, places)
    if said is None:
        return None
    role, column = said.name.split(".")
    others = {str(row[column]) for row in ground.table(plan.roles[role].table).values() if row[column] is not None}
    apart = [other for other in sorted(others) if not standing(said.written).search(other)]
    return _instead(candidate, said, pick(rng, apart))


def misspelt_name(ground: Ground, candidate: Candidate, rng: random.Random) -> Planted | None:
    """A letter of a name is lost."""
    said = _said(ground, candidate, rng, "text")
    if said is None or len(said.written) < 4:
        return None
    place = rng.randrange(1, len(said.written) - 1)
    return _instead(candidate, said, said.written[:place] + said.written[place + 1 :])


def lost_value(ground: Ground, candidate: Candidate, rng: random.Random) -> Planted | None:
    """A value that the plan needs is not said."""
    said = pick(rng, spoken(ground, candidate))
    words = {
        "money": "some money",
        "date": "some day",
        "time": "some time",
        "duration": "a while",
        "number": "a few",
        "digits": "some digits",
    }
    return _instead(candidate, said, words.get(said.kind, "something") if said else None)


def _cues(ground: Ground, candidate: Candidate) -> list[str]:
    plan = ground.plan_of(candidate)
    chosen = ground.recording(candidate).chosen
    roles = [role for name, role in plan.roles.items() if name in chosen]
    return [cue for role in roles for cue in (*role.role.cues, *(role.description.cues if role.description else ()))]


def lost_cue(ground: Ground, candidate: Candidate, rng: random.Random) -> Planted | None:
    """A superlative, an `all` or the word of a condition is gone from the request."""
    cue = pick(rng, _cues(ground, candidate))
    return cue and _reworded(candidate, standing(cue).sub("", candidate.request), f"{cue!r} is gone")


def highest_said(ground: Ground, candidate: Candidate, rng: random.Random) -> Planted | None:
    """The request says the opposite superlative of what the plan takes."""
    plan = ground.plan_of(candidate)
    if not any(role.first for role in plan.roles.values()):
        return None
    for cue in shuffled(rng, _cues(ground, candidate)):
        for word in cue.split():
            if other := OPPOSITES.get(word.lower()):
                turned = standing(cue).sub(standing(word).sub(other, cue), candidate.request)
                return _reworded(candidate, turned, f"{word!r} is now {other!r}")
    return None


def stray_amount(ground: Ground, candidate: Candidate, rng: random.Random) -> Planted | None:
    """The request says one more amount or day, which the plan knows nothing of."""
    if rng.random() < 0.5:
        value = render(rng.randrange(101, 99_999), "money", ground.today)
    else:
        day = date.fromisoformat(ground.today) + timedelta(days=rng.randrange(40, 400))
        value = render(day.isoformat(), "date", ground.today)
    added = rng.choice(ADDED).format(value)
    return (
        None
        if value in candidate.request
        else _reworded(candidate, f"{candidate.request} {added}", f"it also says {added!r}")
    )


def leaked_answer(ground: Ground, candidate: Candidate, rng: random.Random) -> Planted | None:
    """The request gives away an amount, a day, a time or a length that has to be told."""
    return _leaked(ground, candidate, rng, "money", "date", "time", "duration")


def leaked_word(ground: Ground, candidate: Candidate, rng: random.Random) -> Planted | None:
    """The request gives away a word or a count that has to be told: nothing in it looks like a value of the case."""
    return _leaked(ground, candidate, rng, "text", "number")


def _leaked(ground: Ground, candidate: Candidate, rng: random.Random, *kinds: str) -> Planted | None:
    facts = ground.recording(candidate).facts
    fact = pick(rng, [fact for fact in facts if fact.kind in kinds and fact.value and not fact.withheld])
    if fact is None:
        return None
    value = render(fact.value, FORM_OF_KIND[fact.kind], ground.today)
    noun = {"text": "", "number": " of them"}.get(fact.kind, "")
    added = rng.choice(("I believe it is {}.", "My guess would be {}.", "It should be {}, I think.")).format(
        f"{value}{noun}"
    )
    return _reworded(candidate, f"{candidate.request} {added}", f"it says {added!r}")


def named_tool(ground: Ground, candidate: Candidate, rng: random.Random) -> Planted | None:
    """The request names a tool."""
    tool = pick(rng, [call.call.name for call in ground.recording(candidate).calls if "_" in call.call.name])
    return tool and _reworded(
        candidate, f"{candidate.request} {rng.choice(('Use', 'Please call', 'Just run'))} {tool}.", f"it names {tool}"
    )


def unclear_referent(ground: Ground, candidate: Candidate, rng: random.Random) -> Planted | None:
    """Something is asked of *that* row of a table, of which two were named."""
    words, plan = ground.environment.spec.language.referents, ground.plan_of(candidate)
    said, writes = ground.inputs(plan, candidate).said, ground.recording(candidate).write_calls
    heard = Heard(candidate.heard, ground.environment.spec.world.today)
    scene = Scene(heard, candidate.bindings, plan, said, writes)
    table = pick(rng, [table for table in words if named_twice(scene, table)])
    text = pick(rng, [word for word in words[table] if word.startswith("that ")]) if table else None
    return text and _reworded(
        candidate, f"{candidate.request} What else should I know about {text}?", f"{text!r} is unclear"
    )


_ASKS = regex(
    r"\?|\b(wh\w+|how|tell|know|hear|state|confirm|report|inform|list|"
    r"give|giving|stating|total|number|amount|sum|count|show|look|find|remind|read|learn|let me)\b",
    re.IGNORECASE,
)


def unasked_fact(ground: Ground, candidate: Candidate, rng: random.Random) -> Planted | None:
    """The request asks for nothing, and something has to be told."""
    plan = ground.plan_of(candidate)
    if (
        plan.intent.outcome != "fulfil"
        or not ground.recording(candidate).writes
        or not ground.recording(candidate).facts
    ):
        return None
    if all(is_owed(plan.intent, tell) for tell in plan.intent.tell):
        return None  # the policy has it told without a question
    sentences = re.split(r"(?<=[.?!])\s+", candidate.request)
    kept = [sentence for sentence in sentences if not _ASKS.search(sentence.replace("your", ""))]
    left = " ".join(kept)
    if len(kept) < 2 or any(not standing(value.written).search(left) for value in spoken(ground, candidate)):
        return None  # the sentence that asks also says what is wanted
    return _reworded(candidate, left, "the sentences that ask are gone")


DEFECTS = tuple(
    Defect(plant.__name__, "request", words_of(plant), plant)
    for plant in (
        hedged_amount, hedged_date, bound_for_amount, cents_for_dollars, another_amount, off_by_one_day,
        two_reading_date, another_name, misspelt_name, lost_value, lost_cue, highest_said, stray_amount, leaked_answer,
        leaked_word, named_tool, unasked_fact, unclear_referent,
    )
)  # fmt: skip
