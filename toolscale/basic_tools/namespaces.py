"""A file tree, a network and process numbers of its own for the interpreter: Linux namespaces, where they may be made.

The root user makes them directly; another user inside a user namespace, which some systems forbid. Only the standard
library is imported here.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence
from pathlib import Path

from toolscale.basic_tools import system_calls as linux
from toolscale.basic_tools.landlock import NOT_READ

SCRATCH = "/scratch"
NEW_ROOT = "/proc"
"""A folder that every system has and that holds no library. The new tree is mounted over it; only this process sees
that."""
NOBODY = 65534

_KEPT = {
    1: linux.MS_RDONLY,
    2: linux.MS_NOSUID,
    4: linux.MS_NODEV,
    8: linux.MS_NOEXEC,
    1024: linux.MS_NOATIME,
    2048: linux.MS_NODIRATIME,
}
"""Bit in the answer of statvfs about a mount -> flag of mount that keeps this property: in a user namespace none of the
properties may be removed."""


def enter(libraries: Sequence[str]) -> None:
    """Move this process where there is no network, and no file but those of the libraries, read-only. Raises OSError
    where that is forbidden."""
    user, group = os.geteuid(), os.getegid()
    is_root = user == 0
    linux.unshare(
        linux.CLONE_NEWNS
        | linux.CLONE_NEWNET
        | linux.CLONE_NEWIPC
        | linux.CLONE_NEWUTS
        | (0 if is_root else linux.CLONE_NEWUSER)
    )
    if not is_root:
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
    socket.sethostname("sandbox")
    linux.mount(None, "/", None, linux.MS_REC | linux.MS_PRIVATE)
    linux.mount("tmpfs", NEW_ROOT, "tmpfs", linux.MS_NOSUID | linux.MS_NODEV, "size=1m,mode=755")
    for folder in libraries:
        _show(folder)
    Path(NEW_ROOT + SCRATCH).mkdir()
    os.chdir(NEW_ROOT)
    linux.make_current_folder_the_root()
    linux.mount(None, "/", None, linux.MS_REMOUNT | linux.MS_BIND | linux.MS_RDONLY | linux.MS_NOSUID | linux.MS_NODEV)


def begin_call(scratch_bytes: int, scratch_files: int) -> None:
    """Give this process, which has entered, an empty scratch folder in memory; the next process that it starts has
    number 1. Both end with it."""
    linux.unshare(linux.CLONE_NEWNS | linux.CLONE_NEWPID)
    linux.mount(None, "/", None, linux.MS_REC | linux.MS_PRIVATE)
    owner, group = (NOBODY, NOBODY) if os.geteuid() == 0 else (os.geteuid(), os.getegid())
    linux.mount(
        "tmpfs",
        SCRATCH,
        "tmpfs",
        linux.MS_NOSUID | linux.MS_NODEV | linux.MS_NOEXEC,
        f"size={scratch_bytes},nr_inodes={scratch_files},mode=700,uid={owner},gid={group}",
    )


def _show(folder: str) -> None:
    """Bind a folder of libraries into the new tree under its own name, without what is installed beside the standard
    library."""
    target = NEW_ROOT + folder
    Path(target).mkdir(parents=True, exist_ok=True)
    linux.mount(folder, target, None, linux.MS_BIND | linux.MS_REC)
    for name in sorted(NOT_READ):
        if Path(target, name).is_dir():
            linux.mount(
                "tmpfs",
                f"{target}/{name}",
                "tmpfs",
                linux.MS_NOSUID | linux.MS_NODEV | linux.MS_RDONLY,
                "size=4k,mode=755",
            )
    told = os.statvfs(target).f_flag
    kept = sum(flag for bit, flag in _KEPT.items() if told & bit)
    linux.mount(
        None, target, None, linux.MS_REMOUNT | linux.MS_BIND | linux.MS_RDONLY | linux.MS_NOSUID | linux.MS_NODEV | kept
    )
