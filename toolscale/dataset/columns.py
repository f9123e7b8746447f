"""The rows of a dataset: the way from records to rows of TASK_SCHEMA and REJECT_SCHEMA, and back."""

from __future__ import annotations

import json
from typing import Any

from pydantic import ValidationError

from toolscale.canonical import canonical_json
from toolscale.environment.environment import Environment
from toolscale.environment.prompt import with_dialogue
from toolscale.errors import DatasetError
from toolscale.records import Candidate, Fact, GateResult, GoldenCall, Judged, RowChange, Task, Verdict
from toolscale.strict_json import nests_deeper
from toolscale.tasks.form import with_form

Row = dict[str, Any]

DEEPEST_CELL = 60
"""Levels of the JSON of a cell; those of finance have up to seven."""

_NUMERIC = {"money", "number", "duration", "bool", "yes_no"}
_JSON = {"known", "unknown", "versions"}

UNREADABLE = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""What Python raises when a cell does not hold what its column says: it is not JSON, is nested too deeply, or has
another shape."""


def tools_json(environment: Environment) -> str:
    """Return the tools of an environment as OpenAI functions, in the order of the toolset."""
    return canonical_json([tool.spec.openai_function() for tool in environment.tools.values()])


def task_row(judged: Judged, system: str, tools: str) -> Row:
    """Return an accepted candidate as a row of TASK_SCHEMA. `system`: what an agent is told first, dialogues aside."""
    task = judged.task
    assert task is not None, "only recorded candidates are accepted"
    row = task.model_dump(mode="json", exclude={"verdict", "candidate", "form"})
    scenario, provenance = row["scenario"], row["provenance"]
    return row | {
        "scenario": scenario | {name: canonical_json(scenario[name]) for name in _JSON & scenario.keys()},
        "provenance": provenance | {"versions": canonical_json(provenance["versions"])},
        "prompt": [
            {"role": "system", "content": with_dialogue(system, task.turns, task.answer)},
            {"role": "user", "content": task.candidate.opening},
        ],
        "tools": tools if task.form is None else canonical_json(with_form(json.loads(tools), task.form)),
        "golden_calls": _calls(task),
        "communicate": [_fact_cell(fact) for fact in row["communicate"]],
        "row_changes": canonical_json(row["row_changes"]),
        "touched": [{"table": table, "key": key} for table, key in task.touched],
        "verdict": _verdict(judged.verdict),
        "candidate": canonical_json(task.candidate.model_dump(mode="json")),
        "solved": row["solved"],
    }


def reject_row(judged: Judged, environment_hash: str, scale: int = 1) -> Row:
    """Return a rejected candidate, of a database of that scale, as a row of REJECT_SCHEMA."""
    candidate, task = judged.candidate, judged.task
    changes = judged.actual_row_changes
    return {
        "number": candidate.number,
        "domain": candidate.domain,
        "intent_id": candidate.intent_id,
        "evolutions": list(candidate.evolutions),
        "request": candidate.request,
        "failed": [{"gate": gate.gate, "finding": gate.finding} for gate in judged.verdict.failed],
        "verdict": _verdict(judged.verdict),
        "golden_calls": _calls(task) if task else [],
        "expected_row_changes": _changes(task.row_changes) if task else None,
        "actual_row_changes": None if changes is None else _changes(changes),
        "survivor": canonical_json(judged.details) if judged.details else None,
        "environment_hash": environment_hash,
        "candidate": canonical_json(candidate.model_dump(mode="json")),
        "reproduce": f"toolscale judge {candidate.domain} {candidate.number} --seed {candidate.seed}"
        + f" --turns {candidate.turns} --answer {candidate.answer}"
        + (f" --scale {scale}" if scale > 1 else ""),
    }


def task_of(row: Row) -> Task:
    """Return the task that a row of TASK_SCHEMA holds. DatasetError if a cell does not hold what its column says."""
    try:
        scenario, provenance = row["scenario"], row["provenance"]
        return Task.model_validate(
            {name: value for name, value in row.items() if name in Task.model_fields}
            | {
                "scenario": scenario | {name: load_cell(scenario[name]) for name in _JSON & scenario.keys()},
                "provenance": provenance | {"versions": load_cell(provenance["versions"])},
                "golden_calls": golden_calls(row),
                "communicate": [_fact(fact) for fact in row["communicate"]],
                "form": load_cell(row["tools"])[-1]["function"]["parameters"] if row["answer"] == "form" else None,
                "row_changes": load_cell(row["row_changes"]),
                "touched": [(item["table"], item["key"]) for item in row["touched"]],
                "verdict": {gate["gate"]: f"{gate['status']}: {gate['finding']}" for gate in row["verdict"]},
                "candidate": load_cell(row["candidate"]),
            }
        )
    except UNREADABLE as error:
        raise DatasetError(_one_line(error)) from error


def check_task(row: Row) -> None:
    """DatasetError names the task if a cell does not hold what its column says, so that whoever shows it may rely on
    that."""
    try:
        task_of(row)
        candidate_of(row)
        verdict_of(row)
    except (DatasetError, *UNREADABLE) as error:
        raise DatasetError(
            f"task {row['id']}: {_one_line(error)}; `toolscale verify` names all that is wrong"
        ) from error


def check_reject(row: Row) -> None:
    """The same for a row of REJECT_SCHEMA."""
    try:
        candidate_of(row)
        verdict_of(row)
        golden_calls(row)
        for column in ("expected_row_changes", "actual_row_changes"):
            for change in [] if row[column] is None else load_cell(row[column]):
                RowChange.model_validate(change)
        if row["survivor"] is not None:
            load_cell(row["survivor"])
    except (DatasetError, *UNREADABLE) as error:
        raise DatasetError(
            f"reject {row['number']}: {_one_line(error)}; `toolscale verify` names all that is wrong"
        ) from error


def load_cell(text: str) -> Any:
    """Return the value of a cell that holds JSON. ValueError if it holds none, or is nested too deeply for whoever
    walks through it."""
    value = json.loads(text)
    if nests_deeper(text, value, DEEPEST_CELL):
        raise ValueError(f"JSON is nested more than {DEEPEST_CELL} levels deep")
    return value


def candidate_of(row: Row) -> Candidate:
    """Return the candidate of a row of either schema."""
    try:
        return Candidate.model_validate_json(row["candidate"])
    except UNREADABLE as error:
        raise DatasetError(f"candidate: {_one_line(error)}") from error


def golden_calls(row: Row) -> list[GoldenCall]:
    """Return the golden calls of a row of either schema."""
    return [
        GoldenCall(name=call["name"], arguments=load_cell(call["arguments"]), result=load_cell(call["result"]))
        for call in row["golden_calls"]
    ]


def verdict_of(row: Row) -> Verdict:
    """Return the verdict of a row of either schema."""
    return Verdict(
        gates=tuple(GateResult.model_validate(gate) for gate in row["verdict"]),
        mutants_killed=row.get("mutants_killed", 0),
    )


def _calls(task: Task) -> list[Row]:
    return [
        {"name": call.name, "arguments": canonical_json(call.arguments), "result": canonical_json(call.result)}
        for call in task.golden_calls
    ]


def _verdict(verdict: Verdict) -> list[Row]:
    return [gate.model_dump() for gate in verdict.gates]


def _changes(changes: tuple[RowChange, ...]) -> str:
    return canonical_json([change.model_dump(mode="json") for change in changes])


def _fact_cell(fact: Row) -> Row:
    """A fact as a cell. The unit of a number stands behind it: shards have no column for it."""
    cell = {name: value for name, value in fact.items() if name != "unit"}
    return cell | {"value": " ".join(filter(None, (str(fact["value"]), fact.get("unit"))))}


def _fact(cell: Row) -> Fact:
    if cell["kind"] not in _NUMERIC:
        return Fact.model_validate(cell)
    value, _, unit = cell["value"].partition(" ")
    return Fact.model_validate({**cell, "value": int(value), "unit": unit or None})


def _one_line(error: Exception) -> str:
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        return f"{'.'.join(str(part) for part in first['loc'])}: {first['msg'].lower()}"
    return f"{type(error).__name__}: {error}".splitlines()[0]
