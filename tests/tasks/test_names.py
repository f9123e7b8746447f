"""Expressions over names: an agent can name what it was told and what it saw, and nothing else."""

from __future__ import annotations

import pytest

from toolscale.errors import SpecError
from toolscale.tasks.conjuncts import conjuncts
from toolscale.tasks.lint import order_of
from toolscale.tasks.names import ExpressionScope, Scratch, Unbound, compile_expression, parse_expression

SCOPE = ExpressionScope(
    rows={"bill": {"bill_id": "text", "amount_cents": "cents", "due_on": "date"}, "say": {"limit": "cents"}},
    relations={"charge": {"merchant": "text", "amount_cents": "cents"}},
)
ENV = {
    "bill": {"bill_id": "bl_1", "amount_cents": 4050, "due_on": "2026-03-20"},
    "say": {"limit": 5000},
    "*charge": [{"merchant": "FuelUp", "amount_cents": 100}, {"merchant": "Third Wave", "amount_cents": 250}],
}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("bill.bill_id", "bl_1"),
        ("say.limit - bill.amount_cents", 950),
        ("'duplicate'", "duplicate"),
        ("-5", -5),
        ("(SELECT SUM(amount_cents) FROM charge)", 350),
        ("(SELECT COUNT(*) FROM charge AS c WHERE c.amount_cents > 100)", 1),
        ("add_days(bill.due_on, 4)", "2026-03-24"),
        ("CASE WHEN bill.amount_cents <= say.limit THEN 1 ELSE 0 END", 1),
        ("days_between(:today, bill.due_on)", 4),
    ],
)
def test_an_expression_has_a_value_without_any_table(text: str, value: object) -> None:
    expression = compile_expression(text, SCOPE, file="intents.yaml", place="here")
    assert Scratch("2026-03-16T09:30:00").evaluate(expression, ENV) == value


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("bill.biller", "intents.yaml: here: bill.biller is not known here; bill has amount_cents, bill_id, due_on"),
        ("(SELECT COUNT(*) FROM bills)", "unknown table 'bills'"),
        ("acount.balance_cents + 1", "acount"),
        ("bill.amount_cents / 2", "/"),
    ],
)
def test_what_nobody_showed_cannot_be_named(text: str, message: str) -> None:
    with pytest.raises(SpecError) as error:
        compile_expression(text, SCOPE, file="intents.yaml", place="here")
    assert message in str(error.value)


def test_a_step_of_another_path_has_no_value() -> None:
    expression = compile_expression("bill.amount_cents + 1", SCOPE, file="intents.yaml", place="here")
    with pytest.raises(Unbound):
        Scratch("2026-03-16T09:30:00").evaluate(expression, {"say": {"limit": 1}})


def test_a_predicate_is_split_at_its_top_level_only() -> None:
    assert conjuncts("a.x = 1 AND (b.y = 2 OR b.z = 3) AND EXISTS (SELECT 1 FROM t WHERE t.a = 1 AND t.b = 2)") == (
        "a.x = 1",
        "(b.y = 2 OR b.z = 3)",
        "EXISTS(SELECT 1 FROM t WHERE t.a = 1 AND t.b = 2)",
    )


PLACE = "intents.yaml", "intents[sell].roles.team.where"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("team.name <> 'Saint Anne's'", "close every quote; a quote inside a text is written twice"),
        ("team.name = = 'A'", "correct it behind 'team.name = ='"),
    ],
)
def test_what_is_no_expression_is_told_with_its_place(text: str, told: str) -> None:
    with pytest.raises(SpecError) as raised:
        parse_expression(text, *PLACE)
    assert str(raised.value) == f"{': '.join(PLACE)}: {text!r} is no SQL expression; {told}"


def test_a_quote_inside_a_text_is_written_twice() -> None:
    assert parse_expression("team.name = 'Saint Anne''s'", *PLACE).sql("sqlite") == "team.name = 'Saint Anne''s'"


@pytest.mark.parametrize(
    ("first", "told"),
    [
        ("fine.amount_cents", ("amount_cents", True)),
        ("-fine.amount_cents", ("amount_cents", False)),
        ("0 - fine.amount_cents", ("amount_cents", False)),
        ("-(0 - fine.amount_cents)", ("amount_cents", True)),
        ("days_between(fine.due_on, :today)", ("due_on", False)),
        ("fine.amount_cents * 2", None),
        ("minutes_between(train.departs_time, policy.day_end)", ("departs_time", False)),
        ("0 - days_between(fine.sent_on, fine.due_on)", None),
        ("0 - days_between(fine.sent_on, COALESCE(fine.paid_on, :today))", None),
        ("days_between(add_days(fine.sent_on, 3), :today)", None),
    ],
)
def test_an_order_is_read_however_it_is_written(first: str, told: tuple[str, bool] | None) -> None:
    assert order_of(first) == told


def test_conditions_are_compared_as_people_write_them() -> None:
    text = "a IS NOT NULL AND NOT b IS NULL AND c NOT IN ('x', 'y') AND d NOT LIKE 'e%' AND f NOT BETWEEN 1 AND 2"
    parts = ("a IS NOT NULL", "b IS NOT NULL", "c NOT IN ('x', 'y')", "d NOT LIKE 'e%'", "f NOT BETWEEN 1 AND 2")
    assert conjuncts(text) == parts
    assert all(conjuncts(part) == (part,) for part in parts)
