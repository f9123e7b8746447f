"""Nights: what came out of each, how that differs from those before, where it went, and what is shown where files are
broken or lie."""

from __future__ import annotations

import json
import re
import shutil
import statistics
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path

import pytest
from many_nights import FIRST, REPORT, USUAL, write, write_forty_nights, write_night, write_push, write_training
from scheduled_runs import HOSTILE, write_run
from test_pages import pages
from toolscale_ui.changes import ACCEPTED, KILLED, TASKS, of_gate
from toolscale_ui.data_folder import DataFolder
from toolscale_ui.drift import Change, Usual, change_of, usual_of
from toolscale_ui.lineage import Push, Training, evaluation_of
from toolscale_ui.nights import Night, Nights, NightsPage
from toolscale_ui.outcome import Judged, Made

from tests.publish.hub_server import serving
from toolscale.dataset.runs import Order, run_at
from toolscale.pipeline.publishing import push_dataset
from toolscale.pipeline.scheduled import check_domain, close_run, collect_run, order_run


@pytest.fixture
def manifest(mock_dataset: Path) -> Path:
    return mock_dataset / "manifest.json"


def page_of(data: Path, number: int = 1) -> NightsPage:
    return Nights(DataFolder(str(data), listing_seconds=0)).page(number)


def drifts(night: Night) -> dict[str, str]:
    return {name: change.drift for name, change in night.changes.items() if change.drift}


@pytest.mark.parametrize(
    ("value", "before", "least", "change"),
    [
        (5.0, [], 1, None),
        (5.0, [4.0], 1, Change(1.0, Usual(4.0, 1, 1))),
        (5.0, [1.0, 2.0, 3.0], 1, Change(3.0, Usual(2.0, 3.5 * 1.4826, 3))),
        (0.9, [0.5] * 14, 0.01, Change(0.4, Usual(0.5, 0.01, 14))),
        (0.505, [0.5] * 14, 0.01, Change(0.505 - 0.5, Usual(0.5, 0.01, 14))),
        (9.0, [*[1.0] * 14, 9.0, 9.0, 9.0], 0, Change(8.0, Usual(1.0, 0, 14))),
        (2.0, [1.0, 1.0, 1.0, 1.0, 3.0], 0, Change(1.0, Usual(1.0, 3.5 * 1.2533 * 0.4, 5))),
    ],
)
def test_a_change_is_against_the_median_of_fourteen_nights(
    value: float, before: list[float], least: float, change: Change | None
) -> None:
    assert change_of(value, before, least) == change


@pytest.mark.parametrize(
    ("by", "nights", "drift"), [(1.5, 5, "higher"), (-1.5, 14, "lower"), (1.0, 14, ""), (-1.0, 14, ""), (99.0, 4, "")]
)
def test_a_mark_needs_five_nights_and_a_change_beyond_what_they_show(by: float, nights: int, drift: str) -> None:
    assert Change(by, Usual(0.0, 1.0, nights)).drift == drift


def test_odd_nights_do_not_move_what_is_usual() -> None:
    calm = [10.0, 11.0, 12.0, 10.0, 11.0, 12.0, 11.0]
    assert usual_of([*calm, 900.0, 900.0], 0) == usual_of([*calm, 900.0, 12.5], 0)


def test_a_night_says_what_came_out_and_where_it_went(tmp_path: Path, manifest: Path) -> None:
    home = write_night(tmp_path, manifest, 3, kill_rate=0.9991)
    write_push(home)
    write_training(tmp_path, home, "mine")
    digest = sha256((home / "dataset/manifest.json").read_bytes()).hexdigest()
    found = page_of(tmp_path)
    (night,) = found.nights
    assert (found.total, found.page, found.pages, found.problems) == (1, 1, 1, {})
    assert night == Night(
        home.name,
        night.run,
        made=Made(digest, night.made.asked, 396, 438, USUAL, night.made.bytes),
        judged=Judged(True, round(396 / 414, 4), 0.9991),
        ended=FIRST + timedelta(days=3, minutes=31, seconds=4),
        pushes=[
            Push(
                "me/nights",
                "https://huggingface.co/datasets/me/nights",
                f"v1.0.0-{digest[:8]}",
                digest[:40],
                "dataset",
                digest,
            )
        ],
        trainings=[Training("mine", True, "best choice in 81.9 %, 95.6 % of the way to the best, check passed")],
        combined=True,
        changes={},
    )
    assert (night.run.run_id, night.when, night.state, night.duration) == (
        "scheduled__2026-10-04T02:00:00+00:00",
        FIRST + timedelta(days=3),
        "passed",
        timedelta(minutes=31),
    )
    about = json.loads((home / "dataset/manifest.json").read_text())
    assert night.made and night.made.bytes == sum(file["bytes"] for file in about["files"]) + len(
        (home / "dataset/manifest.json").read_bytes()
    )
    assert [night.value(figure) for figure in (ACCEPTED, KILLED, TASKS, of_gate("novel"), of_gate("lawful"))] == [
        0.9565,
        0.9991,
        396,
        24 / 438,
        0.0,
    ]


def test_forty_nights_are_compared_each_with_the_fourteen_before_it(tmp_path: Path, manifest: Path) -> None:
    homes = write_forty_nights(tmp_path, manifest)
    newest, older = page_of(tmp_path, 1), page_of(tmp_path, 2)
    shown = [*newest.nights, *older.nights]
    assert [night.folder for night in shown] == [home.name for home in reversed(homes)]
    assert ([len(newest.nights), len(older.nights)], page_of(tmp_path, 99)) == ([30, 10], older)
    for place, night in enumerate(shown):
        before = [other.value(of_gate("novel")) or 0 for other in shown[place + 1 : place + 15]]
        change = night.changes.get("gate novel")
        assert (change.usual.nights if change else 0) == len(before)
        assert change is None or change.by == (night.value(of_gate("novel")) or 0) - statistics.median(before)
    marked = {(night.when - FIRST).days: drifts(night) for night in shown if drifts(night)}
    assert marked == {37: {"accepted": "lower", "tasks": "lower", "gate unambiguous": "higher"}}
    page = pages(tmp_path).get("/nights").text
    assert page.count("than usual</span>") == 3 and "Page 1 of 2" in page
    assert 'href="nights?page=2"' in page and " style=" not in page


def test_only_nights_that_asked_for_the_same_are_compared_and_one_made_twice_counts_once(
    tmp_path: Path, manifest: Path
) -> None:
    for day in range(6):
        write_night(tmp_path, manifest, day)
    again = write_night(tmp_path, manifest, 5, by_hand=True, accepted=200)
    about = json.loads((again / "run.json").read_text())
    write(again / "run.json", about | {"night": (FIRST + timedelta(days=5)).isoformat(), "run_id": "backfill__5"})
    write_night(tmp_path, manifest, 6, by_hand=True, accepted=10)
    write_night(tmp_path, manifest, 7, tasks=60, accepted=60)
    write_night(tmp_path, manifest, 8)
    found = page_of(tmp_path)
    compared = {
        night.run.run_id.partition("T")[0]: {change.usual.nights for change in night.changes.values()}
        for night in found.nights[:3]
    }
    assert compared == {"scheduled__2026-10-09": {6}, "scheduled__2026-10-08": set(), "manual__2026-10-07": set()}


def test_before_the_first_night_the_page_says_what_to_do(tmp_path: Path) -> None:
    empty = pages(tmp_path).get("/nights")
    assert empty.status_code == 200 and "No night yet" in empty.text and "../dags/synthesize_dataset" in empty.text


def test_a_run_without_a_dataset_says_how_far_it_came(tmp_path: Path, manifest: Path) -> None:
    for name, day in (("works", 2), ("stopped", 1)):
        write_run(tmp_path, name, name, (FIRST + timedelta(days=day)).isoformat())
    write(
        tmp_path / "runs/stopped/finished.json",
        {"finished": (FIRST + timedelta(days=1, seconds=9)).isoformat(), "complete": False},
    )
    refused = write_night(tmp_path, manifest, 0, failed={"novel": 10, "replay": 800})
    shutil.rmtree(refused / "dataset")
    unjudged = write_night(tmp_path, manifest, -1)
    (unjudged / "mock/quality.json").unlink()
    nights = page_of(tmp_path).nights
    assert [(night.state, night.duration, night.made and night.made.tasks) for night in nights] == [
        ("in progress", None, None),
        ("ended", timedelta(seconds=9), None),
        ("failed", timedelta(minutes=31), 396),
        ("not judged", timedelta(minutes=31), 396),
    ]
    page = pages(tmp_path).get("/nights").text
    assert "<li>accepted_share is too low</li>" in page
    assert re.search(r'<a href="card\?run=[^"]+&amp;domain=mock">mock</a>', page)


@pytest.mark.parametrize(
    ("path", "content", "why"),
    [
        ("run.json", "{", "not the JSON of a run"),
        (
            "dataset/manifest.json",
            "[" * 99,
            "not a manifest: invalid json: eof while parsing a list at line 1 column 99",
        ),
        ("dataset/manifest.json", "", "not a manifest: invalid json: eof while parsing a value at line 1 column 0"),
        ("mock/quality.json", '{"passed": true}', "quality.json cannot be read: clear quality_gate to write it again"),
        ("finished.json", '{"finished": "at dawn", "complete": true}', "it does not say when the run ended"),
        (
            "published/me.json",
            '{"repo": "me/x", "url": "javascript:alert(1)", "tag": 7}',
            "not the record of a push: url, tag, commit, dataset, sha256",
        ),
        ("finished.json", "0" * 2_000_000, "it has more than 1,048,576 bytes, which the pipeline does not write"),
    ],
)
def test_what_is_broken_is_named_in_a_line_and_the_rest_is_shown(
    tmp_path: Path, manifest: Path, path: str, content: str, why: str
) -> None:
    write_night(tmp_path, manifest, 0)
    home = write_night(tmp_path, manifest, 1)
    (home / path).parent.mkdir(exist_ok=True)
    (home / path).write_text(content)
    assert page_of(tmp_path).problems == {f"runs/{home.name}/{path}": why}
    answer = pages(tmp_path).get("/nights")
    assert answer.status_code == 200 and "1 file could not be read" in answer.text and "2026-10-01" in answer.text


def test_counts_that_cannot_be_are_no_figures(tmp_path: Path, manifest: Path) -> None:
    wrong = [("accepted", -1), ("candidates", 10**40), ("candidates", "many"), ("accepted", True)]
    for day, (count, value) in enumerate(wrong):
        path = write_night(tmp_path, manifest, day) / "dataset/manifest.json"
        about = json.loads(path.read_text())
        about["domains"]["mock"]["counts"][count] = value
        path.write_text(json.dumps(about))
    found = page_of(tmp_path)
    assert ([night.made for night in found.nights], set(found.problems.values())) == (
        [None] * 4,
        {"not a manifest: its counts cannot be"},
    )


def test_a_folder_without_a_run_is_named_and_the_runs_of_another_dag_are_not(tmp_path: Path, manifest: Path) -> None:
    home = write_night(tmp_path, manifest, 0)
    (home / "run.json").rename(tmp_path / "gone")
    write_run(tmp_path, "other", "theirs", "2027-01-01T00:00:00+00:00", dag_id="secret_dag")
    found = page_of(tmp_path)
    assert (found.nights, found.problems) == (
        [],
        {f"runs/{home.name}/run.json": "it is missing, so that nobody knows which run this was"},
    )


def test_everything_in_files_is_text(tmp_path: Path, manifest: Path) -> None:
    home = write_night(tmp_path, manifest, 0)
    about = json.loads((home / "run.json").read_text())
    write(
        home / "run.json",
        about | {"run_id": HOSTILE, "domains": [HOSTILE, "mock", "\ud800"] * 40, "started": HOSTILE, "night": HOSTILE},
    )
    dataset = json.loads((home / "dataset/manifest.json").read_text())
    dataset["domains"]["mock"]["gates"][HOSTILE] = {"fail": 400}
    write(home / "dataset/manifest.json", dataset)
    write_training(
        tmp_path,
        home,
        "mine",
        {"check": {"passed": 1}, "questions": {"policies": [{"policy": "trained", "best": HOSTILE, "share": 1}]}},
    )
    write_push(home, url="https://example.org/datasets/me/nights?x=<b>")
    page = pages(tmp_path).get("/nights").text
    assert page.count("<script") == 1 and "<img" not in page and "<b>" not in page and " style=" not in page
    assert "&lt;script&gt;alert(1)" in page and "example.org" not in page and "Evaluation: cannot be read" in page
    assert not re.search(r"\son\w+=", page.split("<main>")[1].replace("onerror=alert", ""))


@pytest.mark.parametrize(
    ("report", "words"),
    [
        (REPORT, "best choice in 81.9 %, 95.6 % of the way to the best, check passed"),
        (REPORT | {"check": {"passed": False}}, "best choice in 81.9 %, 95.6 % of the way to the best, check failed"),
        ({}, "this kind of model is not measured"),
        ({"reward": 1.0}, "of another kind, see report.json"),
        (REPORT | {"questions": {"policies": []}}, "cannot be read"),
        ({"check": 1, "questions": 1}, "cannot be read"),
        ([1], "of another kind, see report.json"),
    ],
)
def test_an_evaluation_is_told_in_words(report: object, words: str) -> None:
    assert evaluation_of(json.dumps(report).encode()) == words


def test_a_version_is_linked_to_the_hub_and_one_of_other_bytes_is_told_apart(tmp_path: Path, manifest: Path) -> None:
    home = write_night(tmp_path, manifest, 0)
    write_push(home)
    write_push(home, repo="me/other", sha256="0" * 64)
    page = pages(tmp_path).get("/nights").text
    (tag,) = set(re.findall(r"v1\.0\.0-[0-9a-f]{8}", page))
    assert f'href="https://huggingface.co/datasets/me/nights/tree/{tag}"' in page
    assert page.count("/datasets/me/nights/commit/") == 2 and page.count("(what this run made before)") == 1


def test_what_the_pipeline_writes_is_what_the_page_reads(
    tmp_path: Path, mock_dataset: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = datetime(2026, 11, 21, 2, tzinfo=UTC)
    order = Order(
        "synthesize_dataset",
        "scheduled__1",
        started.isoformat(),
        None,
        ("mock",),
        10,
        0,
        0.5,
        "auto",
        {},
        night=started.isoformat(),
    )
    url = order_run(str(tmp_path), order)
    run = run_at(url)
    shutil.copytree(mock_dataset, run.dataset("mock"))
    check_domain(url, "mock")
    told = collect_run(url)
    dataset = {path: path.read_bytes() for path in sorted(run.dataset().rglob("*")) if path.is_file()}
    with serving() as (endpoint, _):
        monkeypatch.setenv("HF_ENDPOINT", endpoint)
        monkeypatch.setenv("HF_TOKEN", "hf_write")
        pushed = push_dataset(told["dataset"], "me/nights", told["sha256"])
        elsewhere = push_dataset(
            str(shutil.copytree(mock_dataset, tmp_path / "mine" / "dataset")), "me/nights", told["sha256"]
        )
    close_run(url, started + timedelta(minutes=2))
    (night,) = page_of(tmp_path).nights
    assert night.pushes == [
        Push(*(pushed[name] for name in ("repo", "url", "tag", "commit")), "dataset", told["sha256"])
    ]
    assert (night.state, night.duration, night.value(TASKS), night.value(KILLED)) == (
        "passed",
        timedelta(minutes=2),
        10,
        1.0,
    )
    assert {path: path.read_bytes() for path in dataset} == dataset and sorted(dataset) == sorted(
        p for p in run.dataset().rglob("*") if p.is_file()
    )
    assert elsewhere["already_published"] and [path.name for path in (tmp_path / "mine").iterdir()] == ["dataset"]
    order_run(str(tmp_path), order)
    assert page_of(tmp_path).nights[0].ended is None
