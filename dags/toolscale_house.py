"""What the DAGs of ToolScale share: assets, retries, the domains and configs, what is told of a dataset, who is
told of a failure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

from airflow.sdk import Asset, ExceptionRetryPolicy, RetryAction, RetryRule
from toolscale_alerts import TaskFailed

VERIFIED = Asset("verified_dataset")
PUBLISHED = Asset("published_dataset")
CHECKPOINT = Asset("checkpoint")

DOMAIN = "[a-z][a-z0-9_-]{0,59}"
"""The names that domains can have (`toolscale.environment.references.domain_problem`)."""

RETRIES = ExceptionRetryPolicy(
    rules=[
        RetryRule(
            exception="toolscale.errors.PermanentError", action=RetryAction.FAIL, reason="the same input fails again"
        ),
        RetryRule(exception="toolscale.errors.TransientError", action=RetryAction.DEFAULT, reason="may succeed later"),
    ]
)
"""Our error tree decides; whatever else happens (a worker was killed, a machine was lost) is tried again, later each
time."""


def domains() -> list[str]:
    """The domains that can be chosen: the names of the folders in environments/, but for those that cannot be one, such
    as that of a copy, `gym.bak`. Tasks are named after domains, and one wrong name would take the whole DAG away."""
    names = (
        path.parent.name for path in (Path(__file__).resolve().parents[1] / "environments").glob("*/environment.yaml")
    )
    return sorted(name for name in names if re.fullmatch(DOMAIN, name))


def configs() -> list[str]:
    """The configs that can be chosen: the names of the files in training/configs/, but for those of SFT, which is
    another program."""
    names = (path.stem for path in (Path(__file__).resolve().parents[1] / "training" / "configs").glob("*.yaml"))
    return sorted(name for name in names if not name.startswith("sft_"))


def check_conf(context: Any, params: Mapping[str, Any]) -> Any:
    """Return the context of a task. A run that was given something that is no parameter fails: it would do something
    else than was meant."""
    from toolscale.errors import UsageError

    if unknown := sorted(set(context["dag_run"].conf or {}) - params.keys()):
        raise UsageError(
            f"the run was given {unknown[0]!r}, which is no parameter; the parameters are {', '.join(params)}"
        )
    return context


def partition(context: Any, asset: Asset) -> None:
    """Say of which dataset the event of `asset` tells: its partition key is the id of the run that made the dataset.

    Airflow merges events without a key if they come while a run waits: of two datasets, one would never be published.
    """
    run = context["dag_run"]
    context["outlet_events"][asset].add_partitions(run.partition_key or run.run_id)


def told_of(context: Any) -> dict[str, Any] | None:
    """What the event that triggered this run tells of its dataset; None for a run by hand. Of several with one key (a
    task that tells it was cleared, and told it again), the last."""
    events = [event for found in context["triggering_asset_events"].values() for event in found]
    return dict(max(events, key=lambda event: event.timestamp).extra) if events else None


DEFAULTS: dict[str, Any] = {
    "owner": "toolscale",
    "retries": 5,
    "retry_delay": timedelta(seconds=30),  # doubled each time; a restart of Airflow takes less
    "retry_exponential_backoff": True,
    "max_retry_delay": timedelta(minutes=10),
    "retry_policy": RETRIES,
    "execution_timeout": timedelta(hours=12),  # of one task; a training says its own
    "on_failure_callback": TaskFailed(),
}
