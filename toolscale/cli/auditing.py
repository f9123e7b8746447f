"""The verb `audit`: what our gates find in somebody else's dataset."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from toolscale.cli.output import as_json, echo_json, progress_bar, say, say_cents
from toolscale.errors import UsageError

if TYPE_CHECKING:
    from toolscale.audit import Audit

MOST_LISTED = 10
"""Findings of a kind on the terminal; the page and --json have all."""
LONGEST_EVIDENCE = 300


@click.command()
@click.argument("source")
@click.option("--domain", metavar="DOMAIN", help="Of a checkout of tau2-bench.  [default: retail]")
@click.option(
    "--python",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The Python that has tau2 or Harbor.  [default: .venv/bin/python of a checkout of tau2, else this one]",
)
@click.option(
    "--timeout",
    default=1_800.0,
    show_default=True,
    type=click.FloatRange(1),
    help="Seconds that tau2 or Harbor may take.",
)
@click.option(
    "--environment",
    metavar="NAME",
    help="Of Harbor: where the tasks run, as `harbor run -e` takes it, or module:Class.  [default: docker]",
)
@click.option(
    "--task-timeout",
    type=click.FloatRange(1),
    metavar="SECONDS",
    help="Of Harbor: what a solution, or the tests after it, may take.  [default: 600]",
)
@click.option("--html", type=click.Path(path_type=Path), metavar="FILE", help="Also write a page with all of it.")
@as_json
def audit(
    source: str,
    domain: str | None,
    python: Path | None,
    timeout: float,
    environment: str | None,
    task_timeout: float | None,
    html: Path | None,
    json_: bool,
) -> None:
    """Say what our gates find in SOURCE, with the evidence: tau2:PATH (a checkout of tau2-bench, executed in its own
    Python), harbor:PATH (a task, or a folder of tasks, run by Harbor), toolscale-hf:PATH (rows as nvidia/ToolScale has
    them), or a dataset folder of ours. Exits 0 whatever it finds."""
    from toolscale.audit import audit_source, render_page
    from toolscale.audit.page import audit_json
    from toolscale.dataset.storage import write_file

    if html is not None and (html.suffix not in (".html", ".htm") or not html.parent.is_dir()):
        problem = "there is no such folder" if not html.parent.is_dir() else "it does not end in .html"
        raise UsageError(f"--html {html}: {problem}; give a file such as audit.html")
    with progress_bar() as progress:
        found = audit_source(
            source,
            domain=domain,
            python=python,
            timeout_s=timeout,
            environment=environment,
            task_timeout_s=task_timeout,
            say=lambda done, total: progress("running tasks", done, total),
        )
    if html is not None:
        write_file(html, render_page(found))
    if json_:
        return echo_json(audit_json(found))
    _print(found)
    if html is not None:
        say(f"all of it is in {html}")


def _print(found: Audit) -> None:
    from toolscale.audit.found import KINDS
    from toolscale.audit.page import rows_of
    from toolscale.cli.terminal import open_console, table_of

    console = open_console()
    executed = f", {found.executed} of {found.calls} golden calls executed" if found.calls else ""
    say(f"{found.name}: {found.tasks} task{'s' if found.tasks != 1 else ''}{executed}")
    for note in found.notes:
        say(note)
    counted = [(KINDS[kind][0], *numbers) for kind, *numbers in rows_of(found) if any(numbers)]
    if counted:
        console.print(table_of(("what", "findings", "tasks", "undecided tasks"), counted))
    clean = [KINDS[kind][0] for kind, *numbers in rows_of(found) if not any(numbers)]
    if clean:
        say(f"no findings of {len(clean)} of the {len(found.kinds)} kinds: {', '.join(clean)}")
    for kind, (title, meaning) in KINDS.items():
        group = [finding for finding in found.findings if finding.kind == kind]
        if not group:
            continue
        say(f"\n{title}: {meaning}")
        rows = [
            (", ".join(each.tasks) or "database", each.place, _short(each.evidence)) for each in group[:MOST_LISTED]
        ]
        console.print(table_of(("task", "place", "evidence"), rows))
        if len(group) > MOST_LISTED:
            say(f"and {len(group) - MOST_LISTED} more; --html or --json has all")
    say_cents(f"{each.place} {each.evidence}" for each in found.findings)


def _short(text: str) -> str:
    return text if len(text) <= LONGEST_EVIDENCE else f"{text[: LONGEST_EVIDENCE - 1]}…"
