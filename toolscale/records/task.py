"""What tasks are made of: calls, results, row changes, facts, candidates."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer

from toolscale.records.base import Record
from toolscale.records.intent import FactKind


class ToolCall(Record):
    """A call as an agent makes it."""

    name: str
    arguments: dict[str, Any] = Field(default_factory=dict)


class Solution(Record):
    """A finished attempt at a task: the calls in the order in which they were made, failed ones included, and the final
    message."""

    task: str
    calls: tuple[ToolCall, ...] = ()
    answer: str


class ToolResult(Record):
    """What the agent gets back: a value, or an error that it can act on."""

    value: Any = None
    error: str | None = None

    @property
    def ok(self) -> bool:
        """Whether the call succeeded."""
        return self.error is None


class GoldenCall(Record):
    """One call of the golden trajectory with its recorded result. All golden calls succeed."""

    name: str
    arguments: dict[str, Any]
    result: Any


class RowChange(Record):
    """The net change of one row: inserted (`before` is None), deleted (`after` is None) or updated (both)."""

    table: str
    key: tuple[str | int | None, ...]
    before: dict[str, Any] | None
    after: dict[str, Any] | None


class Fact(Record):
    """What the final answer must say. `about`: what it is called, to tell it from others of its kind."""

    kind: FactKind
    value: str | int
    """Cents for money, ISO for dates, `HH:MM` for times, minutes for durations, 0 or 1 for bool. A bool with a label
    speaks of that part of the request, one without of all of it."""
    about: str | None = None
    unit: str | None = None
    """Of a number: what is written behind it. Left out of dumps where there is none, so that older ones read on."""
    withheld: bool = False
    """It is private: the final answer must not say it, hedged or not, unless another fact or the request says the same
    value."""
    field: str | None = Field(default=None, exclude=True)
    """The field of the form that takes it; None: `done` or `reasons`. It follows from the plan, and is in no row."""

    @model_serializer(mode="wrap")
    def _without_no_unit(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        found: dict[str, Any] = handler(self)
        if found.get("unit") is None:
            found.pop("unit", None)
        return found


class Scenario(Record):
    """The user's side of the task, and where it was taken from."""

    known: dict[str, Any]
    """What the request says: slots, and described columns as `role.column`."""
    unknown: dict[str, Any]
    """What the plan had to find: `role` -> primary key, or keys."""
    persona: str | None = None
    instructions: str | None = None


class Difficulty(Record):
    """Counts over the golden trajectory. `hops`: the longest chain of calls in which each needs a result of the one
    before."""

    calls: int
    reads: int
    writes: int
    hops: int
    branches: int
    tier: Literal["easy", "medium", "hard"]


class Provenance(Record):
    """Where a task comes from."""

    generator: str
    model: str | None = None
    seed: int
    candidate: int
    versions: dict[str, str]
    """Of the judge, of canonical JSON and of the environment; `proposed_by`, the model that proposed the intent (or one
    that is joined to it), where people did not write it."""
    cost_usd: float = 0.0


Turns = Literal["single", "dialogue"]
"""Whether a task is a conversation. `single`: all is said in the request. `dialogue`: part of what is needed is told
only when the agent asks for it."""

Answer = Literal["form", "message"]
"""How a task is answered. `form`: by a call of `final_answer`, whose typed fields take what was asked for. `message`:
by a message in words of the agent's own."""

DrawnTurns = Literal["mixed", "single", "dialogue"]
"""The tasks of a dataset: all alike, or `mixed`: about four in ten dialogues, the others single."""

QUIET = "quiet"
"""The line of a chain that leaves out the question of an intent. It makes nothing harder: a chain of this line alone
does not count as evolved."""


def is_evolved(evolutions: Iterable[str]) -> bool:
    """Whether a chain of evolutions makes another task of an intent, and not only one that asks nothing."""
    return any(line != QUIET for line in evolutions)


class Reply(Record):
    """What the person of a dialogue tells when asked for it."""

    about: str
    """`client.full_name`, `bill`, `amount`: a column that says who is speaking, a role, or a slot."""
    sort: Literal["identity", "row", "value"]
    kind: FactKind
    words: tuple[str, ...]
    """What questions call it: `full name`; of a row its noun first, then the columns that describe it."""
    says: str
    """The answer, in the person's words."""
    held: bool
    """It is not in the request, and is told only when asked for."""


class Candidate(Record):
    """A task before it is judged: which intent, which case, which words. Everything else is derived from it by
    recording."""

    domain: str
    number: int
    """Its place in the order of all candidates of a seed."""
    seed: int
    intent_id: str
    bindings: dict[str, tuple[tuple[str | int, ...], ...]]
    """Role -> primary keys of the rows that the case query picked (one; several for `take: all` and `any`)."""
    say: dict[str, str | int]
    """Slot -> value."""
    request: str
    """What the person says first."""
    skeleton: str
    """The request with every fact masked."""
    evolutions: tuple[str, ...] = ()
    persona: str | None = None
    """Who speaks: a name of the domain's personas."""
    turns: Turns = "single"
    answer: Answer = "form"
    added: tuple[tuple[ToolCall, ...], ...] = ()
    """Calls whose end states count as right too, by decision of a person."""
    replies: tuple[Reply, ...] = ()
    """What the person of a dialogue answers, in the order in which the plan names it."""
    context: str = ""
    """What the desk says of the person, who is signed in; empty for one who is not."""
    agenda: tuple[str, ...] = ()
    """What the person of a dialogue comes back with, in this order, whenever a message asks for nothing."""

    @model_serializer(mode="wrap")
    def _without_what_is_not_given(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out added calls, replies, context and agenda where there are none."""
        given = ("added", "replies", "context", "agenda")
        return {name: value for name, value in write(self).items() if value or name not in given}

    @property
    def held(self) -> tuple[Reply, ...]:
        """What the person tells only when asked."""
        return tuple(reply for reply in self.replies if reply.held)

    @property
    def heard(self) -> str:
        """All that an agent learns that asks for everything: who is signed in, the request, what is held back, and what
        the person comes back with."""
        return f"{self.context}\n{self.spoken}" if self.context else self.spoken

    @property
    def spoken(self) -> str:
        """All that the person says to an agent that asks for everything."""
        return "\n".join([self.request, *(reply.says for reply in self.held), *self.agenda])

    @property
    def opening(self) -> str:
        """The first message that an agent gets: the request, under what the desk says of the person."""
        return f"[{self.context}]\n\n{self.request}" if self.context else self.request

    @property
    def stream(self) -> str:
        """The row of candidates to which it belongs: its intent as written, evolved, or turned into a refusal."""
        if not is_evolved(self.evolutions):
            return self.intent_id
        return f"{self.intent_id}+{'turned' if self.evolutions[0].startswith('refuse ') else 'evolved'}"


class GoldenTrajectory(Record):
    """What the recorder, an agent that cannot see the database, did for a candidate."""

    calls: tuple[GoldenCall, ...]
    facts: tuple[Fact, ...]
    answer: str
    """A final message that states the facts."""
    row_changes: tuple[RowChange, ...]


class Solved(Record):
    """How often models solved a task."""

    tries: int
    right: int
    undecided: int
    """Attempts whose message rules could not decide; they are not among the right ones."""
    models: tuple[str, ...]


class Task(Record):
    """One row of a dataset."""

    id: str
    domain: str
    intent_id: str
    evolutions: tuple[str, ...]
    outcome: Literal["fulfil", "refuse", "transfer"]
    request: str
    turns: Turns
    answer: Answer
    scenario: Scenario
    golden_calls: tuple[GoldenCall, ...]
    communicate: tuple[Fact, ...]
    form: dict[str, Any] | None = None
    """The parameters of `final_answer`, if the task is answered by a form."""
    row_changes: tuple[RowChange, ...]
    touched: tuple[tuple[str, str], ...]
    """(table, key as canonical JSON), in order of first touch."""
    difficulty: Difficulty
    environment_hash: str
    initial_state_hash: str
    verdict: dict[str, str]
    """Gate -> finding."""
    mutants_killed: int
    provenance: Provenance
    candidate: Candidate
    """What recording started from, so that the row can be judged again."""
    solved: Solved | None = None
    """None where no model tried."""
