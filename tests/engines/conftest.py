"""One real server for all tests of this folder that change nothing in it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import tables
from engines import MODEL, Engine, vllm


@pytest.fixture(scope="session")
def vllm_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """A vLLM that serves SmolLM2 with its own weights, with tools in Hermes' form. Tests that change its weights start
    one of their own."""
    with vllm(MODEL, tmp_path_factory.mktemp("vllm")) as engine:
        yield engine


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Show what was found, where anything was tried."""
    if tables.ROWS:
        for line in ("", *tables.table()):
            terminalreporter.write_line(line)
