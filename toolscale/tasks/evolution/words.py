"""Sentences put together: alternatives, what is appended to every phrasing, names that are free."""

from __future__ import annotations

from collections.abc import Iterable

from toolscale.records import Intent, Request
from toolscale.tasks.evolution.renaming import names_of
from toolscale.tasks.message import MORE, NEXT


def appended(requests: Iterable[Request], sentence: str) -> tuple[Request, ...]:
    """Return the phrasings with one more sentence about their first matter: where it has a place for more, else at its
    end."""
    place = f"{{{MORE}}}"

    def said(say: str) -> str:
        if place in say:
            return say.replace(place, f"{sentence} {place}")
        first, *others = say.split(NEXT)
        return NEXT.join([f"{first.rstrip()} {sentence}{' ' if others else ''}", *others])

    return tuple(Request.model_construct(say=said(request.say), persona=request.persona) for request in requests)


def free_name(intent: Intent, name: str) -> str:
    """Return `name`, or `name_2` and so on if the intent uses it."""
    taken, number, found = set(names_of(intent)), 1, name
    while found in taken:
        number += 1
        found = f"{name}_{number}"
    return found
