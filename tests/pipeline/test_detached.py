"""A training process and those who watch it, each a real process: killed, refused, doubled, deaf, out of disk."""

from __future__ import annotations

import fcntl
import json
import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
import yaml

from toolscale.errors import PermanentError, TrainingError, TrainingInterruptedError, TransientError, UsageError
from toolscale.pipeline.detached import process_folder, start_training, stop_training, watch_training
from toolscale.pipeline.detached_process import machine

ROOT = Path(__file__).parents[2]
PROGRAM = ROOT / "tests" / "airflow" / "trial_training" / "train.py"
WATCHER = """
import json, sys
from pathlib import Path
from toolscale.pipeline.detached import start_training, watch_training
out, command = Path(sys.argv[1]), sys.argv[2:]
print("ready", flush=True)
sys.stdin.readline()
started = start_training(out, command, out.parent)
print("started" if started else "attached", flush=True)
print(json.dumps(watch_training(out, poll=0.05)), flush=True)
"""


@pytest.fixture
def out(tmp_path: Path) -> Iterator[Path]:
    """Where a training writes; whatever still runs there when the test ends is ended."""
    yield tmp_path / "trained"
    stop_training(tmp_path / "trained", grace=0.0)


def command(out: Path, **config: object) -> list[str]:
    """The program with a config of its own, four steps unless told otherwise."""
    path = out.parent / "config.yaml"
    path.write_text(yaml.safe_dump({"steps": 4} | config))
    return [sys.executable, str(PROGRAM), str(path), "--out", str(out)]


def train(out: Path, *, restarts: int = 3, **config: object) -> dict[str, object]:
    start_training(out, command(out, **config), out.parent)
    return watch_training(out, poll=0.02, restarts=restarts)


def pids(out: Path) -> list[int]:
    """The processes that ever trained."""
    path = out / "pids.txt"
    return [int(line) for line in path.read_text().splitlines()] if path.exists() else []


def steps(out: Path) -> list[int]:
    return [json.loads(line)["step"] for line in (out / "metrics.jsonl").read_text().splitlines()]


def wait_until(claim: Callable[[], object]) -> None:
    end = time.monotonic() + 600
    while not claim():
        assert time.monotonic() < end
        time.sleep(0.02)


def is_running(pid: int) -> bool:
    return psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE


def reaches(out: Path, step: int) -> Callable[[], bool]:
    return lambda: (out / "checkpoints" / f"step-{step:06}").exists()


def watcher(out: Path, words: list[str]) -> subprocess.Popen[str]:
    """A process that starts, or finds, a training and watches it; it begins when it is told to."""
    environ = os.environ | {"PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(
        [sys.executable, "-c", WATCHER, str(out), *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environ,
        cwd=out.parent,
    )
    assert process.stdout is not None and process.stdout.readline() == "ready\n"
    return process


def test_a_training_gives_what_it_wrote_and_is_told_step_by_step(out: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    assert train(out) == {"steps": 4, "last": {"reward": 1.0}}
    assert caplog.messages[-1] == "step 4: reward 1"
    (start,) = [json.loads(line) for line in (process_folder(out) / "starts.jsonl").read_text().splitlines()]
    assert sorted(start) == ["boot_id", "done_before", "host", "number", "pid", "time"]
    assert not is_running(start["pid"])


def test_a_line_that_is_being_written_and_one_that_is_no_json_are_not_mistaken_for_steps(
    out: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    out.mkdir()
    for text, told in (
        ('{"step": 3, "right": true, "cost_usd": 0.25}\n{"step": 4, "rew', "step 3: cost_usd 0.25"),
        ("[1]\n", None),
        ("3, \n", None),
    ):
        code = (
            f"import pathlib as p; p.Path('metrics.jsonl').write_text({text!r}); p.Path('done.json').write_text('{{}}')"
        )
        start_training(out, [sys.executable, "-c", code], out)
        assert watch_training(out, poll=0.02) == {}
        assert caplog.messages[-1] == (told or "a line of metrics that is no JSON object")


def test_one_that_is_done_is_not_started_again(out: Path) -> None:
    done = train(out)
    assert not start_training(out, command(out), out.parent)
    assert (watch_training(out), len(pids(out))) == (done, 1)


def test_another_order_starts_anew_where_an_old_one_is_done(out: Path) -> None:
    train(out)
    assert start_training(out, [*command(out), "--steps", "6"], out.parent)
    assert (watch_training(out, poll=0.02)["steps"], steps(out), len(pids(out))) == (6, [1, 2, 3, 4, 5, 6], 2)


def test_an_old_result_is_not_taken_for_that_of_a_killed_start(out: Path) -> None:
    train(out)
    start_training(out, [*command(out, fail_at=5, status=-9, once=True), "--steps", "6"], out.parent)
    assert (watch_training(out, poll=0.02)["steps"], len(pids(out))) == (6, 3)


def test_many_watchers_at_once_have_one_process(out: Path) -> None:
    watchers = [watcher(out, command(out, hold_at=3)) for _ in range(4)]
    for process in watchers:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    wait_until(reaches(out, 2))
    (out / "release").touch()
    answers = sorted(process.communicate()[0].splitlines() for process in watchers)
    done = '{"steps": 4, "last": {"reward": 1.0}}'
    assert answers == [["attached", done]] * 3 + [["started", done]]
    assert len(pids(out)) == 1


def test_who_watched_to_the_end_has_collected_the_process(out: Path) -> None:
    words = [sys.executable, "-W", "error::ResourceWarning", "-c", WATCHER, str(out), *command(out)]
    done = subprocess.run(
        words, input="\n", capture_output=True, text=True, env=os.environ | {"PYTHONPATH": str(ROOT)}, cwd=out.parent
    )
    assert (done.returncode, done.stderr) == (0, "")  # else Python says that a process is still running


def test_a_killed_watcher_leaves_its_training_to_the_next(out: Path) -> None:
    words = command(out, hold_at=3)
    with watcher(out, words) as first:
        assert first.stdin is not None and first.stdout is not None
        first.stdin.write("\n")
        first.stdin.flush()
        wait_until(reaches(out, 2))
        first.kill()
    assert is_running(pids(out)[0])
    assert not start_training(out, words, out.parent)
    (out / "release").touch()
    assert (watch_training(out, poll=0.02)["steps"], steps(out), len(pids(out))) == (4, [1, 2, 3, 4], 1)


def test_a_killed_training_goes_on_from_its_checkpoint(out: Path) -> None:
    words = command(out, hold_at=3)
    with watcher(out, words) as first:
        assert first.stdin is not None
        first.stdin.write("\n")
        first.stdin.flush()
        wait_until(reaches(out, 2))
        os.kill(pids(out)[0], signal.SIGKILL)
        wait_until(lambda: len(pids(out)) == 2)
        (out / "release").touch()
        answer = first.communicate()[0].splitlines()
    assert answer == ["started", '{"steps": 4, "last": {"reward": 1.0}}']
    assert steps(out) == [1, 2, 3, 4]


def test_a_training_whose_keeper_was_killed_is_still_found(out: Path) -> None:
    words = command(out, hold_at=3)
    start_training(out, words, out.parent)
    wait_until(reaches(out, 2))
    os.kill(psutil.Process(pids(out)[0]).ppid(), signal.SIGKILL)
    assert not start_training(out, words, out.parent)
    (out / "release").touch()
    assert (watch_training(out, poll=0.02)["steps"], len(pids(out))) == (4, 1)


def test_a_lock_file_without_a_process_stops_nobody(out: Path) -> None:
    """As after a crash of the machine: the files say that it runs, with a process id that may be anybody's by now."""
    place = process_folder(out)
    place.mkdir()
    (place / "lock").touch()
    words = command(out)
    (place / "order.json").write_text(json.dumps({"command": words, "folder": str(out.parent)}))
    (place / "starts.jsonl").write_text(
        '{"number": 7, "pid": 1, "host": "gone", "boot_id": "gone", "done_before": null}\n{"number": 8, "pi'
    )
    assert not stop_training(out)
    assert watch_training(out, poll=0.02)["steps"] == 4
    assert (
        json.loads((place / "starts.jsonl").read_text().splitlines()[-1].removeprefix('{"number": 8, "pi'))["number"]
        == 8
    )


@pytest.mark.parametrize(
    ("status", "words"), [(1, "ended with status 1 (stopped)"), (2, "ended with status 2 (bad input)")]
)
def test_a_training_that_fails_is_not_tried_again_and_says_why(out: Path, status: int, words: str) -> None:
    with pytest.raises(TrainingError) as caught:
        train(out, fail_at=3, status=status)
    assert str(caught.value) == f"the run in {out} {words}\ntraining\nstep 3 cannot be done"
    assert isinstance(caught.value, PermanentError)
    assert len(pids(out)) == 1


def test_a_training_that_ends_well_and_leaves_nothing_is_a_failure(out: Path) -> None:
    start_training(out, [sys.executable, "-c", ""], out.parent)
    with pytest.raises(TrainingError, match=r"ended with status 0 and wrote no done\.json"):
        watch_training(out, poll=0.02)


def test_one_that_is_killed_at_the_same_step_again_and_again_is_given_up(out: Path) -> None:
    with pytest.raises(
        TrainingInterruptedError, match="was killed by signal 9, 3 times without a new checkpoint"
    ) as caught:
        train(out, restarts=2, fail_at=3, status=-9)
    assert isinstance(caught.value, TransientError)
    assert (len(pids(out)), steps(out)) == (3, [1, 2])


def test_a_full_disk_is_told(out: Path) -> None:
    with pytest.raises(TrainingError, match=r"(?s)ended with status 1.*File too large"):
        train(out, steps=400, file_size=2_000)


def test_a_stopped_training_is_started_again_by_nobody_but_who_starts_it(out: Path) -> None:
    words = command(out, hold_at=3)
    start_training(out, words, out.parent)
    wait_until(reaches(out, 2))
    assert stop_training(out)
    assert not is_running(pids(out)[0])
    with pytest.raises(TrainingError, match="was stopped; start it again to go on from where it was"):
        watch_training(out, poll=0.02)
    (out / "release").touch()
    assert start_training(out, words, out.parent)
    assert (watch_training(out, poll=0.02)["steps"], steps(out), len(pids(out))) == (4, [1, 2, 3, 4], 2)
    assert not stop_training(out)


def test_one_that_ignores_sigterm_is_killed(out: Path) -> None:
    start_training(out, command(out, hold_at=3, deaf=True), out.parent)
    wait_until(reaches(out, 2))
    assert stop_training(out, grace=0.3)
    assert not is_running(pids(out)[0])


SLOW_TO_BEGIN = """
import json, os, sys, time
from toolscale.pipeline import detached_process
time.sleep(0.5)
host, boot_id = detached_process.machine()
with open(sys.argv[1], "a") as starts:
    print(json.dumps({"number": 2, "pid": os.getpid(), "host": host, "boot_id": boot_id}), file=starts)
time.sleep(600)
"""


@pytest.mark.parametrize("before", ["", '{"number": 1, "pid": 4194304, "host": "HOST", "boot_id": "BOOT"}\n'])
def test_one_that_has_only_just_begun_is_ended_too(out: Path, before: str) -> None:
    """It holds the lock, and has not told its number yet."""
    place = process_folder(out)
    place.mkdir()
    host, boot_id = machine()
    (place / "starts.jsonl").write_text(before.replace("HOST", host).replace("BOOT", str(boot_id)))
    lock = os.open(place / "lock", os.O_RDWR | os.O_CREAT)
    fcntl.flock(lock, fcntl.LOCK_EX)
    command = [sys.executable, "-c", SLOW_TO_BEGIN, str(place / "starts.jsonl")]
    with subprocess.Popen(command, pass_fds=[lock], start_new_session=True) as process:
        os.close(lock)
        try:
            assert stop_training(out, grace=0.0)
            assert process.wait(60) == -signal.SIGKILL
        finally:
            process.kill()


def test_one_on_another_machine_is_left_to_that_machine(out: Path) -> None:
    start_training(out, command(out, hold_at=3), out.parent)
    wait_until(reaches(out, 2))
    starts = process_folder(out) / "starts.jsonl"
    ours = starts.read_text()
    starts.write_text(json.dumps(json.loads(ours) | {"host": "elsewhere"}) + "\n")
    with pytest.raises(TrainingError, match="runs on elsewhere; stop it there: kill "):
        stop_training(out)
    assert is_running(pids(out)[0])
    starts.write_text(ours)


def test_another_command_for_the_same_folder_is_refused_while_one_runs(
    out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("toolscale.pipeline.detached.PATIENCE", 4)
    start_training(out, command(out, hold_at=3), out.parent)
    with pytest.raises(
        UsageError, match=f"another training is writing {out}; wait for it, stop it, or choose another folder"
    ):
        start_training(out, [*command(out, hold_at=3), "--steps", "5"], out.parent)


def test_who_only_looks_is_not_taken_for_a_training(out: Path) -> None:
    place = process_folder(out)
    place.mkdir()
    looking = os.open(place / "lock", os.O_RDWR | os.O_CREAT)
    fcntl.flock(looking, fcntl.LOCK_EX)
    with watcher(out, command(out)) as process:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
        time.sleep(0.5)
        os.close(looking)
        assert process.communicate()[0].splitlines()[0] == "started"


def test_nothing_to_watch_is_said(out: Path) -> None:
    with pytest.raises(UsageError, match=r"has no order\.json: no training was started there"):
        watch_training(out)
    assert not stop_training(out)


def test_secrets_and_control_characters_are_not_in_what_is_told(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "s3cr3t of mine")
    monkeypatch.setenv("AIRFLOW__CORE__FERNET_KEY", "of airflow")
    with pytest.raises(TrainingError) as caught:
        train(out, fail_at=1, status=1, prints="with s3cr3t of mine and hf_0123456789\x1b[31m")
    assert str(caught.value).splitlines()[1:] == ["with *** and *** [31m", "step 1 cannot be done"]


def test_a_training_is_given_no_setting_of_airflow(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW__CORE__FERNET_KEY", "of airflow")
    monkeypatch.setenv("PRICE_LIST", "prices")
    code = "import os; print(*(name for name in os.environ if 'AIRFLOW' in name or name == 'PRICE_LIST'))"
    start_training(out, [sys.executable, "-c", code], out.parent)
    with pytest.raises(TrainingError):
        watch_training(out, poll=0.02)
    assert (process_folder(out) / "log.txt").read_text() == "PRICE_LIST\n"


def test_a_result_that_is_no_json_is_one_line(out: Path) -> None:
    train(out)
    (out / "done.json").write_text("[")
    with pytest.raises(
        TrainingError, match=r"done\.json is not a JSON object \(.*\); remove it and start the training again"
    ):
        watch_training(out)
