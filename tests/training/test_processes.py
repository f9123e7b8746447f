import atexit
import os
import signal
import subprocess
import sys
from datetime import timedelta
from typing import Any

import pytest

from toolscale.errors import SpecError, SpecIssue, ToolScaleError, TrainingInterruptedError, UsageError
from training.processes import join_group, most, rank, run_in_processes, total, world_size


@pytest.fixture(autouse=True)
def no_launcher(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RANK", raising=False)  # TRL's accelerate, in another test of this process, leaves one behind


def talk(value: float) -> dict[str, Any]:
    join_group(timedelta(seconds=60))
    sums = total({"value": value + rank()})
    return {"rank": rank(), "of": world_size(), "sum": sums["value"], "most": most(10 * rank())}


def end(how: str) -> None:
    """The second process ends in some way, while the first waits for it."""
    join_group(timedelta(seconds=60))
    if rank() == 0:
        most(1)
    elif how == "named":
        raise SpecError([SpecIssue("a.yaml", "steps", "is 0", "give one"), SpecIssue("a.yaml", "", "is short", "wait")])
    elif how == "disk":
        raise OSError(28, "No space left on device")
    elif how == "killed":
        os.kill(os.getpid(), signal.SIGKILL)


def test_each_process_has_its_rank_and_the_first_one_answers() -> None:
    assert run_in_processes(2, talk, 0.5) == {"rank": 0, "of": 2, "sum": 2.0, "most": 10}


def test_one_process_is_this_one_and_so_is_that_of_a_launcher(monkeypatch: pytest.MonkeyPatch) -> None:
    assert run_in_processes(1, os.getpid) == os.getpid()
    monkeypatch.setenv("RANK", "1")
    assert run_in_processes(2, os.getpid) == os.getpid()


@pytest.mark.parametrize(
    ("how", "kind", "told", "status"),
    [
        ("named", UsageError, "a.yaml: steps: is 0; give one\na.yaml: is short; wait", 2),
        pytest.param(
            "disk",
            OSError,
            "[Errno 28] No space left on device",
            None,
            marks=pytest.mark.slow("tests/training/test_processes.py"),
        ),
        (
            "killed",
            TrainingInterruptedError,
            "process 1 was killed by SIGKILL; run the same command again to go on",
            137,
        ),
    ],
)
def test_how_one_process_ends_is_told_once(how: str, kind: type[Exception], told: str, status: int | None) -> None:
    with pytest.raises(kind) as raised:
        run_in_processes(2, end, how)
    assert str(raised.value) == told
    assert not isinstance(raised.value, ToolScaleError) or raised.value.exit_status == status


def answer_and_die() -> int:
    atexit.register(os.abort)
    return 1


def test_a_process_that_dies_after_its_answer_is_told_as_one_that_was_killed() -> None:
    with pytest.raises(TrainingInterruptedError, match=r"^process \d was killed by SIGABRT; run the same command"):
        run_in_processes(2, answer_and_die)


def wait_for_ever() -> None:
    join_group(timedelta(seconds=60))
    print("waiting", flush=True)
    signal.pause()


def test_the_processes_end_with_the_one_that_started_them() -> None:
    program = "from test_processes import *\nif __name__ == '__main__':\n    run_in_processes(2, wait_for_ever)"
    with subprocess.Popen(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE,
        text=True,
    ) as parent:
        assert parent.stdout is not None
        for _ in range(2):
            parent.stdout.readline()
        parent.kill()
        parent.communicate(timeout=30)  # whoever could still write would keep it open
