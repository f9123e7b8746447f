"""The units of deploy/systemd: systemd reads them, what they start exists, and each says what only it needs."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.installed import needs, program

ROOT = Path(__file__).parents[1]
UNITS = sorted((ROOT / "deploy" / "systemd").iterdir())
SERVICES = [path for path in UNITS if path.suffix == ".service"]
CHECKOUT = "/opt/toolscale"


def settings(path: Path) -> dict[str, list[str]]:
    """The values of each setting of a unit, in their order."""
    found: dict[str, list[str]] = {}
    for name, value in re.findall(r"^([A-Za-z]+)=(.*)$", path.read_text(), re.MULTILINE):
        found.setdefault(name, []).append(value)
    return found


def command(path: Path) -> list[str]:
    """What a service starts, as words."""
    return settings(path)["ExecStart"][0].split()


def test_there_is_a_unit_for_every_process() -> None:
    assert {path.name: " ".join(command(path)) for path in SERVICES} == {
        "toolscale-api-server.service": f"{CHECKOUT}/.venv/bin/airflow api-server",
        "toolscale-clean.service": f"{CHECKOUT}/scripts/airflow-clean",
        "toolscale-dag-processor.service": f"{CHECKOUT}/.venv/bin/airflow dag-processor",
        "toolscale-gpu-worker.service": f"{CHECKOUT}/.venv/bin/airflow celery worker --queues gpu --concurrency 1",
        "toolscale-scheduler.service": f"{CHECKOUT}/.venv/bin/airflow scheduler",
        "toolscale-triggerer.service": f"{CHECKOUT}/.venv/bin/airflow triggerer",
        "toolscale-worker.service": f"{CHECKOUT}/.venv/bin/airflow celery worker --queues default",
    }


@pytest.mark.parametrize("name", [path.name for path in SERVICES])
def test_what_a_unit_starts_exists(name: str) -> None:
    program = Path(command(ROOT / "deploy" / "systemd" / name)[0]).relative_to(CHECKOUT)
    installed = Path(sys.executable).parent / program.name if program.parts[0] == ".venv" else ROOT / program
    assert os.access(installed, os.X_OK)


@pytest.mark.parametrize("name", [path.name for path in SERVICES])
def test_a_unit_has_its_environment_from_a_file_and_is_not_root(name: str) -> None:
    found = settings(ROOT / "deploy" / "systemd" / name)
    assert (found["User"], found["EnvironmentFile"]) == (["toolscale"], ["/etc/toolscale/scale.env"])
    assert f"AIRFLOW_HOME={CHECKOUT} PATH={CHECKOUT}/.venv/bin:/usr/local/bin:/usr/bin:/bin" in found["Environment"]


def test_a_training_outlives_its_worker() -> None:
    assert settings(ROOT / "deploy" / "systemd" / "toolscale-gpu-worker.service")["KillMode"] == ["process"]


def test_the_database_is_cleaned_every_week_of_what_is_older_than_90_days() -> None:
    folder = ROOT / "deploy" / "systemd"
    assert settings(folder / "toolscale-clean.timer")["OnCalendar"] == ["Sun 12:00 UTC"]
    assert "DAYS=90" in settings(folder / "toolscale-clean.service")["Environment"]


@needs("systemd-analyze", program("systemd-analyze"), "apt-get install systemd")
def test_systemd_reads_every_unit_without_a_word(tmp_path: Path) -> None:
    for path in UNITS:  # a checkout that is there: systemd looks whether programs exist
        (tmp_path / path.name).write_text(
            path.read_text().replace(f"{CHECKOUT}/.venv", sys.prefix).replace(CHECKOUT, str(ROOT))
        )
    names = [str(tmp_path / path.name) for path in UNITS]
    done = subprocess.run(["systemd-analyze", "verify", "--man=no", *names], capture_output=True, text=True)
    ours = [line for line in done.stderr.splitlines() if str(tmp_path) in line or "toolscale" in line]
    assert (ours, done.returncode) == ([], 0), done.stderr


@pytest.mark.parametrize("days", ["0", "-1", "ninety", "99999"])
def test_days_that_are_no_number_are_refused_in_one_line(days: str) -> None:
    done = subprocess.run(
        [ROOT / "scripts" / "airflow-clean"], env={**os.environ, "DAYS": days}, capture_output=True, text=True
    )
    told = f"airflow: DAYS={days} is no number of days; give one between 1 and 9999\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", told)
