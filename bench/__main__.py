"""`make bench`: what the promises of docs/measurements/speed.md are measured with. Ratios and medians within
one run; exit status 1 if one is missed.

python -m bench [--domain finance] [--candidates 240]
"""

from __future__ import annotations

import os
import platform
import statistics
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import click

from bench.floor import UnsharedStates, measure_floor
from bench.judging import Taken, Timed, time_judge, time_processes
from bench.memory import run_measured
from bench.models_client import AT_ONCE, SECONDS, SHARE, measure_client, share_of_ideal
from bench.nightly import HEALTHY, RUN, time_nightly
from bench.reference import alongside
from bench.rollouts import GROUPS, REWARD, SAMPLES, TURN, measure_rollouts
from bench.sessions import CALL, EPISODES, GROWTH, HTTP, OPEN, measure_sessions
from bench.starting import measure_starts
from toolscale.environment.environment import Environment, load_environment
from toolscale.records import Judged
from toolscale.verify.states import EndStates

Line = tuple[str, float, str, float]
"""What was measured, the figure, and what is promised: `>=` or `<=` a bound."""


def seconds_line(what: str, measured: float, slow: float, most: float) -> Line:
    """A promise of at most so many seconds or milliseconds on the machine of the promises."""
    return f"{what} ({measured:.1f} here, {slow:.1f} times as slow)", measured / slow, "<=", most


def rate_line(what: str, measured: float, slow: float, least: float) -> Line:
    """A promise of at least so many a second on the machine of the promises."""
    return f"{what} ({measured:.0f} here, {slow:.1f} times as slow)", measured * slow, ">=", least


def floor_lines(name: str, environment: Environment, timed: Timed, taken: Taken) -> list[Line]:
    """Divide the CPU time of judging by two floors: the statements that are executed, and those that would be executed
    if no list of calls shared any with another."""
    lines = []
    for which, states, most in (("executed", EndStates, 9.0), ("unshared", UnsharedStates, 7.0)):
        floor = measure_floor(environment, 1, timed.candidates, states)
        what = f"times the floor, {name}: {floor.statements:,.0f} statements {which}, {floor.seconds * 1e3:.2f} ms"
        lines.append((what, taken.ratio(floor), "<=", most))
    return lines


def rollout_lines(environment: Environment, judged: list[Judged]) -> list[Line]:
    """Measure what a turn of a rollout takes beside model and tools, and what the reward of a batch takes."""
    tasks = [one.task for one in judged if one.verdict.accepted and one.task is not None]
    (turn, reward), slow = alongside(lambda: measure_rollouts(environment, tasks))
    return [
        seconds_line("ms of our code for a turn of a rollout, beside model and tools", turn, slow, TURN),
        seconds_line(f"ms for the reward of {GROUPS} x {SAMPLES} rollouts", reward, slow, REWARD),
    ]


def session_lines(domain: str) -> list[Line]:
    """Measure sessions, 64 at once, and the MCP server."""
    taken, slow = alongside(lambda: measure_sessions(domain))
    return [
        seconds_line("ms to open a session", taken.opening, slow, OPEN),
        seconds_line("ms of a call beside that of its world alone", taken.call, slow, CALL),
        seconds_line("ms of a call over MCP and HTTP", taken.http, slow, HTTP),
        (f"MB by which the later half of {EPISODES:,} episodes grew the process", taken.growth, "<=", GROWTH),
    ]


def start_lines(domain: str) -> list[Line]:
    """Measure commands that do little."""
    taken, slow = alongside(lambda: measure_starts(domain))
    return [
        (
            f"processor seconds of toolscale {name} ({seconds:.2f} here, {slow:.1f} times as slow)",
            seconds / slow,
            "<=",
            most,
        )
        for name, (seconds, most) in taken.items()
    ]


def time_dataset(domain: str) -> tuple[float, float]:
    """Return wall seconds of a whole `toolscale synthesize`, and the MB of all its processes together at the peak."""
    with tempfile.TemporaryDirectory(prefix="toolscale-bench-") as folder:
        return run_measured(
            [sys.executable, "-m", "toolscale", "synthesize", domain, "--out", f"{folder}/{domain}", "--json"]
        )


def lines_of(domain: str, candidates: int) -> Iterator[Line]:
    """Measure everything, one thing after the other: what, the figure, and what is promised of it."""
    environment = load_environment(domain)
    (wall, memory), slow = alongside(lambda: time_dataset(domain))
    yield seconds_line(f"seconds for make dataset DOMAIN={domain}, after installation", wall, slow, 40.0)
    yield "MB of all its processes together", memory, "<=", 500.0
    yield from start_lines(domain)
    base, taken = time_judge(environment, 1, candidates), time_processes(domain, 1, candidates)
    accepted = [one for one in base.judged if one.verdict.accepted]
    killed = sorted(one.verdict.mutants_killed for one in accepted)
    what = f"plain candidates a second on one core, {len(accepted)} accepted of {len(base.judged)}"
    yield rate_line(what, taken.rate, taken.slowness, 170.0)
    yield "live mutants an accepted task, least", float(killed[0]), ">=", 5.0
    yield "live mutants an accepted task, median", float(statistics.median(killed)), ">=", 12.0
    evolved, its = time_judge(environment, 1, candidates, "evolved"), time_processes(domain, 1, candidates, "evolved")
    yield rate_line("evolved candidates through all gates a second on one core", 1 / its.judging, its.slowness, 115.0)
    yield rate_line("the same, drawn and put into words too", its.rate, its.slowness, 60.0)
    yield (
        "share of evolved candidates accepted",
        sum(one.verdict.accepted for one in evolved.judged) / len(evolved.judged),
        ">=",
        0.7,
    )
    more = time_processes(domain, 10, candidates)
    yield "time a candidate with 10 times the rows", taken.promised / more.promised, "<=", 1.2
    yield from floor_lines("plain", environment, base, taken)
    yield from floor_lines("evolved", environment, evolved, its)
    yield from rollout_lines(environment, base.judged)
    yield from session_lines(domain)
    seconds, slow = alongside(measure_client)
    what = f"share of the ideal throughput, {AT_ONCE} requests of {SECONDS * 1e3:.0f} ms at once"
    yield f"{what} ({share_of_ideal(seconds, 1):.2f} here)", share_of_ideal(seconds, slow), ">=", SHARE
    (healthy, run, same), slow = alongside(lambda: time_nightly(domain, 396))
    yield seconds_line("seconds until make airflow is healthy", healthy, slow, HEALTHY)
    yield seconds_line("seconds for a nightly run of 396 tasks, from its trigger", run, slow, RUN)
    yield "share of its files that are byte for byte those of make dataset", same, ">=", 1.0


@click.group(invoke_without_command=True)
@click.pass_context
@click.option("--domain", default="finance", show_default=True)
@click.option("--candidates", default=240, show_default=True, help="Candidates judged for the throughput.")
def main(context: click.Context, domain: str, candidates: int) -> None:
    """Measure the promises, each printed as soon as it is measured, and exit 1 if one is missed. Fifteen minutes on
    quiet cores. Seconds and rates are those of the machine of the promises (bench/reference.py)."""
    if context.invoked_subcommand is not None:
        return
    print(f"{domain}; {platform.machine()}, Python {platform.python_version()}", flush=True)
    missed = 0
    for what, value, sign, bound in lines_of(domain, candidates):
        holds = value >= bound if sign == ">=" else value <= bound
        missed += not holds
        print(f"{what:<106} {value:>10,.2f}  {sign} {bound:<6g} {'ok' if holds else 'missed'}", flush=True)
    print(f"{missed} missed")
    sys.exit(1 if missed else 0)


@main.command()
@click.option("--data", type=click.Path(path_type=Path), help="A dataset to serve.  [default: one of ten domains]")
@click.option("--sessions", default=2_048, show_default=True, type=click.IntRange(1), help="Open at once.")
@click.option("--at-once", default=256, show_default=True, type=click.IntRange(1), help="Requests under way.")
@click.option("--workers", default=0, type=click.IntRange(0), help="Processes of the server.  [default: one a core]")
def sessions(data: Path | None, sessions: int, at_once: int, workers: int) -> None:
    """Open many sessions at once, play and grade them, and print the sheet."""
    from bench.crowd import print_sheet, run_crowd

    print_sheet(run_crowd(data, sessions, at_once, workers or len(os.sched_getaffinity(0))))


if __name__ == "__main__":
    main()
