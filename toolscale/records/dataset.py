"""`manifest.json`, written last: its existence means that the folder is complete."""

from __future__ import annotations

from collections import Counter
from pathlib import PurePosixPath
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from toolscale.canonical import content_hash
from toolscale.records.base import Record
from toolscale.records.release import Release
from toolscale.records.task import Answer, DrawnTurns

MOST_SCALE = 20
"""A database may have at most so many times as many rows as population.yaml says."""

NAME_BYTES = 255
"""Bytes that file systems take for the name of a file or folder."""


def _stays_inside(path: str) -> str:
    """Refuse a path that could lead out of the folder: a manifest may come from anywhere."""
    parts = path.split("/")
    if PurePosixPath(path).is_absolute() or not path.isprintable() or "\\" in path or {"", ".", ".."} & set(parts):
        raise ValueError(f"{path!r} is not a path inside the folder")
    if any(len(part.encode()) > NAME_BYTES for part in parts):
        raise ValueError(f"a part of {path!r} is longer than the {NAME_BYTES} bytes that a name may have")
    return path


DomainName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]*$")]
"""A domain gives its name to folders and to a config of the Hub."""

Version = Annotated[str, Field(pattern=r"^[0-9]{1,6}(\.[0-9]{1,6}){0,2}$")]
"""One to three numbers with dots between them: it becomes part of a tag."""


class FileEntry(Record):
    """One file of the folder."""

    path: Annotated[str, AfterValidator(_stays_inside)]
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    bytes: Annotated[int, Field(ge=0)]
    rows: int | None = None


class Part(Record):
    """One domain of a dataset: what it was asked to be, what it was made from, and what came of it."""

    version: Version
    """The version of the environment."""
    license: str
    """As the Hub names it."""
    tasks: Annotated[int, Field(ge=1)]
    """How many tasks were asked for."""
    seed: Annotated[int, Field(ge=0, lt=2**63)]
    evolved: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
    """The share of tasks that should be evolved."""
    audit: Literal["sample", "all"]
    """Which candidates the second engine replayed."""
    turns: DrawnTurns
    """Which of its tasks are conversations."""
    answer: Answer
    """How its tasks are answered."""
    scale: Annotated[int, Field(ge=1, le=MOST_SCALE)] = 1
    """How many times as many rows its database has as population.yaml says."""
    max_candidates: Annotated[int, Field(ge=1)] | None = None
    """How many numbers were drawn at most; None: no limit."""
    toward: dict[str, Annotated[float, Field(ge=0, le=10, allow_inf_nan=False)]] | None = None
    """Stream -> how often it was drawn beside 1, towards what a policy fails; None: all alike."""
    inputs: str
    """Hash of all that the part was made from: environment, seed, settings, code. Equal inputs, equal bytes."""
    environment_hash: str
    initial_state_hash: str
    tables: dict[str, str]
    """Table -> content hash of its rows, so that a change can be named."""
    versions: dict[str, str]
    """Of everything on which the bytes may depend, and `grading`: figures of one grading version are not comparable
    with those of another."""
    counts: dict[str, Any]
    """Accepted, rejected, per split, per intent."""
    gates: dict[str, dict[str, int]]
    """Gate -> status -> count, over all candidates."""


class Signature(Record):
    """By whom a manifest is signed, and the signature: Ed25519, both in base64."""

    key: Annotated[str, Field(pattern=r"^[A-Za-z0-9+/]{43}=$")]
    """The public key: whether to trust it is not for the manifest to say."""
    value: Annotated[str, Field(pattern=r"^[A-Za-z0-9+/]{86}==$")]


class Manifest(Record):
    """A dataset folder: one domain, or several side by side. What it says as a whole is looked up in its parts."""

    name: str
    version: Version
    """Of the environment; of several, the highest."""
    domains: dict[DomainName, Part] = Field(min_length=1)
    """Domain -> what its part of the folder is, by name."""
    release: Release | None = None
    """What changed since the version that was published before; None in a folder that was not prepared for
    publication."""
    signature: Signature | None = None
    """By whoever published it, if they have a key."""
    files: tuple[FileEntry, ...]
    """Every file of the folder but this one, by path."""

    @property
    def counts(self) -> dict[str, Any]:
        """The counts of all parts together; intents of several domains are named `domain.intent`."""
        if len(self.domains) == 1:
            return next(iter(self.domains.values())).counts
        totals: Counter[str] = Counter()
        splits: Counter[str] = Counter()
        intents: dict[str, Any] = {}
        for domain, part in self.domains.items():
            totals.update({name: value for name, value in part.counts.items() if isinstance(value, int)})
            splits.update(part.counts.get("splits", {}))
            intents |= {f"{domain}.{intent}": row for intent, row in part.counts.get("intents", {}).items()}
        return {**totals, "splits": dict(splits), "intents": intents}

    @property
    def gates(self) -> dict[str, dict[str, int]]:
        """Gate -> status -> count, over the candidates of all parts."""
        gates: dict[str, Counter[str]] = {}
        for part in self.domains.values():
            for gate, statuses in part.gates.items():
                gates.setdefault(gate, Counter()).update(statuses)
        return {gate: dict(sorted(statuses.items())) for gate, statuses in gates.items()}

    @property
    def inputs(self) -> str:
        """Hash of all that the folder was made from."""
        if len(self.domains) == 1:
            return next(iter(self.domains.values())).inputs
        return content_hash({domain: part.inputs for domain, part in self.domains.items()})

    @property
    def versions(self) -> dict[str, str]:
        """What all parts agree on."""
        first, *others = (part.versions for part in self.domains.values())
        return {name: value for name, value in first.items() if all(other.get(name) == value for other in others)}

    @property
    def environment_hash(self) -> dict[str, str]:
        """Domain -> hash of its environment."""
        return {domain: part.environment_hash for domain, part in self.domains.items()}

    @property
    def licenses(self) -> tuple[str, ...]:
        """The licences of the parts, each once."""
        return tuple(sorted({part.license for part in self.domains.values()}))
