"""When datasets are made by themselves."""

from __future__ import annotations

import os
from datetime import timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from airflow.sdk import CronTriggerTimetable


def time_zone(name: str) -> str:
    """The name of a time zone that there is."""
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise ValueError(
            f"TOOLSCALE_TIMEZONE is {name!r}, which is no time zone; say e.g. 'Europe/Berlin', or nothing for UTC"
        ) from error
    return name


def nights() -> CronTriggerTimetable | None:
    """When a dataset is made by itself: the cron expression in TOOLSCALE_SCHEDULE; at two if it is not set, never if it
    is empty.

    Its time zone is TOOLSCALE_TIMEZONE, such as Europe/Berlin; UTC unless that is set. Both are environment variables,
    not Variables of Airflow: parsing a DAG file must not ask a database.

    A new installation waits for its first night. By default Airflow would at once run a night that was due up to a
    tenth of the interval ago, and `run_immediately=False` means that default (3.3.2). So a time is given instead. It is
    not zero: a process that reads this file in the second in which a night begins must still see that night as due.
    """
    from croniter import croniter

    expression = os.environ.get("TOOLSCALE_SCHEDULE", "0 2 * * *").strip()
    if not expression:
        return None
    if not croniter.is_valid(expression):
        raise ValueError(
            f"TOOLSCALE_SCHEDULE is {expression!r}, which is no cron expression; "
            "say e.g. '0 2 * * *', or nothing for no nights"
        )
    zone = time_zone(os.environ.get("TOOLSCALE_TIMEZONE", "").strip() or "UTC")
    return CronTriggerTimetable(expression, timezone=zone, run_immediately=timedelta(milliseconds=900))
