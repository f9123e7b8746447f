"""Frames that writers give, proved and put into the file of their domain."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from toolscale.json_lines import read_json_lines
from toolscale.records import Request
from toolscale.words.frames import FILE, prompt_hash, shape_faults, with_frames, with_unasked, write_frames
from toolscale.words.shapes import Shape, Workshop


@dataclass(frozen=True)
class GivenFrame:
    """A message that a writer gives for a shape, or why nobody would ask for it."""

    line: int
    shape: str
    say: str = ""
    nobody: str = ""


@dataclass
class Added:
    """What became of given frames."""

    path: Path
    kept: int = 0
    refused: list[tuple[int, str]] = field(default_factory=list)
    """(line, what is wrong)."""
    nobody: dict[str, str] = field(default_factory=dict)
    """Shape -> why hardly anybody would come with it."""


def read_given(path: Path) -> list[GivenFrame]:
    """Read a file of frames. UsageError names the line that is none."""
    remedy = "is no frame; write an object with shape and say, or with shape and nobody"
    lines = read_json_lines(path, _is_frame, remedy)
    return [
        GivenFrame(number, **{name: text for name, text in value.items() if name != "text"}) for number, value in lines
    ]


def _is_frame(value: dict[str, Any]) -> bool:
    """Whether a line has a frame, with the text that it was made of or without, or says why there is none."""
    known = ({"shape", "say"}, {"shape", "text", "say"}, {"shape", "nobody"})
    return value.keys() in known and all(isinstance(each, str) for each in value.values())


def frame_faults(workshop: Workshop, shape: Shape, say: str, known: Collection[str]) -> list[str]:
    """Return what is wrong with a message for a shape; nothing if it holds. `known`: those that are there."""
    return ["it is there already"] if say in known else shape_faults(say) or workshop.faults(shape, say)


def known_messages(workshop: Workshop) -> set[str]:
    """Return the messages that a domain has."""
    return {request.say for each in workshop.environment.spec.frames.frames for request in each.say}


def add_frames(workshop: Workshop, given: Sequence[GivenFrame], writer: str, model: str) -> Added:
    """Try frames on cases of their shapes, and keep those that hold. UsageError if a shape is unknown."""
    refused, held, known = list[tuple[int, str]](), list[GivenFrame](), known_messages(workshop)
    for each in given:
        shape = workshop.shape(each.shape)
        if not each.nobody and (faults := frame_faults(workshop, shape, each.say, known)):
            refused.append((each.line, faults[0]))
        else:
            known.add(each.say)
            held.append(each)
    return replace(keep_frames(workshop, held, writer, model), refused=refused)


def keep_frames(workshop: Workshop, held: Sequence[GivenFrame], writer: str, model: str) -> Added:
    """Put frames that hold into `frames.yaml`, and what nobody would ask; nothing is written if there is neither. A
    message that two shapes have is kept for the first."""
    environment, made = workshop.environment, dict[str, list[Request]]()
    nobody = {each.shape: each.nobody for each in held if each.nobody}
    for each in {each.say: each for each in reversed(held) if not each.nobody}.values():
        made.setdefault(each.shape, []).insert(0, Request(say=each.say))
    if held:
        spec = with_frames(
            environment.spec.frames, list(workshop.shapes), writer, model, prompt_hash(environment), made
        )
        write_frames(environment, with_unasked(spec, writer, nobody))
    return Added(environment.folder / FILE, sum(map(len, made.values())), nobody=nobody)
