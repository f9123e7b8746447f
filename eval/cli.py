"""The command line: run, list, compare, regrade, report."""

from __future__ import annotations

import asyncio
import os
import re
import signal
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from eval.records import Settings
from toolscale.cli.extras import what_to_install
from toolscale.cli.failures import failure_of, full
from toolscale.cli.judging import takes_judge
from toolscale.cli.output import as_json, echo_json, say
from toolscale.errors import ToolScaleError, UsageError

OUT = Path("var/eval")
_NAMED = re.compile(r"([A-Za-z0-9][A-Za-z0-9 ._-]{0,59})=(.+)")


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120})
def commands() -> None:
    """Evaluate policies on benchmarks, and compare what came of it."""


def run_program() -> int:
    """Run as a program. The signals SIGTERM and SIGHUP end it in the same way as Ctrl-C: what was sent is waited for,
    and kept. What runs in the background of a script inherits that SIGINT is ignored: it counts here, or none of them
    would."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupt)
    return main()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit status; every failure that has a name is one line for each thing wrong."""
    try:
        return int(commands.main(args=arguments, prog_name="python -m eval", standalone_mode=False) or 0)
    except click.ClickException as error:
        return _fail(" ".join(error.format_message().split()), 2)
    except ToolScaleError as error:
        return _fail(str(error), error.exit_status)
    except ModuleNotFoundError as error:
        if what_to_install(error.name or "") is None:
            raise
        missing = (error.name or "").partition(".")[0]
        return _fail(f"{missing} is not installed; `make .venv/train.stamp` installs what evaluation needs", 2)
    except (click.Abort, KeyboardInterrupt, MemoryError, OSError) as error:
        return _fail(*(failure_of(error) or full(error)))


@commands.command("list")
@as_json
def list_(json_: bool) -> None:
    """List the benchmarks: size, licence, how to get the data, and what judges them."""
    from eval.benchmark import about, names

    found = {name: about(name) for name in names()}
    if json_:
        return echo_json({name: asdict(each) for name, each in found.items()})
    for name, each in found.items():
        say(f"{name}: {each.title}")
        rows = {"size": each.size, "licence": each.licence, "data": each.data, "judged by": each.judged_by}
        if each.settings:
            rows["settings"] = ", ".join(each.settings)
        for title, text in rows.items():
            say(f"  {title:<10} {text}")


@commands.command()
@click.argument("benchmark")
@click.option(
    "--policy",
    "policies",
    multiple=True,
    metavar="POLICY",
    help="Whom to evaluate, several times for several: NAME=FOLDER of a checkpoint, `untrained` (the model that the "
    "configuration begins with), `model` (the one that TOOLSCALE_MODEL names), or a policy without a model.",
)
@click.option("--data", multiple=True, metavar="PATH", help="A dataset folder or a file of questions.")
@click.option("--setting", help="The setting or set of a benchmark that has several.")
@click.option("--domain", help="Only tasks of this domain.")
@click.option("--corpus", metavar="FOLDER", help="Passages for local search.")
@click.option("--config", default=Settings().config, show_default=True, help="What is offered: its section `data`.")
@click.option("--catalogue", metavar="FILE", help="Other experts than those of the configuration.")
@click.option("--price-lists", metavar="FOLDER", help="Other price lists than those of the configuration.")
@click.option("--turns", default=Settings().turns, show_default=True, type=click.IntRange(1), help="Of a rollout.")
@click.option("--seed", default=0, show_default=True, type=click.IntRange(0), help="Of draws of offers and questions.")
@click.option(
    "--own",
    metavar="NAME",
    help="A name of the policy's own family, for self_preference.  [default: what TOOLSCALE_MODEL names]",
)
@click.option("--placebo", metavar="NAME", help="A name of another family.  [default: well-known ones in turn]")
@click.option("--tasks", type=click.IntRange(1), help="So many tasks.  [default: all]")
@click.option("--samples", default=1, show_default=True, type=click.IntRange(1, 64), help="Of each task.")
@click.option("--temperature", default=0.0, show_default=True, type=click.FloatRange(0, 2), help="Of models.")
@click.option("--at-once", default=32, show_default=True, type=click.IntRange(1), help="Rollouts at one time.")
@click.option(
    "--max-cost", type=click.FloatRange(0, min_open=True), metavar="DOLLARS", help="Stop before more is spent."
)
@click.option(
    "--replies",
    type=click.Path(path_type=Path),
    default=Path("var/replies.sqlite"),
    show_default=True,
    help="Where replies of models are kept: what was asked once is not asked again.",
)
@click.option("--baselines/--no-baselines", default=True, show_default=True, help="Policies without a model beside.")
@click.option(
    "--checkout",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Of tau2-bench, whose own program then plays --policy model with the user that TOOLSCALE_USER names.",
)
@click.option(
    "--interpreter",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The Python that has tau2.  [default: .venv/bin/python of the checkout]",
)
@click.option(
    "--weak",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write which intents, evolutions, tools, rules and lengths it fails, for `toolscale synthesize --toward`.",
)
@click.option("--out", type=click.Path(path_type=Path), default=OUT, show_default=True, help="Where results go.")
@takes_judge
@as_json
def run(benchmark: str, policies: tuple[str, ...], out: Path, json_: bool, **given: Any) -> None:
    """Evaluate policies on BENCHMARK, and write the report. The same command goes on with a run that was stopped, and
    --samples 4 adds to --samples 1; idle and golden stand in every table."""
    from eval.running import Wanted, run_benchmark
    from toolscale.cli.tallies import telling_costs
    from toolscale.models.chat import Ledger

    settings = Settings(**{name: given.pop(name) for name in Settings.model_fields if name in given})
    wanted = Wanted(kind=benchmark, settings=settings, policies=_named(policies), out=out, environ=os.environ, **given)
    ledger = Ledger()
    with telling_costs(ledger, json_=json_):
        found = asyncio.run(run_benchmark(wanted, lambda line: say(line, err=True), ledger))
    if json_:
        return echo_json({"folder": str(found.folder), "policies": [asdict(each) for each in found.summaries]})
    from eval.report.kinship_words import told_of_names
    from eval.report.tables import text_table

    for line in (*text_table(found.summaries), *told_of_names(found.summaries)):
        say(line)
    say(f"report: {found.folder / 'report.html'} and summary.md")


@commands.command()
@click.argument("a", type=click.Path(path_type=Path))
@click.argument("b", type=click.Path(path_type=Path))
@click.option("--gate", is_flag=True, help="Exit 1 if A is worse than B with 95 % confidence.")
@as_json
@click.pass_context
def compare(context: click.Context, a: Path, b: Path, gate: bool, json_: bool) -> None:
    """Compare the results in two folders, A less B: the paired difference with its interval, the tasks that changed
    sides, and how many tasks show half of it. Tasks that only one of them did are counted, not compared."""
    from eval.comparing import compare_folders, told

    found = compare_folders(a, b)
    if json_:
        echo_json({**asdict(found), "verdict": found.verdict})
    else:
        for line in told(found):
            say(line)
        for change in found.changed:
            say(f"  {found.a if change.a > change.b else found.b} only: {change.task}  ({change.cluster})")
    context.exit(1 if gate and found.verdict == "worse" else 0)


@commands.command()
@click.argument("folders", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--dry-run", is_flag=True, help="Only say what would change.")
@as_json
def regrade(folders: tuple[Path, ...], dry_run: bool, json_: bool) -> None:
    """Grade the rollouts in FOLDERS again, without a model. Verdicts of a judge stay where rules cannot decide."""
    from eval.regrading import regrade_folder

    found = {str(folder): asyncio.run(regrade_folder(folder, write=not dry_run)) for folder in folders}
    if json_:
        return echo_json({name: asdict(each) for name, each in found.items()})
    for name, each in found.items():
        say(f"{name}: {each.lines} lines, {len(each.changed)} changed, {each.kept} left as they were, {each.gone} gone")
        for change in each.changed:
            say(f"  {change.task} sample {change.sample}: {change.before} before, {change.after} now: {change.finding}")


@commands.command()
@click.argument("folder", type=click.Path(path_type=Path))
@as_json
def report(folder: Path, json_: bool) -> None:
    """Write report.html and summary.md of the results in FOLDER, which has a folder for each policy."""
    from eval.report.writing import write_report

    files = write_report(folder)
    if json_:
        return echo_json({"files": [str(file) for file in files]})
    for file in files:
        say(str(file))


def _named(policies: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Return (name, what it is) of each policy."""
    found = []
    for text in policies:
        match = _NAMED.fullmatch(text)
        name, what = (match[1].strip(), match[2]) if match else (Path(text).name if "/" in text else text, text)
        found.append((name, what))
    twice = next((name for name, _ in found if [other for other, _ in found].count(name) > 1), None)
    if twice is not None:
        raise UsageError(f"--policy: {twice!r} is given twice; name each as NAME=FOLDER")
    return tuple(found)


def _interrupt(number: int, frame: object) -> None:
    signal.raise_signal(signal.SIGINT)  # which the event loop knows how to end by: nothing under way is dropped


def _fail(message: str, status: int) -> int:
    for line in message.split("\n"):
        say(f"eval: {line}", err=True)
    return status
