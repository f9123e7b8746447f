"""Interpreters behind different layers: an attack must fail behind all of them, and behind each layer alone."""

from __future__ import annotations

import asyncio
import os
import sysconfig
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from toolscale.basic_tools import PythonResult, PythonSettings, PythonTool
from toolscale.errors import BasicToolError

Run = Callable[[str], PythonResult]

SMALL = PythonSettings(
    cpu_s=1, wall_s=120, memory_bytes=256 << 20, stdout_bytes=2_000, output_bytes=100_000, scratch_bytes=1 << 20
)


def readable_python() -> str | None:
    """A Python whose library another user can read; none: the one that runs this."""
    library = Path(sysconfig.get_paths()["stdlib"])
    is_open = all(folder.stat().st_mode & 0o001 for folder in (library, *library.parents))
    return None if is_open or os.geteuid() != 0 else "/usr/bin/python3"


@pytest.fixture(scope="module", params=["all layers", "no landlock", "no namespaces"])
def run(request: pytest.FixtureRequest) -> Iterator[Run]:
    """Runs code and returns what it did."""
    forgo: tuple[str, ...] = {"all layers": (), "no landlock": ("landlock",), "no namespaces": ("namespaces",)}[
        request.param
    ]
    settings = SMALL.model_copy(update={"executable": readable_python() if "namespaces" in forgo else None})
    try:
        tool = PythonTool(settings, forgo=forgo)
    except BasicToolError as error:
        if not forgo:
            raise
        pytest.skip(f"this machine has only the other layer: {error}")
    with tool:
        yield lambda code: asyncio.run(tool.run(code))
