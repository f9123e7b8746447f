"""An audit as one HTML file that needs nothing else, and as JSON."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import asdict
from typing import Any

import jinja2

from toolscale.audit.found import KINDS, Audit, Finding, Kind, Undecided
from toolscale.config import VERSION
from toolscale.text_files import visible

LONGEST_SHOWN = 2_000
"""Characters of a piece of evidence on the page."""


def render_page(audit: Audit) -> bytes:
    """Return the page. What comes from the data is escaped; it loads nothing and runs no script."""
    environment = jinja2.Environment(
        loader=jinja2.ChoiceLoader(
            [jinja2.PackageLoader("toolscale.audit", "."), jinja2.PackageLoader("toolscale.dataset.describing", ".")]
        ),
        undefined=jinja2.StrictUndefined,
        autoescape=True,
        keep_trailing_newline=True,
        finalize=lambda value: visible(value[:LONGEST_SHOWN]) if type(value) is str else value,
    )
    text = environment.get_template("audit.html.jinja").render(
        version=VERSION,
        audit=audit,
        kinds=KINDS,
        rows=rows_of(audit),
        sections=_by_kind(audit),
        undecided=_reasons(audit),
        tasks=_by_task(audit),
    )
    return text.encode()


def rows_of(audit: Audit) -> list[tuple[Kind, int, int, int]]:
    """Return a line for each kind: how many findings, how many tasks they concern, how many tasks are undecided."""
    return [(kind, count, audit.concerned(kind), audit.open(kind)) for kind, count in audit.counts().items()]


def audit_json(audit: Audit) -> dict[str, Any]:
    """Return an audit as JSON takes it."""
    counts = {
        kind: {"findings": findings, "tasks": tasks, "undecided_tasks": undecided}
        for kind, findings, tasks, undecided in rows_of(audit)
    }
    told = asdict(audit)
    del told["kinds"]  # those that are counted
    return {"counts": counts, **told}


def _by_kind(audit: Audit) -> dict[Kind, list[Finding]]:
    found: dict[Kind, list[Finding]] = {kind: [] for kind in KINDS}
    for finding in audit.findings:
        found[finding.kind].append(finding)
    return {kind: findings for kind, findings in found.items() if findings}


def _by_task(audit: Audit) -> dict[str, list[str]]:
    """Return the titles of what is found in each task."""
    found: dict[str, dict[Kind, int]] = defaultdict(lambda: defaultdict(int))
    for finding in audit.findings:
        for task in finding.tasks:
            found[task][finding.kind] += 1
    ordered = sorted(found.items(), key=lambda item: (len(item[0]), item[0]) if item[0].isdigit() else (99, item[0]))
    return {
        task: [KINDS[kind][0] + (f" ({count})" if count > 1 else "") for kind, count in kinds.items()]
        for task, kinds in ordered
    }


def _reasons(audit: Audit) -> list[tuple[str, str, tuple[str, ...]]]:
    """Return the title, the reason and the tasks of all that is undecided, a line for each reason."""
    found: dict[tuple[Kind, str], list[Undecided]] = defaultdict(list)
    for undecided in audit.undecided:
        found[undecided.kind, undecided.reason].append(undecided)
    return [
        (KINDS[kind][0], reason, tuple(task for each in group for task in each.tasks))
        for (kind, reason), group in found.items()
    ]
