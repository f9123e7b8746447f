"""When a dataset is made by itself: never for a night that was due before the installation was there, and as the
setting says."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from homes import ROOT, AirflowHome, make_home, standalone

from tests.installed import needs, program

DAG = "synthesize_dataset"

FIRST_NIGHT = """
import json, sys
sys.path.insert(0, sys.argv[1])
from airflow.serialization.encoders import coerce_to_core_timetable
from airflow.timetables.base import TimeRestriction
from toolscale_nights import nights
found = nights()
if found is not None:
    timetable = coerce_to_core_timetable(found)
    timetable.validate()
    nothing_said = TimeRestriction(earliest=None, latest=None, catchup=False)
    found = str(timetable.next_dagrun_info(last_automated_data_interval=None, restriction=nothing_said).run_after)
print(json.dumps(found))
"""


def first_night(home: AirflowHome, clock: str | None = None, **settings: str) -> str | None:
    """What an Airflow without a run plans first, asked by a process for which it is `clock` in UTC, whatever clock the
    tests run under."""
    done = ask(home, clock, **settings)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def ask(home: AirflowHome, clock: str | None = None, **settings: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", FIRST_NIGHT, str(ROOT / "dags")]
    own = {"TOOLSCALE_SCHEDULE", "TOOLSCALE_TIMEZONE", "LD_PRELOAD"} | {
        name for name in home.environ if name.startswith("FAKETIME")
    }
    environ = {name: value for name, value in home.environ.items() if name not in own} | {"TZ": "UTC"} | settings
    return subprocess.run(
        ["faketime", clock, *command] if clock else command, env=environ, capture_output=True, text=True
    )


@needs("faketime", program("faketime"))
@pytest.mark.parametrize(
    ("clock", "night"),
    [
        ("2026-11-22 01:55:00", "2026-11-22"),
        ("2026-11-22 02:00:01", "2026-11-23"),
        ("2026-12-31 23:59:00", "2027-01-01"),
    ],
)
def test_a_new_installation_waits_for_its_first_night(clock: str, night: str, airflow_home: AirflowHome) -> None:
    assert first_night(airflow_home, clock) == f"{night} 02:00:00+00:00"


def test_the_schedule_is_a_setting_and_an_empty_one_means_never(airflow_home: AirflowHome) -> None:
    minute = str(first_night(airflow_home, TOOLSCALE_SCHEDULE="17 * * * *"))[14:16]
    assert (minute, first_night(airflow_home, TOOLSCALE_SCHEDULE=" ")) == ("17", None)


def test_a_schedule_that_is_none_is_an_import_error_that_names_the_variable(airflow_home: AirflowHome) -> None:
    done = ask(airflow_home, TOOLSCALE_SCHEDULE="at two")
    told = (
        "ValueError: TOOLSCALE_SCHEDULE is 'at two', which is no cron expression; "
        "say e.g. '0 2 * * *', or nothing for no nights"
    )
    assert (done.returncode, done.stderr.splitlines()[-1]) == (1, told)


@needs("faketime", program("faketime"))
def test_nights_follow_the_clock_of_a_time_zone(airflow_home: AirflowHome) -> None:
    summer, winter = "2026-07-01 12:00:00", "2026-12-01 12:00:00"
    found = [first_night(airflow_home, clock, TOOLSCALE_TIMEZONE="Europe/Berlin") for clock in (summer, winter)]
    assert found == ["2026-07-02 00:00:00+00:00", "2026-12-02 01:00:00+00:00"]


@pytest.mark.parametrize("zone", ["Berlin", "../../etc/passwd"])
def test_a_time_zone_that_is_none_is_an_import_error_that_names_the_variable(
    zone: str, airflow_home: AirflowHome
) -> None:
    done = ask(airflow_home, TOOLSCALE_TIMEZONE=zone)
    told = (
        f"ValueError: TOOLSCALE_TIMEZONE is {zone!r}, which is no time zone; "
        "say e.g. 'Europe/Berlin', or nothing for UTC"
    )
    assert (done.returncode, done.stderr.splitlines()[-1]) == (1, told)


@pytest.mark.slow("tests/airflow/test_dags.py")
@pytest.mark.xdist_group("servers")
def test_a_night_that_was_due_a_minute_before_is_left_out_and_a_run_by_hand_does_not_wait_for_the_next(
    tmp_path: Path,
) -> None:
    started = datetime.now(UTC).replace(second=0, microsecond=0)
    last, following = (
        started - timedelta(minutes=1),
        [started + timedelta(minutes=minutes) for minutes in range(3, 33, 5)],
    )
    minutes = ",".join(str(each.minute) for each in (last, *following))  # whichever comes first once all of it runs
    home = make_home(tmp_path / "home").with_settings(TOOLSCALE_SCHEDULE=f"{minutes} * * * *")
    with standalone(home) as live:

        def states(run_type: str) -> dict[str, str]:
            found = live.admin.get(f"dags/{DAG}/dagRuns", run_type=run_type)["dag_runs"]
            return {run["run_after"][:16]: run["state"] for run in found}

        live.admin.wait_for_dag(DAG)
        live.service.wait_until(lambda: "running" in states("scheduled").values(), 900)
        live.admin.trigger(DAG, {"domains": ["mock"], "tasks": 10, "publish": "never"})
        live.service.wait_until(lambda: "queued" not in states("manual").values())
        made = states("scheduled")
        for run in live.admin.get(f"dags/{DAG}/dagRuns", run_type="scheduled")["dag_runs"]:  # 396 tasks of finance
            url = f"/api/v2/dags/{DAG}/dagRuns/{run['dag_run_id']}"  # asked again where the scheduler locks SQLite
            live.service.wait_until(lambda url=url: live.admin.http.patch(url, json={"state": "failed"}).is_success)
    assert made and made.keys() <= {f"{each:%Y-%m-%dT%H:%M}" for each in following}
