"""Sentences put together: alternatives, what is appended to every phrasing, names that are free."""

from __future__ import annotations

from collections.abc import Iterable

from toolscale.records import Intent, Request
from toolscale.tasks.names import matter_of
from toolscale.tasks.phrase import MORE
from toolscale.tasks.evolution.renaming import names_of


def appended(requests: Iterable[Request], sentence: str, near: str = "") -> tuple[Request, ...]:
    """Return the phrasings with one more sentence: where the matter that the name `near` belongs to has a place for more, else at the end."""
    place = f"{{{MORE}{matter_of(near)}}}"
    says = (
        (f"{r.say.replace(place, f'{sentence} {place}')}" if place in r.say else f"{r.say} {sentence}", r.persona) for r in requests
    )
    return tuple(Request.model_construct(say=say, persona=persona) for say, persona in says)


def free_name(intent: Intent, name: str) -> str:
    """Return `name`, or `name_2` and so on if the intent uses it."""
    taken, number, found = set(names_of(intent)), 1, name
    while found in taken:
        number += 1
        found = f"{name}_{number}"
    return found
