"""A server of `toolscale serve --http` in a process of its own."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2


@contextmanager
def serving(*options: str | Path, **environment: str) -> Iterator[httpx2.Client]:
    """A server of `toolscale serve --http` on any port, and a client of it."""
    command = [sys.executable, "-m", "toolscale", "serve", *map(str, options), "--http", "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=os.environ | environment) as process:
        assert process.stderr is not None
        lines = iter(process.stderr.readline, "")
        found = next(match for line in lines if (match := re.search(r"running on (http://\S+)", line)))
        try:
            with httpx2.Client(base_url=found[1], timeout=60) as client:
                yield client
        finally:
            process.send_signal(signal.SIGINT)
            assert process.wait(30) == 0, process.stderr.read()
