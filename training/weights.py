"""Gives the trained weights to the servers that sample: over HTTP what is to come, and the tensors by a broadcast.

UNTESTED against a real vLLM, as training/vllm.py says. Weights go out once a step, before the first turn, when no
request is under way: every rank gathers each parameter (under ZeRO-3), and the first one sends it, to all servers at
once. A server that was started anew knows no trainer, and refuses even an update of nothing: it is joined again, and
gets the weights.
"""

from __future__ import annotations

import os
import socket
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from threading import Event, Thread
from typing import Any, Protocol
from urllib.parse import urlsplit

import httpx2
import torch
from tenacity import RetryError, Retrying, retry_if_result, stop_after_delay, wait_fixed

from toolscale.errors import ModelUnavailableError, TrainingError, UsageError
from training.config import Config, VllmSettings
from training.vllm import START, addresses, authorization

NOTHING: dict[str, Any] = {"update_info": {"names": [], "dtype_names": [], "shapes": []}}

POLL_S = 1.0
"""Between looks at whether a server is back."""


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
                f"vllm.update: nccl needs vllm >=0.28,<=0.31 in this environment ({error}); "
                "install it, or set update: none"
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


class WeightSender:
    """Gives the servers the weights of the trainer, all of them at once. Only the first rank has one. `context`: tokens
    of a conversation, which the servers must hold."""

    def __init__(self, settings: VllmSettings, transport: Transport, context: int = 0):
        self._settings = settings
        self._context = context
        self._transport = transport
        self._urls = addresses(settings)
        self._client = httpx2.Client(timeout=settings.timeout_s, headers=authorization(settings))
        self._joined = False

    def send(
        self, described: Sequence[tuple[str, str, list[int]]], tensors: Iterator[tuple[str, torch.Tensor]]
    ) -> None:
        """Replace the weights of the servers. `described`: name, type and shape of each tensor, in the order in which
        they come.

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
        self._post("/finish_weight_update", {})
        for url in self._urls:
            self._reset_cache(url)

    def _reset_cache(self, url: str) -> None:
        """Make a server forget keys and values of the old weights. It refuses, with status 200, as long as a request
        holds some of them: one that was given up is gone a moment later."""
        refused = retry_if_result(lambda response: _said(response).get("success") is False)
        again = Retrying(retry=refused, stop=stop_after_delay(self._settings.reset_s), wait=wait_fixed(POLL_S / 4))
        try:
            again(self._request, "POST", url, "/reset_prefix_cache")
        except RetryError as error:
            raise ModelUnavailableError(
                f"vllm.base_url: {url} keeps keys and values of the old weights: /reset_prefix_cache was refused for "
                f"{self._settings.reset_s:g} s (vllm.reset_s); does anybody else use this server?"
            ) from error

    def close(self) -> None:
        """Let go of connections."""
        self._client.close()

    def _begin(self, executor: ThreadPoolExecutor, update: dict[str, Any]) -> list[Future[Any]]:
        """Open an update that all servers take. An update of nothing is answered at once by a server that was joined,
        and refused by one that was started anew: then all are joined again, before any of them waits for tensors."""
        known = self._joined
        if known:
            self._await_servers(self._settings.restart_s)
        else:
            self._join(patience_s=0.0)
        self._post("/start_weight_update", {})
        try:
            self._post("/update_weights", NOTHING)
        except ModelUnavailableError:
            if not known:
                raise
            self._post("/finish_weight_update", {})
            self._join(self._settings.restart_s)
            self._post("/start_weight_update", {})
            self._post("/update_weights", NOTHING)
        answers = [executor.submit(self._request, "POST", url, "/update_weights", json=update) for url in self._urls]
        self._notice(answers)
        return answers

    def _notice(self, answers: Sequence[Future[Any]]) -> None:
        """Leave the servers time to refuse, before something is begun that waits for them."""
        wait(answers, timeout=self._settings.refusal_s, return_when=FIRST_EXCEPTION)
        _raise_failed(answers)

    def _await_servers(self, patience_s: float) -> None:
        """Wait until all servers answer: one that is started anew loads its model first."""
        deadline = time.monotonic() + patience_s
        for url in self._urls:
            while True:
                try:
                    self._request("GET", url, "/health")
                    break
                except ModelUnavailableError as error:
                    if time.monotonic() >= deadline:
                        raise ModelUnavailableError(f"{error} (waited {patience_s:g} s, vllm.restart_s)") from error
                time.sleep(POLL_S)

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
                answers.append(executor.submit(self._request, "POST", url, "/init_weight_transfer_engine", json=body))
            self._notice(answers)
            self._transport.join(init)
            for answer in answers:
                answer.result()
        self._joined = True

    def _workers(self, url: str) -> int:
        """How many workers a server has, data-parallel ones included. Raises UsageError where it is not set up for
        training."""
        info = self._request("GET", url, "/server_info", params={"config_format": "json"}).json()["vllm_config"]
        if info.get("weight_transfer_config") is None:
            raise UsageError(f"vllm.base_url: {url} takes no weights; {START}")
        if (mode := info["model_config"].get("logprobs_mode")) != "processed_logprobs":
            raise UsageError(f"vllm.base_url: {url} gives {mode} (log-probabilities before the temperature); {START}")
        if (room := info["model_config"].get("max_model_len")) is not None and room < self._context:
            raise UsageError(
                f"vllm.base_url: {url} holds {room} tokens of a conversation, and rollout.context is {self._context}; "
                f"start it with --max-model-len {self._context}, or lower rollout.context"
            )
        return int(self._request("GET", url, "/get_world_size").json()["world_size"])

    def _post(self, path: str, body: dict[str, Any] | None) -> None:
        """Ask all servers for the same, one after the other."""
        for url in self._urls:
            self._request("POST", url, path, json=body)

    def _request(self, method: str, url: str, path: str, **options: Any) -> httpx2.Response:
        try:
            response = self._client.request(method, url + path, **options)
        except httpx2.TransportError as error:
            raise ModelUnavailableError(f"vllm.base_url: {url}{path}: {type(error).__name__}: {error}") from error
        if response.status_code == 404:
            raise UsageError(f"vllm.base_url: {url} has no {path}; {START}")
        if response.status_code != 200:
            raise ModelUnavailableError(
                f"vllm.base_url: {url}{path}: status {response.status_code}: {response.text[:200]}"
            )
        return response


def make_sender(config: Config, first: bool) -> WeightSender | None:
    """What sends weights, on the first rank; None on others, and where the server keeps its own."""
    if config.vllm is None or config.vllm.update == "none" or not first:
        return None
    return WeightSender(config.vllm, NcclTransport(), config.rollout.context)


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


def _said(response: httpx2.Response) -> dict[str, Any]:
    """What a server says beside the status; nothing where that is no object."""
    try:
        said = response.json()
    except ValueError:
        return {}
    return said if isinstance(said, dict) else {}
