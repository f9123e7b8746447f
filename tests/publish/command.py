"""The command line against a server, as tests use it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from toolscale.cli import main


@dataclass
class Command:
    """`toolscale` as a person runs it against the server."""

    endpoint: str
    capture: pytest.CaptureFixture[str]
    environ: pytest.MonkeyPatch

    def __call__(self, *arguments: str | Path, token: str = "hf_write") -> tuple[int, str, str]:
        """Run a verb; return its exit status, stdout and stderr, with the endpoint written as HUB. The token is in
        neither."""
        self.environ.setenv("HF_TOKEN", token)
        status = main([*map(str, arguments), "--endpoint", self.endpoint])
        told = self.capture.readouterr()
        assert token not in told.out + told.err
        return status, told.out.replace(self.endpoint, "HUB"), told.err.replace(self.endpoint, "HUB")
