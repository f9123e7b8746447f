"""A small program that keeps the same files as `python -m training.train`, and fails as its config says: for tests of
what runs around a training.

    train.py CONFIG --out OUT [--steps N] [--dataset PATH]

CONFIG is YAML: `steps`; `hold_at`: a step before which it waits until there is a file OUT/release; `fail_at` with
`status`: a step before which it ends; `once`: it does so only the first time; `deaf`: it ignores SIGTERM; `file_size`:
no file may be larger, in bytes, as on a full disk; `prints`. A line of OUT/pids.txt for each process that ever trained.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import signal
import sys
import time
from pathlib import Path
from typing import Any

import yaml


def write(path: Path, content: Any) -> None:
    temporary = path.with_name(f".{path.name}.tmp")
    temporary.write_text(json.dumps(content))
    temporary.replace(path)


def begin(out: Path, config: dict[str, Any]) -> int:
    """Make OUT ready; the last step of which there is a checkpoint."""
    (out / "checkpoints").mkdir(parents=True, exist_ok=True)
    with (out / "pids.txt").open("a") as file:
        file.write(f"{os.getpid()}\n")
    if config.get("deaf"):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if "file_size" in config:
        resource.setrlimit(resource.RLIMIT_FSIZE, (config["file_size"], config["file_size"]))
    print(config.get("prints", "training"), flush=True)
    return max((int(path.name.removeprefix("step-")) for path in (out / "checkpoints").iterdir()), default=0)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("config", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--steps", type=int)
    parser.add_argument("--dataset", type=Path)
    options = parser.parse_args()
    config, out = yaml.safe_load(options.config.read_text()), options.out
    steps, reached = options.steps or config["steps"], begin(out, config)
    for step in range(reached + 1, steps + 1):
        while step == config.get("hold_at") and not (out / "release").exists():
            time.sleep(0.02)
        if step == config.get("fail_at") and not (config.get("once") and (out / "failed").exists()):
            (out / "failed").touch()
            if config["status"] < 0:
                os.kill(os.getpid(), -config["status"])
            print(f"step {step} cannot be done", file=sys.stderr)
            sys.exit(config["status"])
        with (out / "metrics.jsonl").open("a") as file:
            file.write(json.dumps({"step": step, "reward": step / steps, "note": "not a figure"}) + "\n")
        (out / "checkpoints" / f"step-{step:06}").mkdir()
    (out / "model").mkdir(exist_ok=True)
    write(out / "model" / "config.json", {})
    write(out / "report.json", {"reward": 1.0, "dataset": options.dataset and options.dataset.name})
    write(out / "done.json", {"steps": steps, "last": {"reward": 1.0}})


if __name__ == "__main__":
    main()
