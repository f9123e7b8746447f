"""Worker processes: the same function on many items, results in the order of the items, however many work."""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import TypeVar

from toolscale.errors import ToolScaleError
from toolscale.sandbox.interrupts import uninterrupted

ROWS_PER_WORKER = 600
KILLED = "a worker process was killed (out of memory?); run again with fewer --workers: nothing is lost"

Item = TypeVar("Item")
Result = TypeVar("Result")


def map_in_workers(function: Callable[[Item], Result], items: Sequence[Item], workers: int) -> Iterator[Result]:
    """Yield `function(item)` in the order of the items; one worker, or one item, stays in this process.

    Workers are spawned, not forked: a process that draws a progress bar has threads. They end with the process that
    started them, even if that is killed, and at once if it is interrupted.
    """
    if workers <= 1 or len(items) <= 1:
        yield from map(function, items)
        return
    context, others = multiprocessing.get_context("spawn"), set(multiprocessing.active_children())
    with ProcessPoolExecutor(min(workers, len(items)), mp_context=context, initializer=_end_with_parent) as pool:
        with uninterrupted():  # the processes start when they are given work
            futures: list[Future[Result]] = [pool.submit(function, item) for item in items]
        try:
            for future in futures:
                yield future.result()
        except BrokenProcessPool as error:
            raise ToolScaleError(KILLED) from error
        except (KeyboardInterrupt, GeneratorExit):
            for process in set(multiprocessing.active_children()) - others:
                process.terminate()
            raise
        finally:
            for future in futures:
                future.cancel()


def fitting_workers(tasks: int) -> int:
    """Return how many processes are worth their start for so many tasks, at most one a core.

    A process loads an environment, and starts a replica of its own, for about as long as it judges ROWS_PER_WORKER
    tasks.
    """
    return min(len(os.sched_getaffinity(0)), -(-tasks // ROWS_PER_WORKER))


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None

    def watch() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
