"""What was not asked for stays undone, also where it was taken back."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from toolscale.environment.environment import load_environment
from toolscale.environment.population import populate
from toolscale.environment.world import World
from toolscale.records import Grade, ToolCall
from toolscale.tasks.binding import CandidateSource
from toolscale.verify.equivalents import exchanged
from toolscale.verify.judge import Judge
from toolscale.verify.verifier import Verifier

SEED = 0


class Desk:
    """A bank with its Verifier."""

    def __init__(self, domain: str | Path = "finance") -> None:
        self.environment = load_environment(domain)
        self.rows = populate(self.environment)
        self.judge = Judge(self.environment, self.rows, audit_share=0, replica=False)
        self.source = CandidateSource(self.environment, World(self.environment, self.rows))
        self.verifier = Verifier(self.judge)

    def graded(self, intent: str, *more: ToolCall, before: bool = False) -> Grade:
        """Grade the golden calls of the first case of an intent, with more calls."""
        candidate = self.source.draw(SEED, self.source.number(intent), answer="form")
        assert candidate is not None
        calls, answer = self.verifier.golden(candidate)
        return self.verifier.grade(candidate, [*more, *calls] if before else [*calls, *more], answer)

    def rows_of(self, table: str, **wanted: str) -> list[dict[str, object]]:
        names = list(self.environment.schema.tables[table].columns)
        found = (dict(zip(names, row, strict=True)) for row in self.rows[table])
        return [row for row in found if all(row[name] == value for name, value in wanted.items())]


@pytest.fixture(scope="module")
def desk() -> Iterator[Desk]:
    opened = Desk()
    yield opened
    opened.judge.close()


def card_calls(desk: Desk, *names: str) -> list[ToolCall]:
    card = desk.rows_of("cards", status="active")[0]["card_id"]
    return [ToolCall(name=name, arguments={"card_id": card}) for name in names]


def test_a_write_that_was_taken_back_is_wrong_though_nothing_is_left_of_it(desk: Desk) -> None:
    grade = desk.graded("pay_bill", *card_calls(desk, "freeze_card", "unfreeze_card"))
    assert (grade.score, grade.execution_correct, grade.faithful, grade.nothing_else) == (0, True, True, False)
    assert grade.finding.startswith("wrote cards cd_") and grade.finding.endswith(", which nobody asked for")


def test_look_ups_and_calls_that_fail_are_nothing_else(desk: Desk) -> None:
    failing = ToolCall(name="freeze_card", arguments={"card_id": "cd_none"})
    looking = card_calls(desk, "list_charges")
    grade = desk.graded("pay_bill", failing, *looking, before=True)
    assert (grade.score, grade.nothing_else, grade.finding) == (1, True, "right")


def test_a_slip_on_the_row_that_was_meant_counts_too(desk: Desk) -> None:
    candidate = desk.source.draw(SEED, desk.source.number("freeze_card"), answer="form")
    assert candidate is not None
    calls, answer = desk.verifier.golden(candidate)
    (freeze,) = [call for call in calls if call.name == "freeze_card"]
    back = ToolCall(name="unfreeze_card", arguments=freeze.arguments)
    grade = desk.verifier.grade(candidate, [*calls, back, freeze], answer)
    assert (grade.score, grade.execution_correct, grade.nothing_else) == (0, True, False)
    assert grade.finding.startswith("unfreeze_card did something to cards cd_")
    assert grade.finding.endswith(" that was taken back")
    assert desk.verifier.grade(candidate, calls, answer).score == 1


@pytest.fixture(scope="module")
def forgiving_desk(desk: Desk, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    folder = tmp_path_factory.mktemp("forgiving") / "finance"
    shutil.copytree(desk.environment.folder, folder)
    with (folder / "environment.yaml").open("a", encoding="utf-8") as file:
        file.write("slips: forgiven\n")
    opened = Desk(folder)
    yield opened
    opened.judge.close()


def test_an_environment_may_forgive_what_is_put_right_at_once(forgiving_desk: Desk) -> None:
    slip = card_calls(forgiving_desk, "freeze_card", "unfreeze_card")
    looking = card_calls(forgiving_desk, "list_charges")
    assert forgiving_desk.graded("pay_bill", slip[0], *looking, slip[1]).score == 1
    assert forgiving_desk.graded("pay_bill", *slip, *slip, before=True).score == 1


def test_what_is_put_right_later_or_not_at_all_is_never_forgiven(forgiving_desk: Desk) -> None:
    candidate = forgiving_desk.source.draw(SEED, forgiving_desk.source.number("pay_bill"), answer="form")
    assert candidate is not None
    calls, answer = forgiving_desk.verifier.golden(candidate)
    freeze, unfreeze = card_calls(forgiving_desk, "freeze_card", "unfreeze_card")
    late = forgiving_desk.verifier.grade(candidate, [freeze, *calls, unfreeze], answer)
    assert (late.score, late.execution_correct, late.nothing_else) == (0, True, False)
    left = forgiving_desk.verifier.grade(candidate, [*calls, freeze], answer)
    assert (left.score, left.execution_correct, left.nothing_else) == (0, False, False)


def test_a_hand_over_comes_last(desk: Desk) -> None:
    candidate = desk.source.draw(SEED, desk.source.number("fraud_freeze_and_hand_over"))
    assert candidate is not None
    calls, answer = desk.verifier.golden(candidate)
    assert calls[-1].name == "transfer_to_human" and desk.verifier.grade(candidate, calls, answer).score == 1
    (freeze,) = [call for call in calls if call.name == "freeze_card"]
    early = [call for call in calls if call is not freeze] + [freeze]
    grade = desk.verifier.grade(candidate, early, answer)
    assert (grade.score, grade.execution_correct, grade.nothing_else) == (0, True, False)
    assert grade.finding == "freeze_card came after the hand-over, which is the last thing to do"


def test_no_right_order_puts_anything_after_a_hand_over(desk: Desk) -> None:
    candidate = desk.source.draw(SEED, desk.source.number("fraud_freeze_and_hand_over"))
    assert candidate is not None
    subject = desk.judge.subject(candidate)
    assert [call.name for call in subject.writes] == ["freeze_card", "transfer_to_human"]
    assert exchanged(subject) == []


def test_a_hand_over_that_failed_is_none(desk: Desk) -> None:
    candidate = desk.source.draw(SEED, desk.source.number("fraud_freeze_and_hand_over"))
    assert candidate is not None
    calls, answer = desk.verifier.golden(candidate)
    failing = ToolCall(name="transfer_to_human", arguments={"reason": "no_such_reason"})
    grade = desk.verifier.grade(candidate, [failing, *calls], answer)
    assert (grade.score, grade.nothing_else, grade.finding) == (1, True, "right")


def test_nobody_is_looked_up_whose_affairs_the_one_who_asks_is_not_told(desk: Desk) -> None:
    drawn = (
        desk.source.draw_evolved(SEED, desk.source.number("pay_bill+evolved", turn), ("pry relative",))
        for turn in range(40)
    )
    candidate = next(each for each in drawn if each is not None)
    subject = desk.judge.subject(candidate)
    (partner,) = [row for rows in subject.inputs.hidden.values() for row in rows if "full_name" in row]
    known = {name: partner[name] for name in ("full_name", "date_of_birth")}
    calls, answer = desk.verifier.golden(candidate)
    assert desk.verifier.grade(candidate, calls, answer).score == 1
    grade = desk.verifier.grade(candidate, [*calls, ToolCall(name="find_client", arguments=known)], answer)
    assert (grade.score, grade.execution_correct, grade.nothing_else) == (0, True, False)
    assert grade.finding == "find_client looked up somebody whose affairs are not to be looked up"


def test_a_rule_binds_every_write_whatever_the_end_is() -> None:
    """A hold that is lifted before the charge is paid, and after it, leaves the same rows."""
    environment = load_environment("education")
    rows = populate(environment)
    judge, source = (
        Judge(environment, rows, audit_share=0, replica=False),
        CandidateSource(environment, World(environment, rows)),
    )
    candidate = source.draw(SEED, source.number("clear_hold"))
    assert candidate is not None
    verifier = Verifier(judge)
    calls, answer = verifier.golden(candidate)
    (lift,) = [call for call in calls if call.name == "lift_hold"]
    first = next(place for place, call in enumerate(calls) if call.name == "pay_charge")
    early = [call for call in calls if call is not lift]
    grade = verifier.grade(candidate, [*early[:first], lift, *early[first:]], answer)
    assert verifier.grade(candidate, calls, answer).score == 1
    assert (grade.score, grade.execution_correct, grade.nothing_else) == (0, True, False)
    assert grade.finding.startswith("lift_hold broke the rule hold_owed: A financial hold is lifted only when ")
    judge.close()
