"""An environment as written: all files of `environments/<domain>/` in one record."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from toolscale.records.base import Record
from toolscale.records.dollars import dollars_of
from toolscale.records.frames import FramesSpec
from toolscale.records.intent import CasesSpec, IntentsSpec, PolicySpec
from toolscale.records.language import LanguageSpec
from toolscale.records.population import PopulationSpec
from toolscale.records.schema import SchemaSpec
from toolscale.records.tool import ToolsetSpec


class DraftStage(Record):
    """What a model was asked for in one step of a draft."""

    replies: Annotated[int, Field(ge=0, le=10**6)]
    input_tokens: Annotated[int, Field(ge=0, le=10**12)]
    output_tokens: Annotated[int, Field(ge=0, le=10**12)]
    usd: Annotated[float, Field(ge=0, le=10**9, allow_inf_nan=False)] | None = None
    """Dollars that the replies cost when they were asked for; None where no price was known."""


class DraftCandidate(Record):
    """One of several first replies to a step of a draft, and what was measured of it in a copy of the folder."""

    part: Annotated[int, Field(ge=1, le=10**6)]
    """Which part of the step it is for, from 1 on."""
    sample: Annotated[int, Field(ge=0, le=10**6)]
    """Number of the reply among those for the part, from 0 on."""
    coverage: Annotated[float, Field(ge=0, le=1)]
    """Of tools: share of the tables and wishes that they serve. Of intents: share of the wishes that have one, and of
    the writing tools that are called."""
    findings: Annotated[int, Field(ge=0, le=10**6)]
    """What the checks found in the copy."""
    sequences: Annotated[int, Field(ge=0, le=10**6)]
    """Sequences of calls (of tools: of writes) that were not in the folder before."""
    words: Annotated[int, Field(ge=0, le=10**6)]
    """Words of requests (of tools: of descriptions) that were not there before."""
    kept: bool


class DraftOrigin(Record):
    """By which model a domain was drafted, and what it took."""

    model: Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[!-~]+( [!-~]+)*$")]
    prompts: Annotated[int, Field(ge=1)]
    """Version of the prompts."""
    stages: dict[Annotated[str, Field(pattern=r"^[a-z][a-z_]{0,40}$")], DraftStage]
    """Step -> what it took."""
    candidates: dict[str, tuple[DraftCandidate, ...]] = Field(default_factory=dict)
    """Step -> its first replies, where several were asked for."""

    @property
    def total(self) -> DraftStage:
        """All steps together."""
        parts = list(self.stages.values())
        dollars = dollars_of(part.usd for part in parts)
        return DraftStage(
            replies=sum(part.replies for part in parts),
            input_tokens=sum(part.input_tokens for part in parts),
            output_tokens=sum(part.output_tokens for part in parts),
            usd=None if dollars is None else round(dollars, 6),
        )


class ProposalOrigin(DraftOrigin):
    """By which model intents were proposed for a domain, and what it took."""

    base: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    """Hash of the environment that they were proposed for."""


class WorldSpec(Record):
    """`environment.yaml`."""

    title: str
    description: str
    version: str
    """One to three numbers with dots between them; part of the tag of a published dataset."""
    license: str
    """Under what licence datasets of the domain are published: an identifier of
    https://huggingface.co/docs/hub/repositories-licenses."""
    now: str
    """The frozen clock, `YYYY-MM-DDTHH:MM:SS`."""
    currency: str = "USD"
    locale: str = "en_US"
    transfer_reasons: dict[str, str] = Field(default_factory=dict)
    """Reason codes of the built-in tool `transfer_to_human`, each with its meaning."""
    tasks: Annotated[int, Field(ge=1, le=10**6)] = 396
    """How many tasks a dataset has unless told otherwise."""
    example: bool = False
    """The domain shows how domains are written; it is not made when all are."""
    signed_in: Annotated[int, Field(ge=0, le=100)] = 70
    """Of a hundred people, those who are signed in: the context of their task says who they are, not their message."""
    slips: Literal["counted", "forgiven"] = "counted"
    """A change that nobody asked for and that the next change takes back whole costs the point (`counted`) or not.
    What the rules forbid costs it always."""
    drafted: DraftOrigin | None = None
    """Where a model drafted the domain; `toolscale draft` writes it, and it is not checked."""
    proposed: tuple[ProposalOrigin, ...] = ()
    """Where a model proposed intents; `toolscale propose` writes it, and it is not checked."""

    @property
    def today(self) -> str:
        """The date of the clock."""
        return self.now[:10]


class PolicySentence(Record):
    """A sentence of `policy.md`."""

    line: int
    text: str
    by: tuple[str, ...]
    """What enforces it: rules, invariants, tools, criteria of a grade, or `meaning`."""


class EnvironmentSpec(Record):
    """One domain. `schema_` holds the tables of `schema.yaml` (the built-in table `handovers` is added when it is
    compiled)."""

    domain: str
    world: WorldSpec
    schema_: SchemaSpec
    population: PopulationSpec
    toolset: ToolsetSpec
    policy_text: str
    """As agents read it."""
    policy_sentences: tuple[PolicySentence, ...]
    policy: PolicySpec
    language: LanguageSpec
    intents: IntentsSpec
    frames: FramesSpec
    cases: CasesSpec


class ToolAdmission(Record):
    """What admission found out about one tool."""

    mutates_state: bool
    reads: tuple[str, ...]
    """`table.column`, sorted."""
    writes: tuple[str, ...]
    consumes: dict[str, tuple[str, ...]]
    """Parameter -> columns it is compared with."""
    produces: tuple[str, ...]
    guards_reached: int
    calls: int
    """Calls made on both engines, all alike."""
    boundary_calls: int


class Admission(Record):
    """`admission.json`: the environment with this hash was admitted."""

    environment_hash: str
    files: dict[str, str]
    """File name -> content hash, so that a change can be named."""
    initial_state_hash: str
    """State hash of the rows of seed 0."""
    tools: dict[str, ToolAdmission]
    versions: dict[str, str]
    details: dict[str, Any] = Field(default_factory=dict)
    """`lookups`: the tools that were derived from the schema, as they would stand in toolset.yaml."""
