"""An environment as written: all files of `environments/<domain>/` in one record."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from toolscale.records.base import Record
from toolscale.records.intent import CasesSpec, IntentsSpec, PolicySpec
from toolscale.records.language import LanguageSpec
from toolscale.records.population import PopulationSpec
from toolscale.records.schema import SchemaSpec
from toolscale.records.tool import ToolsetSpec


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

    @property
    def today(self) -> str:
        """The date of the clock."""
        return self.now[:10]


class EnvironmentSpec(Record):
    """One domain. `schema_` holds the tables of `schema.yaml` (the built-in table `handovers` is added when it is
    compiled)."""

    domain: str
    world: WorldSpec
    schema_: SchemaSpec
    population: PopulationSpec
    toolset: ToolsetSpec
    policy_text: str
    policy: PolicySpec
    language: LanguageSpec
    intents: IntentsSpec
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
