"""Chromium as a person uses Airflow in it: signed in, in light or dark, with the frame of our pages at hand."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import httpx
from playwright.sync_api import Browser, Frame, Page, expect, sync_playwright

from tests.installed import BROWSER

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
SIZE = (1400, 900)
SCREENSHOTS = Path(__file__).parents[2] / "var" / "screenshots"
DAG_ID = "synthesize_dataset"
PATIENCE = 300_000
"""Milliseconds: a page is slow where a whole Airflow and its workers share two cores."""

expect.set_options(timeout=PATIENCE)


def token_of(base: str, name: str, password: str) -> str:
    """Return a token of Airflow's API for a user."""
    answer = httpx.post(f"{base}/auth/token", json={"username": name, "password": password}, timeout=300)
    answer.raise_for_status()
    token: str = answer.json()["access_token"]
    return token


@contextmanager
def chromium() -> Iterator[Browser]:
    """Start a fresh browser; where none is installed, whatever needs one was skipped (`installed.needs_browser`)."""
    assert BROWSER is not None
    with sync_playwright() as playwright:
        environment = {**os.environ, **BROWSER.environment}
        browser = playwright.chromium.launch(executable_path=BROWSER.path, args=ARGUMENTS, env=environment)
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def browser_page(base: str, token: str = "", *, dark: bool = False, size: tuple[int, int] = SIZE) -> Iterator[Page]:
    """Yield a page of a fresh browser, signed in where there is a token."""
    with chromium() as browser:
        context = browser.new_context(
            viewport={"width": size[0], "height": size[1]}, base_url=base, locale="en-US", timezone_id="UTC"
        )
        if token:
            context.add_cookies([{"name": "_token", "value": token, "url": base}])
        context.add_init_script(
            f"localStorage.getItem('theme') || localStorage.setItem('theme', '{'dark' if dark else 'light'}')"
        )
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        yield page


def our_frame(page: Page, route: str = "") -> Frame:
    """Return the frame with our page, once it shows something; `route` is what its path must end in.

    Its policy allows no `eval`: use locators and `expect` in it, `wait_for_function` only on the page around it.
    """
    page.wait_for_selector("iframe")
    page.wait_for_function(
        "route => [...document.querySelectorAll('iframe')]"
        ".some(f => f.contentWindow.location.pathname.endsWith(route) && "
        "f.contentDocument.readyState === 'complete' && f.contentDocument.querySelector('main *'))",
        arg=f"/toolscale/{route}" if route else "",
    )
    return next(frame for frame in page.frames if frame != page.main_frame and "/toolscale/" in frame.url)


def keep(page: Page, name: str) -> None:
    """Keep what a person sees now in var/screenshots/."""
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=SCREENSHOTS / f"{name}.png")


def nav_path(page: str, query: str = "") -> str:
    """Return the address of one of our pages in the navigation: `rejects`, `quarantine`, `nights`, with its query."""
    entry = {"rejects": "rejected-tasks"}.get(page, page)
    return f"/plugin/{entry}/toolscale/{page}{'?' if query else ''}{query}"


def run_tab_path(run_id: str) -> str:
    """Return the address of the tab of a run."""
    return f"/dags/{DAG_ID}/runs/{quote(run_id, safe='')}/plugin/rejected-tasks-of-run"


def task_tab_path(run_id: str, task_id: str, map_index: int | None = None) -> str:
    """Return the address of the tab of a task instance."""
    mapped = "" if map_index is None else f"/mapped/{map_index}"
    return (
        f"/dags/{DAG_ID}/runs/{quote(run_id, safe='')}"
        f"/tasks/{quote(task_id, safe='')}{mapped}/plugin/rejected-tasks-of-task"
    )
