"""Files of preferences in a model's words, one JSON object a line, and how tasks draw from them.

A line has what `records.WordedPreference` says: the instruction, its weights, its wishes about tools, and the split it
belongs to. `worded_by_model` has had each read back; training reads the file alone, so that a run repeats without the
model.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import get_args

from pydantic import ValidationError

from toolscale.canonical import canonical_json
from toolscale.errors import SpecError, SpecIssue
from toolscale.preferences.grammar import TOOL_WORDS
from toolscale.preferences.wording import LONGEST
from toolscale.records import Preference, Split, WordedPreference

REMEDY = "write the file anew with `toolscale preferences`"


class WordedPreferences:
    """Preferences of both splits. `draw` can stand wherever `preferences.preference` can."""

    def __init__(self, lines: Iterable[WordedPreference]) -> None:
        self._plain: dict[str, list[Preference]] = {split: [] for split in get_args(Split)}
        self._wishing: dict[str, list[Preference]] = {split: [] for split in get_args(Split)}
        for line in lines:
            (self._wishing if line.tools else self._plain)[line.split].append(
                Preference(**line.model_dump(exclude={"split"}))
            )

    @classmethod
    def read(cls, path: Path, aliases: Sequence[str]) -> WordedPreferences:
        """Read a file. SpecError names every line that is wrong. `aliases`: of the experts that a task may offer."""
        lines = list(_lines(path, aliases))
        if issues := [line for line in lines if isinstance(line, SpecIssue)]:
            raise SpecError(issues)
        found = cls(line for line in lines if isinstance(line, WordedPreference))
        if empty := found.splits_without():
            raise SpecError(
                [
                    SpecIssue(
                        str(path), "", f"no preference of the split {empty[0]!r} is without wishes about tools", REMEDY
                    )
                ]
            )
        return found

    def splits_without(self) -> list[str]:
        """Return the splits in which no preference fits every task, whatever it offers: nothing can be drawn from
        them."""
        return [split for split, plain in self._plain.items() if not plain]

    def draw(
        self,
        number: int,
        seed: int,
        split: Split,
        aliases: Sequence[str] = (),
        basic_tools: Sequence[str] = (),
        wish_share: float = 0.5,
    ) -> Preference:
        """Return the preference of task `number`. One that speaks of tools is drawn only where all of them are
        offered."""
        rng = random.Random(f"worded preference:{split}:{seed}:{number}")
        if rng.random() < wish_share:
            offered = {*aliases, *basic_tools}
            fitting = [one for one in self._wishing[split] if one.tools.keys() <= offered]
            if fitting:
                return rng.choice(fitting)
        return rng.choice(self._plain[split])


def as_lines(preferences: Iterable[WordedPreference]) -> bytes:
    """Return the bytes of a file."""
    return "".join(canonical_json(one.model_dump()) + "\n" for one in preferences).encode()


def _lines(path: Path, aliases: Sequence[str]) -> Iterator[WordedPreference | SpecIssue]:
    file = str(path)
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        yield SpecIssue(
            file, "", f"cannot be read ({error.strerror or error})", "name a file of `toolscale preferences`"
        )
        return
    except UnicodeDecodeError as error:
        yield SpecIssue(file, f"byte {error.start}", "the file is not UTF-8", REMEDY)
        return
    known, seen = {*aliases, *TOOL_WORDS}, dict[str, int]()
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        place = f"line {number}"
        try:
            found = WordedPreference.model_validate_json(line, strict=True)
        except ValidationError as error:
            yield _issue(file, place, error)
            continue
        said, unknown = " ".join(found.instruction.split()), sorted(found.tools.keys() - known)
        if not said or len(said) > LONGEST:
            yield SpecIssue(file, f"{place}: instruction", f"it has {len(said)} characters", f"write 1 to {LONGEST}")
        elif said in seen:
            yield SpecIssue(
                file,
                f"{place}: instruction",
                f"{_short(said)} stands in line {seen[said]} already",
                "remove one of them",
            )
        elif unknown:
            yield SpecIssue(
                file, f"{place}: tools", f"{unknown[0]!r} is never offered", f"use {', '.join(sorted(known))}"
            )
        elif wrong := next((name for name, weight in found.tools.items() if not 0 <= weight <= 1), None):
            yield SpecIssue(
                file, f"{place}: tools.{wrong}", f"{found.tools[wrong]!r} is not a weight", "write a number from 0 to 1"
            )
        else:
            seen[said] = number
            yield found


def _issue(file: str, place: str, error: ValidationError) -> SpecIssue:
    first = error.errors(include_url=False)[0]
    where = ".".join(str(part) for part in first["loc"])
    value = "" if first["type"] in ("missing", "json_invalid") else f" (value {_short(first['input'])})"
    return SpecIssue(
        file, f"{place}: {where}" if where else place, f"{first['msg'][:1].lower()}{first['msg'][1:]}{value}", REMEDY
    )


def _short(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 80 else f"{text[:77]}..."
