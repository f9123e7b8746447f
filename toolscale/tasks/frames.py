"""Whole first messages that people would write: which of a domain's frames say a plan.

A frame is for a *shape*: an intent, with what evolutions made of it that changes what a person says. How a row is
called is no part of it (`obscure`): places take any words for a row. Nor is a rule that forbids the deed (`refuse`):
who is refused asks as everybody does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from toolscale.records import QUIET, FramesSpec, Intent, Request
from toolscale.tasks.evolution.composition import suffix_after
from toolscale.tasks.evolution.renaming import rename_places
from toolscale.tasks.message import PLACE
from toolscale.tasks.plan import Plan

SAID = (QUIET, "constrain", "batch")
"""Evolutions that change what is said."""
UNSAID = ("obscure", "refuse")
"""Those that do not."""
JOINT = " + "

Frames = Mapping[str, tuple[Request, ...]]
"""Shape -> its messages, in the order of the file."""


def frames_of(spec: FramesSpec) -> Frames:
    """Return the messages of each shape."""
    found: dict[str, list[Request]] = {}
    for each in spec.frames:
        found.setdefault(each.shape, []).extend(each.say)
    return {shape: tuple(messages) for shape, messages in found.items()}


def shape_of(intent: Intent, evolutions: Sequence[str]) -> str | None:
    """Return the shape of an intent after a chain of evolutions; None if a message of one matter cannot say it.
    `intent`: as it is written."""
    lines = said_lines(intent, evolutions)
    return None if lines is None else JOINT.join([intent.id, *lines])


def said_lines(intent: Intent, evolutions: Sequence[str]) -> tuple[str, ...] | None:
    """Return the lines of a chain that change what is said; None if a message of one matter cannot say it."""
    operators = [line.split()[0] for line in evolutions]
    if not set(operators) <= {*SAID, *UNSAID}:
        return None
    lines = [line for line, operator in zip(evolutions, operators, strict=True) if operator in SAID]
    if "refuse" in operators and intent.asks and QUIET not in operators:
        lines.insert(0, QUIET)  # a refusal answers no question about the deed
    return tuple(lines)


@dataclass(frozen=True)
class Matter:
    """One of the things that somebody comes with: an intent after a chain of evolutions, or (without an intent) a
    question about somebody else's affairs."""

    intent: str | None
    evolutions: tuple[str, ...] = ()
    suffix: str = ""
    """What the names of its roles and slots end in, where it is not the first: `_2`."""


def matters_of(intent_id: str, evolutions: Sequence[str], evolved: Callable[[Sequence[str]], Intent]) -> list[Matter]:
    """Return the matters of an intent after a chain of evolutions, in the order in which they are said. `evolved`: the
    intent after the beginning of the chain."""
    found = [Matter(intent_id)]
    for place, line in enumerate(evolutions):
        operator, *arguments = line.split()
        if operator == "compose":
            found.append(Matter(arguments[0], tuple(arguments[1:]), suffix_after(evolved(evolutions[:place]))))
        elif operator == "pry":
            found.append(Matter(None))
        else:
            found[0] = Matter(intent_id, (*found[0].evolutions, line))
    return found


def renamed(frames: Sequence[Request], matter: Matter, plan: Plan) -> tuple[Request, ...]:
    """Return frames with the names that the roles and slots of a matter have in the plan of several."""
    own = [name for name in (*plan.roles, *plan.intent.slots) if matter.suffix and name.endswith(matter.suffix)]
    others = {name.removesuffix(matter.suffix): name for name in own}
    return tuple(Request(say=rename_places(each.say, others), persona=each.persona) for each in frames)


def renamed_roles(evolutions: Sequence[str]) -> set[str]:
    """Return the roles whose rows a chain calls otherwise."""
    return {line.split()[1].partition(":")[0] for line in evolutions if line.startswith("obscure ")}


@cache
def whole_places(say: str) -> frozenset[str]:
    """Return the places of a frame that stand for a row whole, or for a slot."""
    return frozenset(match[1] for match in PLACE.finditer(say) if not match[2] and not match[4])


def fitting(frames: Sequence[Request], plan: Plan, but: str | None, held: Mapping[str, str]) -> list[Request]:
    """Return the frames that say all that a plan needs said: each slot, and each row by its name or by all columns that
    describe it. `but`: the role of who is speaking. What is `held` back is named whole."""
    return [frame for frame in frames if not missing(frame.say, plan, but, held)]


def missing(say: str, plan: Plan, but: str | None, held: Mapping[str, str] | None = None) -> list[str]:
    """Return the places that a frame lacks for a plan, and those that the plan cannot fill."""
    places = {(match[1], match[2]) for match in PLACE.finditer(say) if not match[4]}
    whole = {name for name, column in places if column is None}
    lacking = [name for name in plan.intent.slots if name not in whole]
    known = set(plan.intent.slots)
    for name, role in plan.roles.items():
        columns = {column for owner, column in places if owner == name and column}
        if name != but and role.said and role.role.text is None and name not in whole:
            lacking += [f"{name}.{column}" for column in role.said if column not in columns or name in (held or {})]
        lacking += sorted(f"{name}.{column}" for column in columns - set(role.said))
        known.add(name)
    return [*lacking, *sorted({name for name, _ in places} - known)]
