"""Harbor's own command, on an export: where it runs the containers, and what it says of the trials."""

import atexit
import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import images
from rooms import IMAGES, folder_of

HARBOR = Path(sys.executable).with_name("harbor")
ROOT = Path(__file__).parents[3]
SOURCES = ("toolscale", "environments", "pyproject.toml", "setup.py", "MANIFEST.in", "README.md", "LICENSE")
BUILD = "import sys; from setuptools import build_meta; build_meta.build_wheel(sys.argv[1])"
AT_ONCE = 2


@dataclass(frozen=True)
class Trial:
    """One play. `said`: what the agent tells of it; `result`: what Harbor wrote."""

    task: str
    agent: str
    rewards: dict[str, float]
    said: dict
    folder: Path


@dataclass(frozen=True)
class Engine:
    """What runs the containers: docker or podman if one answers, else rooms (rooms.py)."""

    name: str
    environment: dict

    @property
    def in_rooms(self) -> bool:
        return self.name == "rooms"


def engine() -> Engine:
    for name in ("podman", "docker"):
        if shutil.which(name) and subprocess.run([name, "info"], capture_output=True).returncode == 0:
            return Engine(name, {"type": name})
    if os.geteuid() != 0:
        sys.exit("no container engine answers here, and rooms are made by root alone")
    return Engine("rooms", {"import_path": "rooms:Rooms"})


def image_of(export: Path) -> str:
    """The image that the tasks name."""
    [name] = {
        line.split('"')[1]
        for file in export.glob("*/task.toml")
        for line in file.read_text().splitlines()
        if line.startswith("docker_image")
    }
    return name


def make_image(export: Path, work: Path, engine: Engine) -> float:
    """Make the image of an export from the wheels that its README asks for; return the MB that it adds to its base."""
    python = os.environ["TOOLSCALE_PYTHON"]  # that of the project, whose version the image has too
    wheels, source, made = export / "wheels", work / "source", work / "images"
    for folder in (wheels, source, made):  # hundreds of MB
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
    for name in SOURCES:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        source.mkdir(parents=True, exist_ok=True)
        copy(ROOT / name, source / name)
    subprocess.run([python, "-c", BUILD, wheels], cwd=source, check=True, stdout=subprocess.DEVNULL)
    if not engine.in_rooms:
        command = [engine.name, "build", "-f", "image/Containerfile", "-t", image_of(export), "."]
        subprocess.run(command, cwd=export, check=True, stdout=2)
        return 0.0
    needed = [line for line in (export / "image" / "requirements.txt").read_text().split() if "toolscale" not in line]
    download = ["pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:", "--dest", wheels]
    subprocess.run([python, "-m", *download, *needed], check=True, stdout=2, stderr=subprocess.DEVNULL)
    prefix = subprocess.run([python, "-c", "import sys; print(sys.base_prefix)"], capture_output=True, text=True)
    os.environ[IMAGES] = str(made)
    to = folder_of(image_of(export))
    images.build(
        export,
        export / "image" / "Containerfile",
        Path(prefix.stdout.strip()),
        to,
        {"PIP_NO_INDEX": "1", "PIP_QUIET": "1"},
    )
    return sum(path.lstat().st_size for path in (to / "root").rglob("*") if path.is_file()) / 1e6


def play(export: Path, agents: list[dict], work: Path, engine: Engine, **more: object) -> list[Trial]:
    """Run a job: every agent on every task. It fails if a trial does."""
    config = {
        "job_name": f"job{len(list(work.glob('*.json')))}",
        "jobs_dir": str(work / "jobs"),
        "n_concurrent_trials": AT_ONCE,
        "quiet": True,
        "environment": engine.environment,
        "agents": agents,
        "datasets": [{"path": str(export)}],
        **more,
    }
    file = work / f"{config['job_name']}.json"
    file.write_text(json.dumps(config))
    subprocess.run([HARBOR, "run", "-c", file, "--yes"], check=True, stdout=2, env=os.environ | environment())
    results = [json.loads(path.read_text()) for path in (work / "jobs" / config["job_name"]).glob("*/result.json")]
    failed = {each["exception_info"]["exception_message"] for each in results if each["exception_info"]}
    assert results and not failed, failed
    return [_trial(result, work / "jobs" / config["job_name"] / result["trial_name"]) for result in results]


def environment() -> dict[str, str]:
    return {"PYTHONPATH": str(Path(__file__).parent), "LITELLM_LOCAL_MODEL_COST_MAP": "True", "HARBOR_TELEMETRY": "0"}


def _trial(result: dict, folder: Path) -> Trial:
    said = (result["agent_result"] or {}).get("metadata") or {}
    return Trial(result["task_name"], result["agent_info"]["name"], result["verifier_result"]["rewards"], said, folder)
