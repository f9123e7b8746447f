"""When datasets are made by themselves."""

from __future__ import annotations

import os
from datetime import timedelta

from airflow.sdk import CronTriggerTimetable


def nights() -> CronTriggerTimetable | None:
    """When a dataset is made by itself: the cron expression in TOOLSCALE_SCHEDULE, in UTC; at two if it is not set, never if it is empty.

    A new installation waits for its first night. Airflow's default is to make up for one that was due before, up to a tenth of the interval ago, and
    `run_immediately=False` means that default (3.3.2). Not zero: whoever reads this file in the second in which a night begins must still see it due.
    """
    from croniter import croniter

    expression = os.environ.get("TOOLSCALE_SCHEDULE", "0 2 * * *").strip()
    if not expression:
        return None
    if not croniter.is_valid(expression):
        raise ValueError(f"TOOLSCALE_SCHEDULE is {expression!r}, which is no cron expression; say e.g. '0 2 * * *', or nothing for no nights")
    return CronTriggerTimetable(expression, timezone="UTC", run_immediately=timedelta(milliseconds=900))
