"""The key under which what models and people give about a candidate is kept, and what a decision makes of it."""

from __future__ import annotations

from toolscale.canonical import content_hash
from toolscale.records import Candidate, Decision


def key_of(candidate: Candidate, environment_hash: str) -> str:
    """Return the key under which attempts at a candidate, and decisions about it, are kept: they are about these words,
    answered in this way."""
    return content_hash([environment_hash, candidate.model_dump(mode="json", exclude={"added"})])


def decided(candidate: Candidate, decision: Decision) -> Candidate:
    """Return a candidate after a decision: of the kind `add`, another end state counts as right."""
    return candidate.model_copy(update={"added": (decision.calls,)}) if decision.take == "add" else candidate
