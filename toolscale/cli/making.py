"""The verbs that make something of a domain: synthesize, judge, schemas."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import click

from toolscale.cli.limiting import limited
from toolscale.cli.output import Verb, as_json, echo_json, progress_bar, progress_bars, say
from toolscale.config import ALL, EVOLVED_SHARE, FIXTURE_TASKS
from toolscale.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from toolscale.dataset.manifest import Wanted
    from toolscale.limits import RunLimits
    from toolscale.records import Answer, DrawnTurns, Manifest
    from toolscale.tasks.binding import CandidateSource

MOST_NAMED = 8
"""Intents without a task on the terminal; the card of the dataset names all."""


def _gone(context: click.Context, parameter: click.Parameter, value: str | None) -> None:
    """Say what took the place of an option of earlier versions."""
    if value is not None:
        raise click.UsageError(
            "--interaction is gone: say --turns (mixed, single or dialogue) and --answer (form or message)", context
        )


def how_worked_on(verb: Verb) -> Verb:
    """Give a verb the options that say how its tasks are worked on: `turns` and `answer`."""
    turns = click.option(
        "--turns",
        default="mixed",
        show_default=True,
        type=click.Choice(["mixed", "single", "dialogue"]),
        help="single: all is said at once. dialogue: part of what is needed is told only when asked, or "
        "later. mixed: about 4 in 10 are dialogues, the others single.",
    )
    answer = click.option(
        "--answer",
        default="form",
        show_default=True,
        type=click.Choice(["form", "message"]),
        help="form: the answer is a call of final_answer, with typed fields. message: words of the agent's own.",
    )
    gone = click.option("--interaction", hidden=True, expose_value=False, callback=_gone, help="Gone.")
    return turns(answer(gone(verb)))


SCALE = click.option(
    "--scale",
    default=1,
    show_default=True,
    type=click.IntRange(1),
    help="So many times as many rows in the database as population.yaml says, up to 20.",
)


def _fixtures(context: click.Context, parameter: click.Parameter, value: str) -> int | None:
    """Return of how many tasks there are to be fixtures; None: of all."""
    if value == ALL:
        return None
    if not value.isdecimal():
        raise click.BadParameter(f"{value!r} is neither a number nor {ALL!r}", context, parameter)
    return int(value)


@click.command()
@click.argument("domain")
@click.option("--tasks", type=click.IntRange(1), help="Accepted tasks wanted.  [default: what the domain says, or 396]")
@click.option(
    "--seed",
    default=0,
    show_default=True,
    type=click.IntRange(0, 2**63 - 1),
    help="Picks the cases and the words; the database stays.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="The dataset folder; with `all`, those of the domains stand beside it.  [default: var/datasets/DOMAIN]",
)
@click.option(
    "--evolved",
    default=EVOLVED_SHARE,
    show_default="2/3",
    type=click.FloatRange(0, 1),
    help="Share of the tasks that are evolved.",
)
@click.option(
    "--workers",
    type=click.IntRange(1),
    help="Processes; never changes a byte.  [default: as many as are worth their start]",
)
@click.option(
    "--audit",
    default="sample",
    show_default=True,
    type=click.Choice(["sample", "all"]),
    help="Tasks that the second engine replays too.",
)
@click.option(
    "--fixtures",
    default=str(FIXTURE_TASKS),
    show_default=True,
    metavar="N|all",
    callback=_fixtures,
    help="Tasks of a domain with solutions of known score in fixtures/: golden, idle, sprayed, mutants, …",
)
@how_worked_on
@SCALE
@click.option(
    "--toward",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Draw intents the more often the more a policy fails them, by what `evaluate --weak` wrote; none of the test "
    "split is drawn.",
)
@limited("max_candidates", "deadline_s")
@as_json
@click.pass_context
def synthesize(
    context: click.Context,
    /,
    domain: str,
    tasks: int | None,
    out: Path | None,
    toward: Path | None,
    json_: bool,
    **how: Any,
) -> None:
    """Make a verified dataset of DOMAIN (a name or a folder), or of `all` domains: one of each, several at once, and
    one with all of them.

    It has the tasks that were asked for, or it says why it has fewer, and exits 1. At the deadline nothing is written,
    what is judged is kept, and the same command goes on from there."""
    from toolscale.dataset.describing.shortfall import why_short
    from toolscale.dataset.manifest import world_folder
    from toolscale.environment.environment import load_environment
    from toolscale.environment.registry import find_folder
    from toolscale.pipeline import synthesize as make_dataset
    from toolscale.pipeline.every_domain import tasks_of
    from toolscale.tasks.toward import weights_toward

    folder = out or Path("var/datasets") / Path(domain).name
    if domain == ALL:
        if toward is not None:
            raise UsageError("--toward is about the intents of a domain: name one domain, not all")
        context.exit(_synthesize_all(folder, tasks, json_=json_, **how))
    home = find_folder(domain)
    weights = None if toward is None else weights_toward(toward, load_environment(home))
    with progress_bar() as progress:
        manifest = make_dataset(domain, folder, tasks=tasks or tasks_of(home), toward=weights, progress=progress, **how)
    ((name, part),) = manifest.domains.items()
    short = why_short(part)
    if json_:
        echo_json({"dataset": str(folder), "counts": manifest.counts, "gates": manifest.gates, "short": short})
        context.exit(1 if short else 0)
    environment = load_environment(world_folder(folder, name))
    _tell_made(folder, manifest, short, [intent.id for intent in environment.spec.intents.intents])
    if (drafted := environment.spec.world.drafted) and drafted.total.usd is not None:
        each = drafted.total.usd / manifest.counts["accepted"]
        say(f"drafted by {drafted.model} for ${drafted.total.usd:.4f}: ${each:.6f} a task")
    if new := [intent.id for intent in environment.spec.intents.intents if intent.proposed_by]:
        say(f"{len(new)} of its intents were proposed by a model; the card counts their tasks")
    context.exit(1 if short else 0)


def _synthesize_all(
    out: Path, tasks: int | None, workers: int | None, limits: RunLimits, *, json_: bool, **wanted: Unpack[Wanted]
) -> int:
    """Make the datasets of all domains and the one with all; return the exit status."""
    from toolscale.dataset.describing.shortfall import why_short
    from toolscale.pipeline.every_domain import Order, every_domain, synthesize_every, tasks_of

    orders = [
        Order(folder, out.parent / domain, tasks or tasks_of(folder), limits, wanted)
        for domain, folder in every_domain().items()
    ]
    with progress_bars() as report:
        made = synthesize_every(orders, out, processes=workers, report=report)
    parts = made.manifest.domains if made.manifest else {}
    short = {domain: why for domain, part in sorted(parts.items()) if (why := why_short(part))}
    if json_:
        counts = made.manifest.counts if made.manifest else None
        echo_json({"dataset": str(out), "counts": counts, "failures": made.failures, "short": short})
        return 1 if made.failures or short else 0
    for domain, fault in made.failures.items():
        say(f"{domain} was not made: {fault}", err=True)
    if made.manifest is None:
        say(f"{out} is left as it was; the other {len(orders) - len(made.failures)} are in {out.parent}", err=True)
        return 1
    for domain, part in sorted(made.manifest.domains.items()):
        say(f"{out.parent / domain}: {short.get(domain) or '{} verified tasks'.format(part.counts['accepted'])}")
    say(f"{out}: {made.manifest.counts['accepted']} verified tasks of {len(orders)} domains")
    return 1 if short else 0


def _tell_made(folder: Path, manifest: Manifest, short: str, intents: Sequence[str]) -> None:
    """Say what was made, and why it is `short` of what was asked for. `intents`: those of the environment."""
    from toolscale.cli.tallies import judged_text

    counts = manifest.counts
    splits = ", ".join(f"{rows} {split}" for split, rows in counts["splits"].items())
    say(f"{folder}: {counts['accepted']} verified tasks ({splits})")
    if short:
        say(f"  {short}")
    say(f"  {judged_text(counts)}")
    failures = {gate: statuses["fail"] for gate, statuses in manifest.gates.items() if statuses.get("fail")}
    if failures:
        say("  gates (checks) that the rejected ones failed, one or more each:")
    for gate, failed in sorted(failures.items(), key=lambda item: -item[1]):
        say(f"  {failed:>6}  {gate}")
    _tell_missing(intents, counts)
    say(
        f"read some: toolscale show {folder} --random 3; "
        f"judge all again: toolscale verify {folder}; why some were rejected: toolscale rejects {folder}"
    )


def _tell_missing(intents: Sequence[str], counts: Mapping[str, Any]) -> None:
    """Say which of the intents have no task, and why."""
    rejected = {
        name: row["rejected"] for name in intents if (row := counts["intents"].get(name)) and not row["accepted"]
    }
    unreached = [name for name in intents if name not in counts["intents"]]
    if rejected:
        told = ", ".join(f"{name} ({count})" for name, count in rejected.items())
        say(f"  of {len(rejected)} intents (kinds of requests) all candidates were rejected: {told}")
    if unreached:
        named = ", ".join(unreached[:MOST_NAMED]) + (", …" if len(unreached) > MOST_NAMED else "")
        say(
            f"  {len(unreached)} of {len(intents)} intents (kinds of requests) have no task: none of their candidates "
            f"was chosen; a larger --tasks leaves out fewer: {named}"
        )


@click.command()
@click.argument("domain")
@click.argument("number", type=click.IntRange(0), default=0)
@click.option(
    "--intent",
    metavar="STREAM",
    help="Count candidates of this stream alone: pay_bill, pay_bill+evolved, pay_bill+turned.",
)
@click.option("--seed", default=0, show_default=True, type=click.IntRange(0), help="Of the candidates.")
@how_worked_on
@SCALE
@as_json
@click.pass_context
def judge(
    context: click.Context,
    domain: str,
    number: int,
    intent: str | None,
    seed: int,
    turns: DrawnTurns,
    answer: Answer,
    scale: int,
    json_: bool,
) -> None:
    """Draw candidate NUMBER (0 if none is given) of DOMAIN (a name or a folder) and judge it: what `reproduce` of a
    reject says. Exits 1 if it is rejected.

    The gate novel compares candidates and is not run here.
    """
    from toolscale.cli.screen import print_judged
    from toolscale.config import AUDIT_SHARE, POPULATION_SEED
    from toolscale.environment.environment import load_environment
    from toolscale.environment.population import populate
    from toolscale.environment.world import World
    from toolscale.tasks.binding import CandidateSource
    from toolscale.verify.judge import Judge

    environment = load_environment(domain)
    rows = populate(environment, POPULATION_SEED, scale)
    with World(environment, rows) as world:
        source = CandidateSource(environment, world)
        if intent is not None:
            number = source.number(known_stream(source, intent), number)
        candidate = source.draw(seed, number, turns, answer)
    if candidate is None:
        raise UsageError(f"the database has no case for candidate {number} of seed {seed}; try another number")
    court = Judge(environment, rows, scale=scale, audit_share=AUDIT_SHARE["all"])
    try:
        judged = court.judge(candidate)
    finally:
        court.close()
    echo_json(judged.model_dump(mode="json")) if json_ else print_judged(judged, environment, scale)
    context.exit(0 if judged.verdict.accepted else 1)


def known_stream(source: CandidateSource, name: str) -> str:
    """Return the name of a stream if it is one. UsageError names those that are."""
    names = [stream.name for stream in source.streams]
    if name not in names:
        raise UsageError(f"--intent: no stream is called {name!r}; use one of {', '.join(names)}")
    return name


@click.command()
@click.option(
    "--out", default="schemas", show_default=True, type=click.Path(path_type=Path), help="The folder of the schemas."
)
@click.option("--check", is_flag=True, help="Write nothing; exit 1 and name the files that differ.")
@as_json
@click.pass_context
def schemas(context: click.Context, out: Path, check: bool, json_: bool) -> None:
    """Write the JSON Schemas of all spec files and records."""
    from toolscale.dataset.storage import write_file
    from toolscale.schemas import render_schemas

    texts = render_schemas()
    stale = [
        name
        for name, text in texts.items()
        if not (out / name).is_file() or (out / name).read_text(encoding="utf-8") != text
    ]
    for name in () if check else stale:
        write_file(out / name, texts[name].encode())
    if json_:
        echo_json({"folder": str(out), "files": list(texts), "stale": stale})
    else:
        for name in stale:
            say(f"{out / name}: {'differs from the records' if check else 'written'}")
        say(f"{len(texts)} schemas, {len(stale)} {'stale' if check else 'written'}")
    context.exit(1 if check and stale else 0)
