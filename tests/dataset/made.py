"""Judged candidates made by hand, for tests of what comes after judging."""

from __future__ import annotations

from typing import Any

from toolscale.canonical import content_hash
from toolscale.records import (
    Candidate,
    Difficulty,
    Fact,
    GateResult,
    GoldenCall,
    Judged,
    Provenance,
    RowChange,
    Scenario,
    Status,
    Task,
    Verdict,
)


def candidate(number: int, intent: str = "pay_bill", **changes: Any) -> Candidate:
    made = Candidate(
        domain="mock",
        number=number,
        seed=0,
        intent_id=intent,
        bindings={"client": (("cl_1",),)},
        say={"amount_cents": 1250},
        request=f"Pay bill number {number}, please.",
        skeleton=f"Pay bill number ▢, please. ({number})",
    )
    return made.model_copy(update=changes)


def task(made: Candidate, **changes: Any) -> Task:
    amount = 100 + made.number
    record = Task(
        id=content_hash([made.number])[:32],
        domain=made.domain,
        intent_id=made.intent_id,
        evolutions=(),
        outcome="fulfil",
        request=made.request,
        turns="single",
        answer="message",
        scenario=Scenario(known={"amount_cents": 1250}, unknown={"bill": "bl_1"}),
        golden_calls=(
            GoldenCall(
                name="get_bill", arguments={"bill_id": "bl_1"}, result={"bill": {"status": "due", "paid_on": None}}
            ),
            GoldenCall(
                name="pay_bill", arguments={"bill_id": "bl_1", "amount_cents": amount}, result={"payment": "pm_1"}
            ),
        ),
        communicate=(
            Fact(kind="money", value=amount, about="checking"),
            Fact(kind="text", value="Orbit Mobile"),
            Fact(kind="date", value="2026-03-20", withheld=True),
        ),
        row_changes=(RowChange(table="bills", key=("bl_1",), before={"status": "due"}, after={"status": "paid"}),),
        touched=(("bills", '["bl_1"]'),),
        difficulty=Difficulty(calls=2, reads=1, writes=1, hops=1, branches=0, tier="easy"),
        environment_hash="e" * 64,
        initial_state_hash="s" * 64,
        verdict={},
        mutants_killed=9,
        provenance=Provenance(generator="plans", seed=0, candidate=made.number, versions={"judge": "1"}),
        candidate=made,
    )
    return record.model_copy(update=changes)


def judged(number: int, intent: str = "pay_bill", failed: str | None = None, **changes: Any) -> Judged:
    """A candidate that passed every gate, or all but one."""
    made = candidate(number, intent, **changes)

    def gate(name: str, status: Status = "pass") -> GateResult:
        return GateResult(gate=name, status="fail" if name == failed else status, finding=f"{name} of {number}")

    gates = (gate("schema"), gate("replay"), gate("grounded"), gate("novel", "not_run"), gate("solvable", "not_run"))
    return Judged(candidate=made, verdict=Verdict(gates=gates, mutants_killed=9), task=task(made))
