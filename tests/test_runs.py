"""Scheduled runs: the stages by URL, on disk as on S3, give the bytes of `toolscale synthesize`, however they are
divided and whatever is killed."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from run_orders import judge_all, order

from toolscale.config import UNIT_NUMBERS
from toolscale.dataset.making.shards import cut_shards, read_shard_plan
from toolscale.dataset.making.units import read_judged
from toolscale.dataset.places import files_in, local_copy, open_place
from toolscale.dataset.runs import Run, run_at, run_name
from toolscale.errors import DatasetError, StorageError, UsageError
from toolscale.pipeline import synthesize
from toolscale.pipeline.publishing import inspect_dataset, push_dataset
from toolscale.pipeline.scheduled import (
    assemble_domain,
    build_domain,
    check_domain,
    close_run,
    collect_run,
    data_root,
    judge_shard,
    order_run,
    plan_round,
)

NIGHT = datetime(2026, 11, 20, 2, tzinfo=UTC)


def contents(folder: Path) -> dict[str, str]:
    return {path: sha256((folder / path).read_bytes()).hexdigest() for path in files_in(folder)}


@pytest.mark.parametrize("most", [UNIT_NUMBERS, pytest.param(2048, marks=pytest.mark.slow("tests/test_runs.py"))])
def test_a_run_gives_the_bytes_of_synthesize_however_many_shards_it_has(
    mock_dataset: Path, tmp_path: Path, most: int
) -> None:
    run = order_run(str(tmp_path), order())
    shards = judge_all(run, most=most)
    counts = assemble_domain(run, "mock")["counts"]
    check_domain(run, "mock")
    told = collect_run(run)
    assert [shard["shard"] for shard in shards] == [f"mock-{number:03d}" for number in range(len(shards))]
    assert contents(run_at(run).dataset()) == contents(mock_dataset)
    assert told == {
        "dataset": str(run_at(run).dataset()),
        "counts": counts,
        "run_id": order().run_id,
        "domains": ["mock"],
        "seed": 0,
        "publish": "never",
        "sha256": contents(mock_dataset)["manifest.json"],
        "night": None,
        "by_hand": True,
        "repo": None,
    }
    assert close_run(run) == f"{run_at(run).scratch} is removed: the run is complete"
    assert [path.name for path in (tmp_path / "scratch").iterdir()] == []


@pytest.mark.slow("tests/test_runs.py")
def test_a_run_on_s3_gives_the_same_bytes(s3: str, mock_dataset: Path) -> None:
    run = order_run(s3, order())
    judge_all(run)
    assemble_domain(run, "mock")
    check_domain(run, "mock")
    assert collect_run(run)["dataset"] == f"{s3}/runs/{run_name(order().run_id)}/dataset"
    assert contents(open_place(collect_run(run)["dataset"])) == contents(mock_dataset)
    close_run(run)
    assert {path.split("/")[0] for path in files_in(open_place(s3))} == {"runs"}


@pytest.mark.slow("tests/test_runs.py")
def test_every_stage_may_be_called_again(mock_dataset: Path, tmp_path: Path) -> None:
    run = order_run(str(tmp_path), order())
    first, second = judge_all(run), judge_all(run)
    assert first == second
    assert assemble_domain(run, "mock") == assemble_domain(run, "mock")
    collect_run(run)
    collect_run(run)
    assert contents(run_at(run).dataset()) == contents(mock_dataset)


@pytest.mark.slow("tests/test_runs.py")
def test_each_shard_has_its_rejects_and_novelty_adds_its_own(tmp_path: Path) -> None:
    run = order_run(str(tmp_path), order(tasks=60))
    shards = judge_all(run)
    assemble_domain(run, "mock")
    rows = {
        path.stem: pq.read_table(path).to_pylist()
        for path in sorted((run_at(run).products / "mock" / "rejects").iterdir())
    }
    assert {shard["shard"]: shard["rejected"] for shard in shards} == {
        name: len(found) for name, found in rows.items() if name[-3:].isdigit()
    }
    planned = {
        name: read_shard_plan(run_at(run).scratch / "plan" / f"{name}.json") for name in rows if name[-3:].isdigit()
    }
    judged_by = {number: shard for shard in planned.values() for number in shard.numbers}
    for row in rows["novel"]:
        shard = judged_by.get(row["number"])
        expected = (shard.name, shard.task_id, shard.map_index) if shard else ("mock-rest", "domain_mock.assemble", -1)
        assert (row["shard"], row["task_id"], row["map_index"]) == expected
        assert [failed["gate"] for failed in row["failed"]] == ["novel"]
    assert rows["novel"] and {row["run_id"] for row in rows["novel"]} == {order().run_id}
    numbers = [row["number"] for found in rows.values() for row in found]
    assert len(numbers) == len(set(numbers))


def test_a_shard_that_was_killed_goes_on_with_its_next_unit(mock_dataset: Path, tmp_path: Path) -> None:
    run = order_run(str(tmp_path), order(tasks=40))
    build_domain(run, "mock")
    plan = plan_round(run, "mock", 0, "mock.judge")[0]
    judged, code = (
        run_at(run).judged("mock"),
        f"from toolscale.pipeline.scheduled import judge_shard; print(judge_shard({plan!r}))",
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.DEVNULL)
    while not (judged.is_dir() and list(judged.glob("*.jsonl"))):
        time.sleep(0.02)
        assert process.poll() is None or process.returncode == 0
    process.send_signal(signal.SIGKILL)
    process.wait()
    before = {path.name: path.stat().st_mtime_ns for path in judged.glob("*.jsonl")}
    shard = judge_shard(plan)
    after = {path.name: path.stat().st_mtime_ns for path in judged.glob("*.jsonl")}
    assert before.items() <= after.items()
    numbers = [
        json.loads(line)["candidate"]["number"]
        for path in judged.glob("*.jsonl")
        for line in path.read_text().splitlines()[1:]
    ]
    assert len(numbers) == len(set(numbers)) == shard["candidates"]


def test_an_unfinished_run_keeps_its_scratch(tmp_path: Path) -> None:
    run = order_run(str(tmp_path), order())
    build_domain(run, "mock")
    assert (
        close_run(run, NIGHT)
        == f"{run_at(run).scratch} stays: the run is not complete, and its failed tasks can be cleared"
    )
    assert json.loads((run_at(run).products / "finished.json").read_text()) == {
        "finished": "2026-11-20T02:00:00+00:00",
        "complete": False,
    }
    assert run_at(run).world("mock").is_dir()


@pytest.mark.slow("tests/test_runs.py")
def test_a_task_that_is_cleared_after_a_complete_run_says_what_to_clear(tmp_path: Path) -> None:
    run = order_run(str(tmp_path), order())
    judge_all(run)
    assemble_domain(run, "mock")
    collect_run(run)
    close_run(run)
    with pytest.raises(
        DatasetError,
        match=r"environments/mock is gone, as after a complete run; clear domain_mock.build with all that follows it$",
    ):
        plan_round(run, "mock", 0, "mock.judge")


@pytest.mark.slow("tests/test_runs.py")
def test_a_shard_that_is_cleared_after_a_complete_run_says_it_too(tmp_path: Path) -> None:
    run = order_run(str(tmp_path), order())
    build_domain(run, "mock")
    (plan,) = plan_round(run, "mock", 0, "mock.judge")
    assemble_domain(run, "mock")
    collect_run(run)
    close_run(run)
    with pytest.raises(
        DatasetError, match=r"plan/mock-000.json is gone, as after a complete run; clear the task `build` of its domain"
    ):
        judge_shard(plan)


@pytest.mark.slow("tests/test_runs.py")
def test_another_order_under_the_same_run_id_begins_anew(mock_dataset: Path, tmp_path: Path) -> None:
    judge_all(order_run(str(tmp_path), order(seed=1, tasks=6)))
    run = order_run(str(tmp_path), order())
    shards = judge_all(run)
    assemble_domain(run, "mock")
    collect_run(run)
    assert contents(run_at(run).dataset()) == contents(mock_dataset)
    rejects = {path.stem for path in (run_at(run).products / "mock" / "rejects").iterdir()}
    assert rejects == {shard["shard"] for shard in shards} | {"novel", "mock-rest"}


@pytest.mark.slow("tests/test_runs.py")
def test_a_run_that_is_built_again_is_not_complete_until_it_is_collected_again(tmp_path: Path) -> None:
    run = order_run(str(tmp_path), order())
    for _ in range(2):
        judge_all(run)
        assert close_run(run).endswith("stays: the run is not complete, and its failed tasks can be cleared")
        assemble_domain(run, "mock")
        collect_run(run)
    assert close_run(run).endswith("is removed: the run is complete")


@pytest.mark.slow("tests/test_runs.py")
def test_what_a_killed_task_left_beside_the_plans_is_in_nobodys_way(mock_dataset: Path, tmp_path: Path) -> None:
    run = order_run(str(tmp_path), order())
    judge_all(run)
    (run_at(run).scratch / "plan" / ".mock-000.json.0123.tmp").write_text('{"name": "mo')
    assemble_domain(run, "mock")
    assert contents(run_at(run).dataset("mock")) == contents(mock_dataset)


@pytest.mark.slow("tests/test_runs.py")
@pytest.mark.parametrize("share", [0, 1])
def test_a_share_that_is_a_whole_number_gives_the_bytes_of_the_command_line(tmp_path: Path, share: int) -> None:
    run = order_run(str(tmp_path / "data"), order(evolved=share, tasks=4))
    judge_all(run)
    assemble_domain(run, "mock")
    synthesize("mock", tmp_path / "mock", tasks=4, evolved=float(share), turns="single", answer="message")
    assert contents(run_at(run).dataset("mock")) == contents(tmp_path / "mock")


def test_no_file_of_a_bucket_leads_out_of_the_folder_that_it_is_copied_to(s3: str) -> None:
    import boto3

    boto3.client("s3").put_object(Bucket="data", Key="dataset/../../outside.txt", Body=b"not here")
    boto3.client("s3").put_object(Bucket="data", Key="dataset/manifest.json", Body=b"{}")
    with (
        pytest.raises(DatasetError, match=r"holds '\.\./\.\./outside.txt', which is not a path inside the folder"),
        local_copy(open_place("s3://data/dataset")),
    ):
        pass


@pytest.mark.slow("tests/test_runs.py")
def test_line_separators_in_texts_are_no_ends_of_lines(tmp_path: Path) -> None:
    run = order_run(str(tmp_path), order())
    judge_all(run)
    (path, *_) = sorted(run_at(run).judged("mock").iterdir())
    before = read_judged([path])[1]
    head, _, body = path.read_text().partition("\n")
    body = body.replace('"request":"', '"request":"\u2028\u2029\u0085')
    path.write_text(json.dumps(json.loads(head) | {"sha256": sha256(body.encode()).hexdigest()}) + "\n" + body)
    assert [judged.candidate.number for judged in read_judged([path])[1]] == [
        judged.candidate.number for judged in before
    ]
    assert all(judged.candidate.request.startswith("\u2028\u2029\u0085") for judged in read_judged([path])[1])


@pytest.mark.parametrize("said", [[], 0, False, ""])
def test_thresholds_that_are_empty_are_not_the_usual_ones(tmp_path: Path, said: object) -> None:
    run = order_run(str(tmp_path), order())
    with pytest.raises(UsageError, match=r"the thresholds are .*; say them by name"):
        check_domain(run, "mock", said)


def test_the_log_says_how_far_a_shard_is_and_which_intents_have_no_task(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    run = order_run(str(tmp_path), order(tasks=3))
    with caplog.at_level("INFO", logger="toolscale.pipeline.scheduled"):
        judge_all(run)
        assemble_domain(run, "mock")
    assert "mock-000: 1 of 1 parts judged" in caplog.messages
    assert (
        "mock: 2 intents have no task (no seat: none of its candidates was chosen): "
        "return_all (no seat), pay_over_desk_limit (no seat)"
    ) in caplog.messages


def test_code_that_changed_during_a_run_is_told(tmp_path: Path) -> None:
    run = order_run(str(tmp_path), order())
    build_domain(run, "mock")
    (run_at(run).scratch / "recipes" / "mock.json").write_text('{"inputs": "others"}')
    with pytest.raises(
        UsageError,
        match=r"not those with which domain_mock.build ran; deploy the same on every worker and clear",
    ):
        plan_round(run, "mock", 0, "mock.judge")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"domains": ()}, "domains is empty; choose at least one"),
        ({"domains": ("mok",)}, "unknown domain 'mok'; known domains:"),
        ({"tasks": 0}, "--tasks is 0; ask for at least 1"),
        ({"seed": -1}, "--seed is -1; choose one from 0 to"),
        ({"evolved": 1.5}, "--evolved is 1.5; it is a share, from 0 to 1"),
    ],
)
def test_an_order_that_cannot_be_is_refused_and_nothing_is_written(
    tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        order_run(str(tmp_path), order(**changes))
    assert list(tmp_path.iterdir()) == []


def test_a_run_that_was_not_opened_says_so(tmp_path: Path) -> None:
    with pytest.raises(
        DatasetError, match=r"run.json is missing: the run was not opened, or was removed; trigger a new one"
    ):
        build_domain(str(tmp_path / "runs" / "some"), "mock")


def test_a_scheme_that_nobody_knows_and_a_bucket_that_is_not_there_are_one_line_each(s3: str) -> None:
    with pytest.raises(
        UsageError, match=r"^nothing://x cannot be opened: .*; use a path, or a URL whose driver is installed"
    ):
        order_run("nothing://x", order())
    with pytest.raises(StorageError, match=r"^cannot write s3://elsewhere/runs/.*/run.json: [^\n]*$"):
        order_run("s3://elsewhere", order())


def test_a_place_that_is_a_pattern_or_holds_a_password_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOLSCALE_DATA", "data[1]")
    with pytest.raises(UsageError, match=r"^TOOLSCALE_DATA is data\[1\]; choose a place without"):
        data_root("/srv/airflow")
    monkeypatch.setenv("TOOLSCALE_DATA", "elsewhere/data")
    assert data_root("/srv/airflow") == "/srv/airflow/elsewhere/data"
    with pytest.raises(UsageError, match="holds a password") as refusal:
        open_place("sftp://me:hunter2@host/data")
    assert "hunter2" not in str(refusal.value)


def test_what_changed_since_it_was_announced_or_approved_is_not_pushed(mock_dataset: Path) -> None:
    inspected = inspect_dataset(str(mock_dataset), "me/x", "ask")
    assert inspected["sha256"] == contents(mock_dataset)["manifest.json"]
    with pytest.raises(
        DatasetError, match="the dataset is not the one that was announced or approved; trigger publish_dataset anew"
    ):
        inspect_dataset(str(mock_dataset), "me/x", "ask", "0" * 64)
    with pytest.raises(DatasetError, match="the dataset is not the one that was announced or approved"):
        push_dataset(str(mock_dataset), "me/x", "0" * 64)


@given(st.lists(st.integers(0, 10**9), unique=True, max_size=700).map(sorted), st.integers(1, 300))
def test_shards_are_whole_units_in_order(numbers: list[int], most: int) -> None:
    shards = cut_shards(numbers, domain="mock", round_=0, first=5, task_id="mock.judge", most=most)
    assert [number for shard in shards for number in shard.numbers] == numbers
    assert all(shard.numbers and len(shard.numbers) % UNIT_NUMBERS == 0 for shard in shards[:-1])
    assert [(shard.name, shard.map_index) for shard in shards] == [
        (f"mock-{5 + place:03d}", place) for place in range(len(shards))
    ]
    assert all(len(shard.numbers) < max(most, UNIT_NUMBERS) + UNIT_NUMBERS for shard in shards)


@given(st.text(min_size=1), st.text(min_size=1))
def test_any_run_id_has_a_folder_of_its_own(one: str, other: str) -> None:
    name = run_name(one)
    assert set(name) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-") and len(name) <= 89
    assert (name == run_name(other)) == (one == other)


def test_a_run_is_found_again_by_its_url(tmp_path: Path) -> None:
    run = order_run(str(tmp_path), order())
    assert run_at(run) == Run(tmp_path, run_name(order().run_id)) and run_at(run).order() == order(
        domains=("mock",), params={}
    )
