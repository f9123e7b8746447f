"""The processes that train together: starting them on this machine, the group that they form, and what all of them say
at once.

Others may start them too (`torchrun`, `deepspeed`): whoever finds RANK in its environment is one of theirs, and starts
none. The processes of one machine meet in a file, and need no port that is known before.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import warnings
from collections.abc import Callable
from datetime import timedelta
from multiprocessing.queues import SimpleQueue
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

import torch
import torch.distributed
import torch.multiprocessing
from torch.multiprocessing.spawn import ProcessExitedException, ProcessRaisedException

from toolscale.errors import ToolScaleError, TrainingError, TrainingInterruptedError, UsageError

Result = TypeVar("Result")
MEETING = "TOOLSCALE_MEETING"
"""The variable that names the file in which the processes of one machine meet."""
GRACE_S = 10.0
"""Seconds that are left to the others to end after one has failed."""

warnings.filterwarnings("ignore", "`torch.distributed.all_gather_into_tensor` is deprecated")  # DeepSpeed calls it


def run_in_processes(count: int, function: Callable[..., Result], *arguments: Any) -> Result:
    """Call a function in `count` processes of this machine at once, each with its rank in the environment; return what
    the first one returned. It is called here where `count` is 1, and where a launcher has started this process already.

    An error that has a name is raised here as UsageError, OSError or TrainingError, one for all that failed.
    TrainingInterruptedError with the exit status of a killed process if one was killed. They end when this process
    does, however it ends.
    """
    if count == 1 or "RANK" in os.environ:
        return function(*arguments)
    said = multiprocessing.get_context("spawn").SimpleQueue()
    with TemporaryDirectory(prefix="toolscale-training-") as folder:
        told = (count, str(Path(folder) / "meeting"), said, function, arguments)
        started = torch.multiprocessing.spawn(_call, told, nprocs=count, join=False)
        try:
            while not started.join(grace_period=GRACE_S):
                pass
        except (ProcessExitedException, ProcessRaisedException) as error:
            answer = None if said.empty() else said.get()
            # It may be a result: a process can die of what it leaves behind, after its work is done.
            raise (answer if isinstance(answer, Exception) else _unnamed(error)) from None
    if said.empty():
        raise KeyboardInterrupt
    result: Result = said.get()
    return result


def join_group(patience: timedelta) -> None:
    """Join the group of the processes that were started here, or be one alone; where a launcher started this process,
    joining is left to DeepSpeed. `patience`: so long they wait for each other."""
    backend = "gloo"
    if torch.cuda.is_available():
        backend = "nccl"
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
    # No port, no network.
    if MEETING in os.environ:
        store = torch.distributed.FileStore(os.environ[MEETING], world_size_wanted())
        number = int(os.environ["RANK"])
        torch.distributed.init_process_group(
            backend, timeout=patience, store=store, rank=number, world_size=world_size_wanted()
        )
    elif "RANK" not in os.environ:
        # ZeRO-3 looks for it in every step; what a launcher sets besides would mislead our children.
        os.environ.setdefault("LOCAL_RANK", "0")
        store = torch.distributed.HashStore()
        torch.distributed.init_process_group(backend, timeout=patience, store=store, rank=0, world_size=1)


def rank() -> int:
    """The number of this process."""
    return torch.distributed.get_rank()


def world_size_wanted() -> int:
    """How many processes were started; known before they have joined."""
    return int(os.environ.get("WORLD_SIZE", "1"))


def world_size() -> int:
    """How many processes train."""
    return torch.distributed.get_world_size()


def total(values: dict[str, float]) -> dict[str, float]:
    """Sum each value over all ranks; all must give the same keys. In double precision, so that counts are exact."""
    return _reduce(values, torch.distributed.ReduceOp.SUM)


def most(value: int) -> int:
    """The largest of a value over all ranks."""
    return int(longest(value))


def longest(seconds: float) -> float:
    """The largest of a time over all ranks."""
    return _reduce({"value": seconds}, torch.distributed.ReduceOp.MAX)["value"]


def meet() -> None:
    """Wait until all ranks are here."""
    torch.distributed.barrier()


def _reduce(values: dict[str, float], operation: Any) -> dict[str, float]:
    device = torch.device("cuda", torch.cuda.current_device()) if torch.cuda.is_available() else torch.device("cpu")
    tensor = torch.tensor(list(values.values()), dtype=torch.float64, device=device)
    torch.distributed.all_reduce(tensor, operation)
    return dict(zip(values, tensor.tolist(), strict=True))


def _call(
    number: int,
    count: int,
    meeting: str,
    said: SimpleQueue[Any],
    function: Callable[..., Any],
    arguments: tuple[Any, ...],
) -> None:
    """Be process `number`: call the function, and say what became of it."""
    torch.multiprocessing._prctl_pr_set_pdeathsig(signal.SIGKILL)  # a run that is taken up must not meet them
    os.environ |= {"RANK": str(number), "LOCAL_RANK": str(number), "WORLD_SIZE": str(count), MEETING: meeting}
    try:
        result = function(*arguments)
    except (ToolScaleError, OSError) as error:
        said.put(_plain(error))
        raise SystemExit(1) from None
    if number == 0:
        said.put(result)
    if torch.distributed.is_initialized():  # threads of gloo that still run when Python ends abort the process
        torch.distributed.destroy_process_group()


def _unnamed(error: ProcessExitedException | ProcessRaisedException) -> Exception:
    """What to raise where no process has said why it ended."""
    if not isinstance(error, ProcessExitedException) or error.exit_code >= 0:
        return error
    killed = TrainingInterruptedError(
        f"process {error.error_index} was killed by {error.signal_name}; run the same command again to go on"
    )
    killed.exit_status = 128 - error.exit_code
    return killed


def _plain(error: ToolScaleError | OSError) -> ToolScaleError | OSError:
    """The error as another process can read it: its message and its exit status."""
    if isinstance(error, OSError):
        return error
    return UsageError(str(error)) if error.exit_status == UsageError.exit_status else TrainingError(str(error))
