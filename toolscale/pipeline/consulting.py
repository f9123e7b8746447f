"""A model that is asked about the dataset of a scheduled run: it tries the tasks, and the dataset is made again.

Replies that were paid for lie under the data root, in `replies/`, so that a task that is called again goes on from
them, on whatever machine.
"""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from toolscale.dataset.making.shards import Shard, airflow_task, write_reject_rows
from toolscale.dataset.manifest import MANIFEST
from toolscale.dataset.places import deliver, fresh_folder, local_copy, settle, url_of
from toolscale.dataset.runs import Order, Run, run_at
from toolscale.dataset.storage import read_file, write_file
from toolscale.models.chat import ChatModel, Ledger
from toolscale.pipeline.remaking import Made, open_made
from toolscale.pipeline.solving import SolveSettings, solve_dataset
from toolscale.temporary_folders import temporary_folder

log = logging.getLogger(__name__)


def is_consulted(run_url: str) -> bool:
    """Return whether a run wants a model to be asked."""
    return _attempts(run_at(run_url).order()) > 0


def consult_domain(run_url: str, domain: str, model_of: Callable[[], ChatModel]) -> dict[str, Any]:
    """Have a model try the tasks of a domain's dataset, as often as the run wants it; put the dataset that is made with
    it in its place, and write what it rejects; return its URL, counts, and dollars by stage, None
    where no price is known.

    UsageError if no model is configured; what the client raises. LimitError never: what the limits of the run allow
    is done.
    """
    run, model, ledger = run_at(run_url), model_of(), Ledger()
    order, target = run.order(), run.dataset(domain)
    kept = run.root / "replies" / f"{domain}.sqlite"
    with temporary_folder("replies") as temporary:
        replies = temporary / "replies.sqlite"
        if kept.exists():
            write_file(replies, read_file(kept))
        with local_copy(settle(target)) as dataset, fresh_folder(run.scratch, f".consulted-{domain}") as staged:
            shutil.copytree(dataset, staged / domain)
            try:
                told = _consult(staged / domain, order, model, replies, ledger)
            finally:
                if replies.exists():
                    write_file(kept, replies.read_bytes())
            made = open_made(staged / domain)
            _write_rejects(run, order, made)
            deliver(staged / domain, target, MANIFEST)
    counts = {name: made.part.counts[name] for name in ("asked", "accepted", "rejected", "candidates")}
    return {
        "dataset": url_of(target),
        "counts": counts,
        **told,
        "usd": {line.stage: _rounded(line.worth_usd) for line in ledger.stages.values()},
        "usd_a_task": _rounded(ledger.total().worth_usd, max(counts["accepted"], 1)),
    }


def _rounded(dollars: float | None, parts: int = 1) -> float | None:
    return None if dollars is None else round(dollars / parts, 6)


def _consult(dataset: Path, order: Order, model: ChatModel, replies: Path, ledger: Ledger) -> dict[str, Any]:
    """Have the tasks of a dataset tried, in its place; return what came of it."""
    tried = SolveSettings(samples=_attempts(order), limits=order.limits(), replies=replies)
    solving = solve_dataset(dataset, model, tried, log.info, ledger)
    return {"solved": {**solving.outcomes, "stopped": solving.stopped}}


def _attempts(order: Order) -> int:
    """Return how often each task is tried; a run that began before there was a choice has none."""
    return int(order.params.get("attempts") or 0)


def _write_rejects(run: Run, order: Order, made: Made) -> None:
    """Write the rejects of the gate `solvable`, where the pages look for those of the run."""
    shard = Shard(f"{made.domain}-solvable", made.domain, -1, airflow_task(made.domain, "consult"), -1, ())
    rejects = made.reading.rows.rejects
    rows = [(row, shard) for row in rejects if any(gate["gate"] == "solvable" for gate in row["failed"])]
    path = run.rejects(made.domain, shard.name)
    write_reject_rows(path, rows, {"dag_id": order.dag_id, "run_id": order.run_id})
