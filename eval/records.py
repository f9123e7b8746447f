"""What an evaluation leaves behind: a header, and one line for each task and sample."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from toolscale.canonical import content_hash
from toolscale.records import Rollout, Stop
from toolscale.records.base import Record

HASH = 16
"""Hex digits of the hashes in lines: 64 bits tell a hundred million tasks apart."""

Status = Literal["scored", "unscored", "error"]
"""`scored`: it has a score. `unscored`: there is an answer, and nobody here can grade it. `error`: there is no answer,
through no fault of the policy; running again tries it again."""

Failure = Literal[
    "wrong call", "wrong argument", "missed fact", "wrong answer", "gave up", "limit", "malformed", "undecided"
]


class Settings(Record):
    """What a benchmark is opened with; it is kept in the header, so that the same benchmark can be opened again."""

    data: tuple[str, ...] = ()
    """Dataset folders, or files of questions."""
    setting: str | None = None
    """The setting or the set, where a benchmark has several; it is part of its name."""
    domain: str | None = None
    """Only the tasks of this domain: of a policy that was trained on the others, this leaves one domain out."""
    corpus: str | None = None
    """A folder of passages for local search."""
    config: str = "training/configs/tiny_cpu.yaml"
    """A training configuration: its section `data` says which tools, how many experts and which limits are offered."""
    catalogue: str | None = None
    """Other experts than those of the configuration."""
    price_lists: str | None = None
    """A folder of price lists instead of those of the configuration."""
    turns: int = Field(default=50, ge=1)
    """Messages of a policy at most, as in ToolOrchestra's protocol; more than training allows."""
    seed: int = 0
    own: str | None = None
    """A name of the policy's own family, where experts are shown under it (self_preference)."""
    placebo: str | None = None
    """A name of another family beside it; none: well-known ones in turn."""


class Header(Record):
    """What the lines of a folder belong to."""

    version: str
    """Of ToolScale."""
    benchmark: str
    """With its setting: `frames (closed book)`."""
    kind: str
    """The name under which it is opened again."""
    settings: Settings
    licence: str
    judged_by: str
    simulated: bool
    """Whether the experts on offer are simulated: then dollars, seconds and right answers of theirs are too."""
    notes: tuple[str, ...] = ()
    """What a reader must know of the tasks."""
    policy: str
    identity: dict[str, Any]
    """What makes the policy what it is, hashes of its files among it."""
    policy_hash: str


class Line(Record):
    """One sample of one task."""

    key: str
    """Hash of task, policy and sample: the same key is never asked for twice, but after an error."""
    task: str
    task_hash: str
    cluster: str
    """Tasks of one cluster are right or wrong together: the intent and its domain, or the template of a question."""
    groups: dict[str, str] = Field(default_factory=dict)
    """What the task is counted under: domain, tier, outcome, evolution, category."""
    policy: str
    policy_hash: str
    sample: int
    status: Status
    score: float | None
    finding: str
    failure: Failure | None = None
    stop: Stop
    judge: str
    """What graded it: `rules`, or the name of a model; `none` if nothing did."""
    confidence: float | None = None
    """From 0 to 1, where the answer says it."""
    utility: float | None = None
    """The absolute reward for the user's weights."""
    best: float | None = None
    """What the best open choice is worth in expectation, where that is known; less `utility` it is the regret."""
    weights: tuple[float, float, float] | None = None
    """Of outcome, cost and latency."""
    cost_usd: float | None
    """None where no price is known."""
    latency_s: float
    own_cost_usd: float | None
    own_latency_s: float
    """Of the policy's own messages; the rest is what it called."""
    input_tokens: int
    output_tokens: int
    turns: int
    malformed: int
    uses: dict[str, int]
    """Expert (by its name in the catalogue) or tool -> calls without an error."""
    failed_calls: int = 0
    """Calls of experts and tools that ended in an error."""
    first: str | None = None
    """The expert that was called first, by its name in the catalogue; none where no expert was called."""
    bearer: str | None = None
    """The expert that bears a model's name in this task, by its name in the catalogue."""


class Kept(Record):
    """A rollout as it lies beside its line, with what it takes to grade it again."""

    key: str
    rollout: Rollout


def task_hash_of(task: Record) -> str:
    """Return what identifies a task: all of it, prices and wishes too."""
    return content_hash(task.model_dump(mode="json"))[:HASH]


def policy_hash_of(identity: dict[str, Any]) -> str:
    """Return what identifies a policy."""
    return content_hash(identity)[:HASH]


def key_of(task_hash: str, policy_hash: str, sample: int) -> str:
    """Return the key of a line."""
    return content_hash([task_hash, policy_hash, sample])[:HASH]
