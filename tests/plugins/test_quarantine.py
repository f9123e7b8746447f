"""A task in quarantine, as a person reads it and decides: over HTTP, with a real reject of a real environment."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from fastapi import Header, HTTPException
from fastapi.testclient import TestClient
from scheduled_runs import MONDAY, Row, reject, write_run, write_shard
from scripted_solver import known_of, tasks_of
from toolscale_ui.app import create_app

from toolscale.dataset.describing.reading import read_dataset
from toolscale.dataset.given import Given, read_given, write_given
from toolscale.environment.registry import find_folder
from toolscale.pipeline import synthesize
from toolscale.records import Attempt, ToolCall
from toolscale.tasks.candidate_keys import key_of

pytestmark = pytest.mark.xdist_group("disputed")  # made once


@pytest.fixture(scope="module")
def disputed(tmp_path_factory: pytest.TempPathFactory, mock_dataset: Path) -> Row:
    """A reject on whose end state two attempts agree."""
    folder = tmp_path_factory.mktemp("disputed")
    tasks = tasks_of(mock_dataset)
    first, other = [task for task in tasks if task.row_changes][:2]
    calls = tuple(ToolCall(name=call.name, arguments=call.arguments) for call in other.golden_calls)
    key, answer = key_of(first.candidate, first.environment_hash), known_of(mock_dataset, [first])[first.request][1]
    attempts = tuple(Attempt(candidate=key, sample=sample, model="m", calls=calls, answer=answer) for sample in (0, 1))
    write_given(folder / "given", Given(attempts={key: attempts}))
    synthesize("mock", folder / "mock", tasks=10, seed=0, given=folder / "given", turns="single", answer="message")
    return next(row for row in read_dataset(folder / "mock").rows.rejects if row["request"] == first.request)


@pytest.fixture
def client(tmp_path: Path, disputed: Row) -> TestClient:
    write_run(tmp_path / "data", "monday", MONDAY, "2026-11-16T02:00:05+00:00")
    write_shard(tmp_path / "data", "monday", MONDAY, 0, [disputed, reject(1, "novel"), reject(2, "solvable")])
    shutil.copytree(find_folder("mock"), tmp_path / "environments" / "mock")

    def decider(user: str = Header("")) -> str:
        if user != "ada":
            raise HTTPException(403)
        return user

    app = create_app(str(tmp_path / "data"), lambda: None, decider, tmp_path / "environments")
    return TestClient(app, headers={"user": "ada"}, follow_redirects=False)


def place(row: Row) -> dict[str, str]:
    return {"at_run": MONDAY, "at_domain": "mock", "at_number": str(row["number"])}


def test_what_waits_for_a_person_is_listed_apart(client: TestClient, disputed: Row) -> None:
    answer = client.get("/quarantine")
    assert (answer.status_code, answer.headers["location"]) == (307, "rejects?gate=quarantine")
    page = client.get("/rejects?gate=quarantine").text
    assert "1 rejected task " in page and f"at_number={disputed['number']}" in page
    assert "1 rejected task " in client.get("/rejects?gate=solvable").text


def test_a_person_reads_both_sides_and_decides(client: TestClient, disputed: Row, tmp_path: Path) -> None:
    page = client.get("/case", params=place(disputed)).text
    shown = ("Which is right?", "Solvers&#39; trajectory", "(differs)", "2 of 2 attempts agree on another end state")
    assert [told for told in shown if told not in page] == []
    sent = client.post("/decide", params=place(disputed), data={"take": "add", "reason": "Both are <b>fine</b>."})
    assert (sent.status_code, sent.headers["location"].partition("?")[0]) == (303, "case")
    (decision,) = read_given(None, tmp_path / "environments" / "mock").decisions.values()
    assert (decision.take, decision.by, decision.reason) == ("add", "ada", "Both are <b>fine</b>.")
    assert decision.calls and decision.candidate
    page = client.get("/case", params=place(disputed)).text
    assert "Decided by ada" in page and "Both are &lt;b&gt;fine&lt;/b&gt;." in page


@pytest.mark.parametrize(
    ("form", "told"),
    [
        ({"take": "add"}, "give a reason"),
        ({"take": "perhaps", "reason": "x"}, "Choose one of the three"),
        ({"take": "accept", "reason": "x" * 30_000}, "give a reason"),
    ],
)
def test_a_form_that_says_nothing_useful_is_refused(
    client: TestClient, disputed: Row, tmp_path: Path, form: dict[str, str], told: str
) -> None:
    answer = client.post("/decide", params=place(disputed), data=form)
    assert answer.status_code == 409 and told in answer.text
    assert not (tmp_path / "environments" / "mock" / "decisions.jsonl").exists()


def test_only_who_may_start_runs_decides_and_only_from_our_own_page(
    client: TestClient, disputed: Row, tmp_path: Path
) -> None:
    form = {"take": "accept", "reason": "fine"}
    stranger = client.post("/decide", params=place(disputed), data=form, headers={"user": "bob"})
    elsewhere = client.post("/decide", params=place(disputed), data=form, headers={"sec-fetch-site": "cross-site"})
    assert (stranger.status_code, elsewhere.status_code) == (403, 403) and "You may not decide" in stranger.text
    assert client.post("/decide", params=place(disputed) | {"at_number": "999"}, data=form).status_code == 404
    assert client.post("/decide", params=place(reject(1)) | {"at_domain": "finance"}, data=form).status_code == 409
    assert not (tmp_path / "environments" / "mock" / "decisions.jsonl").exists()


def test_a_task_of_an_environment_that_has_changed_is_not_decided(
    client: TestClient, disputed: Row, tmp_path: Path
) -> None:
    policy = tmp_path / "environments" / "mock" / "policy.md"
    policy.write_text(policy.read_text() + "\nBe kind.\n")
    answer = client.post("/decide", params=place(disputed), data={"take": "accept", "reason": "fine"})
    assert answer.status_code == 409 and "The environment has changed since" in answer.text
