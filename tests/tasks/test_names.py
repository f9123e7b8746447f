"""Expressions of authors: what is none is told with its place."""

from __future__ import annotations

import pytest

from toolscale.errors import SpecError
from toolscale.tasks.lint import order_of
from toolscale.tasks.names import parse_expression

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
    ],
)
def test_an_order_is_read_however_it_is_written(first: str, told: tuple[str, bool] | None) -> None:
    assert order_of(first) == told
