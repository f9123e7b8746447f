"""Deeds and questions are kept apart: the requests of an intent only say what is to be done, its `asks` what somebody
would like to know of it.

With a question, all facts must be told. Without one (`quiet`), only those that are owed: the grade is about what was
done.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from toolscale.language.phrasing import alternatives
from toolscale.records import EachStep, IfStep, Intent, PlanStep, Request, Tell


def asking(intent: Intent) -> Intent:
    """Return the intent with a question after each of its requests, by the same kind of person; unchanged if it has no
    `asks`."""
    if not intent.asks:
        return intent
    made = []
    for request in intent.requests:
        personas = (
            [request.persona]
            if request.persona
            else [None, *dict.fromkeys(ask.persona for ask in intent.asks if ask.persona)]
        )
        for persona in personas:
            asks = [ask.say for ask in intent.asks if ask.persona in (None, persona)]
            if asks:
                made.append(Request.model_construct(say=f"{request.say} {alternatives(asks)}", persona=persona))
    return intent.model_copy(update={"requests": tuple(made), "asks": ()})


def quiet(intent: Intent) -> Intent:
    """Return the intent without a question: only facts that are owed are told. What is private must still not be
    told."""
    return intent.model_copy(
        update={"asks": (), "tell": tuple(tell for tell in intent.tell if tell.withheld or is_owed(intent, tell))}
    )


DENIED = "0"
"""What a fact says of a thing that somebody asked for and does not get."""


def is_pried(tell: Tell) -> bool:
    """Whether a fact is about what somebody asked for and does not get."""
    return tell.withheld or (tell.kind == "bool" and tell.is_ == DENIED)


def is_owed(intent: Intent, tell: Tell) -> bool:
    """Whether the policy wants a fact told even if nobody asks: whether a condition held, and the figure that decided
    it."""
    tests = [step.if_ for step in branches(intent.do)]
    return bool(tests) and (tell.kind == "bool" or any(tell.is_ in test for test in tests))


def branches(steps: Sequence[PlanStep]) -> Iterator[IfStep]:
    """Yield every branch of steps, those within branches too."""
    for step in steps:
        if isinstance(step, IfStep):
            yield step
            yield from branches((*step.then, *step.else_))
        elif isinstance(step, EachStep):
            yield from branches(step.do)


def unasked_personas(intent: Intent) -> Sequence[str]:
    """The kinds of people who have a request of their own and no question that they could ask."""
    if not intent.asks or any(ask.persona is None for ask in intent.asks):
        return ()
    asking_ones = {ask.persona for ask in intent.asks}
    return tuple(
        dict.fromkeys(r.persona for r in intent.requests if r.persona is not None and r.persona not in asking_ones)
    )
