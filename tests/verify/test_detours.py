"""What was not asked for stays undone, also where it was taken back."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from toolscale.environment.environment import load_environment
from toolscale.environment.population import populate
from toolscale.environment.world import World
from toolscale.records import Grade, ToolCall
from toolscale.tasks.binding import CandidateSource
from toolscale.verify.judge import Judge
from toolscale.verify.verifier import Verifier

SEED = 0


class Desk:
    """A bank with its Verifier."""

    def __init__(self) -> None:
        self.environment = load_environment("finance")
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
