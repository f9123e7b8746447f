"""Checkpoints: a run that is killed at any step and started again ends with the same bytes as one that was not (on a
CPU).

OUT/checkpoints/step-000100/ holds DeepSpeed's own checkpoint, the state of the random number generators of each rank,
and state.json with the next step and the length of metrics.jsonl. It is written under another name and renamed when it
is whole.
"""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import numpy
import torch
import torch.distributed
import yaml
from pydantic import ValidationError

from toolscale.dataset.storage import sync_folder, write_file
from toolscale.errors import StorageError, UsageError
from training.config import RunSettings
from training.engine import Engine
from training.metrics import Metrics
from training.processes import rank, world_size

FOLDER, STATE, TAG = "checkpoints", "state.json", "deepspeed"
PARTIAL = ".partial-"


def newest(out: Path) -> Path | None:
    """The last whole checkpoint of a run."""
    found = sorted(path.parent for path in (out / FOLDER).glob(f"step-*/{STATE}"))
    return found[-1] if found else None


def check_folder(out: Path, config: RunSettings) -> None:
    """Raise UsageError if the folder holds a run of another configuration; the message names the first key that
    differs."""
    known = out / "config.yaml"
    if not known.exists():
        return
    try:
        held = type(config).model_validate(yaml.safe_load(known.read_text(encoding="utf-8")))
    except (ValidationError, yaml.YAMLError) as error:
        reason = " ".join(str(error).split())[:200]
        raise UsageError(
            f"{known}: is no configuration that this program reads ({reason}); use another folder"
        ) from error
    before, now = _flat(held.identity()), _flat(config.identity())
    differing = next((key for key in sorted({**before, **now}) if before.get(key) != now.get(key)), None)
    if differing is not None:
        raise UsageError(
            f"{out}: holds a run with {differing} = {before.get(differing)!r}, "
            f"the configuration has {now.get(differing)!r}; use the same configuration, or another folder"
        )


def write_config(out: Path, config: RunSettings) -> None:
    """Write the whole configuration, defaults included."""
    write_file(
        out / "config.yaml",
        yaml.safe_dump(config.model_dump(mode="json"), sort_keys=False, allow_unicode=True).encode(),
    )


def save(out: Path, engine: Engine, step: int, metrics: Metrics | None, keep: int) -> None:
    """Write the checkpoint of `step` steps done. All ranks call it; the first one, which has the metrics, renames."""
    name = f"step-{step:06d}"
    part = out / FOLDER / f"{PARTIAL}{name}"
    if rank() == 0:
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir(parents=True)
    torch.distributed.barrier()
    engine.deepspeed.save_checkpoint(str(part), tag=TAG, save_latest=False)
    torch.save(_generators(), part / f"generators-{rank()}.pt")
    torch.distributed.barrier()
    if rank() == 0:
        position = 0 if metrics is None else metrics.position()
        whole = {"step": step, "metrics": position, "world_size": world_size(), "shapes": engine.shapes()}
        (part / STATE).write_text(json.dumps(whole), encoding="utf-8")
        sync_folder(part)
        shutil.rmtree(part.with_name(name), ignore_errors=True)
        part.rename(part.with_name(name))
        for old in sorted((out / FOLDER).glob("step-*"))[:-keep]:
            shutil.rmtree(old)
    torch.distributed.barrier()


def load(path: Path, engine: Engine) -> dict[str, Any]:
    """Put engine and generators back into the state of a checkpoint; return its state. Raises UsageError if it is of
    another model or world."""
    try:
        state: dict[str, Any] = json.loads((path / STATE).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise StorageError(_broken(path, str(error))) from error
    if state["world_size"] != world_size():
        raise UsageError(
            f"{path}: was written by {state['world_size']} processes, and {world_size()} run now; start as many"
        )
    shapes = engine.shapes()
    if state["shapes"] != shapes:
        names = sorted({*state["shapes"], *shapes})
        name = next(name for name in names if state["shapes"].get(name) != shapes.get(name))
        raise UsageError(
            f"{path}: is of another architecture: "
            f"{name} has the shape {state['shapes'].get(name)} there and {shapes.get(name)} in the model; "
            "name the model that the run began with, or another folder"
        )
    try:
        loaded, _ = engine.deepspeed.load_checkpoint(str(path), tag=TAG)
        generators = torch.load(path / f"generators-{rank()}.pt", weights_only=False)
    except (
        AssertionError,
        EOFError,
        KeyError,
        OSError,
        RuntimeError,
        UnpicklingError,
    ) as error:  # files that are missing, short or changed
        raise StorageError(_broken(path, " ".join(str(error).split())[:200] or type(error).__name__)) from error
    if loaded is None:  # DeepSpeed only warns then, and the run would go on from the first model
        raise StorageError(_broken(path, "DeepSpeed found nothing in it"))
    random.setstate(generators["python"])
    numpy.random.set_state(generators["numpy"])
    torch.set_rng_state(generators["torch"])
    if torch.cuda.is_available():
        torch.cuda.set_rng_state(generators["cuda"])
    return state


def _broken(path: Path, reason: str) -> str:
    return f"{path}: cannot be read ({reason}); remove this checkpoint, the one before is used then"


def _generators() -> dict[str, Any]:
    states = {"python": random.getstate(), "numpy": numpy.random.get_state(), "torch": torch.get_rng_state()}
    return states | ({"cuda": torch.cuda.get_rng_state()} if torch.cuda.is_available() else {})


def _flat(value: Any, place: str = "") -> dict[str, Any]:
    if not isinstance(value, dict):
        return {place: value}
    found: dict[str, Any] = {}
    for key, item in value.items():
        found |= _flat(item, f"{place}.{key}" if place else str(key))
    return found
