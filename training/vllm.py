"""Sampling by a `vllm serve`: token ids in, token ids and log-probabilities out, and the trained weights sent to it
after every step.

UNTESTED against a real vLLM: no GPU was at hand. What is tested (tests/training/test_vllm.py) is this side of the
protocol, against a local HTTP server. It follows the interface of vllm >=0.28,<=0.31, which is not among the
requirements. To test it, with the server on one GPU and the trainer on another:

    pip install "vllm>=0.28,<=0.31"
    VLLM_SERVER_DEV_MODE=1 CUDA_VISIBLE_DEVICES=0 vllm serve Qwen/Qwen3-0.6B --logprobs-mode processed_logprobs \
        --generation-config vllm --weight-transfer-config '{"backend": "nccl"}'
    toolscale synthesize finance --tasks 400 --out var/datasets/finance
    CUDA_VISIBLE_DEVICES=1 python -m training.grpo training/configs/gpu_small.yaml --out var/training/vllm

with the section `vllm` of that configuration uncommented, and look at `weight` in metrics.jsonl: the mean importance
weight stays near 1 (0.98 to 1.02) if weights arrive and log-probabilities mean the same on both sides.

The server's numbers differ from the trainer's (other kernels, other batches), so the loss is weighed by truncated
importance sampling (training/loss.py). Weights go to it once a step, before the first turn, when no request is under
way: every rank gathers each parameter (under ZeRO-3), and the first one sends it. A server that was started anew has
the weights of the model that it serves, and knows no trainer: it refuses the next update, is joined again, and gets it.

Turns end with the ids of the model's generation_config too, which a vLLM adds to those of a request (Qwen3: <|im_end|>
and <|endoftext|>). Its other defaults must not reach a request: --generation-config vllm leaves them out, and what
changes the distribution is set in each request besides.
"""

from __future__ import annotations

import math
import os
import socket
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any, Protocol
from urllib.parse import urlsplit

import httpx2
import torch
from tenacity import AsyncRetrying, retry_if_exception_type, stop_after_attempt, wait_exponential

from toolscale.errors import ModelUnavailableError, UsageError
from training.chat import Codec
from training.config import Config, VllmSettings
from training.generation import Completion, Request
from training.sampler import ModelPolicy

ATTEMPTS = 5
START = (
    "start it with VLLM_SERVER_DEV_MODE=1 vllm serve MODEL --logprobs-mode processed_logprobs "
    """--generation-config vllm --weight-transfer-config '{"backend": "nccl"}'"""
)


POLL_S = 1.0
"""Between looks at whether a server is back."""


class _BusyError(Exception):
    """The server may answer the same request later."""


class VllmWriter:
    """Writes turns with the completions endpoint. The server batches what comes in at the same time."""

    def __init__(self, settings: VllmSettings, stop: frozenset[int], temperature: float):
        self._settings = settings
        self._stop = stop
        self._temperature = temperature
        self._url = settings.base_url.rstrip("/").removesuffix("/v1")
        self._headers = _authorization(settings)
        self._model = settings.served_model
        self._client: httpx2.AsyncClient | None = None

    def opened(self) -> None:
        """A conversation began; the server need not know."""

    def closed(self) -> None:
        """A conversation ended; the server need not know."""

    async def write(self, request: Request) -> Completion:
        """Write one turn. Raises ModelUnavailableError after five attempts, and UsageError where the server is not set
        up for training."""
        body = {
            "model": await self.model(),
            "prompt": list(request.ids),
            "max_tokens": request.limit,
            "n": 1,
            "temperature": self._temperature,
            "top_p": 1.0,
            "top_k": -1,
            "min_p": 0.0,
            "repetition_penalty": 1.0,
            "presence_penalty": 0.0,
            "frequency_penalty": 0.0,
            "seed": request.draws.getrandbits(31),
            "logprobs": 0,
            "stop_token_ids": sorted(self._stop),
            "return_token_ids": True,
            "return_tokens_as_token_ids": True,
            "skip_special_tokens": False,
            "add_special_tokens": False,
        }
        answer = await self._call("POST", "/v1/completions", body)
        try:
            [choice] = answer["choices"]
            ids, logprobs = (
                [int(token) for token in choice["token_ids"]],
                [float(value) for value in choice["logprobs"]["token_logprobs"]],
            )
        except (KeyError, TypeError, ValueError) as error:
            raise UsageError(
                f"vllm.base_url: {self._url} does not give token ids with log-probabilities ({error!r}); {START}"
            ) from error
        if not ids or len(ids) != len(logprobs) or not all(map(math.isfinite, logprobs)):
            raise UsageError(
                f"vllm.base_url: {self._url} gave {len(ids)} tokens "
                f"and {len(logprobs)} log-probabilities of them; {START}"
            )
        finished = ids[-1] in self._stop
        if choice.get("finish_reason") == "stop" and not finished:
            raise UsageError(
                f"vllm.base_url: {self._url} ended a turn with the token {ids[-1]}, and its stop tokens are "
                f"{sorted(self._stop)}; serve the model of model.path, with its tokenizer and its generation_config; "
                f"{START}"
            )
        return Completion(ids, logprobs, finished)

    async def close(self) -> None:
        """Let go of connections."""
        if self._client is not None:
            await self._client.aclose()
            self._client = None

    async def model(self) -> str:
        """The name that the server knows the model by."""
        if self._model is None:
            listed = await self._call("GET", "/v1/models", None)
            self._model = str(listed["data"][0]["id"])
        return self._model

    async def _call(self, method: str, path: str, body: dict[str, Any] | None) -> Any:
        if self._client is None:
            limits = httpx2.Limits(max_connections=None)
            self._client = httpx2.AsyncClient(timeout=self._settings.timeout_s, headers=self._headers, limits=limits)
        wait = wait_exponential(multiplier=self._settings.first_wait_s, max=30)
        try:
            async for attempt in AsyncRetrying(
                retry=retry_if_exception_type(_BusyError), stop=stop_after_attempt(ATTEMPTS), wait=wait, reraise=True
            ):
                with attempt:
                    return await self._once(method, path, body)
        except _BusyError as error:
            raise ModelUnavailableError(
                f"vllm.base_url: {self._url} gave no answer in {ATTEMPTS} attempts ({error})"
            ) from error

    async def _once(self, method: str, path: str, body: dict[str, Any] | None) -> Any:
        assert self._client is not None
        try:
            response = await self._client.request(method, self._url + path, json=body)
        except httpx2.TransportError as error:
            raise _BusyError(f"{type(error).__name__}: {error}") from error
        if response.status_code == 429 or response.status_code >= 500:
            raise _BusyError(f"status {response.status_code}")
        if response.status_code != 200:
            raise UsageError(
                f"vllm.base_url: {self._url}{path} refused a request "
                f"(status {response.status_code}: {response.text[:200]}); {START}"
            )
        return response.json()


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
        """Meet the workers as rank 0."""
        self._group = None  # lets go of the port, where this is another meeting
        self._group = self._common.trainer_init(init_info)

    def send(self, tensors: Iterator[tuple[str, torch.Tensor]]) -> None:
        """Broadcast the tensors, several packed into one message."""
        self._packed.packed_nccl_broadcast_producer(
            iterator=tensors, group=self._group, src=0, post_iter_func=lambda item: item[1]
        )


class WeightSender:
    """Gives the server the weights of the trainer. Only the first rank has one."""

    def __init__(self, settings: VllmSettings, transport: Transport):
        self._settings = settings
        self._transport = transport
        self._url = settings.base_url.rstrip("/").removesuffix("/v1")
        self._client = httpx2.Client(timeout=settings.timeout_s, headers=_authorization(settings))
        self._joined = False

    def send(
        self, described: Sequence[tuple[str, str, list[int]]], tensors: Iterator[tuple[str, torch.Tensor]]
    ) -> None:
        """Replace the weights of the server. `described`: name, type and shape of each tensor, in the order in which
        they come.

        Raises ModelUnavailableError where the server is not back after `restart_s`, or stops taking tensors: before the
        next tensor is sent, since sending waits for whoever takes it.
        """
        names, types, shapes = ([each[place] for each in described] for place in range(3))
        update = {"update_info": {"names": names, "dtype_names": types, "shapes": shapes}}
        with ThreadPoolExecutor(max_workers=1) as executor:  # the workers receive while the request is under way
            answer = self._begin(executor, update)
            self._transport.send(_while_taken(tensors, answer))
            answer.result()
        self._post("/finish_weight_update", {})
        self._post("/reset_prefix_cache", None)  # keys and values of the old weights

    def _begin(self, executor: ThreadPoolExecutor, update: dict[str, Any]) -> Future[None]:
        """Open an update that the server takes: a server that was started anew refuses, and is joined again."""
        joined = self._joined
        self._await_server()
        if not joined:
            self._join()
        try:
            return self._opened(executor, update)
        except ModelUnavailableError:
            if not joined:
                raise
        self._joined = False
        self._await_server()
        self._join()
        return self._opened(executor, update)

    def _opened(self, executor: ThreadPoolExecutor, update: dict[str, Any]) -> Future[None]:
        self._post("/start_weight_update", {})
        answer = executor.submit(self._post, "/update_weights", update)
        self._notice(answer)
        return answer

    def _notice(self, answer: Future[None]) -> None:
        """Leave the server time to refuse, before something is begun that waits for it."""
        wait([answer], timeout=self._settings.refusal_s)
        if answer.done():
            answer.result()  # raises what went wrong

    def _await_server(self) -> None:
        """Wait until the server answers: one that is started anew loads its model first."""
        deadline = time.monotonic() + self._settings.restart_s
        while True:
            try:
                self._request("GET", "/health")
                return
            except ModelUnavailableError as error:
                if time.monotonic() >= deadline:
                    raise ModelUnavailableError(
                        f"{error} (waited {self._settings.restart_s:g} s, vllm.restart_s)"
                    ) from error
            time.sleep(min(POLL_S, self._settings.restart_s))

    def close(self) -> None:
        """Let go of connections."""
        self._client.close()

    def _join(self) -> None:
        info = self._get("/server_info", {"config_format": "json"})["vllm_config"]
        if info.get("weight_transfer_config") is None:
            raise UsageError(f"vllm.base_url: {self._url} takes no weights; {START}")
        if (mode := info["model_config"].get("logprobs_mode")) != "processed_logprobs":
            raise UsageError(
                f"vllm.base_url: {self._url} gives {mode} (log-probabilities before the temperature); {START}"
            )
        workers = int(self._get("/get_world_size", {})["world_size"])
        init = {
            "master_address": self._settings.group_address or address_towards(self._url),
            "master_port": self._settings.group_port,
            "rank_offset": 1,
            "world_size": workers + 1,
            "packed": True,
        }
        with ThreadPoolExecutor(max_workers=1) as executor:
            answer = executor.submit(self._post, "/init_weight_transfer_engine", {"init_info": init})
            self._notice(answer)
            self._transport.join(init)
            answer.result()
        self._joined = True

    def _get(self, path: str, query: dict[str, str]) -> Any:
        return self._request("GET", path, params=query).json()

    def _post(self, path: str, body: dict[str, Any] | None) -> None:
        self._request("POST", path, json=body)

    def _request(self, method: str, path: str, **options: Any) -> httpx2.Response:
        try:
            response = self._client.request(method, self._url + path, **options)
        except httpx2.TransportError as error:
            raise ModelUnavailableError(f"vllm.base_url: {self._url}{path}: {type(error).__name__}: {error}") from error
        if response.status_code == 404:
            raise UsageError(f"vllm.base_url: {self._url} has no {path}; {START}")
        if response.status_code != 200:
            raise ModelUnavailableError(
                f"vllm.base_url: {self._url}{path}: status {response.status_code}: {response.text[:200]}"
            )
        return response


def vllm_policy(config: Config, codec: Codec) -> ModelPolicy:
    """The policy whose turns a vLLM server writes."""
    assert config.vllm is not None
    return ModelPolicy(
        "orchestrator", codec, VllmWriter(config.vllm, codec.stop, config.rollout.temperature), config.rollout
    )


def make_sender(config: Config, first: bool) -> WeightSender | None:
    """What sends weights, on the first rank; None on others, and where the server keeps its own."""
    if config.vllm is None or config.vllm.update == "none" or not first:
        return None
    return WeightSender(config.vllm, NcclTransport())


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


def _while_taken(
    tensors: Iterator[tuple[str, torch.Tensor]], answer: Future[None]
) -> Iterator[tuple[str, torch.Tensor]]:
    """The tensors, as long as the request under which they are taken has not failed."""
    for each in tensors:
        if answer.done():
            answer.result()  # raises what went wrong
        yield each


def _authorization(settings: VllmSettings) -> dict[str, str]:
    if settings.api_key_env is None:
        return {}
    key = os.environ.get(settings.api_key_env, "").strip()
    if not key:
        raise UsageError(
            f"vllm.api_key_env: {settings.api_key_env} is not set; put the server's key into it, or remove api_key_env"
        )
    return {"Authorization": f"Bearer {key}"}
