"""In the container: look for texts everywhere, and print where they are. The texts come reversed, so that nothing finds
what is told here."""

import json
import os
import re
import sys
from contextlib import suppress
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

DESK, OURS = sys.argv[1], {os.getpid(), os.getppid()}
NEEDLES = [each[::-1].encode() for each in json.loads(sys.argv[2])]
OF_THE_MACHINE = {"/proc", "/sys", "/dev", "/usr", *sys.argv[3:]}
MOST = 1 << 26
found = []


def look(place, content):
    found.extend(f"{place}: {needle.decode()}" for needle in NEEDLES if needle in content)


def memory(process):
    with (process / "maps").open() as maps, (process / "mem").open("rb", 0) as mem:
        for line in maps:
            start, end, mode = re.match(r"(\w+)-(\w+) (\S+)", line).groups()
            if mode[0] == "r":
                with suppress(OSError, ValueError, OverflowError):
                    mem.seek(int(start, 16))
                    yield mem.read(min(int(end, 16) - int(start, 16), MOST))


look("environment", json.dumps(dict(os.environ)).encode())
for folder, folders, files in os.walk("/"):
    folders[:] = [each for each in folders if str(Path(folder, each)) not in OF_THE_MACHINE]
    for name in files:
        with suppress(OSError), Path(folder, name).open("rb") as file:
            look(file.name, name.encode() + file.read(MOST))
for process in Path("/proc").glob("[0-9]*"):
    if int(process.name) not in OURS:
        for name in ("cmdline", "environ"):
            with suppress(OSError):
                look(process / name, (process / name).read_bytes())
        with suppress(OSError):
            for content in memory(process):
                look(process / "mem", content)
        for link in ("root", "cwd", "exe"):
            with suppress(OSError):
                look(process / link, str((process / link).readlink()).encode())
statuses = {}
for path in ("health", "tools", "grade", "episodes", "solution", "tasks", "mcp"):
    for body in (None, b"{}"):
        for headers in ({}, {"Authorization": "Bearer "}, {"Authorization": "Bearer token"}):
            try:
                with urlopen(Request(f"{DESK}/{path}", body, headers), timeout=20) as answered:
                    look(path, answered.read())
                    status = answered.status
            except HTTPError as error:
                look(path, error.read())
                status = error.code
            statuses.setdefault(path, []).append(status)
print(json.dumps({"found": sorted(set(found)), "statuses": statuses}))
