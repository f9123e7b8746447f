"""Why a dataset has fewer tasks than were asked for."""

from __future__ import annotations

from toolscale.config import MAX_ROUNDS
from toolscale.records import Part

MOST_NAMED = 3


def why_short(part: Part) -> str:
    """Return why, in one line; empty if it has as many tasks as were asked for."""
    counts = part.counts
    if counts["accepted"] >= part.tasks:
        return ""
    failed = sorted(((gates.get("fail", 0), name) for name, gates in part.gates.items()), reverse=True)
    most = ", ".join(f"{number} failed {name}" for number, name in failed[:MOST_NAMED] if number)
    capped = part.max_candidates is not None and counts.get("drawn", 0) >= part.max_candidates
    why = (
        f"no more than {part.max_candidates} candidates were to be drawn (--max-candidates)"
        if capped
        else f"in their last round, or after {MAX_ROUNDS}, no kind of request gave anything new: "
        "more requests, slots or rows (--scale), or another --turns, give more"
    )
    return f"{counts['accepted']} tasks of the {part.tasks} that were asked for: {why}" + (f"; {most}" if most else "")
