"""Cells of a dataset from anywhere: whoever shows or counts them says in one line what is wrong, and nothing reaches
the terminal as it is."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.dataset.test_hostile import CORRUPTIONS, cell
from tests.dataset.test_recheck import TRAIN, repair
from tests.hostile.bounded import Bounded
from toolscale.dataset.arrow import REJECT_SCHEMA, TASK_SCHEMA
from toolscale.dataset.columns import Row
from toolscale.dataset.parquet import read_shard, write_shards

pytestmark = pytest.mark.xdist_group("hostile_cells")

REJECTED = "rejects/mock/rejected-00000-of-00001.parquet"
OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""What a terminal would obey."""

EVIL = "\x1b]52;c;cm0gLXJm\x07 \x1b]0;all holds\x07 \x1b[2J \u202egnp.exe [/bold] [red]x[/red] \x9b31m"

MORE: dict[str, Callable[[Row], None]] = {
    "a tier is null": cell("difficulty", None, "tier"),
    "arguments that are cut": cell("golden_calls", "{", 0, "arguments"),
    "arguments in a list": cell("golden_calls", "[1]", 0, "arguments"),
    "five thousand digits": cell("golden_calls", '{"n":' + "9" * 5_000 + "}", 0, "arguments"),
    "a result of 900 levels": cell("golden_calls", "[" * 900 + "]" * 900, 0, "result"),
    "row changes of another shape": cell("row_changes", '[{"a":1}]'),
    "row changes without a key": cell("row_changes", '[{"table":"t","before":{},"after":null}]'),
    "an unknown status": cell("verdict", "held", 0, "status"),
    "an unknown gate": cell("verdict", "x", 0, "gate"),
    "money that is none": cell("communicate", [{"kind": "money", "value": "abc", "about": None, "withheld": False}]),
    "money beyond all numbers": cell(
        "communicate", [{"kind": "money", "value": "9" * 5_000, "about": None, "withheld": False}]
    ),
    "a request of a million characters": cell("request", "x" * 999_999),
}


def alter(folder: Path, path: str, change: Callable[[Row], None]) -> None:
    place, schema = path.rpartition("/")[0], REJECT_SCHEMA if path == REJECTED else TASK_SCHEMA
    rows = read_shard(folder / path, schema)
    change(rows[0])
    write_shards(folder / place, "rejected" if path == REJECTED else "train", rows, schema)
    repair(folder)


@pytest.mark.parametrize("name", [*CORRUPTIONS, *MORE])
def test_a_task_with_a_strange_cell_is_shown_or_refused_in_one_line(bounded: Bounded, dataset: Path, name: str) -> None:
    alter(dataset, TRAIN, (CORRUPTIONS | MORE)[name])
    for line in (["show", dataset, "--random", "100"], ["stats", dataset], ["diff", dataset, dataset]):
        found = bounded.run(*line)
        assert found.status in (0, 2), (line[0], found.err)
        assert len(found.lines) == (found.status == 2) and not OBEYED.search(found.out + found.err.replace("\n", ""))
        assert all(told.startswith("toolscale: ") for told in found.lines)


@pytest.mark.parametrize(
    "name",
    [
        "deep arguments",
        *(
            pytest.param(name, marks=pytest.mark.slow("tests/hostile/test_cells.py"))
            for name in (
                "arguments in a list",
                "row changes are a number",
                "row changes of another shape",
                "half a character",
                "a request of a million characters",
            )
        ),
    ],
)
def test_a_task_with_a_strange_cell_is_measured_or_refused_in_one_line(
    bounded: Bounded, dataset: Path, name: str
) -> None:
    alter(dataset, TRAIN, (CORRUPTIONS | MORE)[name])
    found = bounded.run("stats", dataset, "--check", megabytes=3_500)
    assert found.status in (0, 1, 2), found.err
    assert len(found.lines) == (found.status == 2) and not OBEYED.search(found.out + found.err.replace("\n", ""))
    assert all(line.startswith("toolscale: ") for line in found.lines)


def texts(row: Mapping[str, Any], path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """The places of all texts of a row."""
    found: list[tuple[str | int, ...]] = []
    for name, value in row.items() if isinstance(row, dict) else enumerate(row):
        if isinstance(value, dict | list):
            found += texts(value, (*path, name))  # type: ignore[arg-type]
        elif isinstance(value, str):
            found.append((*path, name))
    return found


def poisoned(value: str) -> str:
    """The same JSON with evil in its texts, or the evil text itself."""
    try:
        parsed = json.loads(value)
    except ValueError:
        return EVIL
    if not isinstance(parsed, dict | list):
        return EVIL

    def poison(part: Any) -> Any:
        if isinstance(part, dict):
            return {name: poison(item) for name, item in part.items()}
        return [poison(item) for item in part] if isinstance(part, list) else EVIL if isinstance(part, str) else part

    return json.dumps(poison(parsed))


@pytest.mark.parametrize(
    ("verb", "path", "machine"),
    [
        ("show", TRAIN, False),
        ("rejects", REJECTED, True),
        *(
            pytest.param(*case, marks=pytest.mark.slow("tests/hostile/test_cells.py"))
            for case in (
                ("stats", TRAIN, False),
                ("stats", TRAIN, True),
                ("show", TRAIN, True),
                ("rejects", REJECTED, False),
            )
        ),
    ],
)
def test_no_text_of_a_row_reaches_the_terminal_as_it_is(
    bounded: Bounded, dataset: Path, verb: str, path: str, machine: bool
) -> None:
    rows = read_shard(dataset / path, REJECT_SCHEMA if path == REJECTED else TASK_SCHEMA)
    options = [
        *(["--json"] if machine else []),
        *(["--random", "100"] if verb == "show" else ["--limit", "100"] if verb == "rejects" else []),
    ]
    shown = 0
    for place in [place for place in texts(rows[0]) if place[0] not in ("prompt", "tools") and 1 not in place]:

        def change(row: Row, place: tuple[str | int, ...] = place) -> None:
            holder: Any = row
            for name in place[:-1]:
                holder = holder[name]
            holder[place[-1]] = poisoned(holder[place[-1]])

        alter(dataset, path, change)
        found = bounded.run(verb, dataset, *options)
        assert found.status in (0, 2) and len(found.lines) == (found.status == 2), (place, found.err)
        assert not OBEYED.search(found.out.replace("\n", "") + found.err.replace("\n", "")), place
        shown += found.status == 0
        if machine and found.status == 0:
            json.loads(found.out)
        write_shards(
            (dataset / path).parent,
            "rejected" if path == REJECTED else "train",
            rows,
            REJECT_SCHEMA if path == REJECTED else TASK_SCHEMA,
        )
    assert shown
