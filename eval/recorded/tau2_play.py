"""A run of tau2 that goes on: only what its results file lacks is played."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from eval.recorded.tau2_order import Order
from eval.recorded.tau2_reward import BROKEN
from toolscale.dataset.storage import read_file
from toolscale.errors import ProgramError, UsageError
from toolscale.tau2.files import RESULTS, read_run
from toolscale.tau2.process import Place, Say, run_process


async def play(order: Order, folder: Path, environ: Mapping[str, str], say: Say) -> Path:
    """Return the results file of a run in which all trials are, those played before among them; trials that broke are
    played again. ProgramError if tau2 fails: what it played is kept, and the same call goes on."""
    results = folder / RESULTS
    lacking = _lacking(order, results)
    if not lacking:
        return results
    _check_tasks(order, results)
    say(f"tau2 {order.checkout.version}: {lacking} of {len(order.tasks) * order.trials} trials are to be played")
    place = Place(folder, order.environment(environ), order.checkout.folder, order.voices.key)
    ended = await run_process([order.checkout.program, *order.arguments(results)], place, say)
    ended.check(remedy=f"; {ended.log} has all of it, and the same command goes on")
    if not results.is_file():
        raise ProgramError(f"tau2 ended, and has not written {results}; run the same command again")
    played = read_run(results).simulations
    if all(each.ending in BROKEN for each in played):
        reason = next((each.error for each in played if each.error), "it does not say why")
        raise ProgramError(f"no trial of tau2 came to an end: {reason}; the same command plays them again")
    return results


def _lacking(order: Order, results: Path) -> int:
    """Return how many trials a results file lacks."""
    wanted = {(task.id, trial) for task in order.tasks for trial in range(order.trials)}
    if results.is_file():
        wanted -= {(each.task, each.trial) for each in read_run(results).simulations if each.ending not in BROKEN}
    return len(wanted)


def _check_tasks(order: Order, results: Path) -> None:
    """Raise UsageError if a run was begun with tasks that are not wanted now: tau2 does not go on with fewer."""
    if not results.is_file():
        return
    begun = {str(task["id"]) for task in json.loads(read_file(results)).get("tasks", ())}
    if begun - {task.id for task in order.tasks}:
        raise UsageError(
            f"{results}: was begun with {len(begun)} tasks, and tau2 does not go on with {len(order.tasks)}; "
            f"give --tasks {len(begun)} or more, or another --out"
        )
