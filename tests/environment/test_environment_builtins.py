"""The calculator and the hand-over."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolscale.environment.builtins import calculate
from toolscale.environment.world import World


@pytest.mark.parametrize(
    ("expression", "result"),
    [
        ("(1240.50 - 85) / 3", "385.166667"),
        ("0.1 + 0.2", "0.3"),
        ("$1,200 / 12", "100"),
        ("-5 * 3", "-15"),
        ("2.5 - 2.5", "0"),
        ("-0.0000001", "0"),
    ],
)
def test_calculate_works_out_decimals(expression: str, result: str) -> None:
    assert calculate(expression) == (result, None)


@pytest.mark.parametrize(
    ("expression", "error"),
    [
        ("1 / 0", "Cannot work out '1 / 0': it divides by zero or is too large"),
        ("2 ** 9", "Cannot read '2 ** 9': use numbers, + - * / and brackets"),
        ("__import__('os')", "Cannot read \"__import__('os')\": use numbers, + - * / and brackets"),
        ("True + 1", "Cannot read 'True + 1': use numbers, + - * / and brackets"),
        ("", "Cannot read '': use numbers, + - * / and brackets"),
        ("9" * 60, "The result is too large"),
        ("1+" * 150 + "1", "The expression is longer than 200 characters"),
        ("(" * 199, f"Cannot read {'(' * 199!r}: use numbers, + - * / and brackets"),
    ],
)
def test_calculate_refuses_what_is_not_arithmetic(expression: str, error: str) -> None:
    assert calculate(expression) == (None, error)


@given(a=st.integers(-(10**9), 10**9), b=st.integers(-(10**9), 10**9))
def test_calculate_is_exact_on_whole_numbers(a: int, b: int) -> None:
    result, error = calculate(f"({a}) * 7 - ({b})")
    assert error is None
    assert Fraction(str(result)) == a * 7 - b


def test_calculate_is_a_tool_of_every_world(mock_world: World) -> None:
    assert mock_world.call("calculate", {"expression": "12.50 * 4"}).model_dump() == {
        "value": {"result": "50"},
        "error": None,
    }
    assert mock_world.net_changes() == {}


def test_a_hand_over_is_a_row_with_a_reason(mock_world: World) -> None:
    result = mock_world.call("transfer_to_human", {"reason": "complaint"})
    handover = result.value["handover"]
    assert (handover["reason"], handover["created_at"]) == ("complaint", "2026-03-16T09:30:00")
    key = handover["handover_id"]
    assert mock_world.net_changes() == {("handovers", (key,)): (None, (key, "complaint", "2026-03-16T09:30:00"))}
    assert (
        mock_world.call("transfer_to_human", {"reason": "bored"}).error
        == "invalid arguments: reason: 'bored' is not one of ['lost_book', 'complaint']"
    )
