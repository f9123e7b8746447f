"""Code that wants out. Each attack is made behind all layers, and behind each layer without the other; it prints
ESCAPED where it gets through."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from toolscale.basic_tools import PythonResult, PythonTool
from toolscale.basic_tools.keeper import remove

Run = Callable[[str], PythonResult]

SYSCALL = """
import ctypes, errno, platform
libc = ctypes.CDLL(None, use_errno=True)
def syscall(x86_64, aarch64, *arguments):
    number = x86_64 if platform.machine() == "x86_64" else aarch64
    if number is not None and libc.syscall(number, *arguments) >= 0: print("ESCAPED", x86_64)
"""

ESCAPES = {
    "a password file": """
import os
for path in ('/etc/passwd', '/etc/hosts', '/etc', '/tmp', '/sys', '/dev', '/proc',\
 '/dev/null', '/dev/urandom', '/bin/sh', '/proc/self/exe'):
    try: print('ESCAPED', path, os.listdir(path) if os.path.isdir(path) else open(path, 'rb').read(9))
    except OSError: pass
""",
    "environment of processes": """
import os
for pid in ['self', 'thread-self', 1, 2, os.getppid(), *range(1, 400)]:
    for name in ('environ', 'cmdline', 'mem', 'maps', 'root/etc/passwd', 'cwd/x', 'fd/3'):
        try: print('ESCAPED', open(f'/proc/{pid}/{name}', 'rb').read(9))
        except OSError: pass
""",
    "write anywhere": """
import os, sys
for folder in ('/', '/tmp', '/var/tmp', '/dev/shm', '/run', '..', '../..',\
 os.path.expanduser('~'), os.path.dirname(os.__file__), *sys.path):
    try: open(os.path.join(folder, 'toolscale-escaped'), 'w'); print('ESCAPED', folder)
    except OSError: pass
""",
    "change the library": """
import os
for act in (lambda: open(os.__file__, 'a'), lambda: os.chmod(os.__file__, 0), lambda: os.utime(os.__file__),\
 lambda: os.truncate(os.__file__, 0),
            lambda: os.unlink(os.__file__), lambda: os.rename(os.__file__, 'x'),\
 lambda: os.open(os.__file__, os.O_RDONLY | os.O_TRUNC),
            lambda: os.chown(os.__file__, -1, -1), lambda: os.setxattr(os.__file__, 'user.x', b'x'),\
 lambda: os.fchmod(0, 0), lambda: os.utime(0)):
    try: act(); print('ESCAPED')
    except OSError: pass
""",
    "site-packages": """
import os
folder = os.path.join(os.path.dirname(os.__file__), 'site-packages')
for path, folders, names in os.walk(folder):
    for name in names:
        try: open(os.path.join(path, name)); print('ESCAPED', name)
        except OSError: pass
""",
    "sockets": """
import socket
for family in (socket.AF_INET, socket.AF_INET6, socket.AF_UNIX, socket.AF_NETLINK, socket.AF_PACKET, 40):
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW, socket.SOCK_SEQPACKET):
        try: socket.socket(family, kind); print('ESCAPED', family)
        except OSError: pass
try: socket.socketpair(); print('ESCAPED')
except OSError: pass
""",
    "names": """
import socket
try: print('ESCAPED', socket.getaddrinfo('example.com', 80))
except OSError: pass
""",
    "processes": """
import os, subprocess, multiprocessing
for start in (os.fork, os.forkpty, lambda: subprocess.run(['/bin/sh', '-c', 'true']),\
 lambda: os.execv('/bin/sh', ['sh']),
              lambda: os.posix_spawn('/bin/sh', ['sh'], {}),
              lambda: multiprocessing.Process(target=print).start(),\
 lambda: os.execve('/proc/self/exe', ['python'], {})):
    try: start(); print('ESCAPED')
    except (OSError, RuntimeError): pass
if os.system('true') == 0: print('ESCAPED')
""",
    "threads": """
import threading
try: threading.Thread(target=print, args=('ESCAPED',)).start()
except RuntimeError: pass
""",
    "kill others": """
import os, signal
for pid in (os.getppid() or -1, -1, *range(2, 3000)):
    if pid != os.getpid():
        for number in (0, signal.SIGKILL):
            try: os.kill(pid, number); print('ESCAPED', pid)
            except OSError: pass
try: os.killpg(0, 0); print('ESCAPED')
except OSError: pass
""",
    "signals by way of a file": """
import fcntl, os
for command, value in ((fcntl.F_SETOWN, os.getppid()), (10, 9), (fcntl.F_SETLEASE, fcntl.F_WRLCK),\
 (1024 + 7, 1 << 20), (1024 + 2, 0)):
    try: fcntl.fcntl(1, command, value); print('ESCAPED', command)
    except OSError: pass
""",
    "system calls": SYSCALL
    + """
path = ctypes.c_char_p(b'/etc/passwd'); here = ctypes.c_char_p(b'.'); room = ctypes.create_string_buffer(4096)
syscall(101, 117, 16, 1, 0, 0)          # ptrace attach
syscall(310, 270, 1, room, 1, room, 1, 0)   # process_vm_readv
syscall(41, 198, 1, 1, 0)               # socket
syscall(53, 199, 1, 1, 0, room)         # socketpair
syscall(59, 221, ctypes.c_char_p(b'/bin/sh'), None, None)   # execve
syscall(322, 281, 0, path, None, None, 0x1000)   # execveat
syscall(56, 220, 17, 0, 0, 0, 0)        # clone
syscall(57, None)                       # fork
syscall(58, None)                       # vfork
syscall(435, 435, room, 88)             # clone3
syscall(165, 40, here, here, here, 4096, None)   # mount
syscall(272, 97, 0x10000000)            # unshare a user namespace
syscall(308, 268, 0, 0)                 # setns
syscall(161, 51, here)                  # chroot
syscall(155, 41, here, here)            # pivot_root
syscall(304, 265, 0, room, 0)           # open_by_handle_at
syscall(303, 264, -100, here, room, room, 0)     # name_to_handle_at
syscall(425, 425, 8, room)              # io_uring_setup
syscall(321, 280, 0, room, 64)          # bpf
syscall(250, 219, 0, -3, 1)             # keyctl
syscall(248, 217, here, here, room, 1, -3)       # add_key
syscall(298, 241, room, 0, -1, -1, 0)   # perf_event_open
syscall(323, 282, 1)                    # userfaultfd
syscall(319, 279, here, 0)              # memfd_create
syscall(434, 434, 1, 0)                 # pidfd_open
syscall(424, 424, 0, 9, None, 0)        # pidfd_send_signal
syscall(438, 438, 0, 0, 0)              # pidfd_getfd
syscall(437, 437, -100, path, room, 24)     # openat2
syscall(428, 428, -100, here, 1)        # open_tree
syscall(126, 91, room, room)            # capset
syscall(105, 146, 0)                    # setuid
syscall(157, 167, 4, 1, 0, 0, 0)        # prctl
syscall(317, 277, 1, 0, room)           # seccomp
syscall(135, 92, 0x0040000)             # personality
syscall(86, None, path, here)           # link
syscall(88, None, path, ctypes.c_char_p(b'l'))   # symlink
syscall(133, None, ctypes.c_char_p(b'f'), 0o10600, 0)    # mknod
syscall(29, 194, 0, 4096, 0o1600)       # shmget
syscall(68, 186, 7, 0o1600)             # msgget
syscall(240, 180, ctypes.c_char_p(b'q'), 0o102, 0o600, None)    # mq_open
syscall(302, 261, 0, 7, room, None)     # prlimit64 that sets
syscall(302, 261, 2, 7, None, room)     # prlimit64 of another process
syscall(200, 130, 2, 9)                 # tkill
syscall(234, 131, 2, 2, 9)              # tgkill
syscall(129, 138, 2, 9, room)           # rt_sigqueueinfo
syscall(16, 29, 0, 0x5412, room)        # ioctl TIOCSTI
""",
    "the other numbering of x86_64": SYSCALL
    + "syscall(0x40000000 + 41, None, 1, 1, 0); syscall(0x40000000 + 520, None, 0, 0, 0)",
    "inherited files": """
import os
for fd in range(3, 4096):
    try: os.fstat(fd); print('ESCAPED', fd)
    except OSError: pass
try: os.write(0, b''); print(end='')
except OSError: pass
if os.read(0, 10): print('ESCAPED')
""",
    "own parts of the sandbox": """
import gc, os, sys
if [name for name in os.environ if name not in ('PYTHONHASHSEED', 'TZ', 'LC_ALL', 'PYTHONUTF8')]:\
 print('ESCAPED', os.environ)
for path in sys.path + [module.__file__ for module in list(sys.modules.values())\
 if 'toolscale' in (getattr(module, '__file__', '') or '')]:
    try:
        if 'toolscale' in path: print('ESCAPED', open(path).read(9))
    except OSError: pass
""",
    "raise the limits": """
import resource
for name in dir(resource):
    if name.startswith('RLIMIT_'):
        try: resource.setrlimit(getattr(resource, name), (-1, -1)); print('ESCAPED', name)
        except (OSError, ValueError): pass
""",
    "links": """
import os
for make in (os.symlink, os.link):
    try: make('/etc/passwd', 'mine'); print('ESCAPED', open('mine').read(9))
    except OSError: pass
os.mkdir('a')
for path in ('a/../../etc/passwd', 'a/../../../../../../etc/passwd', '/scratch/../etc/passwd'):
    try: print('ESCAPED', open(path).read(9))
    except OSError: pass
""",
}


@pytest.mark.parametrize("attack", ESCAPES.values(), ids=ESCAPES)
def test_it_does_not_get_out(run: Run, attack: str) -> None:
    result = run(attack + "\nprint('went on')")
    assert (result.stdout, result.error) == ("went on\n", None)


LIMITS = {
    "an endless loop": ("while True: pass", "stopped: it used more than 1 seconds of processor time"),
    "an endless loop that catches everything": (
        "import signal\nfor n in range(1, 65):\n"
        "    try: signal.signal(n, lambda *_: None)\n    except (OSError, ValueError): pass\n"
        "while True:\n    try:\n        while True: pass\n    except BaseException: pass",
        "stopped: it used more than 1 seconds of processor time",
    ),
    "endless output": ("while True: print('x' * 1000)", "stopped: it printed more than 100,000 bytes"),
    "endless complaints": (
        "import sys\nwhile True: sys.stderr.write('x' * 1000)",
        "stopped: it printed more than 100,000 bytes",
    ),
    "a memory bomb": ("x = []\nwhile True: x.append(bytearray(1 << 24))", "MemoryError"),
    "one great number": ("x = 'x' * (1 << 40)", "MemoryError"),
    "a huge file": ("f = open('f', 'wb')\nwhile True: f.write(b'x' * (1 << 20))", None),
    "many files": ("for n in range(10**5): open(f'f{n}', 'w').write('x')", None),
    "many open files": (
        "x = [open(f'f{n}', 'w') for n in range(100)]",
        "OSError: [Errno 24] Too many open files: 'f61'",
    ),
    "deep recursion": ("f = lambda n: f(n + 1)\nf(0)", "RecursionError: maximum recursion depth exceeded"),
    "recursion without a limit": (
        "import sys\nsys.setrecursionlimit(10**9)\n"
        "class A:\n    def __getattr__(self, n): return getattr(self, n + 'x')\nA().x",
        None,
    ),
    "code nested too deeply": ("(" * 5000 + ")" * 5000, None),
    "a crash": ("import ctypes\nctypes.string_at(0)", "the process was ended by SIGSEGV"),
    "an end without goodbye": ("import os\nprint('seen')\nos._exit(7)", "exit status 7"),
    "no output any more": (
        "import os, sys\nos.close(1); os.close(2)\nwhile True: pass",
        "stopped: it used more than 1 seconds of processor time",
    ),
    "a text without letters": ("print('\\ud800')\nraise ValueError('\\x1b[31m\\ud800')", None),
}


@pytest.mark.parametrize(("attack", "error"), LIMITS.values(), ids=LIMITS)
def test_it_is_stopped(run: Run, attack: str, error: str | None) -> None:
    result = run(attack)
    assert result.error is not None
    assert result.error == (error or result.error)
    assert run("print('the next call is well')").stdout == "the next call is well\n"


def test_it_stays_no_longer_than_its_call(run: Run) -> None:
    left = (
        "import os; open('left', 'w').write('x'); os.mkdir('d'); open('d/left', 'w'); "
        "import json; json.left = 1; __builtins__.left = 1"
    )
    assert run(left).error is None
    assert (
        run("import os, json; print(os.listdir('.'), hasattr(json, 'left'), 'left' in globals()); left").stdout
        == "[] False False\n"
    )
    assert not list(Path("/tmp").glob("toolscale-python-*/left"))


NESTED = """
import os
for _ in range(1200): os.mkdir('nested'); os.chdir('nested')
"""


def test_folders_in_folders_keep_no_answer_back_and_are_removed(run: Run) -> None:
    result = run(NESTED)
    assert result.error is None or "stopped: its files" in result.error or "No space left" in result.error
    assert run("print('the next call is well')").stdout == "the next call is well\n"
    assert not list(Path("/tmp").glob("toolscale-python-*/nested"))


def test_files_too_deep_to_be_counted_are_too_large(run: Run) -> None:
    deep = "import os, time\nfor _ in range(20): os.mkdir('a' * 250); os.chdir('a' * 250)\n"
    result = run(deep + "for n in range(3): open(f'f{n}', 'wb').write(b'x' * (1 << 20))\ntime.sleep(2)")
    assert result.error in (
        "stopped: its files hold more than 1,048,576 bytes, or are more than 256",
        "OSError: [Errno 28] No space left on device",
    )


def test_folders_deeper_than_a_path_and_without_rights_are_removed(tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    (scratch / "file").write_text("x")
    (scratch / "link").symlink_to(tmp_path)
    (scratch / "wide").mkdir()
    (scratch / "wide" / "file").write_text("x")
    (scratch / "closed").mkdir(mode=0)
    subprocess.run(
        [sys.executable, "-c", "import os\n" + "os.mkdir('a' * 200); os.chdir('a' * 200)\n" * 100],
        cwd=scratch,
        check=True,
    )
    remove(str(scratch))
    assert list(tmp_path.iterdir()) == []


def test_nobody_is_called(run: Run) -> None:
    name = f"\0toolscale-test-{os.getpid()}"
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as abstract:
        abstract.bind(name)
        abstract.setblocking(False)
        server.setblocking(False)
        run(f"import socket; socket.create_connection(('127.0.0.1', {server.getsockname()[1]}), 1)")
        run(f"import socket; socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b'x', {name!r})")
        with pytest.raises(BlockingIOError):
            server.accept()
        with pytest.raises(BlockingIOError):
            abstract.recv(1)


def test_a_secret_of_the_parent_is_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "SENTINEL_SECRET")
    search = """
import gc, os, sys
seen = repr(gc.get_objects()) + repr(os.environ) + repr(sys.argv)
frame = sys._getframe()
while frame:
    seen += repr(frame.f_locals)
    frame = frame.f_back
print('_'.join(['SENTINEL', 'SECRET']) in seen)
"""
    with PythonTool() as tool:
        assert asyncio.run(tool.run(search)).stdout == "False\n"
        assert Path(f"/proc/{tool.pid}/environ").read_text().split("\0") == [
            "PYTHONHASHSEED=0",
            "TZ=UTC",
            "LC_ALL=C.UTF-8",
            "PYTHONUTF8=1",
            "",
        ]


def test_what_runs_ends_with_the_process_that_asked_for_it() -> None:
    script = (
        "import asyncio, sys\nfrom toolscale.basic_tools import PythonTool, PythonSettings\n"
        "tool = PythonTool(PythonSettings(wall_s=300))\n"
        "async def main():\n"
        "    task = asyncio.create_task(tool.run('import time; time.sleep(200)'))\n    await asyncio.sleep(0.3)\n"
        "    print(tool.pid, flush=True)\n    await task\nasyncio.run(main())"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2]
    )
    assert parent.stdout is not None
    group = int(parent.stdout.readline())
    parent.kill()
    parent.communicate()
    for _attempt in range(200):
        if not processes_of(group):
            break
        time.sleep(0.05)
    assert processes_of(group) == []


def processes_of(session: int) -> list[str]:
    """Every process of a session, the zygote's: keepers and children are in it."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if fields[3] == str(session) and fields[0] != "Z":
            found.append(stat.parent.name)
    return found
