"""The table of names that nobody may use, against those who refuse them."""

from __future__ import annotations

import inspect
import sqlite3
from typing import Any

import pytest
from pydantic import create_model

from toolscale.forbidden_names import FORBIDDEN, NAMESPACES, TAU2, is_long, refusals


def as_tau2_makes_it(name: str) -> list[str]:
    """The names that a model of pydantic has, if it is made of a signature with one parameter, as tau2 does."""
    signature = inspect.Signature([inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY)])
    parameters: dict[str, Any] = dict.fromkeys(signature.parameters, (Any, ...))
    return list(create_model("parameters", **parameters).model_validate({name: 1}).model_dump())


def use_tool(self: object, tool_name: str, requestor: str = "assistant", **arguments: Any) -> dict[str, Any]:
    """The signature by which tau2 makes calls."""
    return arguments


@pytest.mark.parametrize(
    "name", sorted({word for rule in FORBIDDEN if rule.consumer == TAU2 for word in rule.words} | {"_a"})
)
def test_tau2_cannot_take_a_parameter_of_this_name(name: str) -> None:
    try:
        made = as_tau2_makes_it(name) == [name] and use_tool(None, "a", **{name: 1}) == {name: 1}
    except (TypeError, ValueError, NameError):
        made = False
    assert not made
    assert refusals(name, "parameter")


@pytest.mark.filterwarnings("ignore:Field name")  # pydantic takes it, and warns
@pytest.mark.parametrize("name", ["name", "type", "match", "copy", "json", "schema", "id_", "arguments"])
def test_tau2_takes_other_parameters(name: str) -> None:
    assert as_tau2_makes_it(name) == [name] and use_tool(None, "a", **{name: 1}) == {name: 1}
    assert not refusals(name, "parameter")


def test_sqlite_has_no_table_that_begins_as_its_own_do() -> None:
    with pytest.raises(sqlite3.OperationalError, match="reserved"):
        sqlite3.connect(":memory:").execute("CREATE TABLE sqlite_orders (a TEXT)")
    assert refusals("sqlite_orders", "table") and not refusals("sqlite_orders", "column")


@pytest.mark.parametrize(
    ("name", "kind", "consumers"),
    [
        ("order", "table", ["SQL"]),
        ("order", "tool", []),
        ("order", "relation", ["SQL"]),
        ("ord", "column", ["SQL"]),
        ("today", "let", ["ToolScale"]),
        ("today", "tool", []),
        ("final_answer", "tool", ["ToolScale"]),
        ("handovers", "table", ["ToolScale"]),
        ("reset", "tool", ["TRL", "OpenEnv"]),
        ("get_reward", "tool", ["TRL"]),
        ("_close_loan", "tool", ["TRL"]),
        ("verify", "tool", ["NeMo Gym"]),
        ("a" * 64, "tool", []),
        ("a" * 65, "tool", ["providers"]),
        ("a" * 65, "parameter", ["providers"]),
        ("a" * 65, "field", ["providers"]),
        ("a" * 65, "column", []),
        ("class", "parameter", ["tau2-bench"]),
        ("class", "column", []),
        ("cancel_order", "tool", []),
    ],
)
def test_who_refuses_a_name(name: str, kind: str, consumers: list[str]) -> None:
    assert [each.consumer for each in refusals(name, kind)] == consumers
    assert not refusals(name, kind, but=consumers)


def test_a_long_name_is_one_that_has_no_room_for_a_prefix() -> None:
    assert [is_long("a" * letters) for letters in (47, 48, 64, 65)] == [False, True, True, False]


def test_no_role_is_called_as_what_expressions_have() -> None:
    assert all(refusals(name, "role") for name in NAMESPACES)
