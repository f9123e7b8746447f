"""The few calls of Linux that the sandbox of the interpreter needs and Python 3.11 does not offer, through ctypes.

Every function raises OSError with the name of the call. Only the standard library is imported here: the module runs in
the sandbox's own process.
"""

from __future__ import annotations

import ctypes
import os
import platform
from typing import Any

CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWIPC = 0x20000, 0x4000000, 0x8000000
CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET = 0x10000000, 0x20000000, 0x40000000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT = 1, 2, 4, 8, 32
MS_NOATIME, MS_NODIRATIME, MS_BIND, MS_REC, MS_PRIVATE, MS_RELATIME = (
    1 << 10,
    1 << 11,
    1 << 12,
    1 << 14,
    1 << 18,
    1 << 21,
)
MNT_DETACH = 2
PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS = 1, 4, 22, 38
SECCOMP_MODE_FILTER = 2

MACHINE = {"x86_64": "x86_64", "amd64": "x86_64", "aarch64": "aarch64", "arm64": "aarch64"}.get(
    platform.machine().lower(), ""
)
"""The machine whose numbers of system calls are used; empty: one that is not known here."""

PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}.get(MACHINE, -1)

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long


def system_call(name: str, number: int, *arguments: Any) -> int:
    """Make a system call by its number. Whole numbers are passed as 64 bits."""
    ready = [ctypes.c_long(value) if isinstance(value, int) else value for value in arguments]
    return checked(name, _libc.syscall(ctypes.c_long(number), *ready))


def prctl(option: int, value: Any, third: Any = 0) -> None:
    """Change a property of this process."""
    third = ctypes.c_ulong(third) if isinstance(third, int) else third
    checked(f"prctl {option}", _libc.prctl(option, ctypes.c_ulong(value), third, ctypes.c_ulong(0), ctypes.c_ulong(0)))


def unshare(flags: int) -> None:
    """Enter new namespaces."""
    checked("unshare", _libc.unshare(flags))


def mount(source: str | None, target: str, kind: str | None, flags: int, options: str | None = None) -> None:
    """Mount, bind or remount."""
    texts = [None if text is None else os.fsencode(text) for text in (source, target, kind, options)]
    checked(f"mount {target}", _libc.mount(texts[0], texts[1], texts[2], ctypes.c_ulong(flags), texts[3]))


def make_current_folder_the_root() -> None:
    """Let the current folder, a mount of its own, be `/`, and let go of everything outside it."""
    system_call("pivot_root", PIVOT_ROOT, b".", b".")
    checked("umount2", _libc.umount2(b".", MNT_DETACH))
    os.chdir("/")


def drop_capabilities() -> None:
    """Give up every capability of this process, for good as long as it cannot gain new ones (PR_SET_NO_NEW_PRIVS)."""
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    checked("capset", _libc.capset(header, (ctypes.c_uint32 * 6)()))


def checked(name: str, result: int) -> int:
    """Return what a call returned, unless it is an error."""
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")
    return result
