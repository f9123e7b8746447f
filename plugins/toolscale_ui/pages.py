"""From rows to HTML. Everything that comes from data is escaped: templates have no way around it but the card, which is
rendered without HTML."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

import jinja2
from markupsafe import Markup, escape

from toolscale.dataset.comparing.comparison import changed_groups, environment_words
from toolscale.records import ComparedDomain, ComparedFigure
from toolscale_ui.case import case_of
from toolscale_ui.changes import FIGURES, GATE, of_gate
from toolscale_ui.diff import MOST_CHOICES, Diffs
from toolscale_ui.drift import LEAST_NIGHTS
from toolscale_ui.evaluations import BOX, SHOWN, Evaluations
from toolscale_ui.gates import MEANINGS, STATUSES, place
from toolscale_ui.nights import Night, Nights
from toolscale_ui.quarantine import Quarantine
from toolscale_ui.query import Query
from toolscale_ui.rejects import DAG_ID, Page, Rejects

JUDGING = ("judge", "top_up", "assemble")
"""The tasks of a domain's group that reject candidates; the others never reject any."""

IDS_SHOWN = 200
"""At most so many ids are shown of the tasks that were added, and as many of those removed and of those changed."""

GATES_SHOWN = 3
"""Gates that are always shown for a night; the others are folded."""

NAMES = {"domain": "Domain", "gate": "Gate", "intent": "Intent", "evolution": "Evolution", "run_id": "Run"}
EVALUATING_DAG = "evaluate_orchestrator"
AIRFLOW = "../"
"""From a page to the root of Airflow, wherever it is served."""


@dataclass(frozen=True)
class Emptiness:
    """Why a page is empty: a title, an explanation, and where there is something to do, a link to it."""

    title: str
    why: str
    link: str = ""
    href: str = ""


def render(template: str, **values: Any) -> str:
    """Return a page."""
    return _environment().get_template(template).render(**values)


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"percent": _percent, "moment": _moment, "count": "{:,}".format, "breakable": _breakable}
    environment.filters |= {"bytes": _bytes, "duration": _duration}
    environment.filters["shown"] = lambda value: type(value).__name__
    environment.globals |= {"run_url": run_url, "task_url": task_url, "DAG_ID": DAG_ID, "airflow": AIRFLOW}
    return environment


def view_of_rejects(rejects: Rejects, query: Query) -> dict[str, Any]:
    """Return what the table of rejects shows for a query."""
    page = rejects.page(query)
    shown = min(query.page, page.pages)
    return {
        "query": query.with_(page=shown),
        "page": page,
        "corrupt": rejects.corrupt,
        "data": rejects.folder.shown,
        "names": NAMES,
        "bars": _bars(page.choices["gate"]),
        "meanings": MEANINGS,
        "empty": None if page.rows else _emptiness(rejects, query, page),
        "links": [case_link(query, row["run_id"], row["domain"], row["number"]) for row in page.rows],
    }


def view_of_case(
    rejects: Rejects, quarantine: Quarantine, query: Query, row: dict[str, Any], refused: str = ""
) -> dict[str, Any]:
    """Return what the page of one reject shows. `refused`: why a decision was not kept."""
    run_id, domain, number = row["run_id"], row["domain"], row["number"]
    before, after = rejects.neighbours(query, run_id, domain, number)
    steps = [
        case_link(query, step["run_id"], step["domain"], step["number"]) if step else "" for step in (before, after)
    ]
    return {
        "query": query,
        "row": row,
        "case": case_of(row),
        "dispute": quarantine.dispute(row),
        "refused": refused,
        "decide": case_link(query, run_id, domain, number).replace("case?", "decide?", 1),
        "steps": steps,
        "meanings": MEANINGS,
        "statuses": STATUSES,
    }


def view_of_nights(nights: Nights, number: int) -> dict[str, Any]:
    """Return what the page of nights shows."""
    page = nights.page(number)
    rows = [_row(night) for night in page.nights]
    return {"found": page, "rows": rows, "data": nights.folder.shown, "enough": LEAST_NIGHTS}


def view_of_evaluations(evaluations: Evaluations, number: int) -> dict[str, Any]:
    """Return what the page of evaluations shows."""
    return {
        "found": evaluations.page(number),
        "shown": SHOWN,
        "data": evaluations.folder.shown,
        "dag": EVALUATING_DAG,
        "box": BOX,
    }


def _row(night: Night) -> dict[str, Any]:
    """Return a night with its figures in words. Shown are the three gates that rejected most, and those that are not as
    usual; the others are folded."""
    figures = [(figure, figure.text(night.value(figure)), night.changes.get(figure.name)) for figure in FIGURES]
    told = {name.removeprefix(GATE) for name, change in night.changes.items() if name.startswith(GATE) and change.drift}
    gates = [
        (of_gate(gate), night.failed.get(gate, 0)) for gate in dict.fromkeys([*night.failed, *sorted(told, key=place)])
    ]
    rows = [
        (figure, count, figure.text(night.value(figure)), night.changes.get(figure.name)) for figure, count in gates
    ]
    shown = [row for number, row in enumerate(rows) if number < GATES_SHOWN or row[0].label in told]
    return {"night": night, "figures": figures, "gates": shown, "folded": [row for row in rows if row not in shown]}


def view_of_diff(diffs: Diffs, before: str, after: str) -> dict[str, Any]:
    """Return what the comparison of two runs shows. KeyError if one of them has no dataset."""
    diff = diffs.diff(before, after)
    compared = diff.comparison.domains if diff and diff.comparison else {}
    return {
        "diff": diff,
        "choices": diffs.choices()[:MOST_CHOICES],
        "data": diffs.folder.shown,
        "most": IDS_SHOWN,
        "domains": [_compared_domain(name, found) for name, found in compared.items()],
    }


def _compared_domain(name: str, found: ComparedDomain) -> dict[str, Any]:
    """Return a domain with its figures in words."""
    titles = {"Candidates": found.counts, "Failed gate": found.gates, "Quality": found.quality}
    groups = {"Intent": found.intents, "Outcome": found.outcomes}
    return {
        "name": name,
        "tasks": found.changes,
        "environment": environment_words(found.changes),
        "added": found.tasks.added,
        "removed": found.tasks.removed,
        "changed": [task.id for task in found.tasks.changed],
        "figures": [
            (title, [(label, *_compared_figure(figure)) for label, figure in figures.items()])
            for title, figures in titles.items()
        ],
        "groups": [(title, *changed_groups(tasks)) for title, tasks in groups.items()],
    }


def _compared_figure(figure: ComparedFigure) -> tuple[str, str, str]:
    before, after = ("–" if value is None else f"{value:,g}" for value in (figure.before, figure.after))
    return before, after, "" if figure.difference is None else f"{figure.difference:+,g}" if figure.difference else "="


def case_link(query: Query, run_id: str, domain: str, number: int) -> str:
    """Return the address of a reject, with the list that it was found in."""
    return "case?" + query.text(at_run=run_id, at_domain=domain, at_number=number)


def run_url(run_id: str) -> str:
    """Return where Airflow shows a run, from one of our pages."""
    return f"{AIRFLOW}dags/{DAG_ID}/runs/{quote(run_id, safe='')}"


def task_url(run_id: str, task_id: str, map_index: int | None) -> str:
    """Return where Airflow shows a task instance, from one of our pages."""
    mapped = f"/mapped/{map_index}" if map_index is not None and map_index >= 0 else ""
    return f"{run_url(run_id)}/tasks/{quote(task_id, safe='')}{mapped}"


def _bars(counts: Mapping[str, int]) -> list[tuple[str, int, float]]:
    """Return gate, rejects and the length of its bar in percent, in the order of the gates. A bar that stands for
    anything can be seen."""
    most = max(counts.values(), default=0) or 1
    return [
        (gate, counts[gate], round(max(100 * counts[gate] / most, 2 * bool(counts[gate])), 2))
        for gate in sorted(counts, key=place)
    ]


def _emptiness(rejects: Rejects, query: Query, page: Page) -> Emptiness:
    """Say why there is nothing to show, and what to do."""
    if query.bound and query.dag_id != DAG_ID:
        return Emptiness(
            "This Dag judges no tasks",
            f"Rejected tasks come from the Dag {DAG_ID}.",
            "Rejected tasks of all runs",
            "rejects",
        )
    if page.there:
        why = f"{page.there:,} rejected tasks match without them."
        return Emptiness("Nothing matches these filters", why, "Clear the filters", f"rejects?{query.cleared().text()}")
    if query.task_id:
        of_run = sum(rejects.counts(query.run_id).values())
        link = (
            f"All {of_run:,} rejected tasks of this run",
            f"rejects?{query.with_(task_id='', map_index=None).cleared().text()}",
        )
        rest = link if of_run else ("", "")
        if query.task_id.rpartition(".")[2] not in JUDGING:
            return Emptiness(
                "Nothing is rejected here",
                f"{query.task_id} judges no candidates; those that do are {', '.join(JUDGING)}.",
                *rest,
            )
        return Emptiness(
            "Nothing was rejected in this shard",
            "Every candidate that it judged was accepted, or it has not judged any yet.",
            *rest,
        )
    if query.bound:
        return Emptiness(
            "Nothing was rejected in this run", "Its shards are not judged yet, or every candidate was accepted."
        )
    if rejects.folder.listing()["run"]:
        return Emptiness("Nothing was rejected", "Rejected tasks appear here as soon as a shard is judged.")
    why = (
        f"There is none below {rejects.folder.shown}. "
        f"Trigger the Dag {DAG_ID}; rejected tasks appear here as soon as a shard is judged."
    )
    return Emptiness("No run yet", why, f"Open {DAG_ID}", f"{AIRFLOW}dags/{DAG_ID}")


def _breakable(name: str) -> Markup:
    """Let a long name break after its underscores."""
    return escape(name).replace("_", Markup("_<wbr>"))


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.1f} %"


def _bytes(count: int) -> str:
    size, units = float(count), ["B", "kB", "MB", "GB", "TB", "PB"]
    while size >= 999.95 and len(units) > 1:
        size, units = size / 1000, units[1:]
    return f"{size:.0f} B" if units[0] == "B" else f"{size:,.1f} {units[0]}"


def _duration(time: timedelta) -> str:
    seconds = round(time.total_seconds())
    minutes, hours = round(seconds / 60), seconds // 3600
    if seconds < 60:
        return f"{seconds} s"
    return f"{hours:,} h {minutes - 60 * hours:02d} min" if minutes >= 60 else f"{minutes} min"


def _moment(text: str) -> str:
    """Return an ISO time as Airflow shows it; the zone stays where it is not UTC."""
    return text.replace("T", " ", 1).removesuffix("+00:00").removesuffix("Z").split(".")[0]
