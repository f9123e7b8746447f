"""No server of a test outlives it: not after a clean end, not after a crash of the tests, not in a session of its
own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from services import ServiceError, free_ports, listens, running

SERVER = """
import os, signal, subprocess, sys, time
stubborn = "import signal, time; signal.signal(signal.SIGINT, signal.SIG_IGN);\
 signal.signal(signal.SIGHUP, signal.SIG_IGN); time.sleep(600)"
if sys.argv[1:] == ["leaves"]:
    orphan = subprocess.Popen([sys.executable, "-c", stubborn], start_new_session=True)
    print("orphan", orphan.pid, flush=True)
if sys.argv[1:] == ["loses"]:
    signal.signal(signal.SIGINT, lambda *_: signal.signal(signal.SIGINT, lambda *_: sys.exit(0)))
else:
    signal.signal(signal.SIGINT, lambda *_: sys.exit(0))
print("ready", flush=True)
end = time.monotonic() + 600
while time.monotonic() < end:
    time.sleep(0.1)
"""
TESTS = """
import sys
from pathlib import Path
from services import running
with running("server", [sys.executable, "-c", sys.argv[1], "leaves"],\
 log=Path(sys.argv[2]), remove=Path(sys.argv[3])) as service:
    service.wait_until(lambda: "ready" in service.log.read_text())
    print("ready", flush=True)
    sys.stdin.read()
"""


def orphan_of(log: Path) -> psutil.Process:
    """The process that SERVER left in a session of its own."""
    return psutil.Process(int(log.read_text().split("orphan ")[1].split()[0]))


def holds_within(claim: Callable[[], bool], seconds: float) -> bool:
    """Does `claim()` become true in time?"""
    end = time.monotonic() + seconds
    while not claim():
        if time.monotonic() > end:
            return False
        time.sleep(0.1)
    return True


def test_a_server_ends_with_its_block(tmp_path: Path) -> None:
    with running("server", [sys.executable, "-c", SERVER], log=tmp_path / "log") as service:
        service.wait_until(lambda: "ready" in service.log.read_text())
    assert service.report == {"ended_by_itself": None, "status": 0, "left": []}


@pytest.mark.slow("tests/airflow/test_services.py")
def test_a_server_that_lost_the_first_signal_is_asked_again(tmp_path: Path) -> None:
    with running("server", [sys.executable, "-c", SERVER, "loses"], log=tmp_path / "log") as service:
        service.wait_until(lambda: "ready" in service.log.read_text())
    assert service.report == {"ended_by_itself": None, "status": 0, "left": []}


def test_a_process_that_is_left_behind_is_told_and_killed(tmp_path: Path) -> None:
    with (
        pytest.raises(ServiceError, match="left processes behind"),
        running("server", [sys.executable, "-c", SERVER, "leaves"], log=tmp_path / "log") as service,
    ):
        service.wait_until(lambda: "ready" in service.log.read_text())
        orphan = orphan_of(service.log)
        assert os.getsid(orphan.pid) == orphan.pid
    assert not orphan.is_running()


def test_a_server_ends_when_its_tests_are_killed(tmp_path: Path) -> None:
    log, data = tmp_path / "log", tmp_path / "data"
    data.mkdir()
    environ = os.environ | {"PYTHONPATH": str(Path(__file__).parent)}
    command = [sys.executable, "-c", TESTS, SERVER, str(log), str(data)]
    with subprocess.Popen(command, env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as tests:
        assert tests.stdout is not None
        assert tests.stdout.readline() == "ready\n"
        orphan = orphan_of(log)
        tests.send_signal(signal.SIGKILL)
    assert holds_within(lambda: not orphan.is_running(), 30)
    assert holds_within(lambda: not data.exists(), 5)


def test_a_server_that_ends_too_early_is_told_with_its_log(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "import sys; sys.exit('no such flag: --frob')"]
    with (
        pytest.raises(ServiceError, match=r"(?s)server ended by itself.*no such flag: --frob"),
        running("server", command, log=tmp_path / "log") as service,
    ):
        service.wait_until(lambda: False)


def test_free_ports_are_free_and_differ() -> None:
    ports = free_ports(20)
    assert len(set(ports)) == 20
    assert not [port for port in ports if listens(port)]


def test_tests_that_share_servers_land_in_one_process(tmp_path: Path) -> None:
    """A small suite of its own, because a scheduler that scatters them only costs time: nothing else would show it."""
    (tmp_path / "pyproject.toml").write_text(
        '[tool.pytest.ini_options]\naddopts = "-n 2 --dist=loadgroup --import-mode=importlib"\n'
    )
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "conftest.py").write_text((Path(__file__).parents[1] / "conftest.py").read_text())
    body = (
        "\n\n@pytest.mark.parametrize('n', range(8))\ndef test_it(n, worker_id, tmp_path_factory):\n"
        "    print('ran in', {name!r}, worker_id)\n"
    )
    files = {
        "one": '"""live_airflow"""',
        "two": '"""live_airflow"""',
        "three": 'pytestmark = pytest.mark.xdist_group("celery")',
    }
    for name, text in files.items():
        (tmp_path / "tests" / f"test_{name}.py").write_text(f"import pytest\n\n{text}{body.format(name=name)}")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-rP", "-p", "no:cacheprovider"], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout
    ran = [line.split()[2:] for line in done.stdout.splitlines() if line.startswith("ran in")]
    workers = {name: {worker for which, worker in ran if which == name} for name in files}
    assert len(ran) == 24
    assert [len(found) for found in workers.values()] == [1, 1, 1]
    assert workers["one"] == workers["two"] != workers["three"]
