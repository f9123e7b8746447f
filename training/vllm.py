"""Sampling by a `vllm serve`: token ids in, token ids and log-probabilities out, with the version of the weights that
wrote them. training/weights.py sends it the trained weights after every step.

Tested against vLLM 0.32 on the CPU: `make engines`. The server is started with

    VLLM_SERVER_DEV_MODE=1 vllm serve MODEL --logprobs-mode processed_logprobs \\
        --generation-config vllm --enable-scale-out

and the run has `vllm: {base_url: "http://127.0.0.1:8000"}` in its configuration. Developer mode opens paths that let
whoever reaches them do anything with the server: keep it from strangers.

The server's numbers differ from the trainer's (other kernels, other batches), so the loss is weighed by truncated
importance sampling (training/loss.py); `weight` in metrics.jsonl stays near 1 where weights arrive and
log-probabilities mean the same on both sides.

Turns end with the ids of the model's generation_config too, which a vLLM adds to those of a request (Qwen3: <|im_end|>
and <|endoftext|>). Its other defaults must not reach a request: --generation-config vllm leaves them out, and what
changes the distribution is set in each request besides.
"""

from __future__ import annotations

import math
import os
from typing import Any

import httpx2
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception_type, stop_after_attempt, wait_exponential

from toolscale.errors import ModelUnavailableError, UsageError
from training.chat import Codec
from training.config import Config, VllmSettings
from training.generation import Completion, Request
from training.sampler import ModelPolicy
from training.servers import START, addresses, authorization, reason_of

ATTEMPTS = 5
MOST_TOLD_S = 60.0
"""Seconds of a Retry-After that are waited at most before the next attempt."""


class _BusyError(Exception):
    """The server may answer the same request later: after so many seconds, where it says so."""

    def __init__(self, what: str, wait_s: float = 0.0):
        super().__init__(what)
        self.wait_s = wait_s


class VllmWriter:
    """Writes turns with the endpoint for token ids. A server batches what comes in at the same time; of several, one
    has all conversations of a task, which begin alike, and each has as many tasks of a step as the others."""

    def __init__(self, settings: VllmSettings, stop: frozenset[int], temperature: float):
        self._settings = settings
        self._stop = stop
        self._temperature = temperature
        self._urls = addresses(settings)
        self._headers = authorization(settings)
        self._models: dict[str, str] = {}
        self._rank = int(os.environ.get("RANK", "0"))
        self._url_of: dict[str, str] = {}
        """Task -> the server that has it."""
        self._client: httpx2.AsyncClient | None = None
        self._version: str | None = None

    def expect(self, version: str) -> None:
        """From now on turns are written with the weights of this version, or with none at all."""
        self._version = version
        self._url_of.clear()

    def opened(self) -> None:
        """A conversation began; the server need not know."""

    def closed(self) -> None:
        """A conversation ended; the server need not know."""

    async def settle(self) -> None:
        """A request that was given up is aborted by the server."""

    async def write(self, request: Request) -> Completion:
        """Write one turn. Raises ModelUnavailableError after five attempts, and where the server has other weights than
        it was given; UsageError where it is not set up for training."""
        url = self._server_of(str(request.group))
        body = {
            "model": self._settings.served_model or await self._model(url),
            "token_ids": list(request.ids),
            "sampling_params": {
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
                "detokenize": False,
            },
        }
        answer = await self._call("POST", url, "/inference/v1/generate", body)
        try:
            [choice] = answer["choices"]
            content = choice["logprobs"]["content"]
            ids, logprobs = [int(token) for token in choice["token_ids"]], [float(each["logprob"]) for each in content]
            versions = [str(span["version"]) for span in choice["weight_versions"]]
        except (KeyError, TypeError, ValueError) as error:
            raise UsageError(
                f"vllm.base_url: {url} does not give token ids with log-probabilities ({error!r}); {START}"
            ) from error
        if not ids or len(ids) != len(logprobs) or not all(map(math.isfinite, logprobs)):
            raise UsageError(
                f"vllm.base_url: {url} gave {len(ids)} tokens and {len(logprobs)} log-probabilities of them; {START}"
            )
        if self._version is not None and set(versions) != {self._version}:
            raise ModelUnavailableError(
                f"vllm.base_url: {url} wrote with the weights {', '.join(versions)} instead of {self._version}: it was "
                "started anew, or another run uses it; it gets ours before the next step"
            )
        finished = ids[-1] in self._stop
        if choice.get("finish_reason") == "stop" and not finished:
            raise UsageError(
                f"vllm.base_url: {url} ended a turn with the token {ids[-1]}, and its stop tokens are "
                f"{sorted(self._stop)}; serve the model of model.path, with its tokenizer and its generation_config; "
                f"{START}"
            )
        return Completion(ids, logprobs, finished, tuple(dict.fromkeys(versions)))

    async def close(self) -> None:
        """Let go of connections."""
        if self._client is not None:
            await self._client.aclose()
            self._client = None

    def _server_of(self, group: str) -> str:
        """The server of a task: the next one, in turn. Each rank begins with another."""
        turn = (self._rank + len(self._url_of)) % len(self._urls)
        return self._url_of.setdefault(group, self._urls[turn])

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
        longer = wait_exponential(multiplier=self._settings.first_wait_s, max=30)
        try:
            async for attempt in AsyncRetrying(
                retry=retry_if_exception_type(_BusyError),
                stop=stop_after_attempt(ATTEMPTS),
                wait=lambda state: max(longer(state), _told_to_wait(state)),
                reraise=True,
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
            asked = response.headers.get("Retry-After", "")
            wait_s = min(float(asked), MOST_TOLD_S) if asked.isdecimal() else 0.0
            raise _BusyError(f"status {response.status_code}: {reason_of(response)}", wait_s)
        if response.status_code != 200:
            raise UsageError(
                f"vllm.base_url: {address} refused a request "
                f"(status {response.status_code}: {response.text[:200]}); {START}"
            )
        return response.json()


def _told_to_wait(state: RetryCallState) -> float:
    error = state.outcome.exception() if state.outcome else None
    return error.wait_s if isinstance(error, _BusyError) else 0.0


def vllm_policy(config: Config, codec: Codec) -> ModelPolicy:
    """The policy whose turns a vLLM server writes."""
    assert config.vllm is not None
    return ModelPolicy(
        "orchestrator", codec, VllmWriter(config.vllm, codec.stop, config.rollout.temperature), config.rollout
    )
