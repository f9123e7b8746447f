"""Frames that writers give, proved and put into the file of their domain."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from toolscale.json_lines import read_json_lines
from toolscale.records import Request
from toolscale.words.frames import FILE, prompt_hash, shape_faults, with_frames, write_frames
from toolscale.words.shapes import Workshop


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
    nobody: list[tuple[str, str]] = field(default_factory=list)
    """(shape, why nobody would ask for it)."""


def read_given(path: Path) -> list[GivenFrame]:
    """Read a file of frames. UsageError names the line that is none."""
    remedy = "is no frame; write an object with shape and say, or with shape and nobody"
    return [GivenFrame(number, **value) for number, value in read_json_lines(path, _is_frame, remedy)]


def _is_frame(value: dict[str, Any]) -> bool:
    return value.keys() in ({"shape", "say"}, {"shape", "nobody"}) and all(isinstance(v, str) for v in value.values())


def add_frames(workshop: Workshop, given: list[GivenFrame], writer: str, model: str) -> Added:
    """Try frames on cases of their shapes, and put those that hold into `frames.yaml`; nothing is written if none
    does. UsageError if a shape is unknown."""
    environment = workshop.environment
    added, made = Added(environment.folder / FILE), dict[str, list[Request]]()
    known = {request.say for each in environment.spec.frames.frames for request in each.say}
    for each in given:
        shape = workshop.shape(each.shape)
        if each.nobody:
            added.nobody.append((each.shape, each.nobody))
            continue
        faults = (
            ["it is there already"] if each.say in known else shape_faults(each.say) or workshop.faults(shape, each.say)
        )
        if faults:
            added.refused.append((each.line, faults[0]))
            continue
        known.add(each.say)
        made.setdefault(each.shape, []).append(Request(say=each.say))
        added.kept += 1
    if made:
        spec = environment.spec.frames
        write_frames(
            environment, with_frames(spec, list(workshop.shapes), writer, model, prompt_hash(environment), made)
        )
    return added
