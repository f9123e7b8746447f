"""Judge rows of a dataset again and compare the outcome with everything that the row claims."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from toolscale.canonical import canonical_json
from toolscale.dataset.checking.integrity import Finding
from toolscale.dataset.columns import (
    UNREADABLE,
    Row,
    candidate_of,
    golden_calls,
    reject_row,
    task_of,
    task_row,
    tools_json,
)
from toolscale.dataset.making.judging import KeptJudge, Place, close_kept_judges, kept_judge_at
from toolscale.dataset.making.selection import with_gate
from toolscale.environment.prompt import system_message
from toolscale.errors import DatasetError, SandboxError
from toolscale.records import Candidate, GateResult, Judged
from toolscale.sandbox.base import to_row_changes

GATE_OF = {
    "golden_calls": "replay",
    "row_changes": "replay",
    "touched": "replay",
    "expected_row_changes": "replay",
    "actual_row_changes": "mutants_killed",
    "survivor": "mutants_killed",
    "mutants_killed": "mutants_killed",
    "communicate": "grounded",
    "request": "grounded",
    "skeleton": "grounded",
    "scenario": "grounded",
}
"""Column -> the gate that answers for it; `schema` answers for the others."""

OF_ENVIRONMENT = {"id", "environment_hash", "initial_state_hash"}
"""Columns that change in every row if the environment does."""

CONTENT = ("golden_calls", "row_changes", "touched", "communicate", "request", "scenario")
"""Columns that are the same whichever judge is used. Those that a judge writes may differ from version to version."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """Rows to judge again, each with its place, and where to judge them."""

    at: Place
    rows: tuple[tuple[str, Row], ...]
    environment_changed: bool
    """The environment is not the one that the manifest names. That is reported once, not for every row."""
    seed: int = 0
    """From which the candidates are drawn, as the manifest says."""


@dataclass(frozen=True, slots=True)
class Numbers:
    """Numbers that left no row, to be drawn and judged again, and where."""

    at: Place
    seed: int
    numbers: tuple[int, ...]


def judge_numbers(numbers: Numbers) -> list[tuple[int, Judged | None]]:
    """Draw and judge candidates; None for a number that has no case."""
    kept = kept_judge_at(numbers.at)
    drawn = [(number, kept.draw(numbers.seed, number)) for number in numbers.numbers]
    return [(number, None if candidate is None else kept.judged(candidate)) for number, candidate in drawn]


def recheck_chunk(chunk: Chunk) -> tuple[list[Finding], list[Judged]]:
    """Return what does not hold in the rows, and the rows judged again: tasks, or rejects (they have a column
    `reproduce`).

    One finding a row and gate. A row that cannot be judged has a finding, and is not among those judged again.
    """
    ignored = OF_ENVIRONMENT if chunk.environment_changed else set()
    findings, judged = dict[tuple[str, str], Finding](), list[Judged]()
    for place, row in chunk.rows:
        kept = kept_judge_at(chunk.at)
        recheck = _recheck_reject if "reproduce" in row else _recheck_task
        try:
            for gate, finding in recheck(kept, row, chunk.seed, ignored, judged):
                findings.setdefault((place, gate), Finding(place, gate, finding))
        except DatasetError as error:
            findings.setdefault((place, "schema"), Finding(place, "schema", str(error)))
        except (SandboxError, *UNREADABLE) as error:  # a row that every record accepts, but that makes no sense
            findings.setdefault(
                (place, "schema"),
                Finding(place, "schema", f"it cannot be judged: {type(error).__name__}: {_short(str(error))}"),
            )
            close_kept_judges()  # judging stopped halfway: the next row gets a fresh one
    return list(findings.values()), judged


def regrade_chunk(chunk: Chunk) -> list[dict[str, str] | str]:
    """Return for each task, in order, the gates that it fails today with their findings, or why it cannot be judged.

    Only the content of the task counts: if a finding is worded differently, or the number of mutants is another, that
    is no failure.
    """
    kept = kept_judge_at(chunk.at)
    return [_regrade(kept, row) for _, row in chunk.rows]


def _regrade(kept: KeptJudge, row: Row) -> dict[str, str] | str:
    gates: dict[str, str] = {}
    try:
        task_of(row)
        judged = _with_novelty(_judge_again(kept, row), row)
        for gate, finding in _replay(kept, row):
            gates.setdefault(gate, finding)
    except (DatasetError, SandboxError) as error:
        return str(error)
    except UNREADABLE as error:
        return f"it cannot be judged: {type(error).__name__}: {_short(str(error))}"
    for failed in judged.verdict.failed:
        if failed.gate != "novel":  # compares tasks: whoever asks has them all
            gates.setdefault(failed.gate, failed.finding)
    if judged.task is not None:
        anew = task_row(judged, "", "")
        for column in CONTENT:
            if row[column] != anew[column]:
                gates.setdefault(GATE_OF[column], _difference(column, row[column], anew[column]))
    return gates


def _recheck_task(
    kept: KeptJudge, row: Row, seed: int, ignored: set[str], done: list[Judged]
) -> Iterator[tuple[str, str]]:
    task_of(row)
    yield from _replay(kept, row)
    judged = _judge_again(kept, row)
    done.append(judged)
    judged = _with_novelty(judged, row)
    yield from _draw_again(kept, judged.candidate, seed)
    yield from ((gate.gate, gate.finding) for gate in judged.verdict.failed)
    if judged.task is not None:
        yield from _differences(
            row, task_row(judged, system_message(kept.environment), tools_json(kept.environment)), ignored
        )


def _recheck_reject(
    kept: KeptJudge, row: Row, seed: int, ignored: set[str], done: list[Judged]
) -> Iterator[tuple[str, str]]:
    if not row["failed"]:
        yield "schema", "it is a reject and names no gate that it failed"
    judged = _judge_again(kept, row)
    done.append(judged)
    yield from _draw_again(kept, judged.candidate, seed)
    yield from _differences(
        row, reject_row(_with_novelty(judged, row), kept.environment.hash, kept.place.scale), ignored
    )


def _draw_again(kept: KeptJudge, candidate: Candidate, seed: int) -> Iterator[tuple[str, str]]:
    """Draw the candidate again from its number, and compare. The judge alone would not notice a word that is not from
    the pipeline, but was added by somebody."""
    drawn = kept.draw(seed, candidate.number) if candidate.number >= 0 else None
    if drawn is None:
        yield "schema", f"candidate {candidate.number} has no case under the seed {seed}: nothing drew this task"
    elif drawn != candidate:
        stored, anew = candidate.model_dump(mode="json"), drawn.model_dump(mode="json")
        name = next(name for name in stored if stored[name] != anew[name])
        yield (
            GATE_OF.get(name, "schema"),
            _difference(f"candidate.{name}", stored[name], anew[name], f"drawn again from the seed {seed} it is"),
        )


def _judge_again(kept: KeptJudge, row: Row) -> Judged:
    candidate = candidate_of(row)
    if candidate.domain != kept.environment.domain or all(
        candidate.intent_id != intent.id for intent in kept.environment.spec.intents.intents
    ):
        raise DatasetError(
            f"candidate: there is no intent {candidate.intent_id!r} in the environment {kept.environment.domain!r}"
        )
    try:
        return kept.judged(candidate)
    except LookupError as error:
        raise DatasetError(f"candidate: it names something that the environment does not have: {error}") from error


def _with_novelty(judged: Judged, row: Row) -> Judged:
    """Return the candidate with the result of the gate `novel` taken from the row. That gate compares candidates, so it
    is judged over the whole folder, not here."""
    stored = next((gate for gate in row["verdict"] if gate["gate"] == "novel"), None)
    return with_gate(judged, GateResult.model_validate(stored)) if stored else judged


def _replay(kept: KeptJudge, row: Row) -> Iterator[tuple[str, str]]:
    """Replay the stored calls as they stand, from a fresh reset; stop at the first that differs."""
    kept.world.reset()
    for number, call in enumerate(golden_calls(row), 1):
        result = kept.world.call(call.name, call.arguments)
        if not result.ok:
            yield "replay", f"golden call {number}, {call.name}, fails: {result.error}"
            return
        if canonical_json(result.value) != canonical_json(call.result):
            yield "replay", f"golden call {number}, {call.name}: " + _difference("result", call.result, result.value)
            return
    changes = to_row_changes(kept.environment.schema, kept.world.net_changes())
    changed = canonical_json([change.model_dump(mode="json") for change in changes])
    if changed != row["row_changes"]:
        yield "replay", _difference("row_changes", row["row_changes"], changed)
    touched = [{"table": table, "key": canonical_json(key)} for table, key in kept.world.touched()]
    if touched != row["touched"]:
        yield "replay", _difference("touched", row["touched"], touched)


def _differences(row: Row, anew: Row, ignored: set[str]) -> Iterator[tuple[str, str]]:
    stored_gates = {gate["gate"]: gate for gate in row["verdict"]}
    for gate in anew["verdict"]:
        if stored_gates.get(gate["gate"]) != gate:
            yield gate["gate"], _difference("verdict", stored_gates.get(gate["gate"]), gate)
    same_gates = list(stored_gates) == [gate["gate"] for gate in anew["verdict"]]
    for column, value in anew.items():
        stored = row[column]
        if column == "verdict" and same_gates:
            continue  # compared gate by gate above
        if column not in ignored and stored != value:
            yield GATE_OF.get(column, "schema"), _difference(column, stored, value)


def _difference(path: str, stored: Any, anew: Any, again: str = "executed again it is") -> str:
    """Say where two values first differ, and how."""
    if isinstance(stored, dict) and isinstance(anew, dict) and stored.keys() == anew.keys():
        name = next(name for name in stored if stored[name] != anew[name])
        return _difference(f"{path}.{name}", stored[name], anew[name], again)
    if isinstance(stored, list) and isinstance(anew, list) and len(stored) == len(anew):
        place = next(place for place in range(len(stored)) if stored[place] != anew[place])
        return _difference(f"{path}[{place}]", stored[place], anew[place], again)
    return f"{path} is {_short(stored)}; {again} {_short(anew)}"


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else canonical_json(value)
    return text if len(text) <= 300 else f"{text[:300]}… ({len(text)} characters)"
