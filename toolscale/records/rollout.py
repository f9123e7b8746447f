"""What a rollout works on, what it costs, and what it leaves behind."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, model_validator

from toolscale.records.base import Record
from toolscale.records.dollars import dollars_of
from toolscale.records.expert import TYPICAL_INPUT
from toolscale.records.task import Task, ToolCall
from toolscale.records.verdict import UNDECIDED

Split = Literal["train", "test"]
"""What is trained on, and what is kept for tests."""


class Question(Record):
    """A question with a checkable answer."""

    id: str
    category: str
    """One of CATEGORIES, not `tools`."""
    text: str
    """What the user asks, in words."""
    answer: str
    answer_kind: Literal["integer", "decimal", "word", "choice", "text"]
    """How answers are compared: whole numbers, numbers within a relative 1e-6, one word or name, the letter or words of
    a choice, normalized text."""
    accepted: tuple[str, ...] = ()
    """Other written forms that are right."""
    wrong: tuple[str, ...] = Field(min_length=1)
    """Answers of the same form that are wrong and look right."""
    snippet: str | None = None
    """Python that prints the answer, where the interpreter can give it; it stands in the text between backticks."""
    lookup: str | None = None
    """What to search for, where local search finds the answer; it stands in the text between quotation marks."""
    fact: str | None = None
    """Of a question of two steps: what is found for `lookup`; the snippet computes with it, and calls it `n`."""
    source: str
    """The generator and its seed, or the dataset."""


class Script(Record):
    """One way to work on a task: calls one after the other, then a final message."""

    calls: tuple[ToolCall, ...] = ()
    answer: str


class AnswerKey(Record):
    """What a simulated expert plays, right or wrong. No orchestrator sees it."""

    right: Script
    wrong: tuple[Script, ...] = Field(min_length=1)


class Preference(Record):
    """What the user cares for: an instruction in words, and the weights that it stands for, each from 0 to 1."""

    instruction: str
    outcome: float = Field(default=1.0, ge=0, le=1)
    cost: float = Field(default=0.0, ge=0, le=1)
    latency: float = Field(default=0.0, ge=0, le=1)
    tools: dict[str, float] = Field(default_factory=dict)
    """Alias of an expert or name of a tool -> how gladly its use is seen."""


class WordedPreference(Preference):
    """One line of a file of preferences in a model's words."""

    split: Split


class Limits(Record):
    """Where a rollout stops, whatever the preferences."""

    turns: int = Field(default=50, ge=1)
    tokens: int | None = Field(default=None, ge=1)
    """Tokens of the orchestrator, read and written, over all turns."""
    dollars: float | None = Field(default=None, ge=0)
    """The most that may be spent: once it is reached, no call begins."""
    denied: tuple[str, ...] = ()
    """Aliases and tools that may not be called; a call of one is answered with an error and costs nothing."""


class OfferedExpert(Record):
    """An expert under the alias by which one task knows it, at the price that holds for that task."""

    alias: str
    expert: str
    """Its name in the catalogue."""
    input_price: float
    output_price: float
    card: str
    """What the orchestrator reads about it."""


class RolloutTask(Record):
    """A question or an environment task, with what is offered for it. Exactly one of `question` and `task` is there."""

    id: str
    category: str
    question: Question | None = None
    task: Task | None = None
    preference: Preference
    experts: tuple[OfferedExpert, ...] = ()
    basic_tools: tuple[str, ...] = ()
    """Names of the basic tools that are offered."""
    limits: Limits = Field(default_factory=Limits)
    input_tokens: int = Field(default=TYPICAL_INPUT, ge=0)
    """What an expert is taken to read for one answer, in the references of the reward: 200 for a question; for an
    environment task the policy, the tools and the request, which it reads again with each answer."""
    seed: int = 0

    @model_validator(mode="after")
    def _one_kind(self) -> RolloutTask:
        if (self.question is None) == (self.task is None):
            raise ValueError("a rollout task has a question or an environment task, and not both")
        return self


class Charge(Record):
    """One line of the ledger: a generation of the orchestrator, or a call that it made."""

    turn: int
    kind: Literal["orchestrator", "expert", "basic", "domain"]
    name: str
    """The orchestrator's name, the alias of the expert, or the tool."""
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = 0.0
    """None where no price is known."""
    latency_s: float = 0.0
    terminal: bool = False
    """It gave the final answer."""
    error: str | None = None
    """Why the call gave nothing: malformed, denied, unknown, down."""


class TokenTrace(Record):
    """The tokens of a rollout as the model saw and wrote them; never made again from text."""

    ids: tuple[int, ...]
    written: tuple[bool, ...]
    """Whether the model wrote the token: only these are trained on."""
    logprobs: tuple[float, ...]
    """Log-probability under the policy that sampled it; 0 where it was not written."""
    versions: tuple[str, ...] = ()
    """Of the weights that wrote it, as the server calls them; none where the trainer's own process samples."""


Stop = Literal["answered", "turns", "tokens", "dollars", "context", "left", "void", "failed"]
"""Why a rollout ended: with an answer, at a limit of its task, with the context of its model full, left by the person
of a dialogue, who was asked too often; or for a reason that is not the policy's. Then it is `void` where the person
erred, and `failed` otherwise (a server, a sandbox, the clock)."""

NOT_ITS_DOING: frozenset[Stop] = frozenset(("failed", "void"))
"""Ends that say nothing of the policy."""


class Rollout(Record):
    """One run of a policy on a task: all that is needed to grade it again without running it again."""

    id: str
    task_id: str
    category: str
    policy: str
    sample: int
    """Which of the group of the same task."""
    messages: tuple[dict[str, Any], ...]
    """The whole conversation in OpenAI form, the first prompt included."""
    calls: tuple[ToolCall, ...] = ()
    """Calls of the domain's tools in order, failed ones included."""
    ledger: tuple[Charge, ...]
    answer: str | None
    """The final message, in a dialogue with those since the last change of the rows; none if a limit stopped it
    before."""
    stop: Stop
    malformed: int = 0
    """Turns that could not be read as a message or as calls."""
    right: bool
    finding: str
    """What grading found, in words."""
    judge: str = ""
    """The model that read the final message, because rules could not tell; empty if rules decided."""
    trace: TokenTrace | None = None

    @property
    def undecided(self) -> bool:
        """Whether rules could not tell that its final message is right or wrong: it counts as wrong, and teaches
        nothing."""
        return self.finding.startswith(UNDECIDED)

    @property
    def cost_usd(self) -> float | None:
        """Dollars of all charges, the terminal call's included; None where they are not known of all."""
        return dollars_of(charge.cost_usd for charge in self.ledger)

    @property
    def latency_s(self) -> float:
        """Seconds of all charges, one after the other, the terminal call's included."""
        return sum(charge.latency_s for charge in self.ledger)

    def uses(self) -> dict[str, int]:
        """Alias or tool -> how often it was called without an error."""
        counts: dict[str, int] = {}
        for charge in self.ledger:
            if charge.kind != "orchestrator" and charge.error is None:
                counts[charge.name] = counts.get(charge.name, 0) + 1
        return counts
