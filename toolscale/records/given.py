"""What models and people gave to a dataset, beside the seed that it is drawn from: attempts, readings, decisions."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from toolscale.records.base import Record
from toolscale.records.dollars import Dollars
from toolscale.records.task import ToolCall

CandidateKey = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
"""Names a candidate of one environment: `toolscale.tasks.candidate_keys`."""

ModelName = Annotated[str, Field(pattern=r"^[!-~]{1,200}$")]


class Attempt(Record):
    """What a model did with a task: one of several tries."""

    candidate: CandidateKey
    sample: Annotated[int, Field(ge=0)]
    model: ModelName
    calls: tuple[ToolCall, ...] = ()
    """Those of the domain's tools in order, failed ones included."""
    answer: str | None
    """None if a limit stopped it before."""
    usd: Dollars | None = None
    """None where no price was known."""


class Loss(Record):
    """What was paid for a try at a task that came to nothing: the server did not let it end, or the person erred."""

    candidate: CandidateKey
    sample: Annotated[int, Field(ge=0)]
    model: ModelName
    usd: Dollars | None = None
    """None where no price was known."""


class Reading(Record):
    """What a model that judges found in the final message of an attempt, where rules cannot tell whether it is
    right."""

    candidate: CandidateKey
    message: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    """Names the message, and the calls after which it was written: `toolscale.verify.readings`."""
    model: ModelName
    """The judge."""
    prompt: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    """The hash of all that the judge is told beside the task and the message."""
    verdict: Literal["right", "wrong"]
    sentence: Annotated[str, Field(max_length=1_000)] = ""
    """The sentence of the message that decided; empty if what is missing did."""
    why: Annotated[str, Field(max_length=1_000)] = ""
    usd: Dollars | None = None
    """None where no price was known."""


class Decision(Record):
    """What a person decided about a task on whose outcome several solvers agree, against the golden one."""

    candidate: CandidateKey
    take: Literal["accept", "reject", "add"]
    """`accept`: the task stays as it is; `reject`: it goes; `add`: the end state of `calls` counts as right too."""
    reason: Annotated[str, Field(min_length=1, max_length=2_000)]
    by: Annotated[str, Field(max_length=200)] = ""
    calls: tuple[ToolCall, ...] = ()
