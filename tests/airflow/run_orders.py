"""A small scheduled run of the mock domain: what it is asked for, and its shards judged one after the other."""

from __future__ import annotations

from typing import Any

from toolscale.config import EVOLVED_SHARE
from toolscale.dataset.runs import Order
from toolscale.pipeline.scheduled import build_domain, judge_shard, plan_round


def order(**changes: Any) -> Order:
    return Order(
        **{
            "dag_id": "synthesize_dataset",
            "run_id": "manual__2026-11-21T02:00:00+00:00",
            "started": "2026-11-21T02:00:00+00:00",
            "logical_date": None,
            "domains": ("mock",),
            "tasks": 10,
            "seed": 0,
            "evolved": EVOLVED_SHARE,
            "publish": "never",
            "turns": "single",
            "answer": "message",
            "params": {},
        }
        | changes
    )


def judge_all(run: str, domain: str = "mock", most: int = 2048) -> list[dict[str, Any]]:
    build_domain(run, domain)
    return [
        judge_shard(plan)
        for round_, task in enumerate(("judge", "top_up"))
        for plan in plan_round(run, domain, round_, f"{domain}.{task}", most=most)
    ]
