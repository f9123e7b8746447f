"""`frames.yaml`: whole first messages of people, with places for the values of a case."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from toolscale.records.base import Record
from toolscale.records.intent import Spoken

RETIRING = 2
"""Writers who have to say that hardly anybody would come with a shape."""


class FrameWriter(Record):
    """Who wrote frames."""

    model: Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[!-~]+( [!-~]+)*$")]
    prompt: Annotated[str, Field(pattern=r"^[0-9a-f]{16}$")]
    """Hash of what the writer was told, without the shape."""


class Frames(Record):
    """Messages of one writer for one shape."""

    shape: str
    """An intent, and what evolutions made of it: `pay_bill`, `pay_bill + quiet`, `pay_bill + constrain cover`."""
    by: str
    say: tuple[Spoken, ...]
    """Messages with places: `pay {bill} from {source}`."""


class Unasked(Record):
    """A shape with which hardly anybody would come."""

    shape: str
    why: Annotated[str, Field(min_length=1, max_length=200)]
    by: Annotated[tuple[str, ...], Field(min_length=1)]
    """The writers who say so."""


class FramesSpec(Record):
    """`frames.yaml`; a domain without it has its requests alone."""

    writers: dict[str, FrameWriter] = Field(default_factory=dict)
    frames: tuple[Frames, ...] = ()
    nobody: tuple[Unasked, ...] = ()

    @property
    def retired(self) -> frozenset[str]:
        """The shapes of which two writers say that hardly anybody would come with them: they are not drawn."""
        return frozenset(each.shape for each in self.nobody if len(set(each.by)) >= RETIRING)
