"""What Airflow finds in a folder of DAG files, as JSON on standard output. Run as a process of its own: `python
dag_facts.py FOLDER LISTABLE…`.

Each file is imported twice: by Airflow's DagBag, for its DAGs and errors, and then under an audit hook that refuses
every act on the world outside the process. The hook stays quiet about what importing Python needs: reading source,
listing the folders that modules are found in.
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
import sysconfig
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

FORBIDDEN = (
    "ctypes.dlopen", "ftplib.", "http.client.", "os.chmod", "os.chown", "os.exec", "os.fork", "os.forkpty", "os.kill",
    "os.link", "os.mkdir", "os.posix_spawn", "os.remove", "os.rename", "os.rmdir", "os.spawn", "os.symlink",
    "os.system", "os.truncate", "os.utime", "pty.spawn", "shutil.", "smtplib.", "socket.", "sqlite3.connect",
    "subprocess.Popen", "tempfile.", "urllib.Request", "webbrowser.open",
)  # fmt: skip
"""Audit events, by their beginning, that no import of a DAG file may cause."""

INSTALLED = tuple({sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")})
CODE = (".py", ".pyc", ".so")
LIGHT = {"toolscale", "toolscale.errors"}
"""A retry rule names a class of the error tree by its path, and Airflow looks it up."""


class TopLevelAct(BaseException):
    """An act that a DAG file must leave to its tasks. No DAG file can catch it by `except Exception`."""


class Watch:
    """The audit hook, and what it saw. A hook cannot be taken away, only be told to look aside."""

    def __init__(self, listable: Sequence[Path]) -> None:
        self.listable = tuple(map(str, listable))
        self.seen: list[str] | None = None
        sys.addaudithook(self.hook)

    def hook(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self.seen is None:
            return
        act = self.forbidden(event, arguments)
        if act is not None:
            self.seen.append(act)
            raise TopLevelAct(act)

    def forbidden(self, event: str, arguments: tuple[Any, ...]) -> str | None:
        """The act in words, if it is one."""
        if event.startswith(FORBIDDEN):
            return f"{event} {arguments[:2]!r}"
        if event == "open" and not isinstance(arguments[0], int):
            path, mode, flags = os.fspath(arguments[0]), arguments[1] or "", arguments[2] or 0
            path = os.fsdecode(path)
            if any(letter in mode for letter in "wax+") or flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
                return f"open {path!r} for writing"
            if not (path.endswith(CODE) or path.startswith(INSTALLED)):
                return f"open {path!r}"
        if event in ("os.listdir", "os.scandir", "os.walk", "glob.glob", "glob.glob/2"):
            path = str(arguments[0] or ".") if not isinstance(arguments[0], int) else ""
            if (
                not path.startswith((*INSTALLED, *self.listable))
                and path not in sys.path
                and path not in sys.path_importer_cache
            ):
                return f"{event} {path!r}"
        return None

    @contextmanager
    def watching(self) -> Iterator[list[str]]:
        seen: list[str] = []
        self.seen = seen
        try:
            yield seen
        finally:
            self.seen = None


def task_facts(task: Any) -> dict[str, Any]:
    return {
        "task_id": task.task_id,
        "pool": task.pool,
        "owner": task.owner,
        "retries": task.retries,
        "retry_policy": type(task.retry_policy).__name__ if task.retry_policy else None,
    }


def dag_facts(dag: Any) -> dict[str, Any]:
    return {
        "dag_id": dag.dag_id,
        "file": Path(dag.fileloc).name,
        "tags": sorted(dag.tags),
        "doc_md": dag.doc_md,
        "catchup": dag.catchup,
        "max_active_runs": dag.max_active_runs,
        "tasks": [task_facts(task) for task in dag.tasks],
    }


def acts_of(path: Path, watch: Watch) -> list[str]:
    """What importing a file does to the world, and the modules of toolscale that it loads."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "toolscale"]:
        del sys.modules[name]
    spec = importlib.util.spec_from_file_location(f"watched_{path.stem}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[module.__name__] = module
    with watch.watching() as seen:
        try:
            spec.loader.exec_module(module)
        except TopLevelAct:
            pass
        except Exception:
            seen.append(f"import error {traceback.format_exc(limit=-1)}")
    loaded = {name for name in sys.modules if name.partition(".")[0] == "toolscale"} - LIGHT
    return seen + [f"import {name}" for name in sorted(loaded)[:1]]


def main() -> None:
    from airflow.dag_processing.dagbag import DagBag
    from airflow.utils.dag_version_inflation_checker import check_dag_file_stability

    folder, *listable = (Path(word).resolve() for word in sys.argv[1:])
    sys.dont_write_bytecode = True
    sys.path.insert(0, str(folder))  # as the DAG processor does
    bag = DagBag(folder)
    files = sorted(folder.glob("*.py"))
    unstable = {path.name: check_dag_file_stability(str(path)).get_error_format_dict(str(path), None) for path in files}
    watch = Watch(listable)
    print(
        json.dumps(
            {
                "errors": {Path(name).name: error for name, error in bag.import_errors.items()},
                "unstable": {name: "\n".join(found.values()) for name, found in unstable.items() if found},
                "dags": [dag_facts(dag) for dag in bag.dags.values()],
                "acts": {path.name: acts_of(path, watch) for path in files},
            }
        )
    )


if __name__ == "__main__":
    main()
