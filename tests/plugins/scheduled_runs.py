"""Folders of scheduled runs as the pipeline lays them out, small enough to read in a test."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from toolscale.canonical import canonical_json
from toolscale.dataset.arrow import RUN_REJECT_SCHEMA
from toolscale.records import GATES

Row = dict[str, Any]

DAG_ID = "synthesize_dataset"
MONDAY, TUESDAY = "scheduled__2026-11-16T02:00:00+00:00", "manual__2026-11-17T08:30:00+00:00"
HOSTILE = """<script>alert(1)</script>"'><img src=x onerror=alert(1)>{{ 7*7 }}{% raw %}"""

ACCOUNT = {"account_id": "ac_1", "available_cents": 10_000, "status": "active"}
EXPECTED = [
    {"table": "accounts", "key": ["ac_1"], "before": ACCOUNT, "after": ACCOUNT | {"available_cents": 7_500}},
    {
        "table": "bills",
        "key": ["bl_1"],
        "before": {"bill_id": "bl_1", "status": "due"},
        "after": {"bill_id": "bl_1", "status": "paid"},
    },
]
ACTUAL = [{"table": "accounts", "key": ["ac_1"], "before": ACCOUNT, "after": ACCOUNT | {"available_cents": 2_500}}]

CANDIDATE = {
    "domain": "finance", "number": 0, "seed": 0, "intent_id": "pay_bill", "bindings": {}, "say": {},
    "request": "Please pay my bill.", "skeleton": "Please pay my bill.",
}  # fmt: skip


def reject(number: int, *gates: str, **cells: Any) -> Row:
    """Return a reject that failed some gates; `cells` are columns with other content."""
    return {
        "number": number,
        "domain": "finance",
        "intent_id": "pay_bill",
        "evolutions": ["compose freeze_card"],
        "request": f"Please pay my bill, number {number}.",
        "failed": [{"gate": gate, "finding": f"{gate} found something"} for gate in gates],
        "verdict": [{"gate": gate, "status": "fail" if gate in gates else "pass", "finding": ""} for gate in GATES],
        "golden_calls": [
            {
                "name": "list_bills",
                "arguments": '{"client_id":"cl_1"}',
                "result": '{"bills":[{"amount_cents":2500,"bill_id":"bl_1"}]}',
            },
            {
                "name": "pay_bill",
                "arguments": '{"amount_cents":2500,"bill_id":"bl_1"}',
                "result": '{"error":"The bill is paid"}',
            },
        ],
        "expected_row_changes": canonical_json(EXPECTED),
        "actual_row_changes": None,
        "survivor": None,
        "environment_hash": "e" * 64,
        "candidate": "{}",
        "reproduce": f"toolscale judge finance {number} --seed 0",
    } | cells


def mutant(number: int) -> Row:
    """Return a reject with a surviving mutant that leaves other rows."""
    survivor = {
        "operator": "amount",
        "calls": [{"name": "pay_bill", "arguments": {"amount_cents": 7500}}],
        "answer": "It is paid.",
    }
    return reject(
        number, "mutants_killed", actual_row_changes=canonical_json(ACTUAL), survivor=canonical_json(survivor)
    )


def disputed(number: int) -> Row:
    """Return a reject in quarantine, of an environment that is no longer what it was."""
    finding = "quarantined: 3 of 4 attempts agree on another end state; 1 of 4 attempts are right (m)"
    agreed = {
        "operator": "agreed",
        "calls": [{"name": "pay_bill", "arguments": {"amount_cents": 7500}}],
        "answer": "I paid $75.00.",
    }
    return reject(
        number,
        "solvable",
        failed=[{"gate": "solvable", "finding": finding}],
        actual_row_changes=canonical_json(ACTUAL),
        survivor=canonical_json(agreed),
        candidate=canonical_json(CANDIDATE | {"number": number}),
    )


def write_shard(
    data: Path, run: str, run_id: str, index: int, rows: list[Row], *, dag_id: str = DAG_ID, task: str = "judge"
) -> Path:
    """Write the rejects of one shard of finance and return the file."""
    shard = f"finance-{index:03d}" if index >= 0 else "novel"
    labels = {"dag_id": dag_id, "run_id": run_id, "task_id": f"finance.{task}", "map_index": index, "shard": shard}
    path = data / "runs" / run / "finance" / "rejects" / f"{shard}.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist([row | labels for row in rows], schema=RUN_REJECT_SCHEMA), path)
    return path


def write_run(data: Path, run: str, run_id: str, started: str, *, dag_id: str = DAG_ID) -> None:
    """Write what a run says about itself."""
    about = {
        "dag_id": dag_id,
        "run_id": run_id,
        "started": started,
        "logical_date": None,
        "params": {"tasks": 12},
        "seed": 7,
        "domains": ["finance"],
    }
    (data / "runs" / run).mkdir(parents=True, exist_ok=True)
    (data / "runs" / run / "run.json").write_text(json.dumps(about))


def write_two_runs(data: Path, *, newer: str = TUESDAY) -> None:
    """Write a run of two shards and a newer one of one shard."""
    write_run(data, "monday", MONDAY, "2026-11-16T02:00:05+00:00")
    write_shard(
        data,
        "monday",
        MONDAY,
        0,
        [reject(1, "novel"), reject(2, "unambiguous", "novel", intent_id="freeze_card", evolutions=[])],
    )
    write_shard(data, "monday", MONDAY, 1, [reject(5, "replay", golden_calls=[], expected_row_changes=None)])
    write_run(data, "tuesday", newer, "2026-11-17T08:30:05+00:00")
    write_shard(
        data,
        "tuesday",
        newer,
        0,
        [mutant(3), reject(4, "grounded", request=HOSTILE, intent_id=HOSTILE, evolutions=[HOSTILE])],
    )
