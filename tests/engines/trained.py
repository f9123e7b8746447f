"""Configurations of short runs with a real server, and how they are run: in processes of their own, on two cores."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from engines import MODEL, ROOT, Engine

Json = dict[str, Any]

RUN: Json = {
    "steps": 2,
    "threads": 2,
    "must_learn": False,
    "model": {"path": str(MODEL), "template": "training/templates/compact.jinja", "dtype": "bfloat16"},
    "data": {"mixture": {"arithmetic": 1, "knowledge": 1}, "wishes": False, "fewest": 0, "most": 0}
    | {"basic_share": 0, "denied_share": 0, "limits": {"turns": 2}},
    "rollout": {"prompts": 4, "samples": 4, "max_new_tokens": 48, "context": 1024},
    # A model that was taught nothing is seldom right: what tells its attempts apart is whether they come to an end.
    "reward": {"kind": "outcome", "unusable_penalty": 0.5, "least_std": 0.01, "unanswered": "keep"},
    "optimizer": {"lr": 1.0e-5},
    "checkpoint": {"every": 1, "keep": 2},
    "metrics": {"plots": False, "rollouts_every": 1},
}


def write_run(folder: Path, *engines: Engine | str, vllm: Mapping[str, Any] = {}, **sections: Any) -> Path:
    """Write a configuration whose turns these servers write."""
    first, *others = [engine if isinstance(engine, str) else engine.url for engine in engines]
    merged = {key: value | sections.pop(key, {}) if isinstance(value, dict) else value for key, value in RUN.items()}
    content = merged | sections | {"vllm": {"base_url": first, "further_urls": others, **vllm}}
    path = folder / "run.yaml"
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump(content))
    return path


def start(config: Path, out: Path, *program: str) -> subprocess.Popen[str]:
    """Begin a run; `program`: what is run instead of training.grpo."""
    what = program or ("-m", "training.grpo")
    arguments = [str(config), str(out)] if program else [str(config), "--out", str(out)]
    return subprocess.Popen(
        [sys.executable, *what, *arguments],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )


HANGS = 3_600
"""Seconds after which a run does not go on: on two busy cores one was three times as slow as on quiet ones."""


def train(config: Path, out: Path, *program: str) -> tuple[int, list[str]]:
    """Run it to its end: its exit status, and the lines of this program on standard error."""
    process = start(config, out, *program)
    try:
        _, told = process.communicate(timeout=HANGS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise
    assert process.returncode in (0, 1, 2), told
    return process.returncode, [line for line in told.splitlines() if line.startswith(("training: ", "step "))]


def lines_of(path: Path) -> list[Json]:
    """The lines of a JSON file of lines."""
    return [json.loads(line) for line in path.read_text().splitlines()]
