"""The process in which model-written code runs: first it gives up everything, then it runs the code.

Nothing here protects anything once the code has begun: by then the kernel does. Only the standard library is imported.
"""

from __future__ import annotations

import ast
import builtins
import os
import random
import resource
import signal
import sys
import traceback
import types
from typing import Any, NoReturn

from toolscale.basic_tools import landlock, namespaces, seccomp, system_calls

LOCKED = b"locked"
"""What the keeper is told when every layer holds; anything else is the reason why not."""

NAME = "<code>"


def run_locked(
    code: str,
    limits: dict[str, Any],
    layers: list[str],
    libraries: list[str],
    scratch: str,
    out: int,
    err: int,
    locked: int,
) -> NoReturn:
    """Lock this process up, tell so on `locked`, run the code, end. Prints go to `out`, tracebacks to `err`."""
    try:
        locked = _only_three_files(out, err, locked)
        _lock(limits, layers, libraries, scratch)
    except BaseException as error:
        os.write(locked, f"{type(error).__name__}: {error}".encode() or b"?")
        os._exit(1)
    os.write(locked, LOCKED)
    os.close(locked)
    status = 1
    try:
        status = _execute(code)
    finally:
        os._exit(status)


def _only_three_files(out: int, err: int, locked: int) -> int:
    """Leave open the null device, the two pipes, and, until the code begins, the one for `locked`, which becomes 3."""
    moved = [os.dup(fd) for fd in (out, err, locked)]  # a number that is about to be taken must not be one of the three
    if min(moved) <= 3:
        moved = [os.dup(fd) for fd in moved]
    for number, fd in enumerate(moved, start=1):
        os.dup2(fd, number)
    os.closerange(4, 1 << 20)
    return 3


def _lock(limits: dict[str, Any], layers: list[str], libraries: list[str], scratch: str) -> None:
    os.chdir(scratch)
    system_calls.prctl(system_calls.PR_SET_NO_NEW_PRIVS, 1)
    if "landlock" in layers:
        landlock.restrict(libraries, scratch, covered="namespaces" in layers)
    become_nobody()
    system_calls.drop_capabilities()
    system_calls.prctl(system_calls.PR_SET_PDEATHSIG, signal.SIGKILL)
    system_calls.prctl(system_calls.PR_SET_DUMPABLE, 0)
    for name, most in (
        ("CPU", limits["cpu_s"]),
        ("AS", limits["memory_bytes"]),
        ("FSIZE", limits["file_bytes"]),
        ("NOFILE", limits["open_files"]),
        ("NPROC", 0),
        ("CORE", 0),
        ("MEMLOCK", 0),
        ("MSGQUEUE", 0),
        ("SIGPENDING", 64),
        ("NICE", 0),
        ("RTPRIO", 0),
    ):
        kind = getattr(resource, f"RLIMIT_{name}")
        hard = resource.getrlimit(kind)[1]
        allowed = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (allowed, allowed))
    seccomp.install(seccomp.filter_program(os.getpid()))


def become_nobody() -> None:
    """If this process runs as root, change it to a user who owns nothing; otherwise do nothing."""
    if os.geteuid() == 0:
        os.setgroups([])
        os.setresgid(namespaces.NOBODY, namespaces.NOBODY, namespaces.NOBODY)
        os.setresuid(namespaces.NOBODY, namespaces.NOBODY, namespaces.NOBODY)


def _execute(code: str) -> int:
    """Run the code as the main module, and return the exit status."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for name, fd in (("stdout", 1), ("stderr", 2)):
        opened = open(fd, "w", buffering=1, encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115
        setattr(sys, name, opened)
        setattr(sys, f"__{name}__", opened)
    random.seed(0)
    sys.argv = [NAME]
    module = sys.modules["__main__"] = types.ModuleType("__main__")
    module.__dict__["__builtins__"] = builtins
    status = 0
    try:
        _run(code, module.__dict__)
    except SystemExit as end:
        if end.code is not None and not isinstance(end.code, int):
            print(end.code, file=sys.stderr)
        status = 0 if end.code is None else end.code & 255 if isinstance(end.code, int) else 1
    except BaseException:
        traceback.print_exc()
        status = 1
    sys.stdout.flush()
    sys.stderr.flush()
    return status


def _run(code: str, names: dict[str, Any]) -> None:
    """Run the code. Where it ends with an expression, print its value, as the interactive interpreter does: `7 * 6`
    alone gives 42."""
    tree = ast.parse(code, NAME)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, NAME, "exec", dont_inherit=True), names)
    if last is not None:
        exec(compile(ast.Interactive([last]), NAME, "single", dont_inherit=True), names)
