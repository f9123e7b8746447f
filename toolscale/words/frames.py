"""Frames that writers give: what they are told, what is proved of each, and the file that holds those that hold."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from toolscale.canonical import content_hash
from toolscale.environment.environment import Environment
from toolscale.errors import StorageError
from toolscale.prompt_templates import prompt_template
from toolscale.records import Frames, FramesSpec, FrameWriter, Request, Unasked
from toolscale.whole_files import write_whole
from toolscale.words.shapes import Brief, Shape

FILE = "frames.yaml"
LONGEST = 400
"""Characters of a frame."""


def told(environment: Environment, people: Sequence[str] = ()) -> str:
    """Return what a writer is told before any shape. `people`: messages of people, as examples of voice."""
    world = environment.spec.world
    return prompt_template("toolscale.words", "frames.md.jinja").render(
        title=world.title, description=world.description.strip().rstrip("."), people=people
    )


def shape_told(shape: Shape, brief: Brief) -> str:
    """Return what a writer is told of one shape."""
    lines = [f"## {shape.name}", f"{brief.title}.", *(f"But {each}." for each in brief.also)]
    lines += [f"The desk does: {each}" for each in brief.does] or ["The desk looks it up; nothing is changed."]
    lines += [f"Only if {each}; say whether the limit itself counts." for each in brief.conditions]
    lines += [f"Case {number}: {_places(case)}" for number, case in enumerate(brief.places, 1)]
    lines.append(f"Needed: {', '.join('{' + name + '}' for name in brief.must) or 'no place'}.")
    lines += [f"Words, one of: {' / '.join(words)}" for words in brief.words]
    lines.append(f"Asks to be told: {'; '.join(brief.asks)}." if brief.asks else "Asks nothing.")
    lines.append(f"Write {max(shape.wanted - shape.have, 1)}.")
    return "\n".join(lines)


def _places(case: Mapping[str, str]) -> str:
    return ", ".join(f"{{{place}}} = {json.dumps(text, ensure_ascii=False)}" for place, text in case.items())


def shape_faults(say: str) -> list[str]:
    """Return what is wrong with the look of a frame, whatever it says."""
    if not say.strip() or len(say) > LONGEST:
        return [f"it has {len(say)} characters; write 1 to {LONGEST}"]
    if any(not letter.isprintable() and letter != "\n" for letter in say):
        return ["it has control characters"]
    if any(mark in say for mark in "[]<>`*#|") and any(mark in _outside(say) for mark in "[]<>`*#|"):
        return ["it has markup: write plain text, and braces for places alone"]
    return []


def _outside(say: str) -> str:
    """The text of a frame without its places."""
    out, depth = [], 0
    for letter in say:
        depth += letter == "{"
        if not depth:
            out.append(letter)
        depth -= letter == "}"
    return "".join(out)


def with_frames(
    spec: FramesSpec, order: Sequence[str], writer: str, model: str, prompt: str, made: Mapping[str, Sequence[Request]]
) -> FramesSpec:
    """Return frames with more of one writer, in the order of the shapes."""
    writers = {**spec.writers, writer: FrameWriter(model=model, prompt=prompt)}
    blocks: dict[tuple[str, str], list[Request]] = {(each.shape, each.by): [*each.say] for each in spec.frames}
    for shape, messages in made.items():
        block = blocks.setdefault((shape, writer), [])
        known = {each.say for each in block}
        block += [each for each in messages if each.say not in known]
    places = {name: place for place, name in enumerate(order)}
    keys = sorted(blocks, key=lambda key: (places.get(key[0], len(places)), *key))
    return FramesSpec(
        writers=writers,
        frames=tuple(Frames(shape=key[0], by=key[1], say=tuple(blocks[key])) for key in keys),
        nobody=spec.nobody,
    )


def with_unasked(spec: FramesSpec, writer: str, unasked: Mapping[str, str]) -> FramesSpec:
    """Return frames with shapes of which one more writer says why hardly anybody would come with them. Those that this
    retires lose their messages."""
    found = {each.shape: each for each in spec.nobody}
    for shape, why in unasked.items():
        before = found.get(shape, Unasked(shape=shape, why=why, by=(writer,)))
        found[shape] = before.model_copy(update={"by": tuple(dict.fromkeys((*before.by, writer)))})
    made = spec.model_copy(update={"nobody": tuple(found[shape] for shape in sorted(found))})
    return made.model_copy(update={"frames": tuple(each for each in spec.frames if each.shape not in made.retired)})


def frames_yaml(spec: FramesSpec) -> str:
    """Return the text of `frames.yaml`."""
    data: dict[str, Any] = {
        "writers": {name: each.model_dump() for name, each in sorted(spec.writers.items())},
        "frames": [
            {"shape": each.shape, "by": each.by, "say": [request.say for request in each.say]} for each in spec.frames
        ],
        "nobody": [{"shape": each.shape, "why": each.why, "by": list(each.by)} for each in spec.nobody],
    }
    return yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=10_000)


def prompt_hash(environment: Environment) -> str:
    """Hash of what writers are told of a domain, without a shape and without examples of voice."""
    return content_hash(told(environment))[:16]


def write_frames(environment: Environment, spec: FramesSpec) -> Path:
    """Write `frames.yaml` into the folder of a domain. StorageError if that cannot be done."""
    path = environment.folder / FILE
    try:
        return write_whole(path, frames_yaml(spec).encode())
    except OSError as error:
        raise StorageError(f"cannot write {path}: {error}") from error
