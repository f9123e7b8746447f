"""The system calls that model-written code may make: a list of what is allowed, installed as a seccomp filter.

Everything that is not listed fails with EPERM: sockets, new processes and threads, execve, ptrace, mounts, io_uring,
bpf, keys, links, changes of owner or mode, other processes' memory. Numbers: `asm/unistd_64.h` of Linux for x86_64,
`asm-generic/unistd.h` for aarch64. Filters: Documentation/userspace-api/seccomp_filter.rst. Only the standard library
is imported here.
"""

from __future__ import annotations

import ctypes
import errno
import struct
from collections.abc import Iterable

from toolscale.basic_tools.system_calls import MACHINE, PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, prctl

AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
ALLOW, KILL_PROCESS, REFUSE = 0x7FFF0000, 0x80000000, 0x00050000 | errno.EPERM
LOAD, JUMP_IF_EQUAL, RETURN = 0x20, 0x15, 0x06

# name -> (number on x86_64, number on aarch64); None where the machine has no such call.
FREE: dict[str, tuple[int | None, int]] = {
    "read": (0, 63), "write": (1, 64), "close": (3, 57), "fstat": (5, 80), "lseek": (8, 62), "mmap": (9, 222),
    "mprotect": (10, 226), "munmap": (11, 215), "brk": (12, 214), "rt_sigaction": (13, 134),
    "rt_sigprocmask": (14, 135), "rt_sigreturn": (15, 139), "pread64": (17, 67), "pwrite64": (18, 68),
    "readv": (19, 65), "writev": (20, 66), "sched_yield": (24, 124), "mremap": (25, 216), "madvise": (28, 233),
    "dup": (32, 23), "nanosleep": (35, 101), "getitimer": (36, 102), "setitimer": (38, 103), "getpid": (39, 172),
    "exit": (60, 93), "uname": (63, 160), "fsync": (74, 82), "fdatasync": (75, 83), "ftruncate": (77, 46),
    "getcwd": (79, 17), "chdir": (80, 49), "fchdir": (81, 50), "umask": (95, 166), "gettimeofday": (96, 169),
    "getrlimit": (97, 163), "getrusage": (98, 165), "sysinfo": (99, 179), "times": (100, 153), "getuid": (102, 174),
    "getgid": (104, 176), "geteuid": (107, 175), "getegid": (108, 177), "getppid": (110, 173),
    "rt_sigpending": (127, 136), "rt_sigtimedwait": (128, 137), "sigaltstack": (131, 132), "gettid": (186, 178),
    "futex": (202, 98), "sched_getaffinity": (204, 123), "getdents64": (217, 61), "set_tid_address": (218, 96),
    "restart_syscall": (219, 128), "clock_gettime": (228, 113), "clock_getres": (229, 114),
    "clock_nanosleep": (230, 115), "exit_group": (231, 94), "openat": (257, 56), "mkdirat": (258, 34),
    "newfstatat": (262, 79), "unlinkat": (263, 35), "renameat": (264, 38), "readlinkat": (267, 78),
    "faccessat": (269, 48), "pselect6": (270, 72), "ppoll": (271, 73), "set_robust_list": (273, 99), "dup3": (292, 24),
    "renameat2": (316, 276), "getrandom": (318, 278), "statx": (332, 291), "rseq": (334, 293),
    "close_range": (436, 436), "faccessat2": (439, 439),
}  # fmt: skip

ONLY_X86_64 = {
    "open": 2, "stat": 4, "lstat": 6, "poll": 7, "access": 21, "select": 23, "dup2": 33, "pause": 34, "alarm": 37,
    "rename": 82, "mkdir": 83, "rmdir": 84, "creat": 85, "unlink": 87, "readlink": 89, "getpgrp": 111, "time": 201,
}  # fmt: skip

FCNTL, IOCTL, KILL, TGKILL, PRLIMIT = (72, 25), (16, 29), (62, 129), (234, 131), (302, 261)
FCNTL_COMMANDS = (0, 1, 2, 3, 4, 5, 6, 1030)
"""Duplicating, flags, and locks that do not wait. Not F_SETOWN, F_SETSIG or F_SETLEASE, which let the kernel send
signals to other processes."""
IOCTL_COMMANDS = (0x5401, 0x5413, 0x5421, 0x5451)
"""TCGETS and TIOCGWINSZ (is it a terminal), FIONBIO, FIOCLEX."""

Instruction = tuple[int, int, int, int]


def filter_program(pid: int, machine: str = MACHINE) -> list[Instruction]:
    """Return the filter as BPF instructions (code, jump if true, jump if false, value). Signals may be sent to `pid`
    alone."""
    column = 0 if machine == "x86_64" else 1
    numbers = [pair[column] for pair in FREE.values()] + (list(ONLY_X86_64.values()) if machine == "x86_64" else [])
    program: list[Instruction] = [
        (LOAD, 0, 0, 4),
        (JUMP_IF_EQUAL, 1, 0, AUDIT_ARCH[machine]),
        (RETURN, 0, 0, KILL_PROCESS),
        (LOAD, 0, 0, 0),
    ]
    for number in numbers:
        if number is not None:
            program += [(JUMP_IF_EQUAL, 0, 1, number), (RETURN, 0, 0, ALLOW)]
    program += _only(FCNTL[column], [(_low(1), FCNTL_COMMANDS)])
    program += _only(IOCTL[column], [(_low(1), IOCTL_COMMANDS)])
    program += _only(KILL[column], [(_low(0), (pid,))])
    program += _only(TGKILL[column], [(_low(0), (pid,))])
    program += _only(PRLIMIT[column], [(_low(0), (0, pid)), (_low(2), (0,)), (_low(2) + 4, (0,))])
    return [*program, (RETURN, 0, 0, REFUSE)]


def install(program: Iterable[Instruction]) -> None:
    """Put this process under the filter. It cannot be taken off again. Raises OSError where the kernel has no
    seccomp."""
    code = b"".join(struct.pack("=HBBI", *instruction) for instruction in program)
    buffer = ctypes.create_string_buffer(code, len(code))
    prctl(PR_SET_NO_NEW_PRIVS, 1)
    head = ctypes.create_string_buffer(struct.pack("@HP", len(code) // 8, ctypes.addressof(buffer)))
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(head))


def _low(argument: int) -> int:
    """Return where the low half of an argument lies in `struct seccomp_data`, on a little-endian machine."""
    return 16 + 8 * argument


def _only(number: int, conditions: list[tuple[int, tuple[int, ...]]]) -> list[Instruction]:
    """Return instructions that allow a call if each of some words of its arguments is one of the given values, and
    refuse it otherwise."""
    body: list[Instruction] = []
    for offset, values in conditions:
        body.append((LOAD, 0, 0, offset))
        for place, value in enumerate(values):
            body.append((JUMP_IF_EQUAL, len(values) - place, 0, value))
        body.append((RETURN, 0, 0, REFUSE))
    body.append((RETURN, 0, 0, ALLOW))
    return [(JUMP_IF_EQUAL, 0, len(body), number), *body]
