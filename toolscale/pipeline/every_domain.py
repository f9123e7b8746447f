"""The datasets of several domains, made at once, each in a process of its own; and all of them in one folder."""

from __future__ import annotations

import multiprocessing
import os
import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from toolscale.dataset.comparing.combined import combine
from toolscale.dataset.making.workers import KILLED, map_in_workers
from toolscale.dataset.manifest import Wanted
from toolscale.environment.registry import discover
from toolscale.environment.spec_files import read_world
from toolscale.errors import ToolScaleError, UsageError
from toolscale.limits import UNLIMITED, RunLimits
from toolscale.pipeline.stages import synthesize
from toolscale.records import Manifest, WorldSpec
from toolscale.sandbox.interrupts import uninterrupted

Report = Callable[[str, str, int, int], None]
"""Called with a domain, what is being done for it, how much of that is done, and of how much."""


GONE = (EOFError, ConnectionError)
"""What a queue raises whose process was ended: by a signal to all processes of a run, or for want of memory."""


@dataclass(frozen=True)
class Order:
    """The dataset of one domain that is wanted."""

    folder: Path
    """Of the domain."""
    out: Path
    tasks: int
    limits: RunLimits = UNLIMITED
    wanted: Wanted = field(default_factory=Wanted)
    """What else it was asked to be."""


@dataclass(frozen=True)
class Made:
    """What became of all domains: the manifest of the folder with all of them, or why some could not be made."""

    manifest: Manifest | None
    failures: dict[str, str]


def every_domain(root: Path | None = None) -> dict[str, Path]:
    """Return domain -> folder of those in `environments/` that are no examples. UsageError if there is none."""
    found = {}
    for domain, folder in discover(root).items():
        world = read_world(folder)
        if world is None or not world.example:  # a folder that cannot be read is named as broken when it is made
            found[domain] = folder
    if not found:
        raise UsageError("there is no domain but examples; make one with: toolscale new")
    return found


def tasks_of(folder: Path) -> int:
    """Return how many tasks a dataset of the domain has unless told otherwise."""
    world = read_world(folder)
    return world.tasks if world else WorldSpec.model_fields["tasks"].default


def synthesize_every(orders: Sequence[Order], out: Path, *, processes: int | None = None, report: Report) -> Made:
    """Make the dataset of each order, the largest first, as many at once as there are cores; then `out` with all.

    A domain that cannot be made does not stop the others. Then `out` is left as it is, since it would lack a domain.
    """
    at_once = min(processes or len(os.sched_getaffinity(0)), len(orders))
    ordered = sorted(orders, key=lambda order: (-order.tasks, order.folder.name))
    try:
        with _relayed(report, at_once > 1) as told:
            results = dict(map_in_workers(partial(_make, told), ordered, at_once))
    except GONE as error:  # click would take it for the end of what a person types
        raise ToolScaleError(KILLED) from error
    failures = {domain: fault for domain, fault in sorted(results.items()) if fault is not None}
    return Made(None if failures else combine([order.out for order in orders], out), failures)


def _make(told: Any, order: Order) -> tuple[str, str | None]:
    """Make one dataset; return its domain, and what stood in the way."""
    domain = order.folder.name
    try:
        synthesize(
            order.folder,
            order.out,
            tasks=order.tasks,
            workers=1,
            limits=order.limits,
            progress=lambda act, done, total: told.put((domain, act, done, total)),
            **order.wanted,
        )
    except ToolScaleError as error:
        told.put((domain, "failed", 1, 1))
        return domain, str(error)
    told.put((domain, "made", 1, 1))
    return domain, None


@contextmanager
def _relayed(report: Report, from_processes: bool) -> Iterator[Any]:
    """Yield a queue; what is put into it, in whatever process, is reported here."""
    if not from_processes:
        yield _Direct(report)
        return
    with uninterrupted():
        manager = multiprocessing.get_context("spawn").Manager()
    with manager:
        told = manager.Queue()
        relay = threading.Thread(target=_report_all, args=(told, report), daemon=True)
        relay.start()
        try:
            yield told
        finally:
            with suppress(*GONE):
                told.put(None)
            relay.join()


def _report_all(told: queue.Queue[tuple[str, str, int, int] | None], report: Report) -> None:
    with suppress(*GONE):
        while (line := told.get()) is not None:
            report(*line)


@dataclass(frozen=True)
class _Direct:
    """A queue of nobody: it reports at once."""

    report: Report

    def put(self, line: tuple[str, str, int, int]) -> None:
        self.report(*line)
