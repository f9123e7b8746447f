"""Images without a container engine: a folder that is the root of a room, made of this machine's own programs and of
what a Containerfile adds to them. `FROM` is not looked at."""

import json
import re
import shlex
import shutil
import subprocess
from pathlib import Path

ROOM = Path(__file__).with_name("room.sh")
NAMESPACES = ("--mount", "--pid", "--ipc", "--uts")
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
LINKS = ("bin", "sbin", "lib", "lib64")
FOLDERS = ("usr", "local/bin", "local/lib", "local/sbin", "home", "root", "proc", "dev", "var/log", "run")

ETC = (
    "passwd", "group", "shadow", "gshadow", "login.defs", "default", "skel", "hosts", "nsswitch.conf", "localtime",
    "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "ssl", "alternatives",
)  # fmt: skip


def base(to: Path, python: Path) -> None:
    """Make the root that an image begins with."""
    for name in FOLDERS:
        (to / name).mkdir(parents=True)
    (to / str(python).lstrip("/")).mkdir(parents=True)
    for name in ("tmp", "var/tmp"):
        (to / name).mkdir()
        (to / name).chmod(0o1777)
    (to / "root").chmod(0o711)
    for name in LINKS:
        (to / name).symlink_to(f"usr/{name}")
    for name in ("python", "python3"):  # a link would have the prefix /usr/local, in which nothing of it lies
        (to / "local" / "bin" / name).write_text(f'#!/bin/sh\nexec {python}/bin/{name} "$@"\n')
        (to / "local" / "bin" / name).chmod(0o755)
    (to / "etc").mkdir()
    subprocess.run(
        ["cp", "-a", *(f"/etc/{name}" for name in ETC if Path("/etc", name).exists()), to / "etc"], check=True
    )


class Room:
    """A root in which commands run, each in `nsenter`; whoever opened it closes it."""

    def __init__(self, root: Path, python: Path, *, lower: bool, network: bool) -> None:
        shared = NAMESPACES if network else (*NAMESPACES, "--net")
        command = ["setpriv", "--pdeathsig", "KILL", "unshare", *shared, "--fork", "--kill-child"]
        self._process = subprocess.Popen(
            [*command, "sh", ROOM, root, python, *(["lower"] if lower else [])], stdout=subprocess.PIPE, text=True
        )
        assert self._process.stdout is not None and self._process.stdout.readline() == "ready\n", "no room was made"
        pid = self._process.pid
        self._inner = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0]
        self._namespaces = [*shared]

    def command(self, command: list[str], user: str, env: dict[str, str], cwd: str) -> list[str]:
        """The command on this machine that runs one in the room, with nothing of our environment."""
        who = ["setpriv", f"--reuid={user}", f"--regid={user}", "--init-groups"] if user != "root" else []
        told = [f"{name}={value}" for name, value in ({"PATH": PATH, "HOME": f"/home/{user}"} | env).items()]
        there = ["sh", "-c", 'cd "$0" && exec "$@"', cwd]
        return ["nsenter", "--target", self._inner, *self._namespaces, *who, "env", "-i", *told, *there, *command]

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()


def steps(containerfile: Path) -> list[tuple[str, str]]:
    """Instruction and words of each step, continued lines joined."""
    lines = re.sub(r"\\\n\s*", "", containerfile.read_text()).splitlines()
    return [(line.split()[0], line.split(maxsplit=1)[1]) for line in lines if line.strip() and line[0] != "#"]


def build(context: Path, containerfile: Path, python: Path, to: Path, env: dict[str, str] | None = None) -> Path:
    """Make an image. `python`: the prefix of the Python that it has; `env`: of the build alone."""
    root = to / "root"
    base(root, python)
    variables: dict[str, str] = {}
    workdir = "/"
    room = Room(root, python, lower=False, network=True)
    try:
        for name, words in steps(containerfile):
            if name == "ENV":
                variables |= dict(word.split("=", 1) for word in shlex.split(words))
            elif name == "WORKDIR":
                workdir = words
                (root / words.lstrip("/")).mkdir(parents=True, exist_ok=True)
            elif name == "COPY":
                *sources, target = words.split()
                for source in sources:
                    _copy(context / source, root / target.lstrip("/"), target.endswith("/"))
            elif name == "RUN":
                shell = room.command(["sh", "-ec", words], "root", variables | {"HOME": "/root"} | (env or {}), workdir)
                subprocess.run(shell, check=True, stdin=subprocess.DEVNULL, stdout=2)
    finally:
        room.close()
    (to / "image.json").write_text(json.dumps({"env": variables, "workdir": workdir, "python": str(python)}))
    return to


def _copy(source: Path, target: Path, is_folder: bool) -> None:
    target = target / source.name if is_folder and source.is_file() else target
    target = Path(str(target).replace("/usr/local/", "/local/"))  # where a room has it from
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target, dirs_exist_ok=True)
    else:
        shutil.copy(source, target)
