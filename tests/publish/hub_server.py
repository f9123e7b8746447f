"""A Hugging Face Hub of one's own: a real HTTP server that speaks the part of the Hub's protocol that publishing,
pulling and `datasets` use.

It keeps git-like commits in memory: content-addressed objects, a tree per commit, `main` moved in one assignment: a
commit is whole or absent. Every request is logged, and faults can be planted: an answer of another status, a connection
that is cut, a request that is held until it is let go.

    python tests/publish/hub_server.py --port 8900

serves until it is interrupted. The users are `me` (tokens `hf_write`, `hf_read`) and `you` (token `hf_other`).
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import json
import re
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, RLock, Thread
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import yaml

USERS = {"hf_write": ("me", "write"), "hf_read": ("me", "read"), "hf_other": ("you", "write")}
LFS_SUFFIXES = (".parquet", ".sqlite", ".png", ".gz", ".zip", ".arrow")
LFS_BYTES = 10_000_000
ATTRIBUTES = "".join(f"*{suffix} filter=lfs diff=lfs merge=lfs -text\n" for suffix in LFS_SUFFIXES).encode()


@dataclass(frozen=True)
class Entry:
    """A file of a commit; `sha256` is set if its content is stored as LFS."""

    oid: str
    size: int
    sha256: str | None = None

    def described(self, path: str) -> dict[str, Any]:
        lfs = {"lfs": {"oid": self.sha256, "size": self.size, "pointerSize": 130}} if self.sha256 else {}
        return {"type": "file", "path": path, "oid": self.oid, "size": self.size, **lfs}


@dataclass(frozen=True)
class Commit:
    """A version of a repo."""

    parent: str | None
    title: str
    files: dict[str, Entry]

    @property
    def oid(self) -> str:
        return hashlib.sha1(repr((self.parent, self.title, sorted(self.files.items()))).encode()).hexdigest()


@dataclass
class Repo:
    """A repo: its commits, where main and the tags point."""

    owner: str
    private: bool
    commits: dict[str, Commit] = field(default_factory=dict)
    main: str = ""
    tags: dict[str, str] = field(default_factory=dict)

    def put(self, commit: Commit) -> str:
        self.commits[commit.oid] = commit
        self.main = commit.oid
        return commit.oid

    def find(self, revision: str) -> tuple[str, Commit]:
        oid = self.main if revision in ("main", "refs/heads/main") else self.tags.get(revision, revision)
        if oid not in self.commits:
            raise Refusal(404, "RevisionNotFound", f"Invalid rev id: {revision}")
        return oid, self.commits[oid]


@dataclass
class Fault:
    """What happens to the next `times` requests of a method whose path matches, instead of, or after, what they ask
    for."""

    method: str
    path: str
    times: int = 1
    status: int | None = None
    """Answer with this status."""
    headers: dict[str, str] = field(default_factory=dict)
    content: bytes = b'{"error":"planted"}'
    """What that answer says."""
    read: int | None = None
    """Cut the connection after reading so many bytes of the body; nothing is done."""
    sent: int | None = None
    """Do what is asked, and cut the connection after sending so many bytes of the answer's body; -1: before the
    answer."""
    hold: Event | None = None
    """Wait for this event after reading `read` bytes, then cut the connection."""
    reached: Event = field(default_factory=Event)
    """Set when the fault strikes."""
    meanwhile: Callable[[], object] = lambda: None
    """Called first: what somebody else does at this very moment."""


class Refusal(Exception):
    """An answer that is an error."""

    def __init__(self, status: int, code: str, message: str):
        super().__init__(message)
        self.status, self.code, self.message = status, code, message


class Hub:
    """All that the server knows. Tests read it, plant faults, and change what is in it."""

    def __init__(self) -> None:
        self.repos: dict[tuple[str, str], Repo] = {}
        self.blobs: dict[str, bytes] = {}
        self.large: dict[str, bytes] = {}
        self.faults: list[Fault] = []
        self.log: list[tuple[str, str, int]] = []
        """Method, path without the query, status (0: the connection was cut)."""
        self.lock = RLock()

    def create(self, kind: str, name: str, *, private: bool = False) -> Repo:
        repo = self.repos[kind, name] = Repo(name.split("/")[0], private)
        repo.put(Commit(None, "initial commit", {".gitattributes": self.store(ATTRIBUTES)}))
        return repo

    def store(self, content: bytes) -> Entry:
        oid = hashlib.sha1(f"blob {len(content)}\0".encode() + content).hexdigest()
        self.blobs[oid] = content
        return Entry(oid, len(content))

    def store_large(self, sha256: str) -> Entry:
        size = len(self.large[sha256])
        pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{sha256}\nsize {size}\n"
        return Entry(self.store(pointer.encode()).oid, size, sha256)

    def content(self, entry: Entry) -> bytes:
        return self.large[entry.sha256] if entry.sha256 else self.blobs[entry.oid]

    def put_file(self, name: str, path: str, content: bytes | None) -> str:
        """Commit one file of any name to a dataset as somebody else would; None deletes it."""
        repo = self.repos["dataset", name]
        files = {each: entry for each, entry in repo.commits[repo.main].files.items() if each != path}
        if content is not None:
            files[path] = self.store(content)
        return repo.put(Commit(repo.main, "edited on the web", files))

    def files(self, name: str) -> dict[str, bytes]:
        """What main of a dataset holds."""
        repo = self.repos["dataset", name]
        return {path: self.content(entry) for path, entry in repo.commits[repo.main].files.items()}

    def titles(self, name: str) -> list[str]:
        """The titles of the commits of a dataset, newest first."""
        repo = self.repos["dataset", name]
        titles, oid = [], repo.main
        while oid:
            titles.append(repo.commits[oid].title)
            oid = repo.commits[oid].parent or ""
        return titles

    def writes(self) -> list[str]:
        """The requests that could change something, as `METHOD last-part`, in order; those that were refused or cut end
        in their status."""
        found = [(method, path, status) for method, path, status in self.log if method not in ("GET", "HEAD")]
        return [
            f"{method} {_act(path)}" + ("" if status < 300 and status else f" {status}")
            for method, path, status in found
        ]

    def fault(self, method: str, path: str) -> Fault | None:
        with self.lock:
            for fault in self.faults:
                if fault.times and fault.method == method and re.search(fault.path, path):
                    fault.times -= 1
                    return fault
        return None


def _act(path: str) -> str:
    known = ("repos/create", "validate-yaml", "preupload", "objects/batch", "lfs/verify", "commit", "tag", "paths-info")
    return next((act for act in known if f"/{act}/" in f"{path}/"), "object" if path.startswith("/lfs/") else path)


class Handler(BaseHTTPRequestHandler):
    """One request at a time: the fault that is planted for it, or the route that it belongs to."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    hub: Hub

    def log_message(self, format: str, *arguments: Any) -> None:  # noqa: A002
        """Say nothing: the log is `hub.log`."""

    def do_request(self) -> None:
        parts = urlsplit(self.path)
        path, self.query = unquote(parts.path), parse_qs(parts.query)
        self.raw_path = parts.path
        fault = self.hub.fault(self.command, path)
        if fault and self._struck(fault, path):
            return
        self.cut_after = fault.sent if fault else None
        self.body = (
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            if not self.headers.get("Transfer-Encoding")
            else self._chunks()
        )
        try:
            with self.hub.lock:
                status, headers, content = self._route(path)
        except Refusal as error:
            headers = (
                {"X-Error-Code": error.code, "X-Error-Message": error.message}
                if error.code
                else {"X-Error-Message": error.message}
            )
            status, content = error.status, json.dumps({"error": error.message}).encode()
            headers["Content-Type"] = "application/json"
        self._answer(path, status, headers, content)

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = do_request

    def _struck(self, fault: Fault, path: str) -> bool:
        fault.meanwhile()
        if fault.status is not None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            self._answer(path, fault.status, fault.headers, fault.content)
        elif fault.read is not None:
            self.rfile.read(min(fault.read, int(self.headers.get("Content-Length") or fault.read)))
            self.hub.log.append((self.command, path, 0))
            fault.reached.set()
            if fault.hold:
                fault.hold.wait(60)
            self._cut()
        else:
            return False
        fault.reached.set()
        return True

    def _chunks(self) -> bytes:
        body = b""
        while size := int(self.rfile.readline().split(b";")[0], 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def _cut(self) -> None:
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    def _answer(self, path: str, status: int, headers: dict[str, str], content: bytes) -> None:
        cut = getattr(self, "cut_after", None)
        self.hub.log.append((self.command, path, 0 if cut is not None else status))
        if cut == -1:
            return self._cut()
        self.send_response(status)
        for name, value in {"Content-Length": str(len(content)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content if cut is None else content[:cut])
        if cut is not None:
            self.wfile.flush()
            self._cut()

    def _route(self, path: str) -> tuple[int, dict[str, str], bytes]:
        for method, pattern, route in ROUTES:
            if self.command in method.split("|") and (found := re.fullmatch(pattern, path)):
                answer = route(self, **found.groupdict())
                if isinstance(answer, tuple):
                    return answer
                return 200, {"Content-Type": "application/json"}, json.dumps(answer).encode()
        raise Refusal(404, "", f"no such route: {self.command} {path}")

    # --- who may do what

    def user(self) -> tuple[str, str] | None:
        """The user of the token and what the token may do; None if there is no token."""
        token = self.headers.get("Authorization", "").removeprefix("Bearer ")
        if not token:
            return None
        if token not in USERS:
            raise Refusal(401, "", "Invalid credentials in Authorization header")
        return USERS[token]

    def writer(self, owner: str | None) -> str:
        user = self.user()
        if user is None:
            raise Refusal(401, "", "Invalid username or password.")
        name, role = user
        if role != "write" or owner not in (None, name):
            raise Refusal(
                403, "", f"You don't have the rights to create or change anything under the namespace {owner!r}"
            )
        return name

    def repo(self, kind: str, name: str, *, write: bool = False) -> Repo:
        user, repo = self.user(), self.hub.repos.get((kind, name))
        if repo is None or (repo.private and (user is None or user[0] != repo.owner)):
            raise Refusal(404 if user else 401, "RepoNotFound", "Repository not found")
        if write:
            self.writer(repo.owner)
        return repo

    # --- routes

    def whoami(self) -> dict[str, Any]:
        user = self.user()
        if user is None:
            raise Refusal(401, "", "Invalid username or password.")
        return {
            "type": "user",
            "name": user[0],
            "orgs": [],
            "auth": {"type": "access_token", "accessToken": {"role": user[1]}},
        }

    def create_repo(self) -> dict[str, Any]:
        asked = json.loads(self.body)
        name = f"{asked.get('organization') or self.writer(None)}/{asked['name']}"
        self.writer(name.split("/")[0])
        kind = asked.get("type", "model")
        if (kind, name) in self.hub.repos:
            raise Refusal(409, "", "You already created this repo")
        self.hub.create(kind, name, private=asked.get("visibility") == "private")
        return {"url": f"{self.base}/{'' if kind == 'model' else kind + 's/'}{name}", "name": name}

    def validate_yaml(self) -> Any:
        found = re.match(r"---\n(.*?)\n---", json.loads(self.body)["content"], re.DOTALL)
        header = yaml.safe_load(found[1]) if found else None
        wrong = [] if isinstance(header, dict) else ["the header is not a mapping"]
        if isinstance(header, dict) and header.get("license") not in ("apache-2.0", "mit", "cc-by-4.0", "other"):
            wrong.append('"license" must be one of [apache-2.0, mit, cc-by-4.0, other]')
        answer = {"errors": [{"message": message} for message in wrong], "warnings": []}
        return (400 if wrong else 200, {"Content-Type": "application/json"}, json.dumps(answer).encode())

    def info(self, kind: str, name: str, revision: str = "main") -> dict[str, Any]:
        repo = self.repo(kind, name)
        oid, commit = repo.find(revision)
        siblings = [{"rfilename": path} for path in commit.files]
        return {
            "_id": "0",
            "id": name,
            "author": repo.owner,
            "sha": oid,
            "private": repo.private,
            "gated": False,
            "disabled": False,
            "tags": [],
            "downloads": 0,
            "likes": 0,
            "lastModified": "2026-01-01T00:00:00.000Z",
            "createdAt": "2026-01-01T00:00:00.000Z",
            "siblings": siblings,
        }

    def refs(self, kind: str, name: str) -> dict[str, Any]:
        repo = self.repo(kind, name)
        tags = [{"name": tag, "ref": f"refs/tags/{tag}", "targetCommit": oid} for tag, oid in repo.tags.items()]
        return {
            "branches": [{"name": "main", "ref": "refs/heads/main", "targetCommit": repo.main}],
            "converts": [],
            "tags": tags,
        }

    def commits(self, kind: str, name: str, revision: str) -> list[dict[str, Any]]:
        repo = self.repo(kind, name)
        oid, found = repo.find(revision)[0], []
        while oid:
            commit = repo.commits[oid]
            found.append(
                {
                    "id": oid,
                    "title": commit.title,
                    "message": "",
                    "authors": [{"user": "me"}],
                    "date": "2026-01-01T00:00:00.000Z",
                }
            )
            oid = commit.parent or ""
        return found

    def tree(self, kind: str, name: str, revision: str, folder: str | None = None) -> Any:
        _, commit = self.repo(kind, name).find(revision)
        start = f"{folder}/" if folder else ""
        below = {path: entry for path, entry in commit.files.items() if path.startswith(start)}
        if folder and not below:
            raise Refusal(404, "EntryNotFound", f"{folder} does not exist on {revision}")
        folders = {
            start + "/".join(path[len(start) :].split("/")[:depth])
            for path in below
            for depth in range(1, path[len(start) :].count("/") + 1)
        }
        recursive = self.query.get("recursive", ["false"])[0].lower() in ("true", "1")
        found: list[dict[str, Any]] = [
            {"type": "directory", "oid": "0" * 40, "size": 0, "path": path} for path in sorted(folders)
        ]
        found += [entry.described(path) for path, entry in sorted(below.items())]
        return found if recursive else [item for item in found if "/" not in item["path"][len(start) :]]

    def paths_info(self, kind: str, name: str, revision: str) -> Any:
        _, commit = self.repo(kind, name).find(revision)
        json_body = self.headers.get("Content-Type", "").startswith("application/json")
        paths = json.loads(self.body)["paths"] if json_body else parse_qs(self.body.decode())["paths"]
        found = [commit.files[path].described(path) for path in paths if path in commit.files]
        folders = {path for path in paths if any(name.startswith(f"{path}/") for name in commit.files)}
        return found + [{"type": "directory", "oid": "0" * 40, "size": 0, "path": path} for path in sorted(folders)]

    def preupload(self, kind: str, name: str, revision: str) -> dict[str, Any]:
        _, commit = self.repo(kind, name, write=True).find(revision)
        files = []
        for asked in json.loads(self.body)["files"]:
            path = asked["path"]
            binary = b"\0" in base64.b64decode(asked["sample"])
            large = path.endswith(LFS_SUFFIXES) or binary or asked["size"] > LFS_BYTES
            there = commit.files.get(path)
            oid = {"oid": there.sha256 or there.oid} if there else {}
            files.append({"path": path, "uploadMode": "lfs" if large else "regular", "shouldIgnore": False, **oid})
        return {"commitOid": commit.oid, "files": files}

    def batch(self, kind: str, name: str) -> dict[str, Any]:
        self.repo(kind, name, write=True)
        objects = []
        for asked in json.loads(self.body)["objects"]:
            verify = {"href": f"{self.base}/lfs/verify"}
            actions = {"upload": {"href": f"{self.base}/lfs/{asked['oid']}"}, "verify": verify}
            objects.append(asked | ({} if asked["oid"] in self.hub.large else {"actions": actions}))
        return {"transfer": "basic", "objects": objects}

    def put_object(self, sha256: str) -> Any:
        if hashlib.sha256(self.body).hexdigest() != sha256:
            raise Refusal(400, "", "the content is not what its name says")
        self.hub.large[sha256] = self.body
        return 200, {}, b""

    def verify_object(self) -> dict[str, Any]:
        asked = json.loads(self.body)
        if len(self.hub.large.get(asked["oid"], b"")) != asked["size"]:
            raise Refusal(422, "", "the object is not there")
        return {}

    def commit(self, kind: str, name: str, revision: str) -> dict[str, Any]:
        repo = self.repo(kind, name, write=True)
        head, *operations = [json.loads(line) for line in self.body.splitlines()]
        oid, parent = repo.find(revision)
        if head["value"].get("parentCommit", oid) != oid:
            raise Refusal(412, "", "A commit has happened since. Please refresh and try again.")
        files = dict(parent.files)
        for operation in operations:
            value = operation["value"]
            if operation["key"] == "file":
                files[value["path"]] = self.hub.store(base64.b64decode(value["content"]))
            elif operation["key"] == "lfsFile":
                if value["oid"] not in self.hub.large:
                    raise Refusal(400, "", f"LFS pointer pointed to a file that does not exist: {value['path']}")
                files[value["path"]] = self.hub.store_large(value["oid"])
            elif files.pop(value["path"], None) is None:
                raise Refusal(404, "EntryNotFound", f"A file with this name doesn't exist: {value['path']}")
        new = repo.put(Commit(oid, head["value"]["summary"], files))
        return {"commitOid": new, "commitUrl": f"{self.base}/datasets/{name}/commit/{new}", "success": True}

    def tag(self, kind: str, name: str, revision: str) -> Any:
        repo = self.repo(kind, name, write=True)
        tag = json.loads(self.body)["tag"]
        if tag in repo.tags:
            raise Refusal(409, "", f"Tag {tag} already exists")
        repo.tags[tag] = repo.find(revision)[0]
        return 200, {}, b""

    def resolve(self, kind: str | None, name: str, revision: str, file: str) -> Any:
        oid, commit = self.repo((kind or "models/")[:-2], name).find(revision)
        if file not in commit.files:
            raise Refusal(404, "EntryNotFound", "Entry not found")
        entry = commit.files[file]
        content, mark = self.hub.content(entry), entry.sha256 or entry.oid
        headers = {
            "ETag": f'"{mark}"',
            "X-Repo-Commit": oid,
            "Accept-Ranges": "bytes",
            "Content-Type": "application/octet-stream",
        }
        if entry.sha256:
            headers |= {"X-Linked-Etag": f'"{mark}"', "X-Linked-Size": str(entry.size)}
        if found := re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", "")):
            start, stop = int(found[1]), min(int(found[2] or entry.size), entry.size - 1) + 1
            return 206, headers | {"Content-Range": f"bytes {start}-{stop - 1}/{entry.size}"}, content[start:stop]
        return 200, headers, content

    @property
    def base(self) -> str:
        return f"http://{self.headers['Host']}"


_REPO = r"/api/(?P<kind>\w+)s/(?P<name>[\w.-]+/[\w.-]+)"
ROUTES: list[tuple[str, str, Callable[..., Any]]] = [
    ("GET", r"/api/whoami-v2", Handler.whoami),
    ("POST", r"/api/repos/create", Handler.create_repo),
    ("POST", r"/api/validate-yaml", Handler.validate_yaml),
    ("GET", _REPO, Handler.info),
    ("GET", _REPO + r"/revision/(?P<revision>.+)", Handler.info),
    ("GET", _REPO + r"/refs", Handler.refs),
    ("GET", _REPO + r"/commits/(?P<revision>[^/]+)", Handler.commits),
    ("GET", _REPO + r"/tree/(?P<revision>[^/]+)(?:/(?P<folder>.+))?", Handler.tree),
    ("POST", _REPO + r"/paths-info/(?P<revision>[^/]+)", Handler.paths_info),
    ("POST", _REPO + r"/preupload/(?P<revision>[^/]+)", Handler.preupload),
    ("POST", _REPO + r"/commit/(?P<revision>[^/]+)", Handler.commit),
    ("POST", _REPO + r"/tag/(?P<revision>[^/]+)", Handler.tag),
    ("POST", r"/(?P<kind>\w+)s/(?P<name>[\w.-]+/[\w.-]+)\.git/info/lfs/objects/batch", Handler.batch),
    ("POST", r"/lfs/verify", Handler.verify_object),
    ("PUT", r"/lfs/(?P<sha256>[0-9a-f]{64})", Handler.put_object),
    (
        "GET|HEAD",
        r"/(?P<kind>datasets/|spaces/)?(?P<name>[\w.-]+/[\w.-]+)/resolve/(?P<revision>[^/]+)/(?P<file>.+)",
        Handler.resolve,
    ),
]


@contextmanager
def serving(port: int = 0) -> Iterator[tuple[str, Hub]]:
    """Serve an empty Hub on loopback; yield its endpoint and what it knows."""
    hub = Hub()
    server = ThreadingHTTPServer(("127.0.0.1", port), type("BoundHandler", (Handler,), {"hub": hub}))
    server.daemon_threads = True
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="A Hugging Face Hub on loopback, in memory.")
    parser.add_argument("--port", type=int, default=8900)
    with serving(parser.parse_args().port) as (endpoint, _):
        print(
            f"export HF_ENDPOINT={endpoint} HF_TOKEN=hf_write   # interrupt with Ctrl-C; everything is forgotten",
            flush=True,
        )
        with suppress(KeyboardInterrupt):
            Event().wait()
