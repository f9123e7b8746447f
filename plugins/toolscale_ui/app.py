"""The routes. Every one stands behind the same authorization, static files and what does not exist included."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from fastapi import Depends, FastAPI, HTTPException, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from toolscale.environment.registry import discover
from toolscale.errors import StorageError
from toolscale_ui.card import Cards, rendered_card
from toolscale_ui.data_folder import DataFolder
from toolscale_ui.diff import Diffs
from toolscale_ui.evaluations import Evaluations
from toolscale_ui.gates import QUARANTINE
from toolscale_ui.nights import Nights
from toolscale_ui.pages import (
    case_link,
    render,
    view_of_case,
    view_of_diff,
    view_of_evaluations,
    view_of_nights,
    view_of_rejects,
)
from toolscale_ui.quarantine import MOST_BYTES, Quarantine
from toolscale_ui.query import Query
from toolscale_ui.rejects import DAG_ID, Rejects

STATIC = {
    "toolscale.css": "text/css",
    "toolscale.js": "text/javascript",
    "rejected-tasks.svg": "image/svg+xml",
    "quarantine.svg": "image/svg+xml",
    "nights.svg": "image/svg+xml",
    "evaluations.svg": "image/svg+xml",
}
"""All that is served from `static/`."""

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "font-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'self'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-store",
}

REPORT_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; img-src data:; font-src data:; "
    "base-uri 'none'; frame-ancestors 'self'; sandbox"
}
"""A report is one page with its own styles, written on a worker: it is shown in a sandbox, so that it is of no origin,
runs nothing and asks for nothing."""


@dataclass(frozen=True)
class Contents:
    """What is read from the data folder."""

    rejects: Rejects
    cards: Cards
    nights: Nights
    evaluations: Evaluations
    diffs: Diffs
    quarantine: Quarantine


Opener = Callable[[], Contents]


def create_app(
    data: str, authorize: Callable[..., Any], decider: Callable[..., str], environments: Path | None = None
) -> FastAPI:
    """Return the pages over a data folder.

    `authorize` is a dependency that refuses who may not look; `decider` one that refuses who may not decide, and
    returns the name of who may. `environments`: where decisions are kept.
    """
    app = FastAPI(title="ToolScale", docs_url=None, redoc_url=None, openapi_url=None, dependencies=[Depends(authorize)])
    open_folder = _opener(data, environments)
    _add_rejects(app, open_folder)
    _add_quarantine(app, open_folder, decider)
    _add_nights(app, open_folder)
    _add_evaluations(app, open_folder)

    @app.get("/static/{name}")
    def static(name: str) -> Response:
        if name not in STATIC:
            return Response(status_code=404)
        return Response(_static(name), media_type=STATIC[name], headers={"Cache-Control": "private, max-age=86400"})

    @app.get("/{path:path}")
    def nothing(path: str) -> Response:
        return _missing("There is no such page", "The address has changed, or was cut.", Query())

    @app.exception_handler(StorageError)
    def unreachable(request: Request, error: StorageError) -> Response:
        return _page("unreachable.jinja", status=503, error=str(error))

    @app.exception_handler(403)
    def forbidden(request: Request, error: HTTPException) -> Response:
        if request.method != "POST":
            return Response(status_code=403)
        why = f"Who may start runs of {DAG_ID} decides about its tasks."
        return _missing("You may not decide", why, Query(), status=403)

    @app.middleware("http")
    async def secure(request: Request, call_next: Callable[[Request], Awaitable[Response]]) -> Response:
        response = await call_next(request)
        for name, value in HEADERS.items():
            response.headers.setdefault(name, value)
        return response

    return app


def _add_rejects(app: FastAPI, open_folder: Opener) -> None:
    @app.get("/")
    def start() -> Response:
        return RedirectResponse("rejects")

    @app.get("/rejects")
    def rejects(request: Request) -> Response:
        query = Query.of(request.query_params)
        return _page("rejects.jinja", **view_of_rejects(open_folder().rejects, query))

    @app.get("/case")
    def case(request: Request, at_run: str = "", at_domain: str = "", at_number: str = "") -> Response:
        found, query = open_folder(), Query.of(request.query_params)
        row = found.rejects.case(at_run, at_domain, _number(at_number))
        if row is None:
            return _no_case(query)
        return _page("case.jinja", **view_of_case(found.rejects, found.quarantine, query, row))


def _add_quarantine(app: FastAPI, open_folder: Opener, decider: Callable[..., str]) -> None:
    @app.get("/quarantine")
    def quarantine() -> Response:
        return RedirectResponse(f"rejects?gate={QUARANTINE}")

    @app.post("/decide")
    async def decide(
        request: Request, at_run: str = "", at_domain: str = "", at_number: str = "", by: str = Depends(decider)
    ) -> Response:
        if request.headers.get("sec-fetch-site", "same-origin") != "same-origin":
            return Response(status_code=403)  # a page of somebody else sent it
        query = Query.of(request.query_params)
        body = await _body(request)
        return await run_in_threadpool(_decided, open_folder, query, (at_run, at_domain, _number(at_number)), body, by)


def _decided(open_folder: Opener, query: Query, place: tuple[str, str, int], body: bytes, by: str) -> Response:
    found = open_folder()
    row = found.rejects.case(*place)
    if row is None:
        return _no_case(query)
    refused = found.quarantine.decide(row, body, by)
    if refused:
        view = view_of_case(found.rejects, found.quarantine, query, row, refused)
        return _page("case.jinja", status=409, **view)
    return RedirectResponse(case_link(query, *place), status_code=303)


async def _body(request: Request) -> bytes:
    """Return what was sent, up to a limit."""
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > MOST_BYTES:
            return b""
    return body


def _number(text: str) -> int:
    return int(text) if text.isdecimal() and len(text) < 18 else -1


def _no_case(query: Query) -> Response:
    return _missing("There is no such rejected task", "It may belong to a run that was removed.", query)


def _add_nights(app: FastAPI, open_folder: Opener) -> None:
    @app.get("/nights")
    def nights(request: Request) -> Response:
        return _page("nights.jinja", **view_of_nights(open_folder().nights, Query.of(request.query_params).page))

    @app.get("/diff")
    def diff(before: str = "", after: str = "") -> Response:
        try:
            return _page("diff.jinja", **view_of_diff(open_folder().diffs, before, after))
        except KeyError:
            return _missing("There is no such dataset", "It may belong to a run that was removed.", Query())

    @app.get("/card")
    def card(run: str = "", domain: str = "") -> Response:
        try:
            run_id, text = open_folder().cards.card(run, domain)
        except KeyError:
            return _missing("There is no such dataset", "It may belong to a run that was removed.", Query())
        return _page("card.jinja", run_id=run_id, domain=domain, body=rendered_card(text))


def _add_evaluations(app: FastAPI, open_folder: Opener) -> None:
    @app.get("/evaluations")
    def evaluations(request: Request) -> Response:
        number = Query.of(request.query_params).page
        return _page("evaluations.jinja", **view_of_evaluations(open_folder().evaluations, number))

    @app.get("/report")
    def report(evaluation: str = "", benchmark: str = "") -> Response:
        try:
            content = open_folder().evaluations.report(evaluation, benchmark)
        except KeyError:
            return _missing("There is no such report", "Its evaluation may have been removed.", Query())
        return HTMLResponse(content, headers=REPORT_HEADERS)


def _opener(data: str, environments: Path | None) -> Opener:
    @cache
    def open_folder() -> Contents:
        folder = DataFolder(data)  # a failure is not kept: the next request tries again
        quarantine = Quarantine(lambda: discover(environments))
        return Contents(Rejects(folder), Cards(folder), Nights(folder), Evaluations(folder), Diffs(folder), quarantine)

    return open_folder


def _page(template: str, status: int = 200, **values: Any) -> HTMLResponse:
    page = render(template, version=_static_version(), **values)
    # JSON in a cell may hold half of a surrogate pair, which UTF-8 cannot encode.
    return HTMLResponse(page.encode(errors="replace"), status_code=status)


def _missing(title: str, why: str, query: Query, status: int = 404) -> HTMLResponse:
    return _page("missing.jinja", status=status, title=title, why=why, back=query)


@cache
def _static(name: str) -> bytes:
    return (Path(__file__).parent / "static" / name).read_bytes()


@cache
def _static_version() -> str:
    return sha256(b"".join(_static(name) for name in STATIC)).hexdigest()[:12]
