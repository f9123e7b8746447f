"""In which words a question is asked: a file of phrasings for each split, by people who did not see each other's.

    arithmetic/share:
      - "How much is {percent} percent of {total}? It is the value of `{code}`."

Whoever wrote for the test split wrote nothing for the training split, so a model that is tested reads people that it
does not know. docs/decisions/0035 says how they were written.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import yaml

from toolscale.records import Split


@dataclass(frozen=True, slots=True)
class Phrasings:
    """Ways to ask the same, with slots in braces. The splits share none."""

    train: tuple[str, ...]
    test: tuple[str, ...]

    def of(self, split: Split) -> tuple[str, ...]:
        """Return those of a split."""
        return self.train if split == "train" else self.test


def phrasings_of(name: str) -> Phrasings:
    """Return the phrasings of this name in both files. KeyError if a file has none."""
    train, test = (tuple(_read(split)[name]) for split in ("train", "test"))
    return Phrasings(train, test)


@cache
def _read(split: Split) -> dict[str, list[str]]:
    text = files(__package__).joinpath(f"phrasings_{split}.yaml").read_text(encoding="utf-8")
    found: dict[str, list[str]] = yaml.load(text, Loader=yaml.CSafeLoader)
    return found
