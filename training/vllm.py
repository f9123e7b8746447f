"""Sampling by a `vllm serve`: token ids in, token ids and log-probabilities out. training/weights.py sends it the
trained weights after every step.

UNTESTED against a real vLLM: no GPU was at hand. What is tested (tests/training: test_vllm.py, test_weights.py) is this
side of the protocol, against a local HTTP server. It follows the interface of vllm >=0.28,<=0.31, which is not among
the requirements. To test it, with the server on one GPU and the trainer on another:

    pip install "vllm>=0.28,<=0.31"
    VLLM_SERVER_DEV_MODE=1 CUDA_VISIBLE_DEVICES=0 vllm serve Qwen/Qwen3-0.6B --logprobs-mode processed_logprobs \
        --generation-config vllm --weight-transfer-config '{"backend": "nccl"}'
    toolscale synthesize finance --tasks 400 --out var/datasets/finance
    CUDA_VISIBLE_DEVICES=1 python -m training.grpo training/configs/gpu_small.yaml --out var/training/vllm

with the section `vllm` of that configuration uncommented, and look at `weight` in metrics.jsonl: the mean importance
weight stays near 1 (0.98 to 1.02) if weights arrive and log-probabilities mean the same on both sides.

The server's numbers differ from the trainer's (other kernels, other batches), so the loss is weighed by truncated
importance sampling (training/loss.py).

Turns end with the ids of the model's generation_config too, which a vLLM adds to those of a request (Qwen3: <|im_end|>
and <|endoftext|>). Its other defaults must not reach a request: --generation-config vllm leaves them out, and what
changes the distribution is set in each request besides.
"""

from __future__ import annotations

import math
import os
from typing import Any
from zlib import crc32

import httpx2
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


class _BusyError(Exception):
    """The server may answer the same request later."""


class VllmWriter:
    """Writes turns with the completions endpoint. A server batches what comes in at the same time; of several, one has
    all conversations of a task, which begin alike."""

    def __init__(self, settings: VllmSettings, stop: frozenset[int], temperature: float):
        self._settings = settings
        self._stop = stop
        self._temperature = temperature
        self._urls = addresses(settings)
        self._headers = authorization(settings)
        self._models: dict[str, str] = {}
        self._client: httpx2.AsyncClient | None = None

    def opened(self) -> None:
        """A conversation began; the server need not know."""

    def closed(self) -> None:
        """A conversation ended; the server need not know."""

    async def settle(self) -> None:
        """A request that was given up is aborted by the server."""

    async def write(self, request: Request) -> Completion:
        """Write one turn. Raises ModelUnavailableError after five attempts, and UsageError where the server is not set
        up for training."""
        url = self._urls[crc32(str(request.group).encode()) % len(self._urls)]
        body = {
            "model": self._settings.served_model or await self._model(url),
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
        answer = await self._call("POST", url, "/v1/completions", body)
        try:
            [choice] = answer["choices"]
            ids, logprobs = (
                [int(token) for token in choice["token_ids"]],
                [float(value) for value in choice["logprobs"]["token_logprobs"]],
            )
        except (KeyError, TypeError, ValueError) as error:
            raise UsageError(
                f"vllm.base_url: {url} does not give token ids with log-probabilities ({error!r}); {START}"
            ) from error
        if not ids or len(ids) != len(logprobs) or not all(map(math.isfinite, logprobs)):
            raise UsageError(
                f"vllm.base_url: {url} gave {len(ids)} tokens and {len(logprobs)} log-probabilities of them; {START}"
            )
        finished = ids[-1] in self._stop
        if choice.get("finish_reason") == "stop" and not finished:
            raise UsageError(
                f"vllm.base_url: {url} ended a turn with the token {ids[-1]}, and its stop tokens are "
                f"{sorted(self._stop)}; serve the model of model.path, with its tokenizer and its generation_config; "
                f"{START}"
            )
        return Completion(ids, logprobs, finished)

    async def close(self) -> None:
        """Let go of connections."""
        if self._client is not None:
            await self._client.aclose()
            self._client = None

    async def _model(self, url: str) -> str:
        """The name that a server knows the model by."""
        if url not in self._models:
            listed = await self._call("GET", url, "/v1/models", None)
            self._models[url] = str(listed["data"][0]["id"])
        return self._models[url]

    async def _call(self, method: str, url: str, path: str, body: dict[str, Any] | None) -> Any:
        if self._client is None:
            limits = httpx2.Limits(max_connections=None)
            timeout = httpx2.Timeout(self._settings.timeout_s, read=None)  # a turn waits there for its place
            self._client = httpx2.AsyncClient(timeout=timeout, headers=self._headers, limits=limits)
        wait = wait_exponential(multiplier=self._settings.first_wait_s, max=30)
        try:
            async for attempt in AsyncRetrying(
                retry=retry_if_exception_type(_BusyError), stop=stop_after_attempt(ATTEMPTS), wait=wait, reraise=True
            ):
                with attempt:
                    return await self._once(method, url + path, body)
        except _BusyError as error:
            raise ModelUnavailableError(
                f"vllm.base_url: {url} gave no answer in {ATTEMPTS} attempts ({error})"
            ) from error

    async def _once(self, method: str, address: str, body: dict[str, Any] | None) -> Any:
        assert self._client is not None
        try:
            response = await self._client.request(method, address, json=body)
        except httpx2.TransportError as error:
            raise _BusyError(f"{type(error).__name__}: {error}") from error
        if response.status_code == 429 or response.status_code >= 500:
            raise _BusyError(f"status {response.status_code}")
        if response.status_code != 200:
            raise UsageError(
                f"vllm.base_url: {address} refused a request "
                f"(status {response.status_code}: {response.text[:200]}); {START}"
            )
        return response.json()


def vllm_policy(config: Config, codec: Codec) -> ModelPolicy:
    """The policy whose turns a vLLM server writes."""
    assert config.vllm is not None
    return ModelPolicy(
        "orchestrator", codec, VllmWriter(config.vllm, codec.stop, config.rollout.temperature), config.rollout
    )


def addresses(settings: VllmSettings) -> list[str]:
    """Where the servers are, without the version of the protocol."""
    return [url.rstrip("/").removesuffix("/v1") for url in (settings.base_url, *settings.further_urls)]


def authorization(settings: VllmSettings) -> dict[str, str]:
    """The headers of a request. UsageError where the variable of the key is not set."""
    if settings.api_key_env is None:
        return {}
    key = os.environ.get(settings.api_key_env, "").strip()
    if not key:
        raise UsageError(
            f"vllm.api_key_env: {settings.api_key_env} is not set; put the server's key into it, or remove api_key_env"
        )
    return {"Authorization": f"Bearer {key}"}
