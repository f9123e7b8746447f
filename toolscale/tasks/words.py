"""Requests in the words of a model, in the place of those of the template."""

from __future__ import annotations

from toolscale.canonical import content_hash
from toolscale.records import Candidate, Decision, Words, WordsLine


def key_of_template(candidate: Candidate, environment_hash: str) -> str:
    """Return the key under which the words of a candidate are kept. They fit however it is answered, and the key is the
    same once it has them."""
    fields = candidate.model_dump(mode="json", exclude={"words", "added", "interaction", "skeleton"})
    request = candidate.request if candidate.words is None else candidate.words.template
    return content_hash([environment_hash, {**fields, "request": request}])


def key_of(candidate: Candidate, environment_hash: str) -> str:
    """Return the key under which attempts at a candidate, and decisions about it, are kept: they are about these words,
    answered in this way."""
    return content_hash([environment_hash, candidate.model_dump(mode="json", exclude={"added"})])


def worded(candidate: Candidate, line: WordsLine) -> Candidate:
    """Return a candidate in the words of a model."""
    words = Words(model=line.model, style=line.style, template=candidate.request)
    return candidate.model_copy(update={"request": line.request, "skeleton": line.request, "words": words})


def decided(candidate: Candidate, decision: Decision) -> Candidate:
    """Return a candidate after a decision: of the kind `add`, another end state counts as right."""
    return candidate.model_copy(update={"added": (decision.calls,)}) if decision.take == "add" else candidate
