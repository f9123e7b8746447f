"""Servers that stand in for vLLM."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from stand_in_vllm import Server, serving


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as found:
        yield found


@pytest.fixture
def second() -> Iterator[Server]:
    with serving() as found:
        yield found
