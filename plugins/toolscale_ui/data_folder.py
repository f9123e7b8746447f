"""The folder of scheduled runs, on disk or behind a URL: what lies in it, and in which version."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import fsspec
from fsspec.core import url_to_fs

from toolscale.errors import StorageError

Value = TypeVar("Value")

LISTING_SECONDS = 2.0
"""A listing is used for so many seconds: a page is never further behind."""

MOST_READ = 100_000
"""Small files that are kept in memory, parsed. When there are more, all of them are dropped and read again."""

PATTERNS = {
    "run": "runs/*/run.json",
    "rejects": "runs/*/*/rejects/*.parquet",
    "quality": "runs/*/*/quality.json",
    "manifest": "runs/*/*/dataset/manifest.json",
    "combined": "runs/*/dataset/manifest.json",
    "finished": "runs/*/finished.json",
    "published": "runs/*/published/*.json",
    "trained_on": "training/*/trained_on.json",
    "report": "training/*/report.json",
    "trained": "training/*/done.json",
    "gate": "evaluations/*/gate.json",
    "evaluated": "evaluations/*/*/done.json",
    "evaluation_report": "evaluations/*/*/report.html",
}
"""What pages read, by kind; one star is one name."""

OPTIONS: dict[str, dict[str, Any]] = {
    "s3": {"config_kwargs": {"connect_timeout": 5, "read_timeout": 20, "retries": {"max_attempts": 2}}}
}
"""A store that does not answer is told to a person within seconds, not after minutes of retries."""


@dataclass(frozen=True, order=True)
class DataFile:
    """A file: its path below the folder, and what changes when its content does."""

    path: str
    version: str
    size: int = 0


Listing = Mapping[str, Mapping[str, DataFile]]
"""Kind -> path -> file."""


@dataclass
class DataFolder:
    """The folder or URL in TOOLSCALE_DATA. Raises StorageError, with a message of one line, whenever it cannot be
    reached."""

    url: str
    listing_seconds: float = LISTING_SECONDS
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)
    _listed: tuple[float, Listing] | None = field(default=None, repr=False)
    _read: dict[tuple[DataFile, Callable[[bytes], Any]], Any] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        scheme = self.url.split("://")[0] if "://" in self.url else ""
        with self._reaching():
            self.fs, self.root = url_to_fs(self.url, **OPTIONS.get(scheme, {}))
        self.local = isinstance(self.fs, fsspec.implementations.local.LocalFileSystem)

    @property
    def shown(self) -> str:
        """The URL without a password that may stand in it."""
        return re.sub(r"(?<=://)[^/@]*@", "", self.url)

    def location(self, path: str) -> str:
        """Return what DuckDB opens for a path below the folder."""
        full = f"{self.root.rstrip('/')}/{path}"
        return full if self.local else str(self.fs.unstrip_protocol(full))

    def listing(self) -> Listing:
        """Return what lies in the folder: nothing if it does not exist yet."""
        with self._lock:
            if self._listed and time.monotonic() - self._listed[0] < self.listing_seconds:
                return self._listed[1]
            with self._reaching():
                files = list(self._local_files() if self.local else self._remote_files())
            kinds = {kind: {file.path: file for found, file in files if found == kind} for kind in PATTERNS}
            self._listed = (time.monotonic(), kinds)
            return self._listed[1]

    def read(self, path: str) -> bytes:
        """Return the content of a file. StorageError if it cannot be read."""
        with self._reaching(path):
            content: bytes = self.fs.cat_file(f"{self.root.rstrip('/')}/{path}")
            return content

    def parsed(self, files: Iterable[DataFile], parse: Callable[[bytes], Value]) -> dict[str, Value]:
        """Return path -> what `parse` makes of the content, each version of a file read once. A file that vanished
        meanwhile is left out."""
        wanted = list(files)
        new = [file for file in wanted if (file, parse) not in self._read]
        if new:
            root = self.root.rstrip("/")
            with self._reaching():
                contents = self.fs.cat([f"{root}/{file.path}" for file in new], on_error="return")
            for file in new:
                content = contents.get(f"{root}/{file.path}")
                if isinstance(content, bytes):
                    self._read[file, parse] = parse(content)
        found = {file.path: self._read[file, parse] for file in wanted if (file, parse) in self._read}
        if len(self._read) > MOST_READ:
            self._read = {}
        return found

    def _local_files(self) -> Iterator[tuple[str, DataFile]]:
        root = Path(self.root)
        runs = root / "runs"
        if root.exists():  # a folder that may not be read is no empty one, and glob would not say so
            next((runs if runs.exists() else root).iterdir(), None)
        for kind, pattern in PATTERNS.items():
            for path in root.glob(pattern):
                status = path.stat()
                yield (
                    kind,
                    DataFile(
                        path.relative_to(root).as_posix(),
                        f"{status.st_mtime_ns}:{status.st_size}:{status.st_ino}",
                        status.st_size,
                    ),
                )

    def _remote_files(self) -> Iterator[tuple[str, DataFile]]:
        self.fs.invalidate_cache()
        root = self.root.rstrip("/")
        kinds = {kind: re.compile(re.escape(pattern).replace(r"\*", "[^/]+")) for kind, pattern in PATTERNS.items()}
        if not self.fs.exists(root.split("/")[0]):
            raise FileNotFoundError(f"there is no bucket {root.split('/')[0]}")
        found: dict[str, Any] = {}
        for part in ("runs", "training", "evaluations"):
            found |= self.fs.find(f"{root}/{part}", detail=True)
        for full, about in found.items():
            path = full.removeprefix(root).lstrip("/")
            kind = next((kind for kind, pattern in kinds.items() if pattern.fullmatch(path)), None)
            if kind:
                version = (
                    about.get("ETag") or about.get("etag") or about.get("LastModified") or about.get("mtime") or ""
                )
                yield kind, DataFile(path, f"{version}:{about.get('size')}", about.get("size") or 0)

    @contextmanager
    def _reaching(self, path: str = "") -> Iterator[None]:
        """Turn whatever a store raises into one line: every backend of fsspec has errors of its own."""
        try:
            yield
        except StorageError:
            raise
        except Exception as error:
            told = getattr(error, "strerror", None) or str(error) or type(error).__name__
            what = f"{self.shown}/{path}" if path else self.shown
            raise StorageError(
                f"{what} cannot be read: {told.splitlines()[0]}; look at TOOLSCALE_DATA and at the rights of the API "
                "server"
            ) from error
