"""End states do not depend on what was run before, nor on who else used the world."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from toolscale.environment.environment import Environment, load_environment
from toolscale.environment.population import populate
from toolscale.environment.registry import discover
from toolscale.environment.world import World
from toolscale.errors import SandboxError
from toolscale.records import ToolCall, ToolResult
from toolscale.sql.compiled import CompiledTool
from toolscale.verify.states import EndState, EndStates

MORE_TOOLS = """
  - name: greet_member
    description: Write a member to what they are already.
    parameters: {member_id: {type: string}}
    steps:
      - exec: UPDATE members SET status = status WHERE member_id = :member_id
    returns: {member: {row: "SELECT status FROM members WHERE member_id = :member_id"}}
  - name: waive_fees
    description: One write, which the schema refuses if too much is waived.
    parameters: {member_id: {type: string}, amount_cents: {type: integer}}
    steps:
      - exec: UPDATE members SET fees_cents = fees_cents - :amount_cents WHERE member_id = :member_id
    returns: {member: {row: "SELECT fees_cents FROM members WHERE member_id = :member_id"}}
  - name: renew_for_fees
    description: Two writes, of which the schema may refuse the second.
    parameters: {loan_id: {type: string}, member_id: {type: string}, amount_cents: {type: integer}}
    steps:
      - exec: UPDATE loans SET renewals = renewals + 1 WHERE loan_id = :loan_id
      - exec: UPDATE members SET fees_cents = fees_cents - :amount_cents WHERE member_id = :member_id
    returns: {member: {row: "SELECT fees_cents FROM members WHERE member_id = :member_id"}}
"""


def call(name: str, **arguments: Any) -> ToolCall:
    return ToolCall(name=name, arguments=arguments)


MEMBERS = st.sampled_from(["mb_1001", "mb_1002", "mb_none"])
LOANS = st.sampled_from(["ln_1001", "ln_1004", "ln_1007", "ln_1016", "ln_none"])
CENTS = st.sampled_from([100, 100.0, 2500, 900_000, -1, "100"])
CALLS = (
    st.builds(lambda loan: call("renew_loan", loan_id=loan), LOANS)
    | st.builds(
        lambda loan, days: call("renew_loan", loan_id=loan, days=days), LOANS, st.sampled_from([14, 14.0, 7, 99])
    )
    | st.builds(lambda loan: call("return_loan", loan_id=loan), LOANS)
    | st.builds(lambda member, cents: call("pay_fees", member_id=member, amount_cents=cents), MEMBERS, CENTS)
    | st.builds(lambda member: call("list_loans", member_id=member), MEMBERS)
    | st.builds(lambda member: call("greet_member", member_id=member), MEMBERS)
    | st.builds(lambda member, cents: call("waive_fees", member_id=member, amount_cents=cents), MEMBERS, CENTS)
    | st.builds(
        lambda loan, member, cents: call("renew_for_fees", loan_id=loan, member_id=member, amount_cents=cents),
        LOANS,
        MEMBERS,
        CENTS,
    )
    | st.just(call("no_such_tool"))
)
GOLDEN = st.lists(CALLS, max_size=5)


@st.composite
def families(draw: st.DrawFn) -> list[tuple[ToolCall, ...]]:
    """Lists that share beginnings and ends, as the mutants of one golden list do."""
    golden = draw(GOLDEN)
    lists = [tuple(golden)]
    for _ in range(draw(st.integers(0, 6))):
        place = draw(st.integers(0, len(golden)))
        lists.append((*golden[:place], *draw(st.lists(CALLS, max_size=2)), *golden[place + draw(st.integers(0, 2)) :]))
    return draw(st.permutations(lists))


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    folder = tmp_path_factory.mktemp("states") / "mock"
    shutil.copytree(discover()["mock"], folder)
    with (folder / "toolset.yaml").open("a", encoding="utf-8") as file:
        file.write(MORE_TOOLS)
    return load_environment(folder)


@pytest.fixture(scope="module")
def states(environment: Environment) -> Iterator[EndStates]:
    with World(environment, populate(environment)) as world:
        yield EndStates(world)


@pytest.fixture(scope="module")
def alone(environment: Environment) -> Iterator[World]:
    """A world in which every list is run from a reset."""
    with World(environment, populate(environment)) as world:
        yield world


def run_alone(world: World, comparable: Any, calls: Sequence[ToolCall]) -> EndState:
    world.reset()
    errors = tuple(world.call(one.name, one.arguments).error for one in calls)
    changes = comparable(world.net_changes())
    return EndState(
        changes, errors, frozenset(world.touched()), frozenset(change for change in changes if change[2] is not None)
    )


def changes_alone(world: World, calls: Sequence[ToolCall]) -> list[frozenset[Any]]:
    world.reset()
    found, before = [], world.net_changes()
    for one in calls:
        world.call(one.name, one.arguments)
        after = world.net_changes()
        found.append(frozenset(key for key in before.keys() | after.keys() if before.get(key) != after.get(key)))
        before = after
    return found


@given(
    families=st.lists(families(), min_size=1, max_size=2),
    ahead=st.booleans(),
    between=st.sampled_from(["nothing", "reset", "call", "recording", "mark"]),
)
@settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_list_ends_as_if_it_had_been_run_alone(
    states: EndStates, alone: World, families: list[list[tuple[ToolCall, ...]]], ahead: bool, between: str
) -> None:
    for lists in families:
        states.forget()
        if ahead:
            states.run_ahead(lists)
        for calls in lists:
            assert states.of(calls) == run_alone(alone, states.comparable, calls)
            disturb(states.world, between)
            assert states.changed_by_call(calls) == changes_alone(alone, calls)
            disturb(states.world, between)


def disturb(world: World, how: str) -> None:
    """Use the world as a recorder or a rule does: with a reset before, or by calls in the episode that is open."""
    if how in ("reset", "recording"):
        world.reset()
    if how == "mark":
        world.sandbox.savepoint()
    if how in ("call", "recording", "mark"):
        world.call("pay_fees", {"member_id": "mb_1001", "amount_cents": 100})
        world.call("return_loan", {"loan_id": "ln_1001"})


class CountingWorld(World):
    """A world that counts the calls which reach a tool."""

    made = 0

    def call_prepared(self, tool: CompiledTool, arguments: Any, *, returns: bool = True) -> ToolResult:
        self.made += 1
        return super().call_prepared(tool, arguments, returns=returns)


def test_each_call_is_made_once_where_lists_agree(environment: Environment) -> None:
    golden = tuple(
        call("waive_fees", member_id=member, amount_cents=100)
        for member in ("mb_1001", "mb_1002", "mb_1003", "mb_1004")
    )
    extra, refused = (
        call("waive_fees", member_id="mb_1001", amount_cents=25),
        call("waive_fees", member_id="mb_1001", amount_cents=900_000),
    )
    lists = [
        golden,
        *[(*golden[:place], extra, *golden[place + 1 :]) for place in range(4)],
        *[(*golden[:place], refused) for place in range(5)],
    ]
    with CountingWorld(environment, populate(environment)) as world:
        states = EndStates(world)
        states.of(golden)
        states.run_ahead(lists)
        # The golden list; each extra with what follows; the refused; the golden list on the way.
        assert world.made == 4 + (4 + 3 + 2 + 1) + 5 + 4
        ends = [states.of(calls) for calls in lists]
        assert world.made == 23
        assert [end.errors[-1] for end in ends] == [None] * 5 + ["constraint: check"] * 5
        assert ends[-1].changes == ends[0].changes != ends[1].changes


class LyingWorld(World):
    """A world with a tool that fails and writes all the same."""

    def call_prepared(self, tool: CompiledTool, arguments: Any, *, returns: bool = True) -> ToolResult:
        result = super().call_prepared(tool, arguments, returns=returns)
        return ToolResult(error="sorry") if tool.spec.name == "greet_member" else result


def test_a_call_that_fails_and_writes_is_an_error(environment: Environment) -> None:
    with LyingWorld(environment, populate(environment)) as world:
        states = EndStates(world)
        greeting, payment = (
            call("greet_member", member_id="mb_1001"),
            call("pay_fees", member_id="mb_1001", amount_cents=100),
        )
        with pytest.raises(SandboxError, match="greet_member fails and writes all the same"):
            states.run_ahead([(payment, payment), (payment, greeting)])
