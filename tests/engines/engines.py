"""Real model servers on loopback, for tests: processes of .venv-engines, which `make engines` makes.

    with vllm(MODEL, tmp_path) as engine: …    engine.url, engine.version, engine.service.log

A server ends with the block, with all that it started (tests/airflow/services.py).
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import psutil
from services import Service, free_ports, running

from tests.installed import needs

ROOT = Path(__file__).parents[2]
VENV = ROOT / ".venv-engines"
MODEL = ROOT / "var" / "models" / "smollm2"
"""SmolLM2-135M-Instruct as transformers and vLLM read it."""
HERMES, LLAMA = (Path(__file__).with_name(name) for name in ("examples.jinja", "examples_llama.jinja"))
"""Templates with tools and with examples of calls, as Hermes' parser reads them, and Llama's."""

needs_engines = needs("real engines", (VENV / "made").exists() and MODEL.exists(), "make engines")
"""Beside `pytest.mark.xdist_group("engines")`, by which one process runs all such tests."""

VLLM = {"VLLM_CPU_KVCACHE_SPACE": "2", "VLLM_SERVER_DEV_MODE": "1", "VLLM_NO_USAGE_STATS": "1"}
OFFLINE = {"HF_HUB_OFFLINE": "1"}


@dataclass(frozen=True)
class Engine:
    """A server that runs."""

    name: str
    version: str
    url: str
    """Without /v1."""
    model: str
    """The name that it serves the model under."""
    seconds: float
    """From its start to its first answer."""
    service: Service

    def kill(self) -> None:
        """End it at once, as a crash would."""
        found = psutil.Process(self.service.guard.pid).children(recursive=True)
        for process in found:
            process.kill()
        psutil.wait_procs(found)


@contextmanager
def vllm(
    model: Path, folder: Path, *options: str, port: int | None = None, environ: Mapping[str, str] = {}
) -> Iterator[Engine]:
    """A vLLM on the CPU that can be trained with. `options` of `vllm serve` come last, so they win."""
    [port] = free_ports(1) if port is None else [port]
    command = [
        *(VENV / "bin" / "vllm", "serve", model, "--served-model-name", "served", "--host", "127.0.0.1"),
        *("--port", str(port), "--dtype", "bfloat16", "--max-model-len", "8192", "--enforce-eager"),
        *("--logprobs-mode", "processed_logprobs", "--generation-config", "vllm", "--enable-scale-out"),
        *("--enable-auto-tool-choice", "--tool-call-parser", "hermes", *options),
    ]
    began = time.monotonic()
    log = folder / f"vllm-{port}.log"
    environ = {**os.environ, **OFFLINE, **VLLM, **environ}
    with running("vllm", command, log=log, environ=environ) as service:
        url = f"http://127.0.0.1:{port}"
        service.wait_until(lambda: answers(f"{url}/health"))
        version = str(read(f"{url}/version")["version"])
        yield Engine("vLLM", version, url, "served", time.monotonic() - began, service)


def answers(address: str) -> bool:
    """Does a server answer there with status 200?"""
    try:
        return httpx2.get(address, timeout=5).status_code == 200
    except httpx2.TransportError:
        return False


def read(address: str) -> Any:
    """What a server answers, as JSON."""
    return httpx2.get(address, timeout=60).raise_for_status().json()
