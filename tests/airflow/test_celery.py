"""More than one machine, run for real: PostgreSQL, Redis, S3, Celery workers of two queues, configured by
deploy/scale.env.example alone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from cluster import Cluster, cluster, missing_servers
from homes import TRIAL_DAGS
from rest import AirflowClient

from tests.installed import needs
from toolscale.dataset.places import files_in
from toolscale.dataset.runs import run_name

pytestmark = [
    pytest.mark.slow("tests/airflow/test_synthesize.py"),
    pytest.mark.xdist_group("servers"),
    needs(" and ".join(missing_servers()), not missing_servers()),
]


@pytest.fixture(scope="module")
def two_machines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with cluster(tmp_path_factory.mktemp("cluster"), dags=TRIAL_DAGS) as machines:
        yield machines


def test_each_queue_has_its_machine_and_both_have_the_data(two_machines: Cluster) -> None:
    admin = two_machines.admin
    admin.wait_for_dag("queues")
    run_id = admin.trigger("queues")
    admin.wait("queues", run_id)

    written, read = admin.xcom("queues", run_id, "write"), admin.xcom("queues", run_id, "read")
    assert (written["queue"], written["home"]) == ("default", str(two_machines.machines["default"].folder))
    assert (read["queue"], read["home"]) == ("gpu", str(two_machines.machines["gpu"].folder))
    assert written["pid"] != read["pid"]
    assert read["found"] == written


def test_no_machine_needs_a_secret_of_its_own(two_machines: Cluster) -> None:
    assert not [home for home in two_machines.machines.values() if (home.folder / ".airflow" / "jwt_secret").exists()]


def test_a_stranger_sees_nothing(two_machines: Cluster) -> None:
    with AirflowClient.of(two_machines.url) as stranger:
        assert stranger.http.get("/api/v2/dags").status_code == 401


def test_a_nightly_run_over_celery_and_s3_gives_the_bytes_of_synthesize(
    two_machines: Cluster, mock_dataset: Path
) -> None:
    admin = two_machines.admin
    admin.wait_for_dag("synthesize_dataset")
    run_id = admin.trigger(
        "synthesize_dataset",
        {"domains": ["mock"], "tasks": 10, "turns": "single", "answer": "message", "publish": "never"},
    )
    admin.wait("synthesize_dataset", run_id)
    dataset = admin.xcom("synthesize_dataset", run_id, "collect")["dataset"]
    assert dataset == f"{two_machines.data}/runs/{run_name(run_id)}/dataset"
    assert two_machines.read(dataset) == {path: (mock_dataset / path).read_bytes() for path in files_in(mock_dataset)}


def test_a_training_runs_on_the_machine_with_a_gpu_and_its_result_is_on_s3(two_machines: Cluster) -> None:
    admin = two_machines.admin
    admin.wait_for_dag("train_orchestrator")
    run_id = admin.trigger("train_orchestrator", {"out": "over-celery"})
    admin.wait("train_orchestrator", run_id)
    out = two_machines.machines["gpu"].folder / "var" / "training" / "over-celery"
    told = admin.xcom("train_orchestrator", run_id, "report")
    assert told["checkpoint"] == f"{two_machines.data}/training/over-celery/model"
    written = {path: (out / path).read_bytes() for path in files_in(out)}
    # For the pages: written on the store alone, when the training begins.
    trained_on = b'{\n "dataset": null,\n "sha256": null\n}\n'
    assert two_machines.read(told["out"]) == {**written, "trained_on.json": trained_on}
