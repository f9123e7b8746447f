"""Which files model-written code may open: a Landlock rule set (Linux 6.2 or later), independent of mounts and of
users.

Numbers: `linux/landlock.h`. Only the standard library is imported here.
"""

from __future__ import annotations

import ctypes
import os
import stat
import struct
from collections.abc import Iterable

from toolscale.basic_tools.system_calls import system_call

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
LEAST_VERSION = 3
"""Before version 3 a file that may only be read could still be cut to nothing."""

WRITE_FILE, READ_FILE, READ_DIR, REMOVE_DIR, REMOVE_FILE, MAKE_DIR, MAKE_REG = (
    1 << 1,
    1 << 2,
    1 << 3,
    1 << 4,
    1 << 5,
    1 << 7,
    1 << 8,
)
REFER, TRUNCATE = 1 << 13, 1 << 14
ALL_OF_FILES = {3: 0x7FFF, 4: 0x7FFF}
"""Every right over files that a version knows; from version 5 on, ioctl of devices too."""
IN_SCRATCH = WRITE_FILE | READ_FILE | READ_DIR | REMOVE_DIR | REMOVE_FILE | MAKE_DIR | MAKE_REG | REFER | TRUNCATE
BIND_AND_CONNECT_TCP = 0b11
ABSTRACT_SOCKETS_AND_SIGNALS = 0b11

NOT_READ = frozenset(("site-packages", "dist-packages"))
"""Folders of the standard library that hold what else is installed."""


def version() -> int:
    """Return the version of Landlock that runs here; 0 if there is none, or it is switched off."""
    try:
        return system_call("landlock_create_ruleset", CREATE_RULESET, None, 0, 1)
    except OSError:
        return 0


def restrict(libraries: Iterable[str], scratch: str, *, covered: bool) -> None:
    """From now on this process can open only files in the library folders, to read, and in the scratch folder, to read
    and write. PR_SET_NO_NEW_PRIVS must be set.

    `covered`: empty folders are mounted over those of NOT_READ (namespaces.py), so that a library is one rule. Else
    each of its entries is, hundreds in all, which takes longer than most code.
    """
    known = version()
    files = ALL_OF_FILES.get(known, 0xFFFF)
    network = BIND_AND_CONNECT_TCP if known >= 4 else 0
    scopes = ABSTRACT_SOCKETS_AND_SIGNALS if known >= 6 else 0
    attributes = struct.pack("=QQQ", files, network, scopes)[: 24 if known >= 6 else 16 if known >= 4 else 8]
    rules = system_call(
        "landlock_create_ruleset",
        CREATE_RULESET,
        ctypes.create_string_buffer(attributes, len(attributes)),
        len(attributes),
        0,
    )
    try:
        for folder in libraries:
            _allow(rules, folder, READ_FILE | READ_DIR if covered else READ_DIR)
            for entry in () if covered else os.scandir(folder):
                if entry.name not in NOT_READ:
                    _allow(rules, entry.path, READ_FILE | READ_DIR)
        _allow(rules, scratch, IN_SCRATCH)
        system_call("landlock_restrict_self", RESTRICT_SELF, rules, 0)
    finally:
        os.close(rules)


def _allow(rules: int, path: str, rights: int) -> None:
    try:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:  # a link that leads nowhere
        return
    try:
        if not stat.S_ISDIR(os.fstat(place).st_mode):
            rights &= WRITE_FILE | READ_FILE | TRUNCATE
        rule = ctypes.create_string_buffer(struct.pack("=Qi", rights, place), 12)
        system_call("landlock_add_rule", ADD_RULE, rules, 1, rule, 0)
    finally:
        os.close(place)
