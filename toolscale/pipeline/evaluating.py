"""Evaluation as a scheduler calls it: which checkpoint on which benchmarks, the evaluation itself, and whether the
checkpoint is worse than the last accepted one.

    prepare_evaluation -> evaluate_checkpoint, once for each benchmark -> accept_checkpoint, and stop_evaluations
    whatever happened

An evaluation is kept in `<root>/evaluations/<name>/<benchmark>/`, with its report, and what the gate said of it in
`<root>/evaluations/<name>/gate.json`; `<root>/evaluations/accepted.json` names the last checkpoint that was accepted.
The program is `python -m eval`: its results only grow, so whoever is killed goes on. The accepted checkpoint plays the
same tasks in the same run: that makes the comparison paired.
"""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from toolscale.dataset.places import files_in, is_local, open_place, url_of
from toolscale.dataset.runs import folder_name
from toolscale.dataset.storage import read_file, write_file
from toolscale.errors import RegressionError, TrainingError, UsageError
from toolscale.pipeline.detached import DONE, process_folder, start_training, stop_training, watch_training
from toolscale.pipeline.holds import EVALUATING, hold, release

log = logging.getLogger(__name__)

FOLDER, ACCEPTED, GATE, REPORT = "evaluations", "accepted.json", "gate.json", "report.html"
HELDOUT = "heldout"
"""The benchmark that needs a dataset."""


def prepare_evaluation(
    root: str, run_id: str, params: Mapping[str, Any], told: Mapping[str, Any] | None = None
) -> list[dict[str, Any]]:
    """Return what is to be evaluated, one plan for each benchmark: the checkpoint of the event `told`, or else of
    `params`. Without a dataset there are no held-out tasks, and that benchmark is left out.

    UsageError if no checkpoint is named, or the name of the folder cannot be one.
    """
    name = folder_name(params["out"], run_id)
    source = told if told is not None else params
    checkpoint, dataset = source.get("checkpoint"), source.get("dataset")
    if not checkpoint:
        raise UsageError("no checkpoint is named; trigger evaluate_orchestrator by hand and fill in checkpoint")
    if dataset:
        hold(dataset, f"evaluation-{name}", EVALUATING)
    home = open_place(root) / FOLDER
    accepted = _accepted(home / ACCEPTED)
    benchmarks = [each for each in params["benchmarks"] if dataset or each != HELDOUT]
    if not benchmarks:
        raise UsageError(f"the benchmark {HELDOUT} needs a dataset, and none is named; name one, or other benchmarks")
    return [
        {
            "benchmark": benchmark,
            "out": url_of(home / name / benchmark),
            "checkpoint": checkpoint,
            "accepted": accepted if accepted != checkpoint else None,
            "dataset": dataset if benchmark == HELDOUT else None,
            "tasks": params["tasks"],
        }
        for benchmark in benchmarks
    ]


def evaluate_checkpoint(plan: Mapping[str, Any], checkout: Path, *, poll: float = 5.0) -> dict[str, Any]:
    """Evaluate on one benchmark, or attach to the evaluation that runs already; return where it is and its figures.
    `checkout`: the folder that holds `eval/`."""
    if not (checkout / "eval" / "__main__.py").is_file():
        raise UsageError(f"{checkout / 'eval'} is missing; deploy the same commit on every worker")
    out, copies = _working_folder(plan, checkout), process_folder(_working_folder(plan, checkout))
    policies = {"trained": plan["checkpoint"], **({"accepted": plan["accepted"]} if plan["accepted"] else {})}
    command = [sys.executable, "-m", "eval", "run", plan["benchmark"], "--out", str(out.parent)]
    models = {name: _local_model(url, copies / name) for name, url in policies.items()}
    for name, model in models.items():
        command += ["--policy", f"{name}={model}"]
    command += ["--policy", "untrained"]
    if (config := models["trained"].parent / "config.yaml").is_file():
        command += ["--config", str(config)]  # it says what was offered in training, and with which model it began
    if plan["dataset"]:
        command += ["--data", str(_local(plan["dataset"], copies / "dataset"))]
    if plan["tasks"] is not None:
        command += ["--tasks", str(plan["tasks"])]
    started = start_training(out, command, checkout)
    log.info("%s %s", "started:" if started else "runs already, or is done:", " ".join(command[1:]))
    figures = watch_training(out, poll=poll)
    target = open_place(plan["out"])
    if not is_local(target):
        _copy(out, target)
    return {**plan, "folder": str(out), "report": url_of(target / REPORT), "figures": figures}


def accept_checkpoint(root: str, evaluated: Sequence[Mapping[str, Any]], checkout: Path) -> dict[str, Any]:
    """Accept the checkpoint, unless it is worse than the last accepted one on some benchmark: the whole 95 % interval
    of the paired, clustered difference is below 0. The first one is accepted. Return what was found.

    RegressionError with a line for each benchmark on which it is worse; lower alone is not worse.
    """
    found = {each["benchmark"]: _compare(each, checkout) for each in evaluated if each["accepted"]}
    for benchmark, comparison in found.items():
        log.info("%s: %s", benchmark, _told(comparison))
    worse = [benchmark for benchmark, comparison in found.items() if comparison["verdict"] == "worse"]
    _keep_word(evaluated[0], {benchmark: comparison["verdict"] for benchmark, comparison in found.items()})
    if worse:
        raise RegressionError(
            "\n".join(
                f"{benchmark}: worse than the accepted checkpoint: {_told(found[benchmark])}" for benchmark in worse
            )
        )
    checkpoint = evaluated[0]["checkpoint"]
    content = {"checkpoint": checkpoint, "reports": [each["report"] for each in evaluated]}
    write_file(open_place(root) / FOLDER / ACCEPTED, (json.dumps(content, indent=1) + "\n").encode())
    return {**content, "verdicts": {benchmark: comparison["verdict"] for benchmark, comparison in found.items()}}


def stop_evaluations(plans: Sequence[Mapping[str, Any]], checkout: Path) -> list[str]:
    """Stop the evaluations that still run, as after a task was marked as failed; return those that were stopped."""
    for plan in plans:
        if plan["dataset"]:
            release(plan["dataset"], f"evaluation-{open_place(plan['out']).parent.name}")
    return [plan["benchmark"] for plan in plans if stop_training(_working_folder(plan, checkout))]


def _keep_word(evaluated: Mapping[str, Any], verdicts: Mapping[str, str]) -> None:
    """Keep what the gate says beside the evaluation: pages show it."""
    word = {
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "checkpoint": evaluated["checkpoint"],
        "against": evaluated["accepted"],
        "passed": "worse" not in verdicts.values(),
        "verdicts": verdicts,
    }
    write_file(open_place(evaluated["out"]).parent / GATE, (json.dumps(word, indent=1) + "\n").encode())


def _compare(each: Mapping[str, Any], checkout: Path) -> dict[str, Any]:
    """Return what `eval compare` says of the trained and the accepted checkpoint."""
    folder = Path(each["folder"])
    command = [sys.executable, "-m", "eval", "compare", str(folder / "trained"), str(folder / "accepted"), "--json"]
    done = subprocess.run(command, cwd=checkout, capture_output=True, text=True, check=False)
    try:
        return dict(json.loads(done.stdout))
    except ValueError as error:
        raise TrainingError(f"{' '.join(command[1:])}: {done.stderr.strip() or 'printed no JSON'}") from error


def _told(comparison: Mapping[str, Any]) -> str:
    estimate = comparison["accuracy"]["estimate"]
    value, low, high = (100 * float(estimate[name]) for name in ("value", "low", "high"))
    return f"{value:+.1f} points ({low:+.1f} to {high:+.1f}) on {comparison['tasks']} tasks"


def _accepted(path: Path) -> str | None:
    """Return the checkpoint that was accepted last; None if there is none."""
    if not path.exists():
        return None
    try:
        return str(json.loads(read_file(path))["checkpoint"])
    except (ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{path} names no checkpoint ({error}); remove it, and the next one is accepted") from error


def _working_folder(plan: Mapping[str, Any], checkout: Path) -> Path:
    """Return the local folder into which the program writes."""
    out = open_place(plan["out"])
    if is_local(out):
        return out.resolve()
    return checkout.resolve() / "var" / FOLDER / out.parent.name / out.name


def _local_model(url: str, copy: Path) -> Path:
    """Return the local folder of a model, with the configuration that lies beside it."""
    place = open_place(url)
    if is_local(place):
        return place.resolve()
    config = place.parent / "config.yaml"
    if config.exists():
        write_file(copy / "config.yaml", read_file(config))
    return _local(url, copy / place.name)


def _local(url: str, copy: Path) -> Path:
    place = open_place(url)
    if is_local(place):
        return place.resolve()
    _copy(place, copy)
    return copy


def _copy(source: Path, target: Path) -> None:
    """Copy a folder, the file that says it is whole last."""
    for path in sorted(files_in(source), key=lambda path: path == DONE):
        write_file(target / path, read_file(source / path))
