"""The pages where people see them: in Airflow's UI, in Chromium, with Airflow's authorization in front of every
route."""

from __future__ import annotations

import httpx
import pytest
from browser import browser_page, keep, nav_path, our_frame, run_tab_path, task_tab_path
from live_airflow import LiveAirflow
from playwright.sync_api import expect
from scheduled_runs import MONDAY, disputed, write_shard
from test_pages import pages, paths_of_all_routes

from tests.installed import needs_browser

pytestmark = pytest.mark.xdist_group("airflow")


def test_airflow_lets_nobody_see_a_route_without_signing_in(airflow: LiveAirflow) -> None:
    paths = [
        *paths_of_all_routes(pages(airflow.data)),
        "/static/toolscale.js",
        "/rejects?dag_id=another_dag",
        "/rejects?dag_id=~",
    ]
    signed_in = {"Authorization": f"Bearer {airflow.token}"}
    with httpx.Client(base_url=f"{airflow.base}/toolscale", timeout=300) as client:
        assert {path: client.get(path).status_code for path in paths} == dict.fromkeys(paths, 401)
        assert {client.get(path, headers={"Authorization": "Bearer forged"}).status_code for path in paths} <= {
            401,
            403,
        }
        assert not {client.get(path, headers=signed_in).status_code for path in paths} & {401, 403, 500}
        assert "This Dag judges no tasks" in client.get("/rejects?dag_id=another_dag", headers=signed_in).text


@needs_browser
def test_the_view_opens_from_the_navigation_and_its_address_can_be_shared(airflow: LiveAirflow) -> None:
    with browser_page(airflow.base, airflow.token) as page:
        page.goto("/")
        page.get_by_role("button", name="Browse").click()
        page.get_by_role("menuitem", name="Rejected tasks").click()
        frame = our_frame(page, "rejects")
        expect(frame.get_by_role("heading", name="5 rejected tasks")).to_be_visible()
        frame.get_by_label("Run").select_option(MONDAY)
        expect(frame.get_by_role("heading", name="3 rejected tasks of 5")).to_be_visible()
        frame = our_frame(page, "rejects")
        frame.get_by_role("link", name="novel").focus()
        page.keyboard.press("Enter")
        expect(frame.get_by_role("heading", name="2 rejected tasks of 5")).to_be_visible()
        page.wait_for_url("**/plugin/rejected-tasks/toolscale/rejects?*gate=novel*")
        shared = page.url
    with browser_page(airflow.base, airflow.token, dark=True) as page:
        page.goto(shared)
        frame = our_frame(page, "rejects")
        expect(frame.get_by_role("heading", name="2 rejected tasks of 5")).to_be_visible()
        expect(frame.locator("html")).to_have_attribute("data-theme", "dark")
        keep(page, "rejects-filtered-dark")
        page.evaluate("document.documentElement.className = 'light'")
        expect(frame.locator("html")).to_have_attribute("data-theme", "light")


@needs_browser
def test_a_run_and_a_task_show_their_own_and_a_row_opens_the_case(airflow: LiveAirflow) -> None:
    with browser_page(airflow.base, airflow.token) as page:
        page.goto(run_tab_path(airflow.run_id))
        expect(our_frame(page, "rejects").get_by_role("heading", name="2 rejected tasks")).to_be_visible()
        page.goto(task_tab_path(airflow.run_id, "finance.judge", 1))
        expect(
            our_frame(page, "rejects").get_by_role("heading", name="Nothing was rejected in this shard")
        ).to_be_visible()
        page.goto(task_tab_path(airflow.run_id, "finance.plan"))
        expect(our_frame(page, "rejects").get_by_text("finance.plan judges no candidates")).to_be_visible()
        page.goto(task_tab_path(airflow.run_id, "finance.judge", 0))
        frame = our_frame(page, "rejects")
        expect(frame.get_by_role("heading", name="2 rejected tasks")).to_be_visible()
        keep(page, "rejects-of-a-task")
        frame.get_by_text("Please pay my bill, number 3.").click()
        frame = our_frame(page, "case")
        expect(frame.locator("tr.differs .actual").first).to_contain_text("$25.00")
        keep(page, "rejected-case")
        frame.get_by_role("button", name="Copy").click()
        expect(frame.get_by_role("button", name="Copied")).to_be_visible()
        frame.get_by_role("link", name="finance.judge [0]").click()
        page.wait_for_url("**/tasks/finance.judge/mapped/0")
        expect(page.get_by_text("Rendered Templates")).to_be_visible()


@needs_browser
def test_nothing_from_data_runs(airflow: LiveAirflow) -> None:
    with browser_page(airflow.base, airflow.token) as page:
        said: list[str] = []
        page.on("dialog", lambda dialog: said.append(dialog.message))
        page.on("console", lambda message: said.append(message.text) if message.type == "error" else None)
        page.goto(nav_path("rejects", "sort=candidate&order=asc"))
        frame = our_frame(page, "rejects")
        frame.get_by_role("link", name="4", exact=True).click()
        expect(our_frame(page, "case").get_by_role("heading", name="Candidate 4")).to_be_visible()
        page.goto(nav_path("nights"))
        expect(our_frame(page, "nights").get_by_role("heading", name="2 runs")).to_be_visible()
        assert said == []


@needs_browser
@pytest.mark.parametrize(
    ("who", "told"), [("admin", "The environment has changed since"), ("viewer", "You may not decide")]
)
def test_a_task_in_quarantine_is_decided_by_who_may_start_runs(airflow: LiveAirflow, who: str, told: str) -> None:
    file = write_shard(airflow.data, "monday", MONDAY, 7, [disputed(70)])
    try:
        with browser_page(airflow.base, airflow.admin if who == "admin" else airflow.token) as page:
            page.goto(nav_path("quarantine"))
            frame = our_frame(page, "rejects")
            expect(frame.get_by_role("heading", name="1 rejected task of 6")).to_be_visible()
            frame.get_by_role("link", name="70").first.click()
            frame = our_frame(page, "case")
            frame.get_by_label("Drop the task").check()
            frame.get_by_label("Why, for whoever reads it later").fill("It can be read in two ways.")
            keep(page, f"quarantine-{who}")
            frame.get_by_role("button", name="Keep the decision").click()
            expect(our_frame(page, "decide").get_by_text(told)).to_be_visible()
    finally:
        file.unlink()
