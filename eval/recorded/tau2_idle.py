"""An agent that does nothing, as tau2 itself grades it: what its environment finds, rules alone cannot tell.

No model is asked: tasks that tau2 has judged by a model are left out.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from eval.recorded.tau2_order import Order
from eval.recorded.tau2_reward import idle
from eval.records import HASH
from toolscale.canonical import content_hash
from toolscale.dataset.storage import read_file, write_file
from toolscale.tau2.checkout import bare
from toolscale.tau2.driving import drive
from toolscale.tau2.files import Simulation
from toolscale.tau2.process import Place

GRADED = "graded.json"
"""What tau2 found: a task -> its `reward_info`. Tasks are missing that tau2 cannot grade: in `mock`, an assertion on
something that only the agent could have made is an exception there."""


async def grade_idle(order: Order, run: Path, environ: Mapping[str, str]) -> list[Simulation]:
    """Return the trials of an agent that does nothing on the tasks of a run, with what tau2 finds; it is kept beside
    the run. ProgramError if tau2 fails."""
    asked = [task for task in order.tasks if not task.is_judged]
    folder = run / "idle" / content_hash([task.raw for task in asked])[:HASH]
    if asked and not (folder / GRADED).is_file():
        place = Place(folder, bare(environ, order.data), order.checkout.folder)
        ids = [task.id for task in asked]
        found = _found(await drive(order.checkout, order.domain, place, lambda done, total: None, idle=ids))
        write_file(folder / GRADED, json.dumps(found, indent=1).encode())
    graded = json.loads(read_file(folder / GRADED)) if asked else {}
    return [replace(idle(task), recorded=graded.get(task.id, {})) for task in order.tasks]


def _found(lines: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return what the driver says as `tau2 run` would record it."""
    parts = {line["id"]: line["parts"] for line in lines if "parts" in line}
    return {
        task: {
            **({"db_check": {"db_match": bool(found["DB"])}} if "DB" in found else {}),
            **({"env_assertions": [{"met": bool(found["ENV_ASSERTION"])}]} if "ENV_ASSERTION" in found else {}),
        }
        for task, found in parts.items()
    }
