"""Results of the interpreter that are kept."""

from __future__ import annotations

import asyncio

from toolscale.basic_tools.interpreter import PythonTool
from toolscale.basic_tools.settings import PythonSettings

CLOCK = {"code": "import time; print(time.perf_counter_ns())"}


async def _contents(tool: PythonTool, count: int) -> list[str]:
    return [found.content for found in await asyncio.gather(*(tool.call(CLOCK) for _ in range(count)))]


def test_remembered_code_runs_once_also_for_calls_at_the_same_time() -> None:
    with PythonTool(PythonSettings(remember=2)) as tool:
        assert len(set(asyncio.run(_contents(tool, 8)))) == 1


def test_code_runs_each_time_unless_it_is_to_be_remembered() -> None:
    with PythonTool() as tool:
        assert len(set(asyncio.run(_contents(tool, 3)))) == 3


def test_what_was_asked_for_first_is_forgotten_first() -> None:
    async def ask(tool: PythonTool) -> tuple[str, str]:
        first = (await tool.call(CLOCK)).content
        for number in range(2):
            await tool.call({"code": f"print({number})"})
        return first, (await tool.call(CLOCK)).content

    with PythonTool(PythonSettings(remember=2)) as tool:
        first, again = asyncio.run(ask(tool))
    assert first != again
