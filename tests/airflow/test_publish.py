"""From the asset to the Hub, through the real scheduler: a person approves or rejects, and the token shows nowhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from approvals import PUBLISH, answer, next_run, next_runs, question, runs, states
from homes import LiveAirflow
from rest import AirflowClient

from tests.publish.hub_server import Hub
from toolscale.pipeline import synthesize as make_dataset

SYNTHESIZE = "synthesize_dataset"


def synthesize(admin: AirflowClient) -> str:
    """Make a dataset of the mock domain; the run that publishes it, once a person approves."""
    admin.wait_for_dag(SYNTHESIZE)
    admin.wait_for_dag(PUBLISH)
    before = runs(admin)
    admin.wait(
        SYNTHESIZE,
        admin.trigger(
            SYNTHESIZE, {"domains": ["mock"], "tasks": 10, "turns": "single", "answer": "message", "publish": "ask"}
        ),
    )
    return next_run(admin, before)


def announce(
    admin: AirflowClient, dataset: Path, repo: str, *, publish: str = "auto", night: str | None = None
) -> None:
    """Say that a run has made a dataset, as `collect` does."""
    admin.wait_for_dag(PUBLISH)
    (asset,) = [found for found in admin.get("assets")["assets"] if found["name"] == "verified_dataset"]
    extra = {
        "dataset": str(dataset),
        "publish": publish,
        "repo": repo,
        "night": night,
        "by_hand": night is None,
        "run_id": f"scheduled__{night}" if night else f"manual__{repo}",
    }
    event = {"asset_id": asset["id"], "extra": extra, "partition_key": extra["run_id"]}
    admin.post("assets/events", event)


def texts(alerts: tuple[str, list[dict[str, Any]]], run_id: str) -> list[str]:
    """What was posted about a run. A question is asked again where Airflow took the end of the process that asked it
    for a failure."""
    return list(dict.fromkeys(post["text"] for post in alerts[1] if post["run_id"] == run_id))


def test_what_a_person_approves_is_one_commit_with_a_tag(
    live_airflow: LiveAirflow, local_hub: tuple[str, Hub], mock_dataset: Path, alerts: tuple[str, list[dict[str, Any]]]
) -> None:
    admin, (_, hub) = live_airflow.admin, local_hub
    run_id = synthesize(admin)
    asked = question(admin, run_id)
    where = f"{live_airflow.url}/dags/{PUBLISH}/runs/{run_id}/tasks/approve/required_actions?map_index=-1"
    assert texts(alerts, run_id) == [f"{PUBLISH}.approve waits for an answer in {run_id}: {where}"]
    assert f"Look at its [card]({live_airflow.url}/toolscale/card?run=" in asked["body"]
    assert asked["subject"] == "Publish this dataset?"
    assert (
        "| mock | 10 of 10 | 21 | 100.0% | 100.00% | 0 | novel 9 | 0 |" in asked["body"]
        and "no repository: fill one in below" in asked["body"]
    )
    answer(admin, run_id, "Approve", repo="me/approved")
    admin.wait(PUBLISH, run_id)

    pushed = admin.xcom(PUBLISH, run_id, "push")
    files = hub.files("me/approved")
    assert (
        pushed["repo"] == "me/approved" and pushed["tag"].startswith("v1.0.0-") and len(hub.titles("me/approved")) == 2
    )
    assert (
        files["mock/train-00000-of-00001.parquet"]
        == (mock_dataset / "mock" / "train-00000-of-00001.parquet").read_bytes()
    )
    (event,) = [
        event for event in admin.asset_events(order_by="-timestamp") if event["extra"].get("repo") == "me/approved"
    ]
    assert event["extra"] == pushed
    logs = "".join(path.read_text(errors="replace") for path in live_airflow.home.folder.rglob("*.log"))
    assert "hf_write" not in logs
    assert len(texts(alerts, run_id)) == 1


def test_who_could_have_answered_is_told_that_nobody_did(
    live_airflow: LiveAirflow, alerts: tuple[str, list[dict[str, Any]]]
) -> None:
    admin = live_airflow.admin
    admin.wait_for_dag("questions")
    run_id = admin.trigger("questions")
    admin.wait("questions", run_id)
    where = f"{live_airflow.url}/dags/questions/runs/{run_id}/tasks/approve/required_actions?map_index=-1"
    assert texts(alerts, run_id) == [
        f"questions.approve waits for an answer in {run_id}: {where}",
        f"questions.approve expired in {run_id}: nobody answered, which counts as Reject",
    ]


@pytest.mark.slow("tests/publish/test_outcomes.py")
def test_what_a_person_rejects_is_not_pushed(
    live_airflow: LiveAirflow, local_hub: tuple[str, Hub], mock_dataset: Path
) -> None:
    admin, (_, hub) = live_airflow.admin, local_hub
    known = runs(admin)
    announce(admin, mock_dataset, "me/rejected", publish="ask")
    run_id = next_run(admin, known)
    question(admin, run_id)
    before = hub.writes()
    answer(admin, run_id, "Reject", repo="me/rejected")
    admin.wait(PUBLISH, run_id)
    assert states(admin, run_id)["push"] == ("skipped", 0)
    assert hub.writes() == before


@pytest.mark.slow("tests/airflow/test_publish.py")
def test_never_publishes_nothing(live_airflow: LiveAirflow, mock_dataset: Path) -> None:
    admin = live_airflow.admin
    known = runs(admin)
    announce(admin, mock_dataset, "me/never", publish="never")
    run_id = next_run(admin, known)
    admin.wait(PUBLISH, run_id)
    assert {task: state for task, (state, _) in states(admin, run_id).items()} == dict.fromkeys(
        ("inspect", "choose", "approve", "push"), "skipped"
    )


@pytest.mark.slow("tests/airflow/test_publish.py")
def test_auto_without_a_repository_fails_at_once_with_one_line(live_airflow: LiveAirflow, mock_dataset: Path) -> None:
    admin = live_airflow.admin
    admin.wait_for_dag(PUBLISH)
    run_id = admin.trigger(PUBLISH, {"dataset": str(mock_dataset), "publish": "auto"})
    admin.wait(PUBLISH, run_id, "failed")
    assert states(admin, run_id)["inspect"] == ("failed", 1)
    assert (
        "publish is auto, and there is no repository; set TOOLSCALE_REPO to owner/name, or fill in repo"
        in admin.log(PUBLISH, run_id, "inspect")
    )


@pytest.mark.slow("tests/airflow/test_publish.py")
def test_a_run_with_a_misspelt_parameter_fails_at_once_with_one_line(
    live_airflow: LiveAirflow, mock_dataset: Path
) -> None:
    admin = live_airflow.admin
    admin.wait_for_dag(PUBLISH)
    run_id = admin.trigger(PUBLISH, {"dataset": str(mock_dataset), "publsh": "auto"})
    admin.wait(PUBLISH, run_id, "failed")
    assert states(admin, run_id)["inspect"] == ("failed", 1)
    told = "the run was given 'publsh', which is no parameter; the parameters are dataset, repo, publish"
    assert told in admin.log(PUBLISH, run_id, "inspect")


@pytest.fixture(scope="module")
def older_dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Another dataset than `mock_dataset`."""
    out = tmp_path_factory.mktemp("older") / "mock"
    make_dataset("mock", out, tasks=4, seed=1)
    return out


@pytest.mark.slow("tests/publish/test_outcomes.py")
def test_an_older_night_leaves_the_repository_as_the_newer_one_left_it(
    live_airflow: LiveAirflow, local_hub: tuple[str, Hub], mock_dataset: Path, older_dataset: Path
) -> None:
    admin, (_, hub) = live_airflow.admin, local_hub
    known = runs(admin)
    announce(admin, mock_dataset, "me/nights", night="2026-11-21T02:00:00+00:00")
    newer = next_run(admin, known)
    admin.wait(PUBLISH, newer)
    assert admin.xcom(PUBLISH, newer, "push")["night"] == "2026-11-21T02:00:00+00:00"
    before, files = hub.writes(), hub.files("me/nights")
    announce(admin, older_dataset, "me/nights", night="2026-11-20T02:00:00+00:00")
    older = next_run(admin, known | {newer})
    admin.wait(PUBLISH, older)
    assert {task: state for task, (state, _) in states(admin, older).items()} == dict.fromkeys(
        ("inspect", "choose", "approve", "push"), "skipped"
    )
    logs = "".join(path.read_text(errors="replace") for path in live_airflow.home.folder.rglob("*.log"))
    assert "me/nights holds that of 2026-11-21T02:00:00+00:00, and nights do not run backwards" in logs
    assert (hub.writes(), hub.files("me/nights")) == (before, files)


@pytest.mark.slow("tests/airflow/test_publish.py")
def test_datasets_that_are_made_at_once_are_each_published(
    live_airflow: LiveAirflow, local_hub: tuple[str, Hub], mock_dataset: Path, older_dataset: Path
) -> None:
    admin, (_, hub) = live_airflow.admin, local_hub
    known = runs(admin)
    announce(admin, mock_dataset, "me/first")
    announce(admin, older_dataset, "me/second")
    made = next_runs(admin, known, 2)
    for run_id in made:
        admin.wait(PUBLISH, run_id)
    keys = {admin.get(f"dags/{PUBLISH}/dagRuns/{run_id}")["partition_key"] for run_id in made}
    assert keys == {"manual__me/first", "manual__me/second"}
    assert sorted(admin.xcom(PUBLISH, run_id, "push")["repo"] for run_id in made) == ["me/first", "me/second"]
    assert "mock/train-00000-of-00001.parquet" in hub.files("me/first").keys() & hub.files("me/second").keys()


@pytest.mark.slow("tests/airflow/test_publish.py")
def test_a_dataset_that_is_given_is_pushed(
    live_airflow: LiveAirflow, local_hub: tuple[str, Hub], mock_dataset: Path
) -> None:
    admin, (_, hub) = live_airflow.admin, local_hub
    admin.wait_for_dag(PUBLISH)
    run_id = admin.trigger(PUBLISH, {"dataset": str(mock_dataset), "publish": "auto", "repo": "me/given"})
    admin.wait(PUBLISH, run_id)
    assert states(admin, run_id) == {
        "inspect": ("success", 1),
        "choose": ("success", 1),
        "approve": ("skipped", 0),
        "push": ("success", 1),
    }
    assert "mock/train-00000-of-00001.parquet" in hub.files("me/given")
