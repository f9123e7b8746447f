"""The folders of scheduled runs, below one root that may be a path or a URL.

    scratch/<run>/environments/<domain>/    the environment, populated
    scratch/<run>/plan/<shard>.json         what a mapped task judges
    scratch/<run>/judged/<domain>/          judged candidates, a file a unit
    runs/<run>/run.json                     what was asked
    runs/<run>/finished.json                when the run ended, and whether it was complete
    runs/<run>/published/<repo>.json        which version of its dataset a repository of the Hub holds
    runs/<run>/<domain>/rejects/            rejected candidates, a file a shard, there as soon as the shard is judged
    runs/<run>/<domain>/quality.json        what the quality gate found
    runs/<run>/<domain>/dataset/            the dataset of one domain
    runs/<run>/dataset/                     the dataset of the run: all its domains
    runs/<run>/<who>.held.json              until when somebody needs the run: see pipeline/holds.py
    .removed/                               runs that are being removed: see pipeline/pruning.py

What is in `scratch` is needed until the run is complete; what is in `runs` is its product. What a clock or the Hub said
lies beside a dataset, never in it: its bytes are those of its inputs.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

from toolscale.dataset.places import look_anew, open_place, url_of
from toolscale.dataset.storage import read_json, storage_errors, write_file
from toolscale.errors import DatasetError, StorageError, UsageError
from toolscale.limits import RunLimits
from toolscale.records import Answer, DrawnTurns

RUN = "run.json"
FINISHED = "finished.json"
PUBLISHED = "published"


@dataclass(frozen=True, slots=True)
class Order:
    """What a run was asked for: the content of `run.json`."""

    dag_id: str
    run_id: str
    started: str
    """ISO 8601."""
    logical_date: str | None
    domains: tuple[str, ...]
    tasks: int
    """Of each domain."""
    seed: int
    evolved: float
    publish: str
    """`ask`, `auto` or `never`."""
    params: Mapping[str, Any]
    """As they were given."""
    turns: DrawnTurns = "mixed"
    answer: Answer = "form"
    night: str | None = None
    """The logical date, ISO 8601, of a run that stands for a night; None for a run by hand."""
    repo: str | None = None
    """Where its dataset is to be published, if that was said."""

    def limits(self) -> RunLimits:
        """Return what the run may take; its time began when it did. UsageError if that cannot be."""
        return RunLimits.of(self.params, (datetime.now(UTC) - datetime.fromisoformat(self.started)).total_seconds())


@dataclass(frozen=True, slots=True)
class Run:
    """The folders of one run."""

    root: Path
    name: str

    @property
    def products(self) -> Path:
        """What stays."""
        return self.root / "runs" / self.name

    @property
    def scratch(self) -> Path:
        """What the run needs until it is complete."""
        return self.root / "scratch" / self.name

    def world(self, domain: str) -> Path:
        """The environment, populated."""
        return self.scratch / "environments" / domain

    def judged(self, domain: str) -> Path:
        """The judged candidates."""
        return self.scratch / "judged" / domain

    def rejects(self, domain: str, shard: str) -> Path:
        """The rejects of a shard."""
        return self.products / domain / "rejects" / f"{shard}.parquet"

    def quality(self, domain: str) -> Path:
        """What the quality gate found."""
        return self.products / domain / "quality.json"

    def dataset(self, domain: str | None = None) -> Path:
        """The dataset of a domain, or of the whole run."""
        return (self.products / domain if domain else self.products) / "dataset"

    @property
    def finished(self) -> Path:
        """When the run ended."""
        return self.products / FINISHED

    def published(self, repo: str) -> Path:
        """What was published in a repository of the Hub."""
        return self.products / PUBLISHED / f"{run_name(repo)}.json"

    def order(self) -> Order:
        """Read what was asked. DatasetError if the run was not opened."""
        path = self.products / RUN
        try:
            content = read_json(path, "trigger a new run")
        except StorageError:
            if path.exists():
                raise
            raise DatasetError(
                f"{path} is missing: the run was not opened, or was removed; trigger a new one"
            ) from None
        return Order(**content | {"domains": tuple(content["domains"])})

    @property
    def url(self) -> str:
        """What `run_at` opens again."""
        return url_of(self.products)


def data_root(airflow_home: str) -> str:
    """Return where runs are kept: TOOLSCALE_DATA, a URL or a path, which is taken from AIRFLOW_HOME if it is relative;
    `var/data` unless set."""
    told = os.environ.get("TOOLSCALE_DATA") or "var/data"
    if set(told) & set("*?["):
        raise UsageError(
            f"TOOLSCALE_DATA is {told}; choose a place without *, ? and [, which file systems take for patterns"
        )
    return told if "://" in told else str(Path(airflow_home) / told)


def run_at(url: str) -> Run:
    """Return the run whose products are at `url`."""
    products = open_place(url)
    return Run(products.parent.parent, products.name)


def runs_under(root: Path) -> list[tuple[Run, Order]]:
    """Return the runs below a root with their orders, by name. What is a link, has another name than its run id gives
    it, or has no order that can be read, is no run of ours."""
    place = look_anew(root) / "runs"
    with storage_errors("list", place):
        names = sorted(path.name for path in place.iterdir()) if place.exists() else []
    return [(run, order) for run in (Run(root, name) for name in names) if (order := _order_of(run)) is not None]


def run_of(dataset: Path) -> Run | None:
    """Return the run that a dataset, of all its domains or of one, belongs to; None if it lies elsewhere."""
    place = dataset.resolve()
    for products in (place.parent, place.parent.parent):
        run = Run(products.parent.parent, products.name)
        if place.name == "dataset" and products.parent.name == "runs" and _order_of(run) is not None:
            return run
    return None


def _order_of(run: Run) -> Order | None:
    with storage_errors("read", run.products):
        try:
            order = run.order()
            ours = run.name == run_name(order.run_id) and datetime.fromisoformat(order.started).tzinfo is not None
        except (AttributeError, DatasetError, LookupError, RecursionError, TypeError, ValueError):
            return None
        return order if ours and not run.products.is_symlink() else None


def open_run(root: str, order: Order) -> Run:
    """Write `run.json` and return the run. One that is opened again has not ended."""
    run = Run(open_place(root), run_name(order.run_id))
    with storage_errors("remove", run.finished):
        run.finished.unlink(missing_ok=True)
    write_file(run.products / RUN, (json.dumps(asdict(order), indent=1, ensure_ascii=False) + "\n").encode())
    return run


def run_name(run_id: str) -> str:
    """Return a folder name for a run id, which anybody may have chosen: its letters and digits, and a hash of it
    all."""
    return f"{re.sub(r'[^A-Za-z0-9]+', '-', run_id).strip('-')[:80]}-{sha256(run_id.encode()).hexdigest()[:8]}"


def folder_name(told: str | None, run_id: str) -> str:
    """Return the name of the folder of a training or an evaluation: what somebody `told`, or that of its run.
    UsageError if no folder may be called so."""
    name = told or run_name(run_id)
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,119}", name):
        raise UsageError(f"out is {name!r}; give the name of a folder, of letters, digits, '-', '_' and '.'")
    return name
