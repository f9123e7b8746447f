"""The tool `python` as it is used: results, charges, many calls at once, and what it says when it cannot run."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolscale.basic_tools import BasicResult, PythonSettings, PythonTool
from toolscale.basic_tools.seccomp import (
    ALLOW,
    AUDIT_ARCH,
    FREE,
    JUMP_IF_EQUAL,
    KILL_PROCESS,
    LOAD,
    REFUSE,
    RETURN,
    filter_program,
)
from toolscale.errors import BasicToolError

PROBLEM = """
from fractions import Fraction
from math import comb
print(Fraction(comb(10, 3), 2**10))
"""


@pytest.fixture(scope="module")
def tool() -> PythonTool:
    with PythonTool() as opened:
        yield opened


def test_a_call_costs_and_takes_the_same_each_time(tool: PythonTool) -> None:
    assert asyncio.run(tool.call({"code": PROBLEM})) == BasicResult("15/128", None, 0.0000083, 1.0)


def test_a_measured_call_costs_its_seconds() -> None:
    with PythonTool(PythonSettings(price_per_call=None, latency_per_call=None, price_per_second=1.0)) as measured:
        result = asyncio.run(measured.call({"code": "import time; time.sleep(0.2); total = sum(range(10**6))"}))
    assert (result.content, result.error) == ("(It ran, and printed nothing.)", None)
    assert 0 < result.cost_usd < result.latency_s
    assert result.latency_s >= 0.2


@pytest.mark.parametrize(
    ("code", "content", "error"),
    [
        (
            "print('half')\n1/0",
            "half\nError: ZeroDivisionError: division by zero",
            "ZeroDivisionError: division by zero",
        ),
        ("print(", "Error: SyntaxError: '(' was never closed", "SyntaxError: '(' was never closed"),
        ("import sys; sys.exit('no answer')", "Error: no answer", "no answer"),
        ("import sys; print('done'); sys.exit()", "done", None),
        (
            "import numpy",
            "Error: ModuleNotFoundError: No module named 'numpy'",
            "ModuleNotFoundError: No module named 'numpy'",
        ),
        (
            "'\ud800'",
            "Error: UnicodeEncodeError: 'utf-8' codec can't encode character '\\ud800' "
            "in position 1: surrogates not allowed",
            "UnicodeEncodeError: 'utf-8' codec can't encode character '\\ud800' in position 1: surrogates not allowed",
        ),
        ("input()", "Error: EOFError: EOF when reading a line", "EOFError: EOF when reading a line"),
        (
            "import dataclasses\n@dataclasses.dataclass\nclass A:\n    x: int\nif __name__ == '__main__': print(A(1))",
            "A(x=1)",
            None,
        ),
        ("7 * 6", "42", None),
        ("x = 'a'\nx * 3", "'aaa'", None),
        ("x = 5", "(It ran, and printed nothing.)", None),
        ("print(1)\nNone", "1", None),
        ("1\n1/0", "Error: ZeroDivisionError: division by zero", "ZeroDivisionError: division by zero"),
        ("print('é', '\\ud800')", "é \\ud800", None),
        ("x = 'x' * 9000\nprint(x)", "x" * 8000 + "\n[cut: only the first 8,000 bytes of the output are shown]", None),
    ],
)
def test_what_the_model_reads(tool: PythonTool, code: str, content: str, error: str | None) -> None:
    assert asyncio.run(tool.call({"code": code})) == BasicResult(content, error, 0.0000083, 1.0)


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ({}, "the one argument is `code`, a text"),
        ({"code": 5}, "the one argument is `code`, a text"),
        ({"code": "1", "timeout": 5}, "the one argument is `code`, a text"),
        ({"code": " \n"}, "`code` is empty"),
        ({"code": "#" * 100_001}, "`code` has 100,001 characters; at most 100,000 are taken"),
    ],
)
def test_a_call_that_is_not_made_costs_nothing(tool: PythonTool, arguments: dict[str, object], why: str) -> None:
    assert asyncio.run(tool.call(arguments)) == BasicResult(f"Error: {why}", why, 0.0, 0.0)


def test_the_same_code_prints_the_same_in_another_process() -> None:
    code = (
        "import random, time; print(random.random(), {'a', 'b', 'c'}, "
        "hash('x'), time.tzname, __name__, round(random.gauss(0, 1), 9))"
    )
    results = []
    for _process in range(2):
        with PythonTool() as tool:
            results.append(asyncio.run(tool.run(code)).stdout)
    assert results[0] == results[1]


def test_scratch_can_be_used(tool: PythonTool) -> None:
    code = (
        "import json, os, sqlite3, tempfile\nopen('f', 'w').write('12')\nos.mkdir('d')\n"
        "os.rename('f', 'd/g')\nprint(open('d/g').read())\n"
        "with tempfile.NamedTemporaryFile('w+') as file, tempfile.TemporaryDirectory() as folder:\n"
        "    json.dump([1], file)\n"
        "print(sqlite3.connect('x.db').execute('SELECT 1').fetchall(), sorted(os.listdir()))"
    )
    assert asyncio.run(tool.call({"code": code})).content == "12\n[(1,)] ['d', 'x.db']"


def test_many_tasks_call_at_once(tool: PythonTool) -> None:
    async def ask(number: int) -> str:
        return (
            await tool.run(f"import time; time.sleep(0.01); open('f', 'w').write('{number}'); print(open('f').read())")
        ).stdout

    async def everyone() -> list[str]:
        return await asyncio.gather(*[ask(number) for number in range(64)])

    assert asyncio.run(everyone()) == [f"{number}\n" for number in range(64)]


def test_cancelled_code_is_killed_and_its_turn_given_on() -> None:
    async def cancel(tool: PythonTool) -> str:
        task = asyncio.create_task(tool.run("import time; time.sleep(100)"))
        await asyncio.sleep(0.1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return (await tool.run("print(1)")).stdout

    with PythonTool(PythonSettings(parallel=1, wall_s=200)) as tool:
        assert asyncio.run(cancel(tool)) == "1\n"


def test_code_that_sleeps_is_stopped() -> None:
    with PythonTool(PythonSettings(wall_s=0.3)) as tool:
        result = asyncio.run(tool.run("print('here', flush=True)\nimport time; time.sleep(100)"))
    assert (result.stdout, result.error) == ("here\n", "stopped: it ran for more than 0.3 seconds")


def test_without_a_protection_nothing_runs() -> None:
    with pytest.raises(
        BasicToolError,
        match=r"^the tool python cannot run code safely here: nothing keeps it from files: namespaces cannot be used",
    ):
        PythonTool(forgo=("landlock", "namespaces"))


def test_a_python_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(
        BasicToolError,
        match=r"cannot start .*/python: No such file or directory; name a Python 3\.11 or later as `executable`$",
    ):
        PythonTool(PythonSettings(executable=str(tmp_path / "python")))


def test_a_closed_tool_says_so() -> None:
    tool = PythonTool()
    tool.close()
    with pytest.raises(BasicToolError, match=r"^the tool python is closed; open the tools again$"):
        asyncio.run(tool.run("1"))


def test_a_process_that_was_killed_is_replaced() -> None:
    with PythonTool() as tool:
        os.kill(tool.pid, signal.SIGKILL)
        os.waitid(os.P_PID, tool.pid, os.WEXITED | os.WNOWAIT)
        assert asyncio.run(tool.run("print(1)")).stdout == "1\n"


def test_a_fork_that_ends_leaves_the_tool_open() -> None:
    script = (
        "import asyncio, os\nfrom toolscale.basic_tools import PythonTool\ntool = PythonTool()\npid = os.fork()\n"
        "if pid: os.waitpid(pid, 0); print(asyncio.run(tool.run('print(1)')).stdout); tool.close()"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, cwd=Path(__file__).parents[2], check=False
    )
    assert (done.stdout, done.stderr, done.returncode) == ("1\n\n", "", 0)


def evaluated(program: list[tuple[int, int, int, int]], words: dict[int, int]) -> int:
    """What a filter says about a call: `struct seccomp_data` as 32-bit words by offset."""
    at, loaded = 0, 0
    while True:
        code, if_true, if_false, value = program[at]
        if code == RETURN:
            return value
        if code == LOAD:
            loaded = words.get(value, 0)
        else:
            assert code == JUMP_IF_EQUAL
            at += if_true if loaded == value else if_false
        at += 1


@given(
    st.sampled_from(["x86_64", "aarch64"]), st.integers(0, 600), st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 1)
)
def test_the_filter_of_both_machines(machine: str, number: int, first: int, second: int) -> None:
    program = filter_program(77, machine)
    column = 0 if machine == "x86_64" else 1
    words = {0: number, 4: AUDIT_ARCH[machine], 16: first, 24: second}
    fcntl, kill = ((72, 62), (25, 129))[column]
    if number in {pair[column] for pair in FREE.values()}:
        assert evaluated(program, words) == ALLOW
    assert evaluated(program, words | {0: kill}) == (ALLOW if first == 77 else REFUSE)
    assert evaluated(program, words | {0: fcntl, 24: 8}) == REFUSE
    assert evaluated(program, words | {0: fcntl, 24: 1030}) == ALLOW
    assert evaluated(program, words | {4: 0x40000003}) == KILL_PROCESS
    for refused in ((41, 57, 58, 59, 101, 165, 272, 321, 425), (198, 221, 117, 40, 97, 280, 425))[column]:
        assert evaluated(program, words | {0: refused}) == REFUSE
