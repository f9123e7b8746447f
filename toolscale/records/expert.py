"""Experts: models that are offered as tools, with a price, a latency and measured skills."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from toolscale.records.base import Record

CATEGORIES = ("arithmetic", "code", "lookup", "mathematics", "knowledge", "reasoning", "tools")
"""What a task asks for, and what an expert is good or bad at. `tools`: environment tasks, in which tools of a domain
are called."""

TYPICAL_INPUT = 200
"""Tokens of the question where a typical answer is priced: on cards, and in the references of the reward."""


class Price(Record):
    """US dollars for one million tokens."""

    input: float = Field(ge=0)
    output: float = Field(ge=0)


class Effort(Record):
    """What one answer of an expert takes on average in one category. Draws spread around these means (`spread`)."""

    output_tokens: float = Field(gt=0)
    """Tokens written, reasoning included."""
    latency_s: float = Field(ge=0)
    """Seconds from request to last token."""


class Endpoint(Record):
    """An OpenAI-compatible server."""

    base_url: str
    model: str
    api_key_env: str | None = None
    """The environment variable that holds the key; none for a server that wants none."""
    timeout_s: float = Field(default=120.0, gt=0)
    """After so long one request is given up."""
    deadline_s: float = Field(default=600.0, gt=0)
    """After so long no further attempt is made."""


class ExpertSpec(Record):
    """One expert of a catalogue. Its backend is `endpoint` if there is one, else it is simulated."""

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9.-]*$")
    """Its name in catalogues, price lists and figures; an orchestrator sees an alias instead."""
    title: str
    description: str | None = None
    """In words, strengths and weaknesses; none: worded from the measured skills."""
    price: Price
    skills: dict[str, float]
    """Category -> share of right answers."""
    effort: dict[str, Effort]
    """Category -> what an answer takes."""
    spread: float = Field(default=0.5, ge=0, le=1.5)
    """Sigma of the logarithm of tokens and seconds of one answer around their mean."""
    endpoint: Endpoint | None = None
    source: str
    """Where the figures are from."""

    @model_validator(mode="after")
    def _all_categories(self) -> ExpertSpec:
        for name, given in (("skills", self.skills), ("effort", self.effort)):
            if set(given) != set(CATEGORIES):
                raise ValueError(f"{name} must have exactly the categories {', '.join(CATEGORIES)}")
        if not all(0 <= share <= 1 for share in self.skills.values()):
            raise ValueError("a skill is a share of right answers, from 0 to 1")
        return self


class Catalogue(Record):
    """The experts that can be offered."""

    title: str
    experts: tuple[ExpertSpec, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _names_differ(self) -> Catalogue:
        names = [expert.name for expert in self.experts]
        if len(set(names)) != len(names):
            raise ValueError("two experts have the same name")
        return self


class PriceList(Record):
    """What one provider asks for the models that it serves."""

    provider: str
    source: str
    prices: dict[str, Price]
    """Name of an expert -> price. An expert that is not listed keeps the price of the catalogue."""


class ExpertReply(Record):
    """What an expert gave back, or why it gave nothing."""

    content: str | None = None
    tool_calls: tuple[dict[str, object], ...] = ()
    """In OpenAI form; only where a conversation with tools was handed over."""
    input_tokens: int = 0
    output_tokens: int = 0
    """Tokens are charged even where there is an error: those that the server counted, or about as many as the texts
    have; where there is no text (a request that timed out), all that there can be."""
    latency_s: float = 0.0
    error: str | None = None
    kind: Literal["simulated", "endpoint"] = "simulated"
