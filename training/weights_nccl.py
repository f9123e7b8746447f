"""Gives the trained weights to the servers that sample by NCCL: over HTTP what is to come, the tensors by a broadcast.

UNTESTED with a GPU: none was at hand. What is tested (tests/training/test_weights_nccl.py) is this side of the
protocol. training/weights_folder.py is tested against a real vLLM, and shares with this all but the way of the tensors.
To test it, with the server on one GPU and the trainer on another (`pip install "vllm>=0.32,<0.33"` for both):

    VLLM_SERVER_DEV_MODE=1 CUDA_VISIBLE_DEVICES=0 vllm serve Qwen/Qwen3-0.6B --logprobs-mode processed_logprobs \\
        --generation-config vllm --enable-scale-out --weight-transfer-config '{"backend": "nccl"}'
    toolscale synthesize finance --tasks 400 --out var/datasets/finance
    CUDA_VISIBLE_DEVICES=1 python -m training.grpo training/configs/gpu_small.yaml --out var/training/vllm

with the section `vllm` of that configuration uncommented and `update: nccl`, and look at `weight` in metrics.jsonl.

Weights go out once a step, before the first turn, when no request is under way: every rank gathers each parameter
(under ZeRO-3), and the first one sends it, to all servers at once. A server that was started anew knows no trainer, and
refuses even an update of nothing: it is joined again, and gets the weights.
"""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from threading import Event, Thread
from typing import Any, Protocol
from urllib.parse import urlsplit

import torch

from toolscale.errors import ModelUnavailableError, TrainingError, UsageError
from training.servers import Servers

NOTHING: dict[str, Any] = {"update_info": {"names": [], "dtype_names": [], "shapes": []}}


class Transport(Protocol):
    """What carries tensors to the workers of the server, beside HTTP."""

    def join(self, init_info: dict[str, Any]) -> None:
        """Meet the workers; they wait for this while they answer /init_weight_transfer_engine."""
        ...

    def send(self, tensors: Iterator[tuple[str, torch.Tensor]]) -> None:
        """Send all tensors in turn; the workers take them while they answer /update_weights."""
        ...


class NcclTransport:
    """The group of trainer and workers, as vLLM's own helpers make it."""

    def __init__(self) -> None:
        try:
            from vllm.distributed.weight_transfer import nccl_common, packed_tensor
        except ImportError as error:
            raise UsageError(
                f"vllm.update: nccl needs vllm >=0.32,<0.33 in this environment ({error}); "
                "install it, or set update: folder"
            ) from error
        self._common, self._packed = nccl_common, packed_tensor
        self._group: Any = None

    def join(self, init_info: dict[str, Any]) -> None:
        """Meet the workers as rank 0. ModelUnavailableError where they do not come."""
        self._group = None  # lets go of the port, where this is another meeting
        try:
            self._group = self._common.trainer_init(init_info)
        except (RuntimeError, TimeoutError) as error:
            raise ModelUnavailableError(
                f"vllm.base_url: the servers did not meet the trainer ({error}); start all of them anew: one may still "
                "wait for tensors of a trainer that is gone"
            ) from error

    def send(self, tensors: Iterator[tuple[str, torch.Tensor]]) -> None:
        """Broadcast the tensors, several packed into one message."""
        self._packed.packed_nccl_broadcast_producer(
            iterator=tensors, group=self._group, src=0, post_iter_func=lambda item: item[1]
        )


class NcclSender:
    """Gives the servers the weights of the trainer, all of them at once. `check` is called with the address of each
    server that is to be joined, and raises where it cannot be trained with."""

    def __init__(self, servers: Servers, transport: Transport, check: Callable[[str], None] = lambda url: None):
        self._servers = servers
        self._settings = servers.settings
        self._check = check
        self._transport = transport
        self._urls = servers.urls
        self._joined = False

    def send(
        self,
        described: Sequence[tuple[str, str, list[int]]],
        tensors: Iterator[tuple[str, torch.Tensor]],
        version: str,
    ) -> None:
        """Replace the weights of the servers. `described`: name, type and shape of each tensor, in the order in which
        they come. `version`: what the servers call them.

        Raises ModelUnavailableError where a server that was joined is not back after `restart_s`, or stops taking
        tensors: before the next tensor is sent, since sending waits for whoever takes it.
        """
        names, types, shapes = ([each[place] for each in described] for place in range(3))
        update = {"update_info": {"names": names, "dtype_names": types, "shapes": shapes}}
        with ThreadPoolExecutor(
            max_workers=len(self._urls)
        ) as executor:  # workers receive while requests are under way
            answers = self._begin(executor, update)
            with _ended_if_stuck(answers, self._settings.lost_s):
                self._transport.send(_while_taken(tensors, answers))
            for answer in answers:
                answer.result()
        self._servers.post("/finish_weight_update", {"weight_version": version})
        for url in self._urls:
            self._servers.reset_cache(url)

    def close(self) -> None:
        """Let go of connections."""
        self._servers.close()

    def _begin(self, executor: ThreadPoolExecutor, update: dict[str, Any]) -> list[Future[Any]]:
        """Open an update that all servers take. An update of nothing is answered at once by a server that was joined,
        and refused by one that was started anew: then all are joined again, before any of them waits for tensors."""
        known = self._joined
        if known:
            self._await_servers(self._settings.restart_s)
        else:
            self._join(patience_s=0.0)
        self._servers.post("/start_weight_update", {})
        try:
            self._servers.post("/update_weights", NOTHING)
        except ModelUnavailableError:
            if not known:
                raise
            self._servers.post("/finish_weight_update", {})
            self._join(self._settings.restart_s)
            self._servers.post("/start_weight_update", {})
            self._servers.post("/update_weights", NOTHING)
        answers = [
            executor.submit(self._servers.request, "POST", url, "/update_weights", json=update) for url in self._urls
        ]
        self._notice(answers)
        return answers

    def _notice(self, answers: Sequence[Future[Any]]) -> None:
        """Leave the servers time to refuse, before something is begun that waits for them."""
        wait(answers, timeout=self._settings.refusal_s, return_when=FIRST_EXCEPTION)
        _raise_failed(answers)

    def _await_servers(self, patience_s: float) -> None:
        for url in self._urls:
            self._servers.wait_for(url, patience_s)

    def _join(self, patience_s: float) -> None:
        """Meet the workers of all servers: the trainer is the first of the group, and theirs follow in order."""
        self._joined = False
        self._await_servers(patience_s)
        workers = [self._workers(url) for url in self._urls]
        init = {
            "master_address": self._settings.group_address or address_towards(self._urls[0]),
            "master_port": self._settings.group_port,
            "rank_offset": 1,
            "world_size": 1 + sum(workers),
            "packed": True,
        }
        with ThreadPoolExecutor(max_workers=len(self._urls)) as executor:
            answers = []
            for place, url in enumerate(self._urls):
                body = {"init_info": init | {"rank_offset": 1 + sum(workers[:place])}}
                answers.append(
                    executor.submit(self._servers.request, "POST", url, "/init_weight_transfer_engine", json=body)
                )
            self._notice(answers)
            self._transport.join(init)
            for answer in answers:
                answer.result()
        self._joined = True

    def _workers(self, url: str) -> int:
        """How many workers a server has, data-parallel ones included."""
        self._check(url)
        return int(self._servers.request("GET", url, "/get_world_size").json()["world_size"])


def address_towards(url: str) -> str:
    """The address of this machine on the way to a server. The name of a machine often stands for 127.0.1.1, where
    nobody else finds it. Raises UsageError."""
    parts = urlsplit(url)
    try:
        [(family, kind, *_, target), *_] = socket.getaddrinfo(parts.hostname, parts.port or 80, type=socket.SOCK_DGRAM)
        with socket.socket(family, kind) as way:
            way.connect(target)  # sends nothing
            return str(way.getsockname()[0])
    except OSError as error:
        raise UsageError(
            f"vllm.base_url: there is no way to {url} ({error}); correct it, or name this machine in vllm.group_address"
        ) from error


def _raise_failed(answers: Sequence[Future[Any]]) -> None:
    for answer in answers:
        if answer.done():
            answer.result()  # raises what went wrong


def _while_taken(
    tensors: Iterator[tuple[str, torch.Tensor]], answers: Sequence[Future[Any]]
) -> Iterator[tuple[str, torch.Tensor]]:
    """The tensors, as long as no request under which they are taken has failed."""
    for each in tensors:
        _raise_failed(answers)
        yield each


@contextmanager
def _ended_if_stuck(answers: Sequence[Future[Any]], patience_s: float) -> Iterator[None]:
    """End this process if a server fails inside, and whoever sends does not notice in time: a broadcast waits for all
    who take part, and nothing in this process can stop it."""
    over = Event()

    def watch(answer: Future[Any]) -> None:
        if answer.exception() is not None and not over.is_set():
            Thread(target=_end_unless, args=(over, patience_s, answer.exception()), daemon=True).start()

    for answer in answers:
        answer.add_done_callback(watch)
    try:
        yield
    finally:
        over.set()


def _end_unless(over: Event, patience_s: float, error: BaseException | None) -> None:
    if not over.wait(patience_s):
        told = "start all servers anew, and run the same command again to go on"
        print(f"training: a server failed while it took the weights ({error}); {told}", file=sys.stderr, flush=True)
        os._exit(TrainingError.exit_status)
