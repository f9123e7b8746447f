"""The columns of a dataset: one fixed Arrow schema for tasks, one for rejects.

Things whose shape differs from row to row (arguments, results, row changes, tools) are canonical JSON strings, so that
every file of every domain has the same schema. The code that makes the rows is in another module, because Arrow takes
as much memory as a judge: processes that only judge do not load it.
"""

from __future__ import annotations

import pyarrow as pa

STRING, INT = pa.string(), pa.int64()


def _records(**fields: pa.DataType) -> pa.DataType:
    return pa.list_(pa.struct(list(fields.items())))


CALLS = _records(name=STRING, arguments=STRING, result=STRING)
VERDICT = _records(gate=STRING, status=STRING, finding=STRING)

TASK_SCHEMA = pa.schema(
    {
        "id": STRING,
        "domain": STRING,
        "intent_id": STRING,
        "evolutions": pa.list_(STRING),
        "outcome": STRING,
        "request": STRING,
        "turns": STRING,
        "answer": STRING,
        "scenario": pa.struct({"known": STRING, "unknown": STRING, "persona": STRING, "instructions": STRING}.items()),
        "prompt": _records(role=STRING, content=STRING),
        "tools": STRING,
        "golden_calls": CALLS,
        "communicate": _records(kind=STRING, value=STRING, about=STRING, withheld=pa.bool_()),
        "row_changes": STRING,
        "touched": _records(table=STRING, key=STRING),
        "difficulty": pa.struct(
            {"calls": INT, "reads": INT, "writes": INT, "hops": INT, "branches": INT, "tier": STRING}.items()
        ),
        "environment_hash": STRING,
        "initial_state_hash": STRING,
        "verdict": VERDICT,
        "mutants_killed": INT,
        "provenance": pa.struct(
            {
                "generator": STRING,
                "model": STRING,
                "seed": INT,
                "candidate": INT,
                "versions": STRING,
                "cost_usd": pa.float64(),
            }.items()
        ),
        "candidate": STRING,
        "solved": pa.struct({"tries": INT, "right": INT, "undecided": INT, "models": pa.list_(STRING)}.items()),
    }.items()
)
"""A task."""

ADDED_LATER = frozenset({"solved"})
"""Columns that datasets made before them lack; their rows are read with null there."""

REJECT_SCHEMA = pa.schema(
    {
        "number": INT,
        "domain": STRING,
        "intent_id": STRING,
        "evolutions": pa.list_(STRING),
        "request": STRING,
        "failed": _records(gate=STRING, finding=STRING),
        "verdict": VERDICT,
        "golden_calls": CALLS,
        "expected_row_changes": STRING,
        "actual_row_changes": STRING,
        "survivor": STRING,
        "environment_hash": STRING,
        "candidate": STRING,
        "reproduce": STRING,
    }.items()
)
"""A rejected candidate. `survivor` is the wrong trajectory that scored 1, the right one that scored 0, or that of
another reading, as JSON."""

OUTCOME_SCHEMA = pa.schema({"number": INT, "outcome": STRING}.items())
"""What became of a number that was drawn: one of `selection.OUTCOMES`."""

STAMP_SCHEMA = pa.schema(
    {"dag_id": STRING, "run_id": STRING, "task_id": STRING, "map_index": INT, "shard": STRING}.items()
)
"""By which task of which run a candidate was judged. A task that is not mapped has the map index -1."""

RUN_REJECT_SCHEMA = pa.schema([*REJECT_SCHEMA, *STAMP_SCHEMA])
"""A rejected candidate of a scheduled run, for people who look at the run."""
