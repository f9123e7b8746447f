"""A world: calls as an agent writes them, and resets."""

from __future__ import annotations

import pytest
from jsonschema import Draft202012Validator, FormatChecker

from toolscale.environment.environment import Environment, load_environment
from toolscale.environment.moments import is_date
from toolscale.environment.world import Toolbox, World
from toolscale.sandbox.base import Rows

MEMBER = {"full_name": "Victoria Coleman", "date_of_birth": "1958-05-23"}


def test_a_finder_gives_the_rows_that_fit(mock_world: World) -> None:
    found = mock_world.call("find_member", MEMBER)
    assert found.value == {"members": [{"member_id": "mb_1001", **MEMBER, "status": "active", "fees_cents": 11825}]}
    assert mock_world.call("find_member", {**MEMBER, "full_name": "Nobody"}).value == {"members": []}


def test_a_write_changes_rows_until_the_reset(mock_world: World) -> None:
    result = mock_world.call("pay_fees", {"member_id": "mb_1001", "amount_cents": 825})
    assert result.value["fees_cents"] == 11000
    assert [table for table, _ in mock_world.touched()] == ["members", "payments"]
    assert set(mock_world.net_changes()) == set(mock_world.touched())
    mock_world.reset()
    assert mock_world.net_changes() == {}
    assert mock_world.call("find_member", MEMBER).value["members"][0]["fees_cents"] == 11825


def test_whole_floats_are_integers_and_defaults_are_filled_in(mock_world: World) -> None:
    as_float = mock_world.call("renew_loan", {"loan_id": "ln_1004", "days": 14.0})
    mock_world.reset()
    assert as_float == mock_world.call("renew_loan", {"loan_id": "ln_1004"})
    assert as_float.value["loan"]["due_on"] == "2026-04-12"
    tool, arguments = mock_world.prepare("renew_loan", {"loan_id": "ln_1004"})
    assert tool is mock_world.environment.tools["renew_loan"]
    assert arguments == {"days": 14, "loan_id": "ln_1004"}


@pytest.mark.parametrize(
    ("name", "arguments", "error"),
    [
        ("renew_lone", {}, "unknown tool 'renew_lone'"),
        ("renew_loan", {}, "invalid arguments: 'loan_id' is a required property"),
        ("renew_loan", {"loan_id": "ln_1004", "days": 14.5}, "invalid arguments: days: 14.5 is not of type 'integer'"),
        (
            "renew_loan",
            {"loan_id": "ln_1004", "days": 29},
            "invalid arguments: days: 29 is greater than the maximum of 28",
        ),
        ("renew_loan", {"loan_id": 1004}, "invalid arguments: loan_id: 1004 is not of type 'string'"),
        (
            "find_member",
            {**MEMBER, "date_of_birth": "23 May 1958"},
            "invalid arguments: date_of_birth: '23 May 1958' is not a 'date'",
        ),
        (
            "find_member",
            {**MEMBER, "date_of_birth": "1958-02-30"},
            "invalid arguments: date_of_birth: '1958-02-30' is not a 'date'",
        ),
        ("renew_loan", {"loan_id": "ln_0"}, "Loan ln_0 not found"),
        ("renew_loan", {"loan_id": "ln_1001"}, "Paper Lanterns was due on 2026-03-15 and cannot be renewed"),
        ("pay_fees", {"member_id": "mb_1001", "amount_cents": 11826}, "Only $118.25 is owed"),
    ],
)
def test_a_wrong_call_is_a_result_with_an_error(
    mock_world: World, name: str, arguments: dict[str, object], error: str
) -> None:
    assert mock_world.call(name, arguments).model_dump() == {"value": None, "error": error}
    assert mock_world.net_changes() == {}


def test_both_engines_give_the_same(mock_environment: Environment, mock_rows: Rows) -> None:
    calls = [
        ("list_loans", {"member_id": "mb_1001"}),
        ("return_loan", {"loan_id": "ln_1001"}),
        ("return_loan", {"loan_id": "ln_1001"}),
    ]
    seen = []
    for engine in ("sqlite", "duckdb"):
        with World(mock_environment, mock_rows, engine) as world:  # type: ignore[arg-type]
            seen.append(([world.call(*call) for call in calls], world.net_changes(), world.sandbox.state_hash()))
    assert seen[0] == seen[1]
    assert seen[0][0][2].error == "Paper Lanterns has been returned already"


PLAIN_VALUES = [
    "",
    "x",
    "mb_1001",
    "2026-02-30",
    "2026-02-28",
    "y" * 300,
    0,
    1,
    7,
    28,
    29,
    -1,
    2**63,
    7.0,
    7.5,
    True,
    False,
    None,
    [],
    {},
]


@pytest.mark.parametrize("domain", ["mock", "finance"])
def test_what_is_let_through_is_what_the_schema_allows(domain: str) -> None:
    """Plain values of plain schemas are let through without asking a validator; a validator would say the same."""
    tools = load_environment(domain).tools
    toolbox = Toolbox(tools)
    formats = FormatChecker(formats=())
    formats.checks("date")(lambda value: not isinstance(value, str) or is_date(value))
    for name, tool in tools.items():
        validator = Draft202012Validator(tool.spec.json_schema(), format_checker=formats)
        offered = {param: [*schema.get("enum", ()), *PLAIN_VALUES] for param, schema in tool.spec.parameters.items()}
        for step in range(60):
            arguments = {
                param: values[(step * 7 + place) % len(values)] for place, (param, values) in enumerate(offered.items())
            }
            if step % 10 == 9 and arguments:
                arguments.popitem()
            arguments |= {"more": 1} if step % 10 == 8 else {}
            assert (toolbox.prepare(name, arguments)[0] is not None) == validator.is_valid(arguments), (name, arguments)
