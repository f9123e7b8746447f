"""A domain that a model drafts, a person reads, and a run puts among the domains, through the real scheduler."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from approvals import answer, question, states
from chat_server import ChatServer, chat_server
from homes import LiveAirflow
from rest import AirflowClient
from scripted_model import reply

from toolscale.environment.admission_file import read_admission
from toolscale.environment.environment import load_environment

DAG = "draft_domain"


def use(admin: AirflowClient, server: ChatServer, domains: Path) -> None:
    """Let drafts ask this model, and put what is approved into a folder of the test."""
    extra = json.dumps({"model": "m", "price": "1/10"})
    connection = {
        "connection_id": "toolscale_model", "conn_type": "generic", "host": server.base_url, "password": "sk-draft",
        "extra": extra,
    }  # fmt: skip
    admin.http.delete("/api/v2/connections/toolscale_model")
    admin.post("connections", connection)
    admin.http.delete("/api/v2/variables/TOOLSCALE_DOMAINS")
    admin.post("variables", {"key": "TOOLSCALE_DOMAINS", "value": str(domains)})


@pytest.mark.slow("tests/draft/test_draft.py")
def test_a_person_reads_a_draft_and_takes_it(live_airflow: LiveAirflow, tmp_path: Path) -> None:
    admin, domains = live_airflow.admin, tmp_path / "domains"
    admin.wait_for_dag(DAG)
    with chat_server(reply=reply) as server:
        use(admin, server, domains)
        run_id = admin.trigger(
            DAG, {"name": "Village library", "intents": 6, "rounds": 3, "budget": 1, "phrase": False}
        )
        asked = question(admin, run_id, DAG)
        assert {headers["authorization"] for headers in server.headers} == {"Bearer sk-draft"}
    assert asked["subject"] == "Take this domain?"
    body = asked["body"]
    assert "**Library** (`village_library`): A library serves people\\." in body
    assert "Drafted by `m`: 10 replies, 10,000 tokens read, 5,000 written, $0.0600 ($0." in body
    assert "Tables: 2, tools: 6, rules: 1, intents: 5. " in body
    assert "0 of 0" not in body and "candidates pass every gate." in body
    assert "| intents | 3 | 2, 2, 2 | complain | 0.0120 |" in body and "### 20 of its tasks" in body
    assert "- `find_patron({" in body and "- to be told: " in body
    assert not domains.exists()
    answer(admin, run_id, "Approve", DAG)
    admin.wait(DAG, run_id)

    folder = domains / "village_library"
    assert admin.xcom(DAG, run_id, "place") == str(folder)
    assert read_admission(folder).environment_hash == load_environment(folder).hash
    told = "".join(path.read_text(errors="replace") for path in live_airflow.home.folder.rglob("*.log"))
    assert "sk-draft" not in told and "intents: round 3, 2 findings" in admin.log(DAG, run_id, "draft")

    again = admin.trigger(DAG, {"name": "Village library"})
    admin.wait(DAG, again, "failed")
    assert states(admin, again, DAG)["draft"] == ("failed", 1)
    assert "there is a domain 'village_library' already" in admin.log(DAG, again, "draft")


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ({"name": "shop", "cost": 1}, "the run was given 'cost', which is no parameter"),
        *(
            pytest.param(*case, marks=pytest.mark.slow("tests/airflow/test_draft.py"))
            for case in (
                ({"name": "???"}, "'???' names no domain; say it in one to five words"),
                (
                    {"name": "shop", "connection": "shop_db"},
                    "there is no connection 'shop_db'; make it, or leave `connection`",
                ),
                ({"name": "shop", "source": "/absent"}, "/absent: cannot be read (No such file or directory)"),
            )
        ),
    ],
)
def test_a_run_that_was_given_something_wrong_fails_at_once_with_one_line(
    live_airflow: LiveAirflow, tmp_path: Path, given: dict[str, object], line: str
) -> None:
    admin = live_airflow.admin
    admin.wait_for_dag(DAG)
    with chat_server(reply=reply) as server:
        use(admin, server, tmp_path / "domains")
        run_id = admin.trigger(DAG, given)
        admin.wait(DAG, run_id, "failed")
        assert not server.asked
    assert states(admin, run_id, DAG)["draft"] == ("failed", 1) and line in admin.log(DAG, run_id, "draft")
