"""The pages over HTTP, behind a guard that stands where Airflow's authorization stands: what they say, escape and
refuse."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from fastapi import Header, HTTPException
from fastapi.routing import APIRoute
from fastapi.testclient import TestClient
from scheduled_runs import DAG_ID, HOSTILE, MONDAY, TUESDAY, reject, write_shard
from toolscale_ui.app import STATIC, create_app

ROOT = Path(__file__).parents[2]


def only_ada(user: str = Header("")) -> None:
    """Refuse everybody else."""
    if user != "ada":
        raise HTTPException(401)


def pages(data: Path | str, user: str = "ada") -> TestClient:
    app = create_app(str(data), only_ada, lambda: user)
    return TestClient(app, headers={"user": user} if user else {}, follow_redirects=False)


def paths_of_all_routes(client: TestClient) -> list[str]:
    """An address for every route there is."""
    routes = [route for route in client.app.routes if isinstance(route, APIRoute)]  # type: ignore[attr-defined]
    assert len(routes) == len(client.app.routes) >= 8  # type: ignore[attr-defined]
    return [re.sub(r"{path:path}", "no/such/page", route.path.replace("{name}", "toolscale.css")) for route in routes]


def test_nobody_sees_anything_without_authorization(data: Path) -> None:
    anonymous = pages(data, user="")
    assert {path: anonymous.get(path).status_code for path in paths_of_all_routes(anonymous)} == dict.fromkeys(
        paths_of_all_routes(anonymous), 401
    )
    assert {anonymous.get(f"/static/{name}").status_code for name in STATIC} == {401}
    assert anonymous.get("/openapi.json").status_code == 401


def test_every_page_is_guarded_against_scripts_and_frames(data: Path) -> None:
    client = pages(data)
    for path in (*paths_of_all_routes(client), "/static/../app.py"):
        headers = client.get(path).headers
        assert (
            "script-src 'self';" in headers["content-security-policy"]
            and "unsafe" not in headers["content-security-policy"]
        ), path
        assert (headers["x-content-type-options"], "frame-ancestors 'self'" in headers["content-security-policy"]) == (
            "nosniff",
            True,
        )
    assert client.get("/static/app.py").status_code == 404


def test_the_list_shows_rejects_with_links_that_keep_the_selection(data: Path) -> None:
    page = pages(data).get("/rejects?gate=novel").text
    assert "2 rejected tasks" in page and "of 5" in page
    assert f"case?gate=novel&amp;at_run={TUESDAY}" not in page
    assert (
        "case?gate=novel&amp;at_run=scheduled__2026-11-16T02%3A00%3A00%2B00%3A00&amp;at_domain=finance&amp;at_number=1"
        in page
    )


@pytest.mark.parametrize(
    "path",
    [
        "/rejects",
        f"/case?at_run={TUESDAY.replace('+', '%2B')}&at_domain=finance&at_number=4",
        f"/rejects?run_id={HOSTILE}",
        "/nights",
    ],
)
def test_everything_that_comes_from_data_or_an_address_is_escaped(data: Path, path: str) -> None:
    about = data / "runs/monday/run.json"
    about.write_text(about.read_text().replace("scheduled__", "scheduled__<script>alert(1)</script>"))
    page = pages(data).get(path).text
    assert page.count("<script") == 1 and "<img" not in page
    assert "&lt;script&gt;alert(1)" in page
    assert path == "/nights" or "{{ 7*7 }}" in page
    assert " style=" not in page and not re.search(r"\son\w+=", page.split("<main>")[1].replace("onerror=alert", ""))


def test_a_case_shows_what_is_needed_to_understand_it(data: Path) -> None:
    page = pages(data).get("/case", params={"at_run": TUESDAY, "at_domain": "finance", "at_number": "3"}).text
    shown = (
        "mutants_killed found something",
        "Surviving mutant",
        "toolscale judge finance 3 --seed 0",
        "The bill is paid",
        "$75.00",
        "(differs)",
    )
    assert [told for told in shown if told not in page] == []
    assert f"../dags/{DAG_ID}/runs/manual__2026-11-17T08%3A30%3A00%2B00%3A00/tasks/finance.judge/mapped/0" in page


@pytest.mark.parametrize(
    ("parameters", "told"),
    [
        ({"intent": "nothing"}, "Nothing matches these filters"),
        (
            {"dag_id": DAG_ID, "run_id": MONDAY, "task_id": "finance.judge", "map_index": "7"},
            "Nothing was rejected in this shard",
        ),
        (
            {"dag_id": DAG_ID, "run_id": MONDAY, "task_id": "finance.plan", "map_index": "{MAP_INDEX}"},
            "finance.plan judges no candidates",
        ),
        ({"dag_id": DAG_ID, "run_id": "never"}, "Nothing was rejected in this run"),
        ({"dag_id": "another", "run_id": MONDAY}, "This Dag judges no tasks"),
    ],
)
def test_an_empty_page_says_why_and_what_to_do(data: Path, parameters: dict[str, str], told: str) -> None:
    assert told in pages(data).get("/rejects", params=parameters).text


def test_before_the_first_run_every_page_says_what_to_trigger(tmp_path: Path) -> None:
    client = pages(tmp_path)
    assert "Trigger the Dag synthesize_dataset" in client.get("/rejects").text
    assert "No night yet" in client.get("/nights").text
    assert client.get("/case?at_run=x&at_domain=y&at_number=-5").status_code == 404
    assert client.get("/card?run=x").status_code == 404


def test_rows_with_empty_cells_and_half_characters_are_shown(data: Path) -> None:
    call = {"name": None, "arguments": None, "result": '"\\ud800"'}
    failed = [None, {"gate": None, "finding": None}]
    hollow = dict.fromkeys(reject(8), None) | {
        "number": 8,
        "domain": "finance",
        "golden_calls": [None, call],
        "failed": failed,
    }
    write_shard(data, "tuesday", TUESDAY, 3, [hollow])
    about = data / "runs/monday/run.json"
    about.write_text(about.read_text().replace('"domains": [', '"domains": ["\\udfff", '))
    client = pages(data)
    assert "6 rejected tasks" in client.get("/rejects?evolution=%00&evolution=").text
    assert client.get("/rejects?intent=%00").status_code == client.get("/nights").status_code == 200
    assert (
        "Candidate 8" in client.get("/case", params={"at_run": TUESDAY, "at_domain": "finance", "at_number": "8"}).text
    )


def test_a_corrupt_file_is_named_above_the_rest(data: Path) -> None:
    (data / "runs/monday/finance/rejects/finance-001.parquet").write_bytes(b"PAR1 and no more")
    page = pages(data).get("/rejects").text
    assert (
        "1 file could not be read" in page
        and "runs/monday/finance/rejects/finance-001.parquet" in page
        and "4 rejected tasks" in page
    )


def test_data_that_cannot_be_reached_is_told_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file, not a folder")
    for address in (str(tmp_path / "data"), "nosuchscheme://bucket/x"):
        for path in ("/rejects", "/nights", "/case?at_number=1", "/card?run=x"):
            answer = pages(address).get(path)
            assert (answer.status_code, "The data cannot be reached" in answer.text, "Traceback" in answer.text) == (
                503,
                True,
                False,
            )


def test_the_plugin_is_cheap_to_import(tmp_path: Path) -> None:
    code = (
        "import sys; import airflow.plugins_manager; before = set(sys.modules); import toolscale_plugin;"
        "print(sorted({'duckdb', 'pyarrow', 'jinja2', 'pandas', 'fsspec', 'toolscale_ui', 'toolscale'} "
        "& (set(sys.modules) - before)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT / "plugins",
        env=os.environ | {"AIRFLOW_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines()[-1] == "[]"
