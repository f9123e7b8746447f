"""The servers that sample, over HTTP: all but turns (training/vllm.py). Only the first rank speaks to them so."""

from __future__ import annotations

import os
import time
from typing import Any

import httpx2
from tenacity import RetryError, Retrying, retry_if_result, stop_after_delay, wait_fixed

from toolscale.errors import ModelUnavailableError, UsageError
from training.config import VllmSettings

START = (
    "start it with VLLM_SERVER_DEV_MODE=1 vllm serve MODEL --logprobs-mode processed_logprobs "
    "--generation-config vllm --enable-scale-out"
)
POLL_S = 1.0
"""Between looks at whether a server is back."""


class NoSuchPathError(UsageError):
    """The server knows no such path."""


class Servers:
    """All servers of a run."""

    def __init__(self, settings: VllmSettings):
        self.settings = settings
        self.urls = addresses(settings)
        self._client = httpx2.Client(timeout=settings.timeout_s, headers=authorization(settings))

    def request(self, method: str, url: str, path: str, **options: Any) -> httpx2.Response:
        """Ask one of them. ModelUnavailableError where it gives no answer or fails, UsageError where it has no such
        path."""
        try:
            response = self._client.request(method, url + path, **options)
        except httpx2.TransportError as error:
            raise ModelUnavailableError(f"vllm.base_url: {url}{path}: {type(error).__name__}: {error}") from error
        if response.status_code in (401, 403):
            raise UsageError(f"vllm.base_url: {url}{path} is refused ({reason_of(response)}); {START}")
        if response.status_code == 404:
            raise NoSuchPathError(f"vllm.base_url: {url} has no {path}; {START}")
        if response.status_code != 200:
            raise ModelUnavailableError(
                f"vllm.base_url: {url}{path}: status {response.status_code}: {reason_of(response)}"
            )
        return response

    def post(self, path: str, body: dict[str, Any] | None) -> None:
        """Ask all of them for the same, one after the other."""
        for url in self.urls:
            self.request("POST", url, path, json=body)

    def wait_for(self, url: str, patience_s: float) -> None:
        """Wait until a server answers: one that is started anew loads its model first. ModelUnavailableError."""
        deadline = time.monotonic() + patience_s
        while True:
            try:
                self.request("GET", url, "/health")
                return
            except ModelUnavailableError as error:
                if time.monotonic() >= deadline:
                    raise ModelUnavailableError(f"{error} (waited {patience_s:g} s, vllm.restart_s)") from error
            time.sleep(POLL_S)

    def reset_cache(self, url: str) -> None:
        """Make a server forget keys and values of the old weights. It refuses, with status 200, as long as a request
        holds some of them: one that was given up is gone a moment later."""
        refused = retry_if_result(lambda response: said(response).get("success") is False)
        again = Retrying(retry=refused, stop=stop_after_delay(self.settings.reset_s), wait=wait_fixed(POLL_S / 4))
        try:
            again(self.request, "POST", url, "/reset_prefix_cache")
        except RetryError as error:
            raise ModelUnavailableError(
                f"vllm.base_url: {url} keeps keys and values of the old weights: /reset_prefix_cache was refused for "
                f"{self.settings.reset_s:g} s (vllm.reset_s); does anybody else use this server?"
            ) from error

    def weights_of(self, url: str) -> str:
        """The version of its weights that a server was told; `default` where nobody told it one since it began."""
        return str(said(self.request("GET", url, "/weight_info")).get("weight_version"))

    def close(self) -> None:
        """Let go of connections."""
        self._client.close()


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


def said(response: httpx2.Response) -> dict[str, Any]:
    """What a server says beside the status; nothing where that is no object."""
    try:
        found = response.json()
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def reason_of(response: httpx2.Response) -> str:
    """Why a server refuses, in one line."""
    error = said(response).get("error")
    told = error.get("message") if isinstance(error, dict) else error
    return " ".join(str(told or response.text).split())[:200]
