"""Small datasets of the mock domain, made once a test process, for all tests that read one; and which tests go to one
process together."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings
from xdist.scheduler import LoadGroupScheduling

if TYPE_CHECKING:
    from toolscale.records import Script, Task

# The same examples in every run, and no verdict on the speed of the machine that runs them.
settings.register_profile(
    "suite", max_examples=50, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("suite")

ROOT = Path(__file__).parents[1]

if "PYTEST_XDIST_WORKER" not in os.environ:
    # What was compiled is kept for the processes of this run, and nothing of it comes from an earlier one.
    _CACHE = TemporaryDirectory(prefix="toolscale-cache-")
    os.environ["XDG_CACHE_HOME"] = _CACHE.name
TASKS, FEW, SEED = 10, 6, 0


class ByServer(LoadGroupScheduling):  # type: ignore[misc]
    """Tests that share running servers, or something else that takes long to make, go to one process; every other test
    to whichever is free."""

    def _split_scope(self, nodeid: str) -> str:
        return servers_of(nodeid.partition("::")[0]) or nodeid


@cache
def servers_of(path: str) -> str | None:
    """The servers that all tests of a file share: told by the mark `xdist_group("…")`, or by the fixture
    `live_airflow`."""
    text = (ROOT / path).read_text()
    if told := re.search(r'xdist_group\("(\w+)"\)', text):
        return told[1]
    return "airflow" if re.search(r"\blive_airflow\b", text) else None


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> ByServer | None:
    """For --dist=loadgroup: xdist 3.8 writes a group into an attribute that pytest 9.2 no longer reads, and would
    scatter its tests in silence."""
    return ByServer(config, log) if config.getvalue("dist") == "loadgroup" else None


NEEDS = "needs "
"""How the reason of a test begins that is skipped for what is not there: tests/installed.py."""


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say at the end what was skipped for what is not there, and how to get it."""
    for (what, to_get_it), count in sorted(Counter(_missing(terminalreporter)).items()):
        terminalreporter.write_line(f"{count} skipped that need {what}; to get it: {to_get_it}")


def pytest_sessionfinish(session: pytest.Session) -> None:
    """With COMPLETE=1 nothing may be missing that `make system` installs: a machine that is set up must not pass by
    skipping."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if os.environ.get("COMPLETE") == "1" and reporter is not None and not session.exitstatus:
        session.exitstatus = int(any(to_get_it == "make system" for _, to_get_it in _missing(reporter)))


def _missing(reporter: pytest.TerminalReporter) -> list[tuple[str, str]]:
    """What each skipped test needs, and how to get it."""
    reasons = [str(report.longrepr[2]) for report in reporter.stats.get("skipped", ())]
    told = [reason.partition(NEEDS)[2].partition(": ") for reason in reasons if NEEDS in reason]
    return [(what, to_get_it) for what, _, to_get_it in told]


@pytest.fixture(scope="session")
def mock_dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset of ten tasks. Read it; copy it before changing it."""
    return _made(tmp_path_factory, TASKS)


@pytest.fixture(scope="session")
def few_tasks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset of six tasks, for tests that judge all of it again. Read it; copy it before changing it."""
    return _made(tmp_path_factory, FEW)


def _made(tmp_path_factory: pytest.TempPathFactory, tasks: int) -> Path:
    from toolscale.pipeline import synthesize

    out = tmp_path_factory.mktemp("datasets") / "mock"
    synthesize("mock", out, tasks=tasks, seed=SEED, turns="single", answer="message")
    return out


@pytest.fixture(scope="session")
def golden_scripts(mock_dataset: Path) -> dict[str, tuple[Task, Script]]:
    """Every task of that dataset with its golden calls and answer, by id."""
    from toolscale.session.playable import Playable

    playable = Playable(mock_dataset)
    tasks = [playable.task(id_) for id_ in playable.ids]
    found = {task.id: (task, playable.domain(task).key(task).right) for task in tasks}
    playable.close()
    return found


@pytest.fixture(scope="module")
def s3() -> Iterator[str]:
    """The URL of an empty bucket of a real S3 server on loopback."""
    import boto3
    import httpx
    import s3fs
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    with pytest.MonkeyPatch.context() as environment:
        for name, value in {
            "AWS_ENDPOINT_URL": f"http://{host}:{port}",
            "AWS_ACCESS_KEY_ID": "key",
            "AWS_SECRET_ACCESS_KEY": "secret",
            "AWS_DEFAULT_REGION": "us-east-1",
        }.items():
            environment.setenv(name, value)
        # Servers of one process share their buckets, and a client keeps the address of the server that was there when
        # it was made.
        httpx.post(f"http://{host}:{port}/moto-api/reset").raise_for_status()
        s3fs.S3FileSystem.clear_instance_cache()
        boto3.client("s3").create_bucket(Bucket="data")
        yield "s3://data/toolscale"
    s3fs.S3FileSystem.clear_instance_cache()
    server.stop()
