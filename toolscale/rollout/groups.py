"""Many rollouts at once: groups of samples of the same task, concurrent over all of them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from toolscale.errors import RolloutError, UsageError
from toolscale.records import Rollout, RolloutTask
from toolscale.rollout.bench import Bench, Setting
from toolscale.rollout.loop import run_rollout
from toolscale.rollout.policy import Policy


async def run_rollouts(
    tasks: Sequence[RolloutTask],
    policy: Policy,
    bench: Bench,
    samples: int = 8,
    concurrency: int | None = None,
    seconds: float | None = None,
) -> list[list[Rollout]]:
    """Return one group of `samples` rollouts for each task, in the order of the tasks.

    At most `concurrency` rollouts run at one time, by default all. Concurrency changes no result where experts are
    simulated. An exception that nobody expected stops all rollouts: RolloutError with the id of the task. If this is
    cancelled, so are they, and what they borrowed is given back. A rollout that is not done `seconds` after it began
    ends as failed.
    """
    if samples < 1 or (concurrency is not None and concurrency < 1):
        raise UsageError(f"samples ({samples}) and concurrency ({concurrency}) must be at least 1")
    settings = [bench.setting(task) for task in tasks]
    gate = asyncio.Semaphore(concurrency or max(1, len(settings) * samples))
    running = [
        [asyncio.ensure_future(_run(setting, policy, sample, gate, seconds)) for sample in range(samples)]
        for setting in settings
    ]
    everything = [rollout for group in running for rollout in group]
    try:
        if everything:
            await asyncio.wait(everything, return_when=asyncio.FIRST_EXCEPTION)
        _raise_first(everything)
        return [[rollout.result() for rollout in group] for group in running]
    finally:
        for rollout in everything:
            rollout.cancel()
        await asyncio.gather(*everything, return_exceptions=True)


async def _run(
    setting: Setting, policy: Policy, sample: int, gate: asyncio.Semaphore, seconds: float | None
) -> Rollout:
    async with gate:
        try:
            return await run_rollout(setting, policy, sample, seconds)
        except Exception as error:
            raise RolloutError(f"task {setting.task.id}, sample {sample}: {type(error).__name__}: {error}") from error


def _raise_first(rollouts: Sequence[asyncio.Future[Rollout]]) -> None:
    """Raise the error of the first rollout that failed; the others were stopped because of it, or are not done."""
    for rollout in rollouts:
        if rollout.done() and not rollout.cancelled() and (error := rollout.exception()) is not None:
            raise error
