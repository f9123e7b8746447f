"""What a candidate must withstand, in words for somebody who has not read how the judge works."""

from __future__ import annotations

from toolscale.records import GATES

QUARANTINE = "quarantine"
"""What rejects of the gate `solvable` are listed under that wait for a person."""

MEANINGS = {
    "schema": "Records and arguments validate.",
    "integrity": "Keys, checks and invariants hold before and after.",
    "replay": "Every golden call succeeds on a fresh database, with the recorded result.",
    "case_agrees": "The query that picked the case and the agent that followed the request mean the same rows.",
    "deterministic": "A second replay, in another process with another clock, changes the same rows.",
    "engines_agree": "SQLite and DuckDB give the same results and changes.",
    "grounded": "The request carries every value and every condition that the calls need.",
    "unambiguous": "No other row fits what the request says.",
    "idle_fails": "Doing nothing, or only talking, does not pass.",
    "necessary": "Leaving out any golden write shows in the end state.",
    "mutants_killed": "Every wrong trajectory that was tried scores 0.",
    "equivalents_accepted": "Every other right trajectory that was tried scores 1.",
    "lawful": "No rule of the policy is broken.",
    "not_leaked": "The request does not already say what must be told.",
    "novel": "No earlier task is the same, or says the same words.",
    "solvable": "A model solves it at least once.",
    QUARANTINE: "Most solvers do not agree on another end state, or a person has decided.",
}
"""Gate -> what holds when it passes."""

STATUSES = {
    "pass": ("✓", "passed"),
    "fail": ("✗", "failed"),
    "not_run": ("·", "not run"),
    "attested": ("~", "attested"),
}
"""Status -> sign and word."""


def place(gate: str | None) -> int:
    """Return where a gate stands in the order of all; one that is not known comes last."""
    return GATES.index(gate) if gate in GATES else len(GATES)
