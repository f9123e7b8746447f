"""What the files of a run say of its dataset: the figures by which a night is shown and compared. The files are not
trusted: a value that is impossible is not taken as a figure."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

from pydantic import ValidationError

from toolscale.records import Manifest
from toolscale_ui.gates import place

MOST_COUNT = 10**15
"""No count and no number of bytes is larger."""
MOST_NAME, MOST_NAMES = 80, 40
"""Letters of a gate's name, and gates: there are less than twenty."""


@dataclass(frozen=True)
class Made:
    """The figures of a manifest, or of several together."""

    sha256: str
    """Of the manifest; nothing if there were several."""
    asked: tuple[tuple[Any, ...], ...]
    """Of each domain: name, tasks, share of evolved ones, how they are answered, version of the grading. Only what is
    equal here is compared."""
    tasks: int
    candidates: int
    failed: Mapping[str, int]
    """Gate -> candidates that it rejected, the most first."""
    bytes: int

    @property
    def domains(self) -> list[str]:
        """Their names."""
        return [domain for domain, *_ in self.asked]


@dataclass(frozen=True)
class Quality:
    """What `quality.json` says: whether the dataset passed, and why not."""

    passed: bool
    reasons: Sequence[str]
    figures: Mapping[str, float]


@dataclass(frozen=True)
class Judged:
    """What the quality gates of all domains found: of several, the lowest figure."""

    passed: bool
    accepted: float | None
    kill_rate: float | None
    reasons: Sequence[str] = ()
    """Why it did not pass."""


def made_of(content: bytes) -> Made | str:
    """Return the figures of a manifest, or in words why it has none."""
    try:
        manifest = Manifest.model_validate_json(content)
        failed: Counter[str] = Counter()
        for part in manifest.domains.values():
            _count(part.tasks)
            failed.update({gate[:MOST_NAME]: _count(statuses.get("fail", 0)) for gate, statuses in part.gates.items()})
        tasks, candidates = (
            sum(_count(part.counts[name]) for part in manifest.domains.values()) for name in ("accepted", "candidates")
        )
        size = _count(len(content) + sum(entry.bytes for entry in manifest.files))
    except (ValidationError, RecursionError) as error:
        told = error.errors()[0]["msg"].lower() if isinstance(error, ValidationError) else "too deep"
        return f"not a manifest: {told[:200]}"
    except (ValueError, KeyError):
        return "not a manifest: its counts cannot be"
    asked = tuple(
        (domain[:MOST_NAME], part.tasks, part.evolved, part.answer, part.versions.get("grading", "")[:MOST_NAME])
        for domain, part in sorted(manifest.domains.items())
    )
    return Made(sha256(content).hexdigest(), asked, tasks, candidates, _most_first(failed), size)


def together(parts: Sequence[Made]) -> Made | None:
    """Return what several datasets are together: those of the domains of a run that has none of its own."""
    if len(parts) < 2:
        return parts[0] if parts else None
    failed: Counter[str] = Counter()
    for part in parts:
        failed.update(part.failed)
    asked = tuple(sorted(row for part in parts for row in part.asked))
    tasks, candidates, size = (sum(getattr(part, name) for part in parts) for name in ("tasks", "candidates", "bytes"))
    return Made("", asked, tasks, candidates, _most_first(failed), size)


def quality_of(content: bytes) -> Quality:
    """Return what a `quality.json` says; one that cannot be read did not pass, and has no figures."""
    try:
        about = json.loads(content)
        figures = {str(name): float(value) for name, value in about["figures"].items()}
        return Quality(bool(about["passed"]), [str(reason) for reason in about["reasons"]], figures)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return Quality(False, ["quality.json cannot be read: clear quality_gate to write it again"], {})


def judged_of(qualities: Sequence[Quality]) -> Judged | None:
    """Return what several quality gates found; None if there was none, or one cannot be read. A figure that one of them
    does not have is not told."""
    if not all(quality.figures for quality in qualities) or not qualities:
        return None

    def lowest(name: str) -> float | None:
        shares = [quality.figures.get(name, -1.0) for quality in qualities]
        return min(shares) if all(0 <= share <= 1 for share in shares) else None

    reasons = tuple(reason for quality in qualities for reason in quality.reasons)
    return Judged(all(quality.passed for quality in qualities), lowest("accepted_share"), lowest("kill_rate"), reasons)


def ended_of(content: bytes) -> datetime | str:
    """Return when a `finished.json` says that the run ended, or in words that it does not."""
    try:
        finished = moment_of(json.loads(content)["finished"])
    except (ValueError, TypeError, KeyError, RecursionError):
        finished = None
    return finished or "it does not say when the run ended"


def moment_of(text: Any) -> datetime | None:
    """Return the instant that an ISO 8601 text names, in UTC if it names no zone; None if it names none."""
    try:
        moment = datetime.fromisoformat(text)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, TypeError, OverflowError):
        return None


def _count(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= MOST_COUNT:
        raise ValueError
    return value


def _most_first(failed: Mapping[str, int]) -> dict[str, int]:
    gates = sorted((gate for gate in failed if failed[gate]), key=lambda gate: (-failed[gate], place(gate), gate))
    return {gate: failed[gate] for gate in gates[:MOST_NAMES]}
