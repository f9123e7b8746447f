"""Sentences put together: alternatives, what is appended to every phrasing, names that are free."""

from __future__ import annotations

from collections.abc import Iterable

from toolscale.records import Intent, Request
from toolscale.tasks.evolution.renaming import names_of
from toolscale.tasks.message import MORE, NEXT
from toolscale.tasks.names import matter_of


def appended(requests: Iterable[Request], sentence: str, near: str = "", *, last: bool = False) -> tuple[Request, ...]:
    """Return the phrasings with one more sentence about the matter of the name `near`: where it has a place for more,
    else (or `last`) at its end."""
    matter = matter_of(near)
    place, number = f"{{{MORE}{matter}}}", int(matter[1:]) - 1 if matter else 0

    def said(say: str) -> str:
        if place in say and not last:
            return say.replace(place, f"{sentence} {place}")
        parts = say.split(NEXT)
        here = min(number, len(parts) - 1)
        parts[here] = f"{parts[here].rstrip()} {sentence}{' ' if here + 1 < len(parts) else ''}"
        return NEXT.join(parts)

    return tuple(Request.model_construct(say=said(request.say), persona=request.persona) for request in requests)


def free_name(intent: Intent, name: str) -> str:
    """Return `name`, or `name_2` and so on if the intent uses it."""
    taken, number, found = set(names_of(intent)), 1, name
    while found in taken:
        number += 1
        found = f"{name}_{number}"
    return found
