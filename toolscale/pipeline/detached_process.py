"""Run the command of an order file and write down how it ended. Run as a file of its own by `detached`: LOCK FOLDER
NUMBER DONE_BEFORE.

`LOCK` is the number of an open file whose lock the starter took; the command inherits it, so that the lock is held as
long as either lives. What is written into FOLDER, both by this process alone: a line of `starts.jsonl` before the
command begins, `exit.json` when it has ended. A start without an `exit.json` of its number was killed together with
this process, or its machine went down.

Only the standard library: this process lives as long as a training does, beside it, and should cost it no memory.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path


def machine() -> tuple[str, str | None]:
    """Return the name of this machine and its boot id, which is new after each start; None if the kernel has none."""
    try:
        return socket.gethostname(), Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return socket.gethostname(), None


def main() -> None:
    """Run the order. The exit status of this process means nothing; `exit.json` tells that of the command."""
    lock, folder, number, done_before = int(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), sys.argv[4] or None
    order = json.loads((folder / "order.json").read_text())
    host, boot_id = machine()
    time = datetime.now(UTC).isoformat()
    started = {
        "number": number,
        "pid": os.getpid(),
        "host": host,
        "boot_id": boot_id,
        "time": time,
        "done_before": done_before,
    }
    with (folder / "starts.jsonl").open("a") as file:
        file.write(json.dumps(started) + "\n")
        file.flush()
        os.fsync(file.fileno())
    command = subprocess.Popen(order["command"], cwd=order["folder"], stdin=subprocess.DEVNULL, pass_fds=[lock])
    signal.signal(signal.SIGTERM, lambda *_: command.send_signal(signal.SIGTERM))
    status = command.wait()
    temporary = folder / ".exit.tmp"
    temporary.write_text(json.dumps({"number": number, "status": status}))
    temporary.replace(folder / "exit.json")


if __name__ == "__main__":
    main()
