"""What a person does in the UI: trigger a run from the form, see it turn green, look at a shard's rejects, open a case,
approve the push."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

import pyarrow.dataset
import pytest
from approvals import PUBLISH, next_run, question, runs
from browser import browser_page, keep, our_frame, task_tab_path
from homes import PASSWORDS, LiveAirflow
from playwright.sync_api import Page, expect
from rest import AirflowClient

from tests.installed import needs_browser
from tests.publish.hub_server import Hub
from toolscale.dataset.runs import run_name

pytestmark = [
    pytest.mark.slow("tests/plugins/test_in_airflow.py"),
    pytest.mark.xdist_group("airflow"),
    needs_browser,
]

DAG = "synthesize_dataset"
TASKS, SEED, CANDIDATE = 60, 78, 50
"""With this seed a candidate is rejected because its request can be read in another way, for which other facts are
true."""


def sign_in(page: Page) -> None:
    page.goto("/")
    page.locator("input[name=username]").fill("admin")
    page.locator("input[type=password]").fill(PASSWORDS["admin"])
    page.keyboard.press("Enter")
    expect(page.get_by_role("link", name="Dags").first).to_be_visible()


def trigger(page: Page) -> str:
    """Fill in the form and send it; the id of the run."""
    page.goto(f"/dags/{DAG}")
    page.get_by_role("button", name="Trigger").first.click()
    form = page.get_by_role("dialog")
    expect(form.get_by_text("Each becomes a config of the dataset.")).to_be_visible()
    expect(form.get_by_text("finance", exact=True)).to_be_visible()
    form.locator("input[name=element_tasks]").fill(str(TASKS))
    form.locator("input[name=element_seed]").fill(str(SEED))
    keep(page, "trigger-form")
    form.get_by_role("button", name="Trigger").last.click()
    page.wait_for_url(re.compile(rf"/dags/{DAG}/runs/"))
    return run_of(page)


def run_of(page: Page) -> str:
    """The id of the run whose page, or whose task's page, is open."""
    return unquote(urlsplit(page.url).path.split("/runs/")[1].split("/")[0])


def test_a_run_from_the_form_turns_green_and_its_shards_show_their_rejects(
    live_airflow: LiveAirflow, local_hub: tuple[str, Hub]
) -> None:
    live_airflow.admin.wait_for_dag(DAG)
    live_airflow.admin.wait_for_dag(PUBLISH)
    before = runs(live_airflow.admin)
    with browser_page(live_airflow.url, size=(1500, 1000)) as page:
        sign_in(page)
        run_id = trigger(page)
        # The page of a run that works is drawn all the time, and takes a third of a core from it.
        page.goto("about:blank")
        live_airflow.admin.wait(DAG, run_id)
        page.goto(f"/dags/{DAG}/runs/{quote(run_id)}")
        expect(page.get_by_text("Success", exact=True).first).to_be_visible()
        keep(page, "run-green")

        rejects = (
            pyarrow.dataset.dataset(Path(live_airflow.home.data) / "runs" / run_name(run_id) / "finance" / "rejects")
            .to_table()
            .to_pylist()
        )
        (row,) = [row for row in rejects if row["number"] == CANDIDATE]
        mine = [
            other for other in rejects if (other["task_id"], other["map_index"]) == (row["task_id"], row["map_index"])
        ]
        page.goto(task_tab_path(run_id, row["task_id"], row["map_index"]))
        frame = our_frame(page, "rejects")
        expect(frame.get_by_role("heading", name=f"{len(mine)} rejected task")).to_be_visible()
        keep(page, "shard-rejects")
        frame.get_by_role("link", name=str(CANDIDATE), exact=True).click()
        case = our_frame(page, "case")
        expect(case.get_by_role("heading", name=f"Candidate {CANDIDATE}")).to_be_visible()
        expect(case.get_by_text("for which other facts are true").first).to_be_visible()
        expect(case.locator(".actual").first).to_be_visible()
        expect(case.get_by_text(f"toolscale judge finance {CANDIDATE} --seed {SEED}")).to_be_visible()
        keep(page, "case-difference")

        approve(page, live_airflow.admin, next_run(live_airflow.admin, before), "me/from-the-browser")
    assert {"README.md", "manifest.json", "finance/train-00000-of-00001.parquet"} <= local_hub[1].files(
        "me/from-the-browser"
    ).keys()


def approve(page: Page, admin: AirflowClient, run_id: str, repo: str) -> None:
    """Answer the question of a run under Required Actions: the figures are there, and a field for the repository.

    The list of questions is read once, when the page opens: a question that comes later is not shown.
    """
    question(admin, run_id)
    page.goto("/required_actions")
    page.get_by_role("link", name="Publish this dataset?").first.click()
    expect(page.get_by_role("cell", name=f"{TASKS} of {TASKS}")).to_be_visible()
    assert run_of(page) == run_id
    page.locator("input[name=element_repo]").fill(repo)
    keep(page, "approval")
    page.get_by_role("button", name="Approve", exact=True).click()
    admin.wait(PUBLISH, run_id)
    page.reload()
    expect(page.get_by_text("Success", exact=True).first).to_be_visible()
    keep(page, "approved")
