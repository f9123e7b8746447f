"""The process in which Harbor runs tasks: its own command, under a Python that has it.

Tasks are somebody else's code, which runs in the containers that Harbor makes. Harbor itself gets no key of ours, so
that a task cannot ask it for one, and ends with us.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from toolscale.audit.found import bad_input
from toolscale.audit.harbor import TaskFolder
from toolscale.errors import ProgramError
from toolscale.temporary_folders import temporary_folder
from toolscale.text_files import printable

AGENTS = ("nop", "oracle")
"""Of Harbor itself: one that does nothing, and one that runs the solution of a task."""
TIMES = 2
AT_ONCE = 2
LARGEST_RESULT = 10_000_000
PROBE_S = 120.0
PAUSE_S = 0.2
ENDING_S = 30.0
"""For Harbor to stop its containers."""

_KEPT = (
    "CONTAINER_HOST", "DOCKER_CONFIG", "DOCKER_CONTEXT", "DOCKER_HOST", "HOME", "LANG", "PATH", "PYTHONPATH", "TMPDIR",
    "TZ", "USER", "XDG_RUNTIME_DIR",
)  # fmt: skip
_RUN = "import sys; from harbor.cli.main import app; sys.argv = ['harbor', *sys.argv[1:]]; app()"

REMEDY = "make one: python3.12 -m venv harbor && harbor/bin/pip install harbor, and name it: --python harbor/bin/python"

_READ = """
import json, sys
from pathlib import Path
from harbor.models.task.task import Task
told = {}
for path in json.load(sys.stdin):
    try:
        Task(Path(path))
    except Exception as error:
        told[path] = f"{type(error).__name__}: {error}"
print(json.dumps(told))
"""


def version_of(python: Path) -> str:
    """Return the version of the Harbor that a Python has. UsageError if it is no Python, or has none."""
    done = _asked(python, "from importlib.metadata import version; print(version('harbor'))")
    if done.returncode != 0:
        raise bad_input(python, "", "Harbor is not installed there", REMEDY)
    return printable(done.stdout.decode("utf-8", "replace").strip(), 40)


def _asked(python: Path, code: str, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """Run a few lines in that Python. UsageError if it cannot be run."""
    try:
        return subprocess.run(
            [python, "-P", "-c", code],
            input=given,
            capture_output=True,
            timeout=PROBE_S,
            env=environment_of(),
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        reason = getattr(error, "strerror", None) or f"no answer in {PROBE_S:g} seconds"
        raise bad_input(python, "", f"it cannot be run ({reason})", REMEDY) from error


def environment_of() -> dict[str, str]:
    """Return the environment of the process: nothing secret, and nothing that is told to others."""
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    return kept | {"HARBOR_TELEMETRY": "0", "LITELLM_LOCAL_MODEL_COST_MAP": "True", "PYTHONDONTWRITEBYTECODE": "1"}


def unreadable(python: Path, tasks: Sequence[TaskFolder]) -> dict[str, str]:
    """Return the tasks that cannot be run, by name, with the reason: one of them would end the whole job."""
    given = environment_of()
    told = {task.name: [name for name in task.asks if name not in given] for task in tasks}
    reasons = {
        name: f"it asks for variables of this machine, which an audit gives to none: {', '.join(asks)}"
        for name, asks in told.items()
        if asks
    }
    done = _asked(python, _READ, json.dumps([str(task.path.absolute()) for task in tasks]).encode())
    if done.returncode != 0:
        said = (done.stderr.decode("utf-8", "replace").strip().splitlines() or ["it says nothing"])[-1]
        raise ProgramError(f"Harbor cannot be imported in {python}: {printable(said, 300)}")
    for path, reason in json.loads(done.stdout).items():
        reasons.setdefault(Path(path).name, f"Harbor cannot read it: {printable(' '.join(reason.split()), 300)}")
    return {name: printable(reason, 400) for name, reason in reasons.items()}


def run_tasks(
    python: Path,
    tasks: Sequence[TaskFolder],
    environment: str,
    timeout_s: float,
    task_timeout_s: float,
    say: Callable[[int, int], None],
) -> Iterator[Mapping[str, Any]]:
    """Yield the results that Harbor writes, one for each task, agent and time. ProgramError if it fails, or takes
    longer than `timeout_s`."""
    if not tasks:
        return
    with temporary_folder("audit") as folder:
        (folder / "temporary").mkdir()  # Harbor and its environments may be killed before they remove what they made
        (folder / "job.json").write_text(json.dumps(_job(tasks, environment, task_timeout_s, folder)))
        with (folder / "said").open("wb") as said:
            process = subprocess.Popen(
                [python, "-P", "-c", _RUN, "run", "--config", "job.json", "--yes"],
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=subprocess.STDOUT,
                cwd=folder,
                env=environment_of() | {"TMPDIR": str(folder / "temporary")},
                start_new_session=True,  # so that what it starts ends with it
            )
        results = folder / "jobs" / "audit"
        try:
            is_over = _wait(process, timeout_s, lambda: say(len(list(results.glob("*/result.json"))), _count(tasks)))
        finally:
            _end(process)
        if is_over:
            raise ProgramError(f"Harbor took longer than {timeout_s:g} seconds; give it more with --timeout")
        written = sorted(results.glob("*/result.json"))
        if process.returncode != 0 or len(written) != _count(tasks):
            text = (folder / "said").read_bytes()[-10_000:].decode("utf-8", "replace").strip().splitlines()
            last = printable((text or ["it says nothing"])[-1], 300)
            told = f"ended with status {process.returncode} after {len(written)} of {_count(tasks)} runs"
            raise ProgramError(f"Harbor {told}: {last}")
        for path in written:
            if path.stat().st_size > LARGEST_RESULT:
                raise ProgramError(f"Harbor wrote {path.stat().st_size:,} bytes of one run; a task says too much")
            yield json.loads(path.read_bytes())


def _count(tasks: Sequence[TaskFolder]) -> int:
    return len(tasks) * len(AGENTS) * TIMES


def _job(tasks: Sequence[TaskFolder], environment: str, task_timeout_s: float, folder: Path) -> dict[str, Any]:
    return {
        "job_name": "audit",
        "jobs_dir": str(folder / "jobs"),
        "n_attempts": TIMES,
        "n_concurrent_trials": AT_ONCE,
        "quiet": True,
        "environment": {"import_path" if ":" in environment else "type": environment},
        "agents": [{"name": name, "max_timeout_sec": task_timeout_s} for name in AGENTS],
        "verifier": {"max_timeout_sec": task_timeout_s},
        "tasks": [{"path": str(task.path.absolute())} for task in tasks],
    }


def _wait(process: subprocess.Popen[bytes], timeout_s: float, say: Callable[[], None]) -> bool:
    """Wait for a process to end; return whether it took too long."""
    until = time.monotonic() + timeout_s
    while process.poll() is None:
        if time.monotonic() > until:
            return True
        say()
        time.sleep(PAUSE_S)
    say()
    return False


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a process and what it started: it is asked first, so that it can stop its containers."""
    for told, seconds in ((signal.SIGINT, ENDING_S), (signal.SIGKILL, ENDING_S)):
        if process.poll() is None:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, told)
            with suppress(subprocess.TimeoutExpired):
                process.wait(seconds)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
