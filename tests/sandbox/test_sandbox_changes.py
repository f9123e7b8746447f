"""Laws of net changes, whatever was written before."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sandbox_bank import ADD_COUNTER, DROP_COUNTER, MOVE_COUNTER, NOW, ROWS, SCHEMA, SET_STOCK, TRANSFER, tool, write

from toolscale.sandbox.base import Rows, Sandbox, compare_rows
from toolscale.sandbox.duckdb import DuckdbSandbox
from toolscale.sandbox.sqlite import SqliteSandbox
from toolscale.sandbox.state import state_hash
from toolscale.sql.compiled import CompiledTool

Call = tuple[CompiledTool, dict[str, Any]]

REMARK = tool("remark", "memo", write("transfers", "UPDATE transfers SET memo = :memo"))
SHIFT = tool(
    "shift",
    "by",
    write("counters", "UPDATE counters SET stock = stock + :by"),
    write("counters", "DELETE FROM counters WHERE stock > 9"),
)

shelves = st.integers(1, 2)
slots = st.integers(1, 3)
stocks = st.one_of(st.none(), st.integers(-(2**40), 2**40), st.integers(-1, 9))
memos = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)

calls: st.SearchStrategy[list[Call]] = st.lists(
    st.one_of(
        st.tuples(st.just(SET_STOCK), st.fixed_dictionaries({"shelf": shelves, "slot": slots, "stock": stocks})),
        st.tuples(st.just(ADD_COUNTER), st.fixed_dictionaries({"shelf": shelves, "slot": slots, "stock": stocks})),
        st.tuples(st.just(DROP_COUNTER), st.fixed_dictionaries({"shelf": shelves, "slot": slots})),
        st.tuples(st.just(MOVE_COUNTER), st.fixed_dictionaries({"shelf": shelves, "slot": slots, "to_slot": slots})),
        st.tuples(st.just(SHIFT), st.fixed_dictionaries({"by": st.integers(-3, 3)})),
        st.tuples(st.just(REMARK), st.fixed_dictionaries({"memo": memos})),
        st.tuples(
            st.just(TRANSFER),
            st.fixed_dictionaries(
                {
                    "source": st.sampled_from(["a1", "a2", "a3"]),
                    "target": st.sampled_from(["a1", "a2", "a3"]),
                    "amount_cents": st.integers(0, 2000),
                }
            ),
        ),
    ),
    max_size=8,
)


@pytest.fixture(scope="module")
def executor() -> Iterator[SqliteSandbox]:
    sandbox = SqliteSandbox(SCHEMA, ROWS, now=NOW)
    yield sandbox
    sandbox.close()


@pytest.fixture(scope="module")
def auditor() -> Iterator[DuckdbSandbox]:
    sandbox = DuckdbSandbox(SCHEMA, ROWS, now=NOW)
    yield sandbox
    sandbox.close()


def snapshot(sandbox: Sandbox) -> Rows:
    return {table: sandbox.dump(table) for table in SCHEMA.tables}


@given(calls=calls)
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_net_changes_are_the_difference_of_two_snapshots(executor: SqliteSandbox, calls: list[Call]) -> None:
    executor.begin()
    for called, arguments in calls:
        executor.call(called, arguments)
        executor.net_changes()  # reads the log as it grows
    changes = executor.net_changes()
    assert changes == compare_rows(SCHEMA, ROWS, snapshot(executor), SCHEMA.tables)
    assert set(changes) <= set(executor.touched())
    executor.rollback()
    assert executor.state_hash() == state_hash(SCHEMA, ROWS)


@given(before=calls, after=calls)
@settings(max_examples=100, deadline=None)
def test_going_back_to_a_mark_is_as_if_nothing_had_followed(
    executor: SqliteSandbox, before: list[Call], after: list[Call]
) -> None:
    executor.begin()
    for called, arguments in before:
        executor.call(called, arguments)
    mark = executor.savepoint()
    first = [executor.call(called, arguments) for called, arguments in after]
    changes = executor.net_changes()
    executor.rollback_to(mark)
    assert [executor.call(called, arguments) for called, arguments in after] == first
    assert executor.net_changes() == changes
    assert executor.net_changes() == compare_rows(SCHEMA, ROWS, snapshot(executor), SCHEMA.tables)


@given(calls=calls)
@settings(max_examples=40, deadline=None)
def test_both_engines_agree(executor: SqliteSandbox, auditor: DuckdbSandbox, calls: list[Call]) -> None:
    executor.begin()
    auditor.begin()
    for called, arguments in calls:
        assert executor.call(called, arguments) == auditor.call(called, arguments)
    assert executor.net_changes() == auditor.net_changes()
    assert executor.state_hash() == auditor.state_hash()
    auditor.rollback()
    assert auditor.state_hash() == state_hash(SCHEMA, ROWS)


@given(rows=st.permutations(ROWS["counters"]))
def test_the_state_hash_does_not_depend_on_the_order_of_rows(rows: list[tuple[Any, ...]]) -> None:
    assert state_hash(SCHEMA, {**ROWS, "counters": rows}) == state_hash(SCHEMA, ROWS)
