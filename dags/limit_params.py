"""What a run may take: the same words in every DAG."""

from __future__ import annotations

from airflow.sdk import Param


def limit_params(budget: float | None) -> dict[str, Param]:
    """The params that `toolscale.limits.RunLimits.of` reads. `budget`: the usual cap in dollars."""
    return {
        "budget": Param(
            budget,
            type=["null", "number"],
            exclusiveMinimum=0,
            description="Dollars that the model may cost at most, for each domain. Empty: no cap.",
        ),
        "deadline": Param(
            None,
            type=["null", "number"],
            exclusiveMinimum=0,
            description="Seconds after which nothing new is begun; what is done by then is kept. Empty: none.",
        ),
    }
