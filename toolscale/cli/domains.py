"""The verbs about the folder of a domain: domains, new, admit."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import TYPE_CHECKING

import click

from toolscale.cli.output import as_json, echo_json, progress_bar, say
from toolscale.config import ADMITTED, STREAM_CANDIDATES
from toolscale.errors import SpecError, UsageError

if TYPE_CHECKING:
    from toolscale.environment.environment import Environment
    from toolscale.records import Admission


@click.command()
@as_json
def domains(json_: bool) -> None:
    """List the domains: those of ToolScale, and those in environments/."""
    from toolscale.environment.registry import discover
    from toolscale.environment.spec_files import read_world

    found = {domain: read_world(folder) for domain, folder in discover().items()}
    if json_:
        return echo_json(
            [
                {"domain": domain, "title": world and world.title, "version": world and world.version}
                for domain, world in found.items()
            ]
        )
    for domain, world in found.items():
        say(f"{domain:<16}{world.title if world else 'environment.yaml cannot be read: run `toolscale admit`'}")


@click.command()
@click.argument("domain")
@click.option(
    "--tables",
    required=True,
    metavar="LINE",
    help="Its tables, the person who asks first: 'patron, title, copy of title, loan of copy by patron'.",
)
@click.option(
    "--in",
    "root",
    type=click.Path(path_type=Path),
    help="The folder in which that of the domain is made.  [default: environments/]",
)
@as_json
def new(domain: str, tables: str, root: Path | None, json_: bool) -> None:
    """Write a new DOMAIN that is admitted as it is: five intents about each thing that belongs to a person, to be
    rewritten file by file (docs/domains/authoring.md)."""
    from toolscale.environment.scaffold import read_tables, write_scaffold
    from toolscale.package_code import beside

    found = read_tables(tables)
    folder = write_scaffold(domain, found, root)
    if json_:
        return echo_json({"folder": str(folder), "tables": [table.table for table in found]})
    say(f"{folder}: {len(list(folder.iterdir()))} files, {len(found)} tables")
    say(f"next: read {beside('docs/domains/authoring.md')}, rewrite the files, and run: toolscale admit {folder}")


@click.command()
@click.argument("domain")
@click.option("--write", is_flag=True, help="Write admission.json into the folder of the domain.")
@click.option(
    "--candidates",
    default=STREAM_CANDIDATES,
    show_default=True,
    type=click.IntRange(0),
    help="Of each intent, as it is written, evolved and turned into a refusal, so many are judged; 0: none.",
)
@click.option(
    "--requests", is_flag=True, help="Print accepted requests of each stream, to read what people would write."
)
@as_json
def admit(domain: str, write: bool, candidates: int, requests: bool, json_: bool) -> None:
    """Check the environment DOMAIN (a name or a folder): every guard reached, both engines alike, and every intent
    yields tasks. All issues are listed, one a line; so are, as notes, sentences of the policy that nothing enforces,
    streams that yield little or say the same, tools that no intent calls, rules that nothing keeps, and outcomes that
    no task has."""
    from toolscale.cli.tallies import print_yields
    from toolscale.environment.admission_file import write_admission
    from toolscale.environment.environment import load_environment
    from toolscale.environment.known_names import long_names
    from toolscale.environment.policy_text import unenforced
    from toolscale.environment.registry import find_folder, is_shipped
    from toolscale.pipeline import admit_domain
    from toolscale.verify.advice import advice
    from toolscale.verify.yields import barren, measure_yields

    folder = find_folder(domain)
    if write and is_shipped(folder):
        raise UsageError(f"--write: {folder} belongs to the installed package; copy it to environments/{folder.name}")
    try:
        with progress_bar() as progress:
            admission = admit_domain(folder, ADMITTED, progress)
    except SpecError as error:
        if json_:
            echo_json({"issues": [issue.facts() for issue in error.issues]})
        raise
    environment = load_environment(folder)
    with progress_bar() as progress:
        yields = measure_yields(environment, candidates, progress) if candidates else []
    dead, notes = barren(yields), advice(environment, yields) if yields else []
    if write and not dead:
        write_admission(folder, admission)
    told = {
        "long_names": [*long_names(environment.spec.toolset)],
        "notes": notes,
        "unenforced": [*unenforced(environment.spec)],
    }
    if json_:
        listed = {name: [issue.facts() for issue in issues] for name, issues in told.items()}
        echo_json({**admission.model_dump(mode="json"), "streams": [item.facts() for item in yields], **listed})
    else:
        _print_tools(admission)
        if yields:
            print_yields(yields, folder.name, with_requests=requests)
        for issue in itertools.chain(*told.values()):
            say(f"note: {issue}")
    if dead:
        raise SpecError(dead)
    if not json_:
        _print_admitted(environment, admission)


def _print_admitted(environment: Environment, admission: Admission) -> None:
    from toolscale.environment.population import populate

    rows = sum(map(len, populate(environment).values()))
    what = f"{len(admission.tools)} tools, {rows:,} rows, environment {admission.environment_hash[:16]}"
    say(f"{environment.folder.name} is admitted: {what}")


def _print_tools(admission: Admission) -> None:
    for name, tool in admission.tools.items():
        kind = "writes" if tool.mutates_state else "reads"
        calls = f"{tool.guards_reached:>3} guards reached {tool.calls:>6} calls alike on both engines"
        say(f"{name:<32}{kind:<8}{calls}")
