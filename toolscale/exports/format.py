"""What a format of an export is: which files it makes of a dataset, and what its host cannot say."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import jinja2

from toolscale.errors import UsageError
from toolscale.exports.golden import Golden
from toolscale.forbidden_names import FORBIDDEN
from toolscale.records import Split

SPLITS: tuple[Split, ...] = ("train", "test")
ORDERS = "orders"
"""The option for conversations of a task in several orders."""
FILES = Path(__file__).parent / "files"
Options = Mapping[str, str]


@dataclass(frozen=True)
class Source:
    """A dataset that is exported."""

    name: str
    """Such as `toolscale-finance`."""
    fingerprint: str
    """The SHA-256 of its manifest."""
    golden: Sequence[Golden]
    """The tasks that the host can play."""
    license: str = ""
    """Of the dataset; of several domains all, with `AND`."""

    @property
    def module(self) -> str:
        """The name, as one of Python."""
        return re.sub(r"\W+", "_", self.name).strip("_").lower()

    def of(self, split: Split) -> list[Golden]:
        """The tasks of a split."""
        return [golden for golden in self.golden if golden.split == split]

    @property
    def splits(self) -> list[Split]:
        """The splits that have tasks: no file is written of another one, since hosts cannot read an empty one."""
        return [split for split in SPLITS if self.of(split)]

    def check_names(self, host: str) -> None:
        """UsageError if the host refuses the name of a tool or parameter: `admit` does so too, but did not always."""
        refused = [each for each in FORBIDDEN if each.consumer == host]
        for golden in self.golden:
            for tool in golden.domain_tools:
                named = [("tool", tool["function"]["name"])]
                named += [("parameter", each) for each in tool["function"]["parameters"].get("properties", ())]
                for kind, name in named:
                    for found in (each for each in refused if kind in each.kinds and each.refuses(name)):
                        why = f"which {found.why}" if not found.why.startswith(("is a ", "is an ")) else found.why[3:]
                        raise UsageError(
                            f"{golden.task.domain} has a {kind} {name!r}, {why}; give the {kind} another name"
                        )

    @property
    def domains(self) -> list[str]:
        """The domains of the tasks, sorted."""
        return sorted({each.task.domain for each in self.golden})


Make = Callable[[Source, Options], Iterator[tuple[str, str | bytes]]]
"""Yields (path in the export, content). Text is written as UTF-8."""


@dataclass(frozen=True)
class Format:
    """One format."""

    name: str
    host: str
    """The program that reads it, with the version that it was run with."""
    about: str
    make: Make
    plays: bool = False
    """The host plays the tasks, so the export holds the dataset with its environments."""
    is_replaced: bool = True
    """Whether it is written again over itself: not where running jobs read the folder."""
    talks: bool = False
    """The host has a user who answers; else dialogues are left out."""
    options: Mapping[str, str] = field(default_factory=dict)
    """Option -> its value unless told, and what it does."""
    cannot: tuple[str, ...] = ()
    """What the host has no word for, a sentence each."""


def lines_of(rows: Iterable[Mapping[str, Any]]) -> str:
    """Return rows as JSON lines."""
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def json_of(value: object) -> str:
    """Return a value as the text of a JSON file."""
    return json.dumps(value, ensure_ascii=False, indent=1) + "\n"


def render(name: str, **values: object) -> str:
    """Return a file of `files/`, filled in."""
    return _templates().get_template(name).render(**values)


@cache
def _templates() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(FILES),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
