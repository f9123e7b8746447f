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

TASK_MEANINGS = {
    "id": "the hash of the task; its first letters name it in `toolscale show` and `play`",
    "domain": "the domain",
    "intent_id": "the kind of request; no intent is in both splits",
    "evolutions": "what the program changed of the intent, one line each; empty for a plain task",
    "outcome": "`fulfil`, `refuse` or `transfer`: it is done, the policy forbids it, it is handed to a person",
    "request": "the first message of the person",
    "turns": "`single`, or `dialogue`: part of what is needed is told only when asked, or comes later",
    "answer": "`form`: the task ends with a call of `final_answer`; `message`: with a message",
    "scenario": "what the request says (`known`), what had to be found (`unknown`; both JSON), how the person speaks",
    "prompt": "the chat messages that an agent begins with: the policy, then the request",
    "tools": "the tools that an agent has, as OpenAI functions; with `final_answer` of this task; JSON",
    "golden_calls": "the reference calls in order; arguments and result as JSON",
    "communicate": "the facts that the answer must state, or must not (`withheld`); money in cents",
    "row_changes": "what the reference calls change: table, key, the row before and after; JSON",
    "touched": "the rows that reference calls wrote, in order of first touch; the key as JSON",
    "difficulty": "counts over the reference calls; `hops`: the longest chain of calls that need each other; `tier`",
    "environment_hash": "the hash of the spec files of the domain",
    "initial_state_hash": "the hash of the database that every episode begins with",
    "verdict": "what every gate said: `pass`, `fail`, `not_run` or `attested`, and its finding",
    "mutants_killed": "how many wrong solutions were tried, all of which scored 0",
    "provenance": "seed and candidate number, generator, versions of judge and environment (JSON), dollars",
    "candidate": "what the task is recorded from, so that it can be judged again; JSON",
    "solved": "how many attempts of which models were right; null where no model tried",
}
"""Column of a task -> what it holds."""

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
"""A rejected candidate."""

REJECT_MEANINGS = {name: TASK_MEANINGS[name] for name in REJECT_SCHEMA.names if name in TASK_MEANINGS} | {
    "number": "its number in the draw of the seed",
    "failed": "the gates that it failed, each with the finding",
    "golden_calls": "the reference calls, as far as they could be recorded; arguments and result as JSON",
    "expected_row_changes": "the row changes that were recorded; JSON, or null",
    "actual_row_changes": "those of the solution that a gate found, where there is one; JSON, or null",
    "survivor": "the wrong solution that scored 1, the right one that scored 0, or that of another reading; JSON",
    "reproduce": "the command that judges it again",
}
"""Column of a rejected candidate -> what it holds."""

OUTCOME_SCHEMA = pa.schema({"number": INT, "outcome": STRING}.items())
"""What became of a number that was drawn: one of `selection.OUTCOMES`."""

STAMP_SCHEMA = pa.schema(
    {"dag_id": STRING, "run_id": STRING, "task_id": STRING, "map_index": INT, "shard": STRING}.items()
)
"""By which task of which run a candidate was judged. A task that is not mapped has the map index -1."""

RUN_REJECT_SCHEMA = pa.schema([*REJECT_SCHEMA, *STAMP_SCHEMA])
"""A rejected candidate of a scheduled run, for people who look at the run."""
