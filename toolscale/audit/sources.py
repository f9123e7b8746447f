"""Where a dataset to be audited comes from: `tau2:PATH`, `harbor:PATH`, `toolscale-hf:PATH`, or a folder of ours."""

from __future__ import annotations

import asyncio
import os
import sys
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from toolscale.audit.checks import NOT_RUN, Found, check_tasks, check_texts
from toolscale.audit.examined import Examined
from toolscale.audit.found import KINDS, OF_RUNS, Audit, Finding, Undecided
from toolscale.audit.harbor import Run, check_runs, not_run, read_tasks, run_of
from toolscale.audit.harbor_process import AGENTS, TIMES, run_tasks, unreadable, version_of
from toolscale.audit.hub import read_rows
from toolscale.audit.own import examine_folder
from toolscale.audit.references import LEAST_SHARE, dangling, references
from toolscale.audit.tau2 import check_data, read_driver
from toolscale.errors import ProgramError, UsageError
from toolscale.tau2.checkout import bare, open_checkout
from toolscale.tau2.driving import Say, drive
from toolscale.tau2.process import Place
from toolscale.temporary_folders import temporary_folder
from toolscale.text_files import printable

TAU2, HUB, HARBOR = "tau2:", "toolscale-hf:", "harbor:"
ENGINE = "docker"
DOMAIN = "retail"
TIMEOUT_S, TASK_TIMEOUT_S = 1_800.0, 600.0


def audit_source(
    source: str,
    *,
    domain: str | None = None,
    python: Path | None = None,
    timeout_s: float = TIMEOUT_S,
    environment: str | None = None,
    task_timeout_s: float | None = None,
    say: Say = lambda done, total: None,
) -> Audit:
    """Audit a dataset. `domain` is of tau2 alone, `environment` and `task_timeout_s` of Harbor, `python` and
    `timeout_s` of both. UsageError or DatasetError, in one line, if it cannot be read; ProgramError if tau2 or Harbor
    fails."""
    if not source.startswith(HARBOR) and (environment is not None or task_timeout_s is not None):
        raise UsageError(f"{source}: --environment and --task-timeout are for harbor:PATH alone; leave them out")
    if source.startswith(TAU2):
        return _tau2(Path(source.removeprefix(TAU2)).absolute(), domain or DOMAIN, python, timeout_s, say)
    if domain is not None or (python is not None and not source.startswith(HARBOR)):
        raise UsageError(f"{source}: --domain and --python are for tau2 alone; leave them out, or give tau2:{source}")
    if source.startswith(HARBOR):
        folder, limit = Path(source.removeprefix(HARBOR)), task_timeout_s or TASK_TIMEOUT_S
        return _harbor(folder, python, environment or ENGINE, timeout_s, limit, say)
    if source.startswith(HUB):
        return _hub(Path(source.removeprefix(HUB)))
    return _own(Path(source), say)


def _tau2(folder: Path, domain: str, python: Path | None, timeout_s: float, say: Say) -> Audit:
    check_data(folder, domain)
    checkout = open_checkout(folder, python, os.environ, "--python")
    with temporary_folder("audit") as work:
        place = Place(work, bare(os.environ, folder / "data"), work, timeout_s=timeout_s)
        driven = read_driver(asyncio.run(drive(checkout, domain, place, say)))
    found: list[Found] = [*driven.broken, *check_tasks(driven.tasks)]
    found += check_texts(driven.tasks)
    inferred = {name: references(database) for name, database in driven.databases.items()}
    for name, columns in inferred.items():
        found += dangling(columns, "" if name == "agent" else f"{name}: ")
    notes = [f"executed and graded by tau2 {driven.version} itself, in a process of its own"]
    kept = [each for columns in inferred.values() for each in columns if each.share >= LEAST_SHARE]
    looked_up = sum(len(each.values) for each in kept)
    notes.append(f"{len(kept)} columns of the databases refer to rows; their {looked_up:,} values were looked up")
    if not checkout.code.resolve().is_relative_to(folder.resolve()):
        notes.append(f"the code of tau2 is not that of the checkout: {printable(str(checkout.code))}")
    return _audit("tau2", domain, driven.tasks, found, len(driven.broken_tasks), *notes)


def _harbor(
    folder: Path, python: Path | None, environment: str, timeout_s: float, task_timeout_s: float, say: Say
) -> Audit:
    tasks = read_tasks(folder)
    program = (python or Path(sys.executable)).absolute()
    version = version_of(program)
    runs: dict[tuple[str, str], list[Run]] = defaultdict(list)
    broken = unreadable(program, tasks)
    played = [task for task in tasks if task.name not in broken]
    for number, result in enumerate(run_tasks(program, played, environment, timeout_s, task_timeout_s, say), 1):
        try:
            runs[Path(result["task_id"]["path"]).name, result["config"]["agent"]["name"]].append(run_of(result))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ProgramError(f"Harbor {version} wrote what it should not, of run {number}: {error!r}") from error
    nop, oracle = AGENTS
    found = [each for task in played for each in check_runs(task, runs[task.name, nop], runs[task.name, oracle])]
    found += [each for task in tasks if task.name in broken for each in not_run(task, broken[task.name])]
    notes = [
        f"run by Harbor {version} itself, in {printable(environment, 80)}: untouched, and after its own solution, "
        f"each {TIMES} times"
    ]
    made = _audit("harbor", folder.resolve().name, (), found, len(tasks), *notes)
    return replace(made, kinds=OF_RUNS)


def _hub(path: Path) -> Audit:
    rows = read_rows(path)
    found: list[Found] = []
    for part in rows.tasks.values():
        found += [*check_tasks(part), *check_texts(part)]
    found.append(Undecided("dangling", (), NOT_RUN))
    notes = ["read from the rows alone: nothing was executed"]
    if rows.nulls:
        notes.append(f"{rows.nulls:,} null arguments were dropped: absent and null are one there")
    if rows.timestamps:
        notes.append(f"{rows.timestamps:,} arguments are timestamps: the text that the tool takes is lost")
    tasks = [task for part in rows.tasks.values() for task in part]
    return _audit("toolscale-hf", path.name, tasks, found, 0, *notes)


def _own(folder: Path, say: Say) -> Audit:
    done = examine_folder(folder, say)
    missing = {task for each in done.found if isinstance(each, Undecided) for task in each.tasks}
    missing -= {task.id for task in done.tasks}
    note = "every golden call was made again, and every run graded, in our own sandbox"
    return _audit("toolscale", ", ".join(done.domains), done.tasks, done.found, len(missing), note)


def _audit(
    source: str, name: str, tasks: Iterable[Examined], found: Iterable[Found], unread: int, *notes: str
) -> Audit:
    """Put an audit together, in the order of KINDS. `unread`: tasks that could not be examined."""
    examined, order, everything = list(tasks), list(KINDS), list(found)
    calls = [call for task in examined for call in task.calls]
    findings = [each for each in everything if isinstance(each, Finding)]
    undecided = [each for each in everything if isinstance(each, Undecided)]
    return Audit(
        source=source,
        name=name,
        tasks=len(examined) + unread,
        calls=len(calls),
        executed=sum(call.result is not None or call.error is not None for call in calls),
        findings=tuple(sorted(findings, key=lambda each: order.index(each.kind))),
        undecided=tuple(sorted(undecided, key=lambda each: order.index(each.kind))),
        notes=notes,
    )
