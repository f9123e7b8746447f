"""Rows as ToolScale has them on the Hub: what is decided without their code, and what is not."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from toolscale.audit import Audit, audit_source
from toolscale.cli import main

Row = dict[str, Any]

ARGUMENTS = pa.struct(
    [("account_id", pa.string()), ("city", pa.string()), ("days", pa.int64()), ("start_date", pa.timestamp("s"))]
)
"""One struct for the parameters of all tools, as the dataset has it: what a call does not have is null, and texts that
look like a time have become one."""
SCHEMA = pa.schema(
    {
        "id": pa.string(),
        "user_scenario": pa.struct(
            {
                "persona": pa.null(),
                "instructions": pa.struct(
                    dict.fromkeys(
                        ("task_instructions", "reason_for_call", "known_info", "unknown_info", "domain"), pa.string()
                    )
                ),
            }
        ),
        "initial_state": pa.null(),
        "evaluation_criteria": pa.struct(
            {
                "actions": pa.list_(pa.struct({"arguments": ARGUMENTS, "name": pa.string(), "action_id": pa.string()})),
                "communicate_info": pa.list_(pa.string()),
                "nl_assertions": pa.list_(pa.string()),
            }
        ),
    }
)


def row(id_: str, reason: str, *calls: tuple[str, Row], say: tuple[str, ...] = (), domain: str = "weather") -> Row:
    return {
        "id": id_,
        "user_scenario": {
            "persona": None,
            "instructions": {
                "task_instructions": "Be brief.",
                "reason_for_call": reason,
                "known_info": "You are Mona Lind.",
                "unknown_info": None,
                "domain": domain,
            },
        },
        "initial_state": None,
        "evaluation_criteria": {
            "actions": [
                {"arguments": arguments, "name": name, "action_id": f"{id_}_{place}"}
                for place, (name, arguments) in enumerate(calls)
            ],
            "communicate_info": list(say),
            "nl_assertions": None,
        },
    }


ROWS = [
    row("1", "How warm is it in Oslo? In 15 days I go.", ("get_forecast", {"city": "Oslo", "days": 15}), say=("5",)),
    row("2", "How warm is it in Oslo?", ("get_forecast", {"city": "Oslo", "days": 15}), say=("5",)),
    row("3", "Close it.", ("close_account", {"account_id": "ac_77", "start_date": datetime(2026, 3, 1, tzinfo=UTC)})),
    row("4", "Will you do what is not allowed?"),
    row("5", "What do I owe?", ("get_balance", {"account_id": "ac_1"}), say=("$1,240.50",)),
    row("6", "How warm is it in Oslo?", ("get_forecast", {"city": "Oslo", "days": 15}), say=("5",), domain="travel"),
]


@pytest.fixture
def audit(tmp_path: Path) -> Audit:
    place = tmp_path / "train.parquet"
    pq.write_table(pa.Table.from_pylist(ROWS, SCHEMA), place)
    return audit_source(f"toolscale-hf:{place}")


def test_what_follows_from_the_rows_is_found(audit: Audit) -> None:
    assert [(finding.kind, finding.tasks, finding.evidence) for finding in audit.findings] == [
        (
            "golden_loses",
            ("5",),
            "not met: COMMUNICATE; '$1,240.50' has a comma, and commas are taken out of what is said",
        ),
        (
            "idle_wins",
            ("4",),
            "an agent that makes no call and says 'I am sorry, I cannot do that.' gets the reward 1 "
            "(DB 1, COMMUNICATE 1): the task has no golden call, so there is nothing to do",
        ),
        (
            "shared_goal",
            ("1", "2"),
            "all have the same list of calls, and all else that is graded is equal (to be said: '5')",
        ),
        ("weak_needle", ("1",), "'It is 15.' would pass; the value is in the instructions"),
        ("weak_needle", ("2",), "'It is 45.' would pass; made up: the text is a short number"),
        ("weak_needle", ("6",), "'It is 45.' would pass; made up: the text is a short number"),
        ("empty_criteria", ("4",), "no call, no text to say and no assertion is named"),
    ]


def test_what_takes_the_code_is_undecided(audit: Audit) -> None:
    assert (audit.tasks, audit.calls, audit.executed) == (6, 5, 0)
    assert {kind: audit.open(kind) for kind in ("golden_fails", "idle_wins", "words_win", "unsaid", "dangling")} == {
        "golden_fails": 5, "idle_wins": 1, "words_win": 3, "unsaid": 4, "dangling": 6,
    }  # fmt: skip
    assert [each.reason for each in audit.undecided if each.tasks == ("3",) and each.kind == "unsaid"] == [
        "call 1, account_id 'ac_77' is in no text of the row; the policy and the tools are not there",
        "call 1, start_date '2026-03-01' is a date that may be counted from another one",
    ]
    assert [each.reason for each in audit.undecided if each.tasks == ("2",) and each.kind == "words_win"] == [
        "it takes the tools to tell what the golden calls change; by their names all are look-ups, and then words "
        "alone win"
    ]
    assert audit.notes == (
        "read from the rows alone: nothing was executed",
        "11 null arguments were dropped: absent and null are one there",
        "1 arguments are timestamps: the text that the tool takes is lost",
    )


def test_rows_of_json_are_the_same(audit: Audit, tmp_path: Path) -> None:
    place = tmp_path / "rows.jsonl"
    place.write_text("\n".join(json.dumps(each, default=lambda day: day.date().isoformat()) for each in ROWS))
    assert audit_source(f"toolscale-hf:{place}").findings == audit.findings


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[1]", "row 0: `id` is missing"),
        ('[{"id": "1"}]', "row 0: `user_scenario` is missing"),
        ('[{"id": "1", "user_scenario": {"instructions": 5}}]', "row 0: `user_scenario.instructions` is 5"),
        (
            '[{"id": "1", "user_scenario": {"instructions": {}}, "evaluation_criteria": {"actions": [{}]}}]',
            "row 0: `evaluation_criteria.actions[0].name` is missing",
        ),
        (
            '[{"id": "1", "user_scenario": {"instructions": {}}, "evaluation_criteria": {"communicate_info": "yes"}}]',
            "row 0: `evaluation_criteria.communicate_info` is 'yes'",
        ),
        ("{}", "it is no list of rows"),
        ("[" * 90 + "]" * 90, "it cannot be read (JSON is nested more than 60 levels deep)"),
        ("[", "it cannot be read (Expecting value: line 1 column 2 (char 1))"),
    ],
)
def test_a_row_that_cannot_be_read_is_named(
    text: str, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / "rows.json"
    place.write_text(text)
    assert main(["audit", f"toolscale-hf:{place}"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"toolscale: {place}: {told}; ")
