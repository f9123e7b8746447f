"""Rows as ToolScale of the ToolOrchestra paper has them on the Hub: tasks of tau2 without their tools and databases.

What follows from the rows and from tau2's rules is decided; what takes the code of the environments is not. Arguments
stand there in one struct for the parameters of all tools: a null may be an argument that is absent, and is dropped.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from toolscale.audit.examined import Examined, Made, Run
from toolscale.audit.found import bad_input
from toolscale.audit.needles import passes
from toolscale.dataset.columns import load_cell
from toolscale.patterns import regex
from toolscale.tau2.driver import IDLE
from toolscale.tau2.files import Source, Tau2Task, read_task
from toolscale.text_files import printable

MOST_BYTES = 500_000_000
REMEDY = "give rows as nvidia/ToolScale has them"

_LOOKUP = regex(r"(?:get|search|list|find|calculate|think|check|look|view|query)(?:_|$)", re.ASCII)
_TOLD = ("task_instructions", "reason_for_call", "known_info", "unknown_info")


@dataclass
class Rows:
    """Tasks by domain. `nulls`, `timestamps`: arguments that are null, or have lost the text that a tool takes."""

    tasks: dict[str, list[Examined]] = field(default_factory=dict)
    nulls: int = 0
    timestamps: int = 0


def read_rows(path: Path) -> Rows:
    """Return the tasks of a file (.parquet, .json, .jsonl), or of all such files in a folder. UsageError, in one line,
    for what cannot be read."""
    files = [path] if path.is_file() else sorted(each for each in path.rglob("*") if each.suffix in _READERS)
    if not files:
        problem = "no .parquet, .json or .jsonl is in it" if path.is_dir() else "there is no such file or folder"
        raise bad_input(path, "", problem, REMEDY)
    rows, seen = Rows(), set()
    for file in files:
        for number, raw in enumerate(_records(file)):
            task, domain = _task(raw, Source(f"{file}: row {number}", REMEDY), rows)
            if task.id in seen:
                raise bad_input(file, f"row {number}", f"another row has the id {task.id!r}", "keep one of them")
            seen.add(task.id)
            rows.tasks.setdefault(domain, []).append(task)
    return rows


def _task(raw: Any, source: Source, rows: Rows) -> tuple[Examined, str]:
    source.need(raw, "id", str)
    scenario = source.need(source.need(raw, "user_scenario", dict), "instructions", dict, "user_scenario.")
    task = read_task(raw, source)
    calls = [Made(action.name, _told(action.arguments, rows)) for action in task.actions]
    told = tuple(str(scenario[name]) for name in _TOLD if scenario.get(name))
    return Examined(
        id=task.id,
        told=told,
        heard=(),
        calls=tuple(calls),
        needles=task.communicate,
        assertions=task.assertions,
        basis=task.basis,
        idle=_run(calls, task, IDLE),
        words=_run(calls, task, ". ".join(task.communicate) or "Done."),
        golden=_golden(task.communicate, task.basis),
    ), str(scenario.get("domain") or "")


def _run(calls: Sequence[Made], task: Tau2Task, said: str) -> Run:
    """Return what a run without calls is worth, as far as the rules of tau2 tell."""
    parts: dict[str, float] = {}
    unknown = []
    for part in task.basis:
        if part == "COMMUNICATE":
            parts[part] = float(all(passes(needle, said) for needle in task.communicate))
        elif part == "DB" and not calls:
            parts[part] = 1.0
        elif part == "ACTION":
            parts[part] = float(not calls)
        elif part == "DB":
            reads = all(_LOOKUP.match(call.name) for call in calls)
            looks = "; by their names all are look-ups, and then words alone win" if reads else ""
            unknown.append(f"it takes the tools to tell what the golden calls change{looks}")
        elif task.assertions or part != "NL_ASSERTION":
            unknown.append(f"{part} takes more than the row to tell")
        else:
            parts[part] = 1.0
    if any(not value for value in parts.values()):
        return Run(said, 0.0, parts)
    return Run(said, None, parts, "; ".join(unknown)) if unknown else Run(said, 1.0, parts)


def _golden(needles: Sequence[str], basis: Sequence[str]) -> Run:
    """Return what the golden answer is worth: nothing if it holds a text that tau2 never finds."""
    if "COMMUNICATE" in basis and not all(passes(needle, needle) for needle in needles):
        return Run(". ".join(needles), 0.0, {"COMMUNICATE": 0.0})
    return Run(". ".join(needles), None, {}, "it takes the tools and the database to make the golden calls")


def _told(value: Any, rows: Rows) -> Any:
    """Return an argument as JSON has it, without nulls."""
    if isinstance(value, Mapping):
        rows.nulls += sum(part is None for part in value.values())
        return {str(name): _told(part, rows) for name, part in value.items() if part is not None}
    if isinstance(value, list):
        return [_told(part, rows) for part in value]
    if isinstance(value, datetime):
        rows.timestamps += 1
        return value.date().isoformat() if value.time() == datetime.min.time() else value.isoformat()
    return value.isoformat() if isinstance(value, date) else value


def _records(file: Path) -> list[Any]:
    try:
        if file.stat().st_size > MOST_BYTES:
            raise bad_input(file, "", f"it has more than {MOST_BYTES:,} bytes", "give a part of it")
        reader = _READERS.get(file.suffix)
        if reader is None:
            raise bad_input(file, "", f"it ends in {file.suffix or 'nothing'}", "give .parquet, .json or .jsonl")
        found = reader(file)
    except (OSError, ValueError, RecursionError, pa.ArrowException) as error:
        told = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise bad_input(file, "", f"it cannot be read ({printable(told, 160)})", "get the file again") from error
    if not isinstance(found, list):
        raise bad_input(file, "", "it is no list of rows", REMEDY)
    return found


def _parquet(file: Path) -> Any:
    return pq.read_table(file).to_pylist()


def _json(file: Path) -> Any:
    return load_cell(file.read_text(encoding="utf-8"))


def _jsonl(file: Path) -> Any:
    return [load_cell(line) for line in file.read_text(encoding="utf-8").split("\n") if line.strip()]


_READERS: Mapping[str, Callable[[Path], Any]] = {".parquet": _parquet, ".json": _json, ".jsonl": _jsonl}
