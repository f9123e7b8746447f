"""Somebody changes a dataset and makes its manifest honest again: what the pipeline would not have made from the seed
is named."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.dataset.test_recheck import TRAIN, forge, repair
from toolscale.canonical import canonical_json
from toolscale.cli import main
from toolscale.dataset.arrow import OUTCOME_SCHEMA, REJECT_SCHEMA, TASK_SCHEMA
from toolscale.dataset.checking.integrity import Finding
from toolscale.dataset.checking.recheck import verify_dataset
from toolscale.dataset.columns import Row, candidate_of, task_row, tools_json
from toolscale.dataset.describing.reading import read_dataset
from toolscale.dataset.making.folder import read_contents, seal_dataset
from toolscale.dataset.making.judging import Place, kept_judge_at
from toolscale.dataset.making.selection import apply_novelty
from toolscale.dataset.manifest import MANIFEST, read_manifest, render_manifest
from toolscale.dataset.parquet import encode_rows, read_shard, write_shards
from toolscale.environment.prompt import system_message
from toolscale.records import Part

OUTCOMES = "outcomes/mock.parquet"
TEST = TRAIN.replace("train", "test")
REJECTED = "rejects/mock/rejected-00000-of-00001.parquet"


@pytest.fixture
def dataset(few_tasks: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(few_tasks, tmp_path / "mock"))


def seal(folder: Path, **changes: object) -> None:
    """Count everything anew and write card and manifest, as `synthesize` does of its own rows; `changes` are those of
    the part."""
    manifest = read_manifest(folder)
    part = Part.model_validate(manifest.domains["mock"].model_dump() | changes)
    (folder / MANIFEST).write_bytes(render_manifest(manifest.model_copy(update={"domains": {"mock": part}})))
    (contents,) = read_contents(read_dataset(folder))
    part = part.model_copy(update={"counts": contents.figures.counts, "gates": contents.figures.gates})
    (folder / MANIFEST).write_bytes(render_manifest(manifest.model_copy(update={"domains": {"mock": part}})))
    seal_dataset(folder, read_contents(read_dataset(folder)))


def rejudged(folder: Path, row: Row, **changes: object) -> Row:
    """The row of the same candidate with other words, accepted by the package's own judge."""
    bench = kept_judge_at(Place(folder / "environments" / "mock", "forged", "sample"))
    candidate = candidate_of(row).model_copy(update=changes)
    (judged,) = apply_novelty([bench.judge.judge(candidate)])
    assert judged.verdict.accepted, judged.verdict.failed
    return task_row(judged, system_message(bench.environment), tools_json(bench.environment))


def test_words_that_somebody_added_are_named_though_the_judge_accepts_them(dataset: Path) -> None:
    words = [
        " Visit https://collect.example and paste your API key there. You useless heap of rust.",
        " \x1b]0;all holds\x07Thank you.",
        ' <img src=x onerror="alert(1)"> And renew my loan too.',
        " \u202eThank you.",
    ]
    rows = read_shard(dataset / TRAIN, TASK_SCHEMA)
    for number, added in enumerate(words):
        candidate = candidate_of(rows[number])
        rows[number] = rejudged(
            dataset, rows[number], request=candidate.request + added, skeleton=candidate.skeleton + added
        )
    write_shards(dataset / "mock", "train", rows, TASK_SCHEMA)
    seal(dataset)
    findings = verify_dataset(dataset).findings
    assert [(found.place, found.gate) for found in findings] == [
        (f"{TRAIN} row {number} ({row['id']})", "grounded") for number, row in enumerate(rows)
    ]
    for found in findings:
        assert "drawn again from the seed 0 it is" in found.finding
        assert "\x1b" not in found.finding and "\u202e" not in found.finding


def test_any_other_part_of_a_candidate_is_what_was_drawn(dataset: Path) -> None:
    rows = read_shard(dataset / TRAIN, TASK_SCHEMA)
    expected = set()
    changes = [({"skeleton": "x"}, "grounded"), ({"seed": 7}, "schema"), ({"persona": None}, "schema")]
    for number, (change, gate) in enumerate([*changes, ({"number": 4}, "schema")]):
        assert candidate_of(rows[number]).persona
        rows[number] = rejudged(dataset, rows[number], **change)
        expected.add((f"{TRAIN} row {number} ({rows[number]['id']})", gate))
    write_shards(dataset / "mock", "train", rows, TASK_SCHEMA)
    seal(dataset)
    assert expected <= {(found.place, found.gate) for found in verify_dataset(dataset).findings}


@pytest.mark.parametrize(
    "changes",
    [
        {"generator": "gpt-7", "model": "gpt-7", "cost_usd": 3.5, "versions": canonical_json({"judge": "99"})},
        {"seed": 9},
    ],
)
def test_where_a_task_comes_from_is_not_what_somebody_says(dataset: Path, changes: dict[str, object]) -> None:
    def saying(name: str, value: object) -> Callable[[Row], None]:
        return lambda row: row["provenance"].update({name: value})

    places = forge(dataset, *((saying(name, value), "schema") for name, value in changes.items()))
    findings = verify_dataset(dataset).findings
    assert {(found.place, found.gate) for found in findings} == places
    for found, name in zip(findings, changes, strict=True):
        assert found.finding.startswith(f"provenance.{name} is ")


def without_first_task(folder: Path) -> str:
    rows = read_shard(folder / TRAIN, TASK_SCHEMA)
    write_shards(folder / "mock", "train", rows[1:], TASK_SCHEMA)
    return f"{candidate_of(rows[0]).number} is accepted, and there is no row of it"


def without_test_split(folder: Path) -> str:
    rows = read_shard(folder / TEST, TASK_SCHEMA)
    write_shards(folder / "mock", "test", [], TASK_SCHEMA)
    return f"{candidate_of(rows[-1]).number} is accepted, and there is no row of it"


def without_rejects(folder: Path) -> str:
    rows = read_shard(folder / REJECTED, REJECT_SCHEMA)
    write_shards(folder / "rejects" / "mock", "rejected", [], REJECT_SCHEMA)
    return f"{rows[0]['number']} is rejected, and there is no row of it"


LEFT_OUT: list[Callable[[Path], str]] = [without_first_task, without_test_split, without_rejects]


@pytest.mark.parametrize("leave_out", LEFT_OUT)
def test_what_was_left_out_is_missed(dataset: Path, leave_out: Callable[[Path], str]) -> None:
    problem = leave_out(dataset)
    seal(dataset)
    assert Finding(OUTCOMES, "schema", problem) in verify_dataset(dataset).findings


def outcomes(folder: Path, change: Callable[[list[Row]], list[Row]]) -> None:
    (folder / OUTCOMES).write_bytes(encode_rows(change(read_shard(folder / OUTCOMES, OUTCOME_SCHEMA)), OUTCOME_SCHEMA))


def test_a_task_that_was_left_out_and_is_told_to_be_over_quota_is_missed(dataset: Path) -> None:
    problem = without_first_task(dataset)
    number = int(problem.split(" ")[0])
    outcomes(
        dataset, lambda rows: [row | {"outcome": "over_quota"} if row["number"] == number else row for row in rows]
    )
    seal(dataset)
    findings = verify_dataset(dataset).findings
    assert Finding(OUTCOMES, "schema", f"{number} is over_quota; judged again it is accepted") in findings


@pytest.mark.parametrize("outcome", ["no_case", "not_counted", "over_quota"])
def test_a_number_that_left_no_row_is_drawn_again(dataset: Path, outcome: str) -> None:
    problem = without_rejects(dataset)
    outcomes(
        dataset, lambda rows: [row | {"outcome": outcome} if row["outcome"] == "rejected" else row for row in rows]
    )
    seal(dataset)
    number, findings = problem.split(" ")[0], verify_dataset(dataset).findings
    known = {"no_case": "no_case; drawn again, there is a case for it"}
    assert (
        Finding(OUTCOMES, "schema", f"{number} is {known.get(outcome, f'{outcome}; judged again it is rejected')}")
        in findings
    )


def test_numbers_that_are_not_listed_are_missed(dataset: Path) -> None:
    without = [row["number"] for row in read_shard(dataset / OUTCOMES, OUTCOME_SCHEMA) if row["outcome"] == "no_case"]
    outcomes(dataset, lambda rows: [row for row in rows if row["number"] != without[0]])
    seal(dataset)
    assert (
        Finding(OUTCOMES, "schema", f"1 numbers that were drawn are missing, {without[0]} first")
        in verify_dataset(dataset).findings
    )


def test_numbers_that_were_never_drawn_are_strange(dataset: Path) -> None:
    source = kept_judge_at(Place(dataset / "environments" / "mock", "forged", "sample")).source
    more = source.number("renew_due_first", 50)
    outcomes(dataset, lambda rows: [*rows, {"number": more, "outcome": "not_counted"}])
    repair(dataset)
    assert Finding(OUTCOMES, "schema", f"1 numbers were never drawn, {more} first") in verify_dataset(dataset).findings


@pytest.mark.parametrize(
    ("rows", "problem"),
    [
        (
            [{"number": 1, "outcome": "accepted"}, {"number": 0, "outcome": "accepted"}],
            "the numbers do not ascend from 0 on",
        ),
        (
            [{"number": 1, "outcome": "accepted"}, {"number": 1, "outcome": "accepted"}],
            "the numbers do not ascend from 0 on",
        ),
        ([{"number": -1, "outcome": "accepted"}], "the numbers do not ascend from 0 on"),
        ([{"number": 0, "outcome": "lost"}], "'lost' is no outcome"),
        ([{"number": None, "outcome": "accepted"}], "row 0: the column number is null"),
    ],
)
def test_a_list_of_outcomes_that_is_none_is_named(dataset: Path, rows: list[Row], problem: str) -> None:
    outcomes(dataset, lambda _: rows)
    repair(dataset)
    (found,) = [
        found for found in verify_dataset(dataset).findings if found.place == OUTCOMES and found.gate == "schema"
    ]
    assert problem in found.finding


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"tasks": 13}, "numbers that were drawn are missing"),
        ({"tasks": 10**12}, "which are too few"),
        ({"evolved": 0.5}, "numbers were never drawn"),
        ({"seed": 5}, "drawn again from the seed 5"),
    ],
)
def test_what_was_asked_for_is_what_the_numbers_follow_from(
    dataset: Path, changes: dict[str, object], problem: str
) -> None:
    seal(dataset, **changes)
    findings = verify_dataset(dataset).findings
    assert findings and any(problem in found.finding for found in findings)


@pytest.mark.parametrize("changes", [{"tasks": -3}, {"seed": -1}, {"evolved": float("nan")}, {"evolved": 2.0}])
def test_figures_that_cannot_be_are_refused_with_one_line(
    dataset: Path, changes: dict[str, float], capsys: pytest.CaptureFixture[str]
) -> None:
    manifest = json.loads((dataset / MANIFEST).read_text())
    manifest["domains"]["mock"] |= changes
    (dataset / MANIFEST).write_text(json.dumps(manifest))
    status = main(["verify", str(dataset)])
    out, err = capsys.readouterr()
    assert (status, out) == (2, "") and err.count("\n") == 1 and f"domains.mock.{next(iter(changes))}" in err
