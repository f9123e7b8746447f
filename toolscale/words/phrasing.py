"""Frames that writers give, proved and put into the file of their domain."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
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


def add_frames(workshop: Workshop, given: list[GivenFrame], writer: str, model: str) -> Added:
    """Try frames on cases of their shapes, and put those that hold into `frames.yaml`, and what nobody would ask;
    nothing is written if there is neither. UsageError if a shape is unknown."""
    environment = workshop.environment
    added, made = Added(environment.folder / FILE), dict[str, list[Request]]()
    known = {request.say for each in environment.spec.frames.frames for request in each.say}
    for each in given:
        shape = workshop.shape(each.shape)
        if each.nobody:
            added.nobody[each.shape] = each.nobody
            continue
        if faults := frame_faults(workshop, shape, each.say, known):
            added.refused.append((each.line, faults[0]))
            continue
        known.add(each.say)
        made.setdefault(each.shape, []).append(Request(say=each.say))
        added.kept += 1
    if made or added.nobody:
        spec = with_frames(
            environment.spec.frames, list(workshop.shapes), writer, model, prompt_hash(environment), made
        )
        write_frames(environment, with_unasked(spec, writer, added.nobody))
    return added
