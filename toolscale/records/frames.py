"""`frames.yaml`: whole first messages of people, with places for the values of a case."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from toolscale.records.base import Record
from toolscale.records.intent import Spoken


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


class FramesSpec(Record):
    """`frames.yaml`; a domain without it has its requests alone."""

    writers: dict[str, FrameWriter] = Field(default_factory=dict)
    frames: tuple[Frames, ...] = ()
