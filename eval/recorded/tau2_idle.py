"""An agent that does nothing, as tau2 itself grades it: what its environment finds, rules alone cannot tell.

No model is asked: tasks that tau2 has judged by a model are left out.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from eval.recorded.tau2_files import Simulation, Tau2Task, read_run
from eval.recorded.tau2_order import Order
from eval.recorded.tau2_process import Say, run_process
from eval.recorded.tau2_reward import idle
from eval.records import HASH
from toolscale.canonical import content_hash
from toolscale.dataset.storage import read_file, write_file

GRADED = "graded.json"
"""What tau2 found: a task -> its `reward_info`. Tasks are missing that tau2 cannot grade: in `mock`, an assertion on
something that only the agent could have made is an exception there."""

REFUSED = "•"
"""How the last line begins if it read all files, and could not grade some."""

AT = "2000-01-01T00:00:00"
"""When the trials were: tau2 wants to be told."""


async def grade_idle(order: Order, results: Path, environ: Mapping[str, str], say: Say) -> list[Simulation]:
    """Return the trials of an agent that does nothing on the tasks of a run, with what tau2 finds. `results`: those of
    the run, which say what it was. ProgramError if tau2 fails."""
    asked = [task for task in order.tasks if not task.is_judged]
    folder = results.parent / "idle" / content_hash([task.raw for task in asked])[:HASH]
    if not (folder / GRADED).is_file():
        found = await _found(order, asked, json.loads(read_file(results)), folder, environ, say)
        write_file(folder / GRADED, json.dumps(found, indent=1).encode())
    graded = json.loads(read_file(folder / GRADED))
    return [replace(idle(task), recorded=graded.get(task.id, {})) for task in order.tasks]


async def _found(
    order: Order,
    tasks: Sequence[Tau2Task],
    recorded: Mapping[str, Any],
    folder: Path,
    environ: Mapping[str, str],
    say: Say,
) -> dict[str, Any]:
    """Have tau2 grade a file for each task, so that one which it cannot grade is not in the way of the others."""
    files = [folder / f"task{place}.json" for place in range(len(tasks))]
    for task, path in zip(tasks, files, strict=True):
        write_file(path, json.dumps(_asked(recorded, task)).encode())
    if tasks:
        arguments = ["evaluate-trajs", "--output-dir", str(folder), *map(str, files)]
        checkout, told = order.checkout, order.environment(environ)
        ended = await run_process(checkout.program, arguments, folder, told, order.voices.key, say, checkout.folder)
        if not (ended.status == 1 and ended.last.startswith(REFUSED)):
            ended.check()
    graded = {task.id: folder / f"updated_{path.name}" for task, path in zip(tasks, files, strict=True)}
    return {name: read_run(path).simulations[0].recorded for name, path in graded.items() if path.is_file()}


def _asked(recorded: Mapping[str, Any], task: Tau2Task) -> dict[str, Any]:
    """Return a results file of tau2 with one trial of a task: what was said before it begins, and no more but an
    excuse."""
    before = (task.raw.get("initial_state") or {}).get("message_history") or []
    played = idle(task)
    trial = {
        "id": f"idle-{task.id}",
        "task_id": task.id,
        "trial": 0,
        "seed": 0,
        "timestamp": AT,
        "start_time": AT,
        "end_time": AT,
        "duration": 0.0,
        "termination_reason": played.ending,
        "messages": [*before, *map(dict, played.messages)],
    }
    return {"info": recorded["info"], "tasks": [task.raw], "simulations": [trial]}
