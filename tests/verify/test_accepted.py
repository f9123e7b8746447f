"""What a task says of itself once it is accepted, and the right ways that were tried on it."""

from __future__ import annotations

import pytest
from courts import Court, first

from toolscale.verify.equivalents import equivalents, exchanged


@pytest.mark.parametrize(
    ("intent", "turn", "calls", "writes", "branches", "tier"),
    [
        ("refuse_new_payee", 0, 4, 0, 0, "easy"),
        ("pay_bill", 0, 4, 1, 0, "easy"),
        ("hardship_hand_over", 0, 3, 1, 1, "medium"),
        ("add_payee_and_send", 0, 4, 2, 0, "medium"),
        ("refuse_over_daily_limit", 0, 5, 0, 0, "medium"),
        ("top_up_and_send", 0, 6, 2, 0, "medium"),
        ("dispute_duplicate", 0, 7, 1, 0, "medium"),
        ("pay_missed_instalments", 2, 7, 3, 0, "hard"),
    ],
)
def test_a_task_is_as_hard_as_its_calls_writes_and_branches(
    bank: Court, intent: str, turn: int, calls: int, writes: int, branches: int, tier: str
) -> None:
    task = bank[1].judge(first(bank, intent, turn)).task
    assert task is not None
    found = task.difficulty
    assert (found.calls, found.writes, found.reads) == (calls, writes, calls - writes)
    assert (len(task.golden_calls), found.branches, found.tier) == (calls, branches, tier)


def test_right_ways_are_other_orders_doubled_reads_other_forms_and_failed_calls(court: Court) -> None:
    subject = court[1].subject(first(court, "return_all"))
    ways = [*equivalents(subject, exchanged(subject))]
    assert {way.operator for way in ways} == {"order", "reads", "failed_first", "unknown_first", "written"}
    (doubled,) = [way for way in ways if way.operator == "reads"]
    reads = [recorded.call.name for recorded in subject.recording.calls if not recorded.mutates]
    assert doubled.with_reads and all([call.name for call in doubled.calls].count(name) >= 2 for name in reads)
    assert {subject.score(way) for way in ways} == {1}
