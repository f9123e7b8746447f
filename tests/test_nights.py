"""Runs by the clock: which seed a night has, what a backfill publishes, and that no older night follows a newer one."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from types import SimpleNamespace
from typing import Any

from toolscale.pipeline.publishing import newer_night
from toolscale.pipeline.scheduled import night_seed, order_of

NIGHT = datetime(2026, 11, 20, 2, tzinfo=UTC)


def dag_run(run_type: str, night: datetime | None) -> Any:
    return SimpleNamespace(
        dag_id="synthesize_dataset",
        run_id=f"{run_type}__x",
        run_type=run_type,
        start_date=NIGHT + timedelta(days=3),
        logical_date=night,
        data_interval_start=night,
    )


def test_nights_do_not_run_backwards() -> None:
    published = [
        {"repo": "me/x", "night": "2026-11-20T02:00:00+00:00"},
        {"repo": "me/x", "night": "2026-11-21T02:00:00+00:00"},
        {"repo": "me/y", "night": "2026-11-29T02:00:00+00:00"},
        {"repo": "me/x", "night": None},
        {"repo": "me/x"},
    ]
    assert newer_night(published, "me/x", "2026-11-20T02:00:00+00:00") == "2026-11-21T02:00:00+00:00"
    assert newer_night(published, "me/x", "2026-11-19T02:00:00+00:00") == "2026-11-21T02:00:00+00:00"
    assert newer_night(published, "me/x", "2026-11-21T02:00:00+00:00") is None
    assert newer_night(published, "me/x", "2026-11-22T02:00:00+00:00") is None
    assert newer_night(published, "me/x", None) is None and newer_night([], "me/x", "2026-11-20T02:00:00+00:00") is None


def test_a_night_has_its_own_seed_which_a_backfill_repeats() -> None:
    params = {"domains": ["mock"], "tasks": 396, "seed": None, "evolved": None, "publish": "ask"}
    nights = [NIGHT + timedelta(days=days) for days in range(30)]
    scheduled = [order_of(dag_run("scheduled", night), params).seed for night in nights]
    assert (
        scheduled
        == [order_of(dag_run("backfill", night), params).seed for night in nights]
        == [night_seed(night) for night in nights]
    )
    assert len(set(scheduled)) == 30 and night_seed(NIGHT.astimezone(timezone(timedelta(hours=5)))) == scheduled[0]
    assert order_of(dag_run("manual", NIGHT), params).seed == 0
    assert order_of(dag_run("scheduled", NIGHT), params | {"seed": 7}).seed == 7


def test_a_backfill_is_not_published_unless_told_and_a_night_says_which_it_is() -> None:
    params = {
        "domains": ["mock"],
        "tasks": 396,
        "seed": None,
        "evolved": None,
        "publish": None,
        "repo": None,
    }
    found = {kind: order_of(dag_run(kind, NIGHT), params) for kind in ("scheduled", "backfill", "manual")}
    assert {kind: order.publish for kind, order in found.items()} == {
        "scheduled": "ask",
        "backfill": "never",
        "manual": "ask",
    }
    assert found["scheduled"].night == found["backfill"].night == NIGHT.astimezone(UTC).isoformat(timespec="seconds")
    assert found["manual"].night is None
    assert order_of(dag_run("backfill", NIGHT), params | {"publish": "auto", "repo": "me/x"}).publish == "auto"
