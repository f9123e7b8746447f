"""Tasks on whose outcome solvers agree, against the golden one: a person decides what is right."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from toolscale.dataset.columns import Row, candidate_of, load_cell
from toolscale.dataset.given import DECISIONS, read_given, write_decisions
from toolscale.dataset.storage import clear_work_folder
from toolscale.errors import UsageError
from toolscale.pipeline.remaking import Made, open_made, remake
from toolscale.records import Candidate, Decision, ToolCall
from toolscale.tasks.candidate_keys import key_of
from toolscale.temporary_folders import temporary_folder
from toolscale.verify.solvable import QUARANTINED


@dataclass(frozen=True)
class Case:
    """A task in quarantine."""

    candidate: Candidate
    finding: str
    golden: tuple[ToolCall, ...]
    agreed: tuple[ToolCall, ...]
    """The calls that write, of the first attempt of those that agree."""
    answer: str
    row: Row
    """The row of the reject."""


def quarantined(dataset: Path) -> list[Case]:
    """Return the tasks of a dataset that wait for a decision, in the order of their candidates."""
    return [case_of(row) for row in open_made(dataset).reading.rows.rejects if is_quarantined(row)]


def is_quarantined(row: Row) -> bool:
    """Return whether a reject waits for a decision, and for nothing else."""
    failed = row["failed"]
    return [gate["gate"] for gate in failed] == ["solvable"] and failed[0]["finding"].startswith(QUARANTINED)


def case_of(row: Row) -> Case:
    """Return the case that a reject in quarantine is."""
    survivor = load_cell(row["survivor"])
    return Case(
        candidate_of(row),
        row["failed"][0]["finding"],
        tuple(ToolCall(name=call["name"], arguments=load_cell(call["arguments"])) for call in row["golden_calls"]),
        tuple(ToolCall.model_validate(call) for call in survivor["calls"]),
        survivor["answer"] or "",
        row,
    )


def decision_on(case: Case, environment_hash: str, take: str, reason: str, by: str) -> Decision:
    """Return what a person decided about a case."""
    calls = case.agreed if take == "add" else ()
    key = key_of(case.candidate, environment_hash)
    return Decision.model_validate({"candidate": key, "take": take, "reason": reason, "by": by, "calls": calls})


def keep_decision(environment: Path, decision: Decision) -> Path:
    """Keep a decision with an environment, in the place of an earlier one about the same task; return the file."""
    kept = dict(read_given(None, environment).decisions)
    return write_decisions(environment, [*(kept | {decision.candidate: decision}).values()])


def decide(
    dataset: Path,
    number: int,
    take: str,
    reason: str,
    by: str,
    progress: Callable[[str, int, int], None] = lambda act, done, total: None,
) -> tuple[Made, Path]:
    """Decide about the task of candidate `number`, and make the dataset again; return it, and the file in which the
    decision is kept. UsageError if that task is not in quarantine."""
    made = open_made(dataset)
    rows = {row["number"]: row for row in made.reading.rows.rejects if is_quarantined(row)}
    if number not in rows:
        clear_work_folder(dataset, "work")  # of a process that was killed when it was decided
        waiting = ", ".join(map(str, sorted(rows))) or "none"
        raise UsageError(f"candidate {number} of {dataset} does not wait for a decision; these do: {waiting}")
    decision = decision_on(case_of(rows[number]), made.part.environment_hash, take, reason, by)
    if made.home.is_relative_to(dataset):  # what a dataset holds changes with all of it, or not at all
        with temporary_folder("decision") as folder:
            home = Path(shutil.copytree(made.home, folder / made.domain))
            keep_decision(home, decision)
            remake(replace(made, home=home), made.given, dataset, progress)
        return open_made(dataset), made.home / DECISIONS
    file = keep_decision(made.home, decision)
    remake(made, made.given, dataset, progress)
    return open_made(dataset), file
