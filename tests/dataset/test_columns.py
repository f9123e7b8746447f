"""Records to rows and back, Parquet that repeats its bytes, and splits that do not move."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path

import pyarrow as pa
import pytest

from tests.dataset.made import candidate, judged
from toolscale.dataset.arrow import REJECT_SCHEMA, TASK_SCHEMA
from toolscale.dataset.columns import candidate_of, reject_row, task_of, task_row
from toolscale.dataset.making.selection import apply_novelty
from toolscale.dataset.parquet import read_shard, write_shards
from toolscale.errors import DatasetError
from toolscale.records import Intent, Task
from toolscale.tasks.split import held_out_intents


def some_tasks(count: int) -> list[Task]:
    return [item.task for item in apply_novelty([judged(number) for number in range(count)]) if item.task]


def test_a_task_comes_back_from_its_row_as_it_went() -> None:
    (item,) = apply_novelty([judged(3)])
    row = task_row(item, "Be kind.", "[]")
    assert task_of(row) == item.task
    assert candidate_of(row) == candidate(3)
    assert row["prompt"] == [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": "Pay bill number 3, please."},
    ]
    assert row["golden_calls"][1] == {
        "name": "pay_bill",
        "arguments": '{"amount_cents":103,"bill_id":"bl_1"}',
        "result": '{"payment":"pm_1"}',
    }
    assert row["communicate"] == [
        {"kind": "money", "value": "103", "about": "checking", "withheld": False},
        {"kind": "text", "value": "Orbit Mobile", "about": None, "withheld": False},
        {"kind": "date", "value": "2026-03-20", "about": None, "withheld": True},
    ]


def test_a_reject_says_what_failed_and_how_to_see_it_again() -> None:
    row = reject_row(judged(5, failed="grounded"), "e" * 64)
    assert row["failed"] == [{"gate": "grounded", "finding": "grounded of 5"}]
    assert row["reproduce"] == "toolscale judge mock 5 --seed 0 --turns single --answer form"
    assert json.loads(row["expected_row_changes"])[0]["after"] == {"status": "paid"}
    assert (row["actual_row_changes"], row["survivor"]) == (None, None)


def test_a_cell_that_is_not_what_its_column_says_is_named() -> None:
    row = task_row(judged(0), "", "[]")
    with pytest.raises(DatasetError, match="JSONDecodeError"):
        task_of(row | {"row_changes": "["})
    with pytest.raises(DatasetError, match="outcome: input should be"):
        task_of(row | {"outcome": "maybe"})


def test_shards_repeat_their_bytes_and_give_back_their_rows(tmp_path: Path) -> None:
    rows = [task_row(judged(number), "Be kind.", "[]") for number in range(7)]
    first = write_shards(tmp_path / "a", "train", rows, TASK_SCHEMA)
    second = write_shards(tmp_path / "b", "train", rows, TASK_SCHEMA)
    assert [path.name for path in first] == ["train-00000-of-00001.parquet"]
    assert sha256(first[0].read_bytes()).digest() == sha256(second[0].read_bytes()).digest()
    assert read_shard(first[0], TASK_SCHEMA) == rows


def test_a_file_holds_five_thousand_rows_at_most(tmp_path: Path) -> None:
    row = reject_row(judged(0, failed="replay"), "")
    paths = write_shards(tmp_path, "rejected", [row] * 5_001, REJECT_SCHEMA)
    assert [path.name for path in paths] == ["rejected-00000-of-00002.parquet", "rejected-00001-of-00002.parquet"]
    assert [len(read_shard(path, REJECT_SCHEMA)) for path in paths] == [5_000, 1]


def test_a_split_without_rows_is_a_file_with_the_columns(tmp_path: Path) -> None:
    (path,) = write_shards(tmp_path, "test", [], TASK_SCHEMA)
    assert read_shard(path, TASK_SCHEMA) == []


def test_other_columns_and_other_bytes_are_refused(tmp_path: Path) -> None:
    (path,) = write_shards(tmp_path, "test", [], TASK_SCHEMA)
    with pytest.raises(DatasetError, match="the columns differ"):
        read_shard(path, TASK_SCHEMA.append(pa.field("more", pa.string())))
    path.write_bytes(b"PAR1 not really")
    with pytest.raises(DatasetError, match="not a readable Parquet file"):
        read_shard(path, TASK_SCHEMA)


def intents(*names: str, outcome: str = "fulfil") -> list[Intent]:
    return [Intent(id=name, outcome=outcome, roles={}, requests=("Do it.",)) for name in names]  # type: ignore[arg-type]


def test_about_a_fifth_of_intents_is_held_out() -> None:
    many = intents(*(f"intent_{number}" for number in range(200)))
    assert 25 <= len(held_out_intents(many)) <= 55


def test_an_intent_stays_in_its_split_when_others_come() -> None:
    many = intents(*(f"intent_{number}" for number in range(200)))
    assert held_out_intents(many[:100]) == held_out_intents(many) & {intent.id for intent in many[:100]}


def test_a_few_intents_give_both_splits() -> None:
    few = intents("pay", "freeze") + intents("refuse_limit", outcome="refuse")
    held_out = held_out_intents(few)
    assert 0 < len(held_out) < 3
    assert held_out & {"pay", "freeze"}
