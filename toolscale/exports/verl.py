"""For verl: Parquet rows, and an agent loop that plays their tasks."""

from __future__ import annotations

import json
from collections.abc import Iterator
from io import BytesIO
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from toolscale.canonical import canonical_json
from toolscale.exports.format import Format, Options, Source, render
from toolscale.exports.golden import Golden

TESTED = "verl 0.9.1 (without its GPU parts)"

FILES = ("toolscale_loop.py", "agent.yaml")

_SCHEMA = pa.schema(
    {
        "data_source": pa.string(),
        "agent_name": pa.string(),
        "prompt": pa.list_(pa.struct({"role": pa.string(), "content": pa.string()})),
        "ability": pa.string(),
        "reward_model": pa.struct({"style": pa.string(), "ground_truth": pa.string()}),
        "extra_info": pa.struct(
            {
                "index": pa.int64(),
                "split": pa.string(),
                "id": pa.string(),
                "intent_id": pa.string(),
                "tools": pa.string(),
            }
        ),
    }
)


def verl_row(golden: Golden, index: int) -> dict[str, Any]:
    """Return a task as a row. Parquet has one type for all rows, so what varies is a string."""
    task = golden.task
    return {
        "data_source": "toolscale",
        "agent_name": "toolscale",
        "prompt": [dict(message) for message in golden.prompt],
        "ability": task.domain,
        "reward_model": {"style": "rule", "ground_truth": canonical_json(task.candidate.model_dump(mode="json"))},
        "extra_info": {
            "index": index,
            "split": golden.split,
            "id": task.id,
            "intent_id": task.intent_id,
            "tools": json.dumps(golden.tools, ensure_ascii=False),
        },
    }


def _make(source: Source, _: Options) -> Iterator[tuple[str, str | bytes]]:
    for split in source.splits:
        rows = [verl_row(golden, index) for index, golden in enumerate(source.of(split))]
        yield f"{split}.parquet", _parquet(rows)
    for file in FILES:
        yield file, render(f"verl-agent/{file}.jinja")


def _parquet(rows: list[dict[str, Any]]) -> bytes:
    written = BytesIO()
    pq.write_table(pa.Table.from_pylist(rows, schema=_SCHEMA), written)
    return written.getvalue()


FORMATS = (
    Format(
        "verl-agent",
        TESTED,
        "Parquet rows, and an agent loop whose reward is the grade",
        _make,
        plays=True,
        cannot=(
            "tools of one row: its own tool agent has one set for all, so the agent loop here shows those of each task",
            "JSON Schema beyond types, where its tool parser reads schemas (`hermes` does not); the model sees them "
            "whole, and arguments are checked when a tool is called",
            "a person who answers: its conversation ends with the first message that calls no tool",
        ),
    ),
)
