"""Requests in the words of a model, in the place of those of the template."""

from __future__ import annotations

from collections.abc import Callable

from toolscale.canonical import content_hash
from toolscale.environment.column_kinds import kind_of_column
from toolscale.environment.environment import Environment
from toolscale.language.marks import Known, marks_of, masked
from toolscale.records import Candidate, Decision, Words, WordsLine
from toolscale.tasks.plan import Plan
from toolscale.tasks.record import Inputs

Skeleton = Callable[[Candidate, str], str]
"""Gives the skeleton of a request in other words for a candidate."""


def key_of_template(candidate: Candidate, environment_hash: str) -> str:
    """Return the key under which the words of a candidate are kept. They fit however it is answered, and the key is the
    same once it has them."""
    fields = candidate.model_dump(mode="json", exclude={"words", "added", "turns", "answer", "skeleton"})
    request = candidate.request if candidate.words is None else candidate.words.template
    return content_hash([environment_hash, {**fields, "request": request}])


def key_of(candidate: Candidate, environment_hash: str) -> str:
    """Return the key under which attempts at a candidate, and decisions about it, are kept: they are about these words,
    answered in this way."""
    return content_hash([environment_hash, candidate.model_dump(mode="json", exclude={"added"})])


def worded(candidate: Candidate, line: WordsLine, skeleton: str) -> Candidate:
    """Return a candidate in the words of a model; `skeleton`: the same words with every fact masked."""
    words = Words(model=line.model, style=line.style, template=candidate.request)
    return candidate.model_copy(update={"request": line.request, "skeleton": skeleton, "words": words})


def known_values(plan: Plan, environment: Environment, inputs: Inputs) -> tuple[Known, ...]:
    """Return the values that the request of a case says: its slots, and the described columns of its rows."""
    tables = environment.schema.tables
    slots = [Known(name, slot.kind, inputs.say[name]) for name, slot in plan.intent.slots.items()]
    return (
        *slots,
        *(
            Known(
                f"{role}.{column}", kind_of_column(column, tables[plan.roles[role].table].columns[column].type), value
            )
            for role, columns in inputs.said.items()
            for column, value in columns.items()
            if value is not None
        ),
    )


def skeleton_of(request: str, plan: Plan, environment: Environment, inputs: Inputs) -> str:
    """Return a request with a box wherever a value of the case stands, however it is written."""
    known = known_values(plan, environment, inputs)
    return masked(request, marks_of(request, known, environment.spec.world.today))


def decided(candidate: Candidate, decision: Decision) -> Candidate:
    """Return a candidate after a decision: of the kind `add`, another end state counts as right."""
    return candidate.model_copy(update={"added": (decision.calls,)}) if decision.take == "add" else candidate
