"""Training as a scheduler calls it: which dataset, the training itself, what came out of it, and an end to what is
left.

    prepare_training -> train_orchestrator -> report_training, and stop_orchestrator whatever happened

A training is kept in `<root>/training/<name>/`. Where the root is an object store, the process works in
`var/training/<name>/` of the checkout, on the disk of its machine: the dataset is copied beside it before, and
everything but the checkpoints to the store after.
"""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from toolscale.dataset.manifest import MANIFEST, read_manifest
from toolscale.dataset.places import files_in, is_local, open_place, url_of
from toolscale.dataset.runs import folder_name
from toolscale.dataset.storage import file_hash, read_file, remove_folder, storage_errors, write_file
from toolscale.errors import DatasetError, TrainingError, UsageError
from toolscale.pipeline.detached import DONE, process_folder, start_training, stop_training, watch_training
from toolscale.pipeline.holds import TRAINING, hold, release

__all__ = [
    "calls_for_training",
    "prepare_training",
    "report_training",
    "start_training",
    "stop_orchestrator",
    "stop_training",
    "train_orchestrator",
    "watch_training",
]

log = logging.getLogger(__name__)

REPORT = "report.json"
TRAINED_ON = "trained_on.json"
"""Which dataset a training was given, and the hash of its manifest: nothing that the training program writes names
it."""


def calls_for_training(told: Mapping[str, Any]) -> bool:
    """Whether the dataset of an event is to be trained with: one that was published does, and a verified one that never
    will be."""
    return bool(told.get("publish", "never") == "never")


def prepare_training(
    root: str, run_id: str, params: Mapping[str, Any], told: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return what is to be trained, where, and from which dataset: that of the event `told`, or else of `params`, or
    none.

    UsageError if the name of the folder cannot be one, or the event names no dataset.
    """
    name = folder_name(params["out"], run_id)
    if told is not None and not told.get("dataset"):
        raise UsageError(
            "the event that triggered this run names no dataset; trigger train_orchestrator by hand and fill in dataset"
        )
    dataset, sha256 = (told["dataset"], told.get("sha256")) if told is not None else (params["dataset"], None)
    out = url_of(open_place(root) / "training" / name)
    if dataset:
        hold(dataset, f"training-{name}", TRAINING)  # it may wait for days until a GPU is free
    return {"out": out, "config": params["config"], "steps": params["steps"], "dataset": dataset, "sha256": sha256}


def train_orchestrator(prepared: Mapping[str, Any], checkout: Path, *, poll: float = 5.0) -> dict[str, Any]:
    """Train, or attach to the training that runs already, and return what `done.json` says. `checkout`: the folder that
    holds `training/`."""
    out, config = _working_folder(prepared, checkout), Path("training") / "configs" / f"{prepared['config']}.yaml"
    if not (checkout / config).is_file():
        raise UsageError(
            f"{checkout / config} is missing; "
            "choose one of training/configs, and deploy the same commit on every worker"
        )
    if any(find_spec(name) is None for name in ("torch", "transformers", "deepspeed")):
        raise UsageError(
            "training needs more packages than the pipeline; on each worker of the queue gpu: make .venv/train.stamp"
        )
    command = [sys.executable, "-m", "training.train", str(config), "--out", str(out)]
    command += ["--steps", str(prepared["steps"])] if prepared["steps"] is not None else []
    sha256 = None
    if prepared["dataset"]:
        hold(prepared["dataset"], _holder(prepared), TRAINING)
        dataset = _local_dataset(prepared["dataset"], prepared["sha256"], process_folder(out) / "dataset")
        command, sha256 = [*command, "--dataset", str(dataset)], file_hash(dataset / MANIFEST)
    started = start_training(out, command, checkout)
    target = open_place(prepared["out"])
    # Not before it is started: another training may be writing this folder.
    trained_on = {"dataset": prepared["dataset"], "sha256": sha256}
    write_file(target / TRAINED_ON, (json.dumps(trained_on, indent=1) + "\n").encode())
    log.info("%s %s", "started:" if started else "runs already, or is done:", " ".join(command[1:]))
    done = watch_training(out, poll=poll)
    if not is_local(target):
        _upload(out, target)
    return done


def report_training(prepared: Mapping[str, Any]) -> dict[str, Any]:
    """Return what listeners are told of a training: where it is, what it was made of, and its figures. TrainingError if
    its report is missing."""
    out = open_place(prepared["out"])
    done, report = _read_json(out / DONE), _read_json(out / REPORT)
    for name, figure in report.items():
        log.info("%s: %s", name, json.dumps(figure, ensure_ascii=False)[:1_000])
    return {
        "checkpoint": url_of(out / "model"),
        "out": prepared["out"],
        "config": prepared["config"],
        "dataset": prepared["dataset"],
        "sha256": prepared["sha256"],
        "steps": done.get("steps"),
        "metrics": done.get("last"),
        "report": report,
    }


def stop_orchestrator(prepared: Mapping[str, Any], checkout: Path) -> str:
    """Stop the training if it still runs, as after its task was marked as failed. Return what was done."""
    out = _working_folder(prepared, checkout)
    said = f"{out}: " + (
        "the training was stopped; its checkpoints stay" if stop_training(out) else "no training runs any more"
    )
    if prepared["dataset"]:
        release(prepared["dataset"], _holder(prepared))
    return said


def _holder(prepared: Mapping[str, Any]) -> str:
    return f"training-{open_place(prepared['out']).name}"


def _working_folder(prepared: Mapping[str, Any], checkout: Path) -> Path:
    """Return the local folder into which the process writes."""
    out = open_place(prepared["out"])
    return out.resolve() if is_local(out) else checkout.resolve() / "var" / "training" / out.name


def _local_dataset(dataset: str, sha256: str | None, copy: Path) -> Path:
    """Return a local folder that holds a dataset: itself, or `copy`. DatasetError if its manifest has another hash than
    `sha256`."""
    place = open_place(dataset)
    if not (place / MANIFEST).exists():
        raise DatasetError(
            f"{dataset} holds no dataset: {MANIFEST} is missing; "
            "give the folder that toolscale synthesize or pull wrote"
        )
    if sha256 is not None and file_hash(place / MANIFEST) != sha256:
        raise DatasetError(f"{dataset}: the dataset is not the one that was announced; trigger train_orchestrator anew")
    if is_local(place):
        read_manifest(place)  # says what is wrong with it before a training begins
        return place.resolve()
    if not (copy / MANIFEST).exists() or file_hash(copy / MANIFEST) != file_hash(place / MANIFEST):
        remove_folder(copy)
        for path in sorted(files_in(place), key=lambda path: path == MANIFEST):  # last: it says that the copy is whole
            write_file(copy / path, read_file(place / path))
    read_manifest(copy)
    return copy


def _upload(out: Path, target: Path) -> None:
    """Copy everything but the checkpoints to an object store, `done.json` last."""
    wanted = [path for path in files_in(out) if not path.startswith("checkpoints/")]
    with storage_errors("write", target):
        for path in sorted(wanted, key=lambda path: path == DONE):
            (target / path).fs.put_file(str(out / path), (target / path).path)  # type: ignore[attr-defined]  # in parts: a model is large


def _read_json(path: Path) -> dict[str, Any]:
    if not path.exists():
        raise TrainingError(f"{path} is missing: the training has not written it; clear the task `train`")
    try:
        return dict(json.loads(read_file(path)))
    except (ValueError, TypeError) as error:
        raise TrainingError(f"{path} is not a JSON object: {error}") from error
