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
from toolscale.canonical import content_hash
from toolscale.dataset.storage import read_file, write_file

ASKED, GRADED = "idle.json", "updated_idle.json"
"""What tau2 is given, and what it makes of it."""

AT = "2000-01-01T00:00:00"
"""When the trials were: tau2 wants to be told."""


async def grade_idle(order: Order, results: Path, environ: Mapping[str, str], say: Say) -> list[Simulation]:
    """Return the trials of an agent that does nothing on the tasks of a run, with what tau2 finds. `results`: those of
    the run, which say what it was. ProgramError if tau2 fails."""
    graded = [task for task in order.tasks if "NL_ASSERTION" not in task.basis]
    folder = results.parent / "idle" / content_hash([task.raw for task in graded])[:16]
    if graded and not (folder / GRADED).is_file():
        recorded = json.loads(read_file(results))
        write_file(folder / ASKED, json.dumps(_asked(recorded, graded)).encode())
        arguments = ["evaluate-trajs", str(folder / ASKED), "--output-dir", str(folder)]
        checkout = order.checkout
        await run_process(
            checkout.program, arguments, folder, order.environment(environ), order.voices.key, say, checkout.folder
        )
    found = {each.task: each for each in read_run(folder / GRADED).simulations} if graded else {}
    plain = [idle(task) for task in order.tasks]
    return [replace(each, recorded=found[each.task].recorded) if each.task in found else each for each in plain]


def _asked(recorded: Mapping[str, Any], tasks: Sequence[Tau2Task]) -> dict[str, Any]:
    """Return a results file of tau2 with one trial for each task: what was said before it begins, and no more but an
    excuse."""
    wanted = {task.id for task in tasks}
    return {
        "info": recorded["info"],
        "tasks": [each for each in recorded["tasks"] if str(each["id"]) in wanted],
        "simulations": [_trial(task) for task in tasks],
    }


def _trial(task: Tau2Task) -> dict[str, Any]:
    before = (task.raw.get("initial_state") or {}).get("message_history") or []
    played = idle(task)
    return {
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
