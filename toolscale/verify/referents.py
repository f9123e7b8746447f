"""Part of the gate `unambiguous`: *that account*, *in it* (words that mean a row named before, where two were named),
and *leave that one alone* about a row that is written all the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from toolscale.language.heard import Heard
from toolscale.records import ToolCall
from toolscale.tasks.names import matter_of
from toolscale.tasks.plan import Plan, RolePlan


class Scene(NamedTuple):
    """What the words are about."""

    heard: Heard
    bindings: Mapping[str, Sequence[Sequence[Any]]]
    plan: Plan
    said: Mapping[str, Mapping[str, Any]]
    writes: Sequence[ToolCall]


class Named(NamedTuple):
    """A row where the request first names it."""

    start: int
    role: RolePlan
    key: tuple[Any, ...]
    words: str


def unclear_referent(scene: Scene, referents: Mapping[str, Sequence[str]]) -> str | None:
    """Return the words that could mean either of two rows of a table that were named before them in the same matter, or
    None."""
    named = _in_order(scene) if referents else []
    for table, words in referents.items():
        for text in words:
            for start, _ in scene.heard.spans(text):
                before = [one for one in named if one.start < start]
                meant = _antecedents(scene, table, before)
                if len(meant) > 1:
                    return f"{text!r} could mean {' or '.join(repr(one) for one in meant)}"
    return None


def named_twice(scene: Scene, table: str) -> bool:
    """Whether at the end of the request *that* row of a table would be unclear."""
    return len(_antecedents(scene, table, _in_order(scene))) > 1


def _antecedents(scene: Scene, table: str, before: list[Named]) -> list[str]:
    """What the rows are called that *that* row of a table could mean: those named in the same matter as the last named
    row. If the calls use some of them, only these count."""
    if not before:
        return []
    matter = matter_of(before[-1].role.name)
    rows = [one for one in before if one.role.table == table and matter_of(one.role.name) == matter]
    given = {value for call in scene.writes for value in call.arguments.values() if isinstance(value, str)}
    used = [one for one in rows if one.role.role.only_said or given.intersection(one.key)]
    return list({one.key: one.words for one in used or rows}.values())


def _in_order(scene: Scene) -> list[Named]:
    return sorted(_named(scene), key=lambda one: one.start)


def _named(scene: Scene) -> Iterator[Named]:
    """Every role that means one row, where what the request says of it first stands."""
    for name, role in scene.plan.roles.items():
        keys = scene.bindings.get(name, ())
        if role.role.of is None or role.role.take != "one" or not keys:
            continue
        said = [str(value) for value in scene.said.get(name, {}).values() if isinstance(value, str)]
        cues = (*role.role.cues, *(role.description.cues if role.description else ()))
        for words in (*reversed(said), *cues):
            if spans := scene.heard.spans(words):
                yield Named(spans[0][0], role, tuple(keys[0]), words)
                break
