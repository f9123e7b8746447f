"""A dataset repo on the Hub: what is on its main, its files, and the one commit and the tag that make a version."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from json import JSONDecodeError
from pathlib import Path
from typing import Literal

import httpx2
from huggingface_hub import CommitOperationAdd, CommitOperationDelete, HfApi, hf_hub_url
from huggingface_hub.errors import EntryNotFoundError, HfHubHTTPError, RepositoryNotFoundError, RevisionNotFoundError
from huggingface_hub.hf_api import RepoFile
from huggingface_hub.utils import build_hf_headers, get_session, hf_raise_for_status

from toolscale.dataset.manifest import MANIFEST, MOST_BYTES
from toolscale.dataset.storage import make_folder, storage_errors
from toolscale.errors import DatasetError, HubUnavailableError, PublishError
from toolscale.publish.connection import Connection, lost
from toolscale.records import FileEntry
from toolscale.text_files import printable

KIND: Literal["dataset"] = "dataset"
BLOCK = 1 << 20
_COMMIT = re.compile("[0-9a-f]{40}")
REFUSED_HERE = ("Invalid metadata in README.md", "Invalid `path_in_repo`", "Path traversal")
"""How the library (2.4) begins when it refuses files before it sends them."""


@dataclass(frozen=True)
class RemoteFile:
    """A file as the Hub lists it: its git hash, and its SHA-256 if it is stored as LFS."""

    size: int
    oid: str
    sha256: str | None

    def holds(self, path: Path) -> bool:
        """Whether it has the content of a local file."""
        if path.stat().st_size != self.size:
            return False
        digest = hashlib.sha256() if self.sha256 else hashlib.sha1(f"blob {self.size}\0".encode())
        with storage_errors("read", path), path.open("rb") as file:
            while block := file.read(BLOCK):
                digest.update(block)
        return digest.hexdigest() == (self.sha256 or self.oid)


@dataclass(frozen=True)
class Head:
    """What a repo holds: the commit of main, its files, the tags."""

    commit: str
    files: dict[str, RemoteFile]
    tags: dict[str, str]


class Hub:
    """One dataset repo."""

    def __init__(self, connection: Connection, repo: str):
        self.repo = repo
        self._ask = connection.ask
        self._hide = connection.hide
        self._endpoint = connection.endpoint
        self._token = connection.token or False
        self._api = HfApi(endpoint=connection.endpoint, token=self._token, library_name="toolscale")

    @property
    def url(self) -> str:
        """Where people find the repo."""
        return f"{self._endpoint}/datasets/{self.repo}"

    def at(self, commit: str) -> str:
        """Name a version of the repo in a message."""
        return f"{self.url} at {commit[:8]}"

    def head(self) -> Head | None:
        """Return what is on main; None if there is no such dataset repo, or if the token may not see it."""
        commit = self.find("main")
        return None if commit is None else Head(commit, self.files(commit), self.tags())

    def find(self, revision: str) -> str | None:
        """Return the commit of a revision, None if there is no such dataset repo. PublishError if the repo has no such
        revision."""

        def question() -> str | None:
            try:
                return self._commit(self._api.dataset_info(self.repo, revision=revision).sha)
            except RevisionNotFoundError:
                known = printable(", ".join(["main", *self.tags()]))
                raise PublishError(f"{self.url} has no version {revision!r}; it has {known}") from None
            except RepositoryNotFoundError:
                return None

        return self._ask(f"looking at {self.repo}", question)

    def files(self, commit: str) -> dict[str, RemoteFile]:
        """Return path -> file of a commit."""

        def question() -> dict[str, RemoteFile]:
            tree = self._api.list_repo_tree(self.repo, recursive=True, revision=commit, repo_type=KIND)
            return {
                item.path: RemoteFile(item.size, item.blob_id, item.lfs.sha256 if item.lfs else None)
                for item in tree
                if isinstance(item, RepoFile)
            }

        return self._ask(f"listing the files of {self.repo}", question)

    def history(self) -> list[str]:
        """Return the commits of main, newest first."""

        def question() -> list[str]:
            return [self._commit(commit.commit_id) for commit in self._api.list_repo_commits(self.repo, repo_type=KIND)]

        return self._ask(f"listing the commits of {self.repo}", question)

    def tags(self) -> dict[str, str]:
        """Return tag -> commit."""

        def question() -> dict[str, str]:
            return {
                tag.name: self._commit(tag.target_commit)
                for tag in self._api.list_repo_refs(self.repo, repo_type=KIND).tags
            }

        return self._ask(f"listing the versions of {self.repo}", question)

    def other_kind(self) -> str | None:
        """Return `model` or `space` if the name is that of one."""

        def exists(kind: str) -> bool:
            return self._ask(f"looking for {self.repo}", lambda: self._api.repo_exists(self.repo, repo_type=kind))

        return next((kind for kind in ("model", "space") if exists(kind)), None)

    def create(self, *, private: bool) -> None:
        """Make the repo; nothing happens if somebody made it meanwhile."""

        def question() -> None:
            try:
                self._api.create_repo(self.repo, repo_type=KIND, private=private)
            except HfHubHTTPError as error:
                if error.response.status_code != 409:
                    raise

        self._ask(f"making the repo {self.repo}", question)

    def commit(self, folder: Path, added: Iterable[str], deleted: Iterable[str], *, title: str, parent: str) -> str:
        """Upload files and make one commit on top of `parent`; return it. Objects that are there already are not sent
        again."""

        def question() -> str:
            with ExitStack() as files:
                # An open file, not a path: the library then sends it by plain HTTP, as every Hub takes it;
                # a path goes to Xet, whatever the Hub has.
                additions = [
                    CommitOperationAdd(path, files.enter_context((folder / path).open("rb"))) for path in added
                ]
                deletions = [CommitOperationDelete(path, is_folder=False) for path in deleted]
                # Of files of one content the library would read one from several threads at once.
                first = {each.upload_info.sha256: each for each in reversed(additions)}
                try:
                    if len(first) < len(additions):
                        self._api.preupload_lfs_files(
                            self.repo, list(first.values()), repo_type=KIND, revision="main", free_memory=False
                        )
                    made = self._api.create_commit(
                        self.repo,
                        [*additions, *deletions],
                        commit_message=title,
                        repo_type=KIND,
                        parent_commit=parent,
                        revision="main",
                    )
                except ValueError as error:
                    if isinstance(error, HfHubHTTPError | UnicodeError | JSONDecodeError):
                        raise
                    if str(error).startswith(REFUSED_HERE):
                        raise PublishError(
                            f"{self.url}: {self._hide(str(error))}; change it and make the dataset again"
                        ) from error
                    said = f"the answer to the commit cannot be read ({self._hide(str(error))})"
                    raise HubUnavailableError(
                        f"{self.url}: {said}; run the same command again, which finds out whether it was made"
                    ) from error
            return self._commit(made.oid)

        return self._ask(f"uploading to {self.repo}", question)

    def tag(self, name: str, commit: str) -> None:
        """Give a commit its tag; nothing happens if a tag of this name is there, which the caller looks at before and
        after."""
        self._ask(
            f"tagging {self.repo}",
            lambda: self._api.create_tag(self.repo, tag=name, revision=commit, repo_type=KIND, exist_ok=True),
        )

    def read_manifest(self, commit: str) -> bytes | None:
        """Return the manifest of a commit as it is; None if it has none."""

        def question() -> bytes | None:
            try:
                return b"".join(self._blocks(MANIFEST, commit, MOST_BYTES))
            except EntryNotFoundError:
                return None

        return self._ask(f"reading {MANIFEST} of {self.repo}", question)

    def fetch(self, entry: FileEntry, commit: str, target: Path) -> None:
        """Download a file of a commit. DatasetError if it is not the one that the manifest means."""

        def question() -> str:
            digest = hashlib.sha256()
            write = _writer(target)
            try:
                for block in self._blocks(entry.path, commit, entry.bytes):
                    digest.update(block)
                    write(block)
            except EntryNotFoundError:
                raise DatasetError(
                    f"{self.at(commit)}: {entry.path} is in {MANIFEST} but not in the repo; somebody deleted it there"
                ) from None
            finally:
                write(None)
            return digest.hexdigest()

        found = self._ask(f"downloading {entry.path} of {self.repo}", question)
        if found != entry.sha256:
            raise DatasetError(
                f"{self.at(commit)}: {entry.path}: sha256 is {found}; {MANIFEST} says {entry.sha256}; "
                "somebody changed it there"
            )

    def _commit(self, told: object) -> str:
        """Return a commit that the Hub told; PublishError if it is none: it becomes part of paths and addresses."""
        if not isinstance(told, str) or not _COMMIT.fullmatch(told):
            raise PublishError(
                f"{self.url}: it does not answer like a Hub: {printable(str(told))!r} is no commit; check the endpoint"
            )
        return told

    def _blocks(self, path: str, commit: str, limit: int) -> Iterator[bytes]:
        url = hf_hub_url(self.repo, path, repo_type=KIND, revision=commit, endpoint=self._endpoint)
        total = 0
        try:
            with get_session().stream("GET", url, headers=build_hf_headers(token=self._token)) as response:
                hf_raise_for_status(response)
                for block in response.iter_bytes(BLOCK):
                    total += len(block)
                    if total > limit:
                        raise DatasetError(
                            f"{self.at(commit)}: {path} is larger than the {limit} bytes that it may have; "
                            "somebody changed it there"
                        )
                    yield block
        except httpx2.TransportError as error:
            raise lost(error) from error


def _writer(target: Path) -> Callable[[bytes | None], None]:
    """Open a file anew for writing; return what writes a block, or closes the file for None. What the disk says becomes
    a StorageError."""
    make_folder(target.parent)
    with storage_errors("write", target):
        file = target.open("wb")

    def write(block: bytes | None) -> None:
        with storage_errors("write", target):
            file.close() if block is None else file.write(block)

    return write
