"""Two real servers for all tests of this folder: a vLLM takes 100 seconds to start."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import tables
from engines import HERMES, LLAMA, MODEL, Engine, vllm


@pytest.fixture(scope="session")
def vllm_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """A vLLM that serves SmolLM2, with tools in Hermes' form."""
    with vllm(MODEL, tmp_path_factory.mktemp("vllm"), "--chat-template", str(HERMES)) as engine:
        yield engine


@pytest.fixture(scope="session")
def second_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """Another, with tools in Llama's form. Its weights are trained, and in the end one test kills it
    (test_several_servers.py, the last module that asks for it)."""
    folder = tmp_path_factory.mktemp("second")
    options = ("--chat-template", str(LLAMA), "--tool-call-parser", "llama3_json")
    with vllm(with_python_tag(folder / "model"), folder, *options) as engine:
        yield replace(engine, name="vLLM (llama3_json)")


def with_python_tag(folder: Path) -> Path:
    """The same model with the special token that Llama's parser looks for, in the place of one that nothing uses."""
    folder.mkdir()
    for path in MODEL.iterdir():
        (folder / path.name).symlink_to(path)
    words = (MODEL / "tokenizer.json").read_text().replace("<empty_output>", "<|python_tag|>")
    (folder / "tokenizer.json").unlink()
    (folder / "tokenizer.json").write_text(words)
    return folder


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Show what was found, where anything was tried."""
    if tables.ROWS:
        for line in ("", *tables.table()):
            terminalreporter.write_line(line)
