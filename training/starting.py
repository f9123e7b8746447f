"""What the scripts of this folder have in common: exit statuses, taking up a run, and the file that says it is done."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click
import torch.distributed

from toolscale.cli.failures import failure_of, full
from toolscale.dataset.storage import write_file
from toolscale.errors import ToolScaleError, TrainingError
from training import checkpoint
from training.config import RunSettings
from training.engine import Engine
from training.metrics import Metrics


def run_command(command: click.Command, name: str, arguments: list[str] | None = None) -> int:
    """Run a command and return its exit status: 0 done, 1 stopped, 2 bad input. Every failure that has a name is one
    line for each thing wrong."""
    try:
        command.main(args=arguments, prog_name=name, standalone_mode=False)
    except click.ClickException as error:
        return _fail(error.format_message(), 2)
    except ToolScaleError as error:
        return _fail(str(error), error.exit_status)
    except (click.Abort, KeyboardInterrupt, MemoryError, OSError) as error:
        return _fail(*(failure_of(error) or full(error)))
    return 0


def take_up(out: Path, engine: Engine, metrics: Metrics | None) -> int:
    """Load the last checkpoint, and drop the figures of steps after it; return the next step."""
    last = checkpoint.newest(out)
    state = checkpoint.load(last, engine) if last is not None else {"step": 0, "metrics": 0}
    if metrics is not None:
        metrics.rewind(int(state["metrics"]))
    torch.distributed.barrier()
    return int(state["step"])


def done_of(config: RunSettings, steps: int, lines: Sequence[dict[str, Any]], names: Sequence[str]) -> dict[str, Any]:
    """What done.json says: steps, hash of the configuration, and means over the last ten steps."""
    last = lines[-10:]
    means = {name: sum(line[name] for line in last) / max(1, len(last)) for name in names}
    return {"steps": steps, "config": config.digest(), "last": {"steps": len(last), **means}}


def write_done(out: Path, done: dict[str, Any]) -> None:
    """Write done.json, the last file of a run."""
    write_json(out / "done.json", done)


def write_json(path: Path, content: Any) -> None:
    """Write a file whole or not at all."""
    write_file(path, (json.dumps(content, indent=2, ensure_ascii=False) + "\n").encode())


def run_program(arguments: Sequence[str], log: Path, environ: Mapping[str, str]) -> None:
    """Run `python -m ARGUMENTS` to its end; what it prints goes into `log`. Raises TrainingError if it fails."""
    with log.open("w") as printed:
        ended = subprocess.run(
            [sys.executable, "-m", *arguments], stdout=printed, stderr=subprocess.STDOUT, env=environ, check=False
        )
    if ended.returncode:
        raise TrainingError(f"{arguments[0]} ended with {ended.returncode}; see {log}")


def _fail(message: str, status: int) -> int:
    for line in message.splitlines():
        click.echo(f"training: {line}", err=True)
    return status
