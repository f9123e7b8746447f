"""Rollouts by their charges, for whoever asks what they are worth."""

from __future__ import annotations

from toolscale.records import Charge, Rollout, Stop


def rollout(
    *charges: Charge, right: bool = True, answer: str | None = "42", malformed: int = 0, stop: Stop = "answered"
) -> Rollout:
    """A rollout of one question, with nothing in it but its charges and how it ended."""
    return Rollout(
        id="r",
        task_id="t",
        category="arithmetic",
        policy="p",
        sample=0,
        messages=(),
        ledger=charges,
        answer=answer,
        stop=stop,
        malformed=malformed,
        right=right,
        finding="",
    )
