"""One reject as it is read: calls, comparison of rows, and cells that do not hold what they should."""

from __future__ import annotations

from scheduled_runs import ACCOUNT, ACTUAL, EXPECTED, HOSTILE, mutant, reject
from toolscale_ui.case import Call, Cell, RowComparison, Survivor, case_of, compare
from toolscale_ui.gates import MEANINGS, QUARANTINE

from toolscale.dataset.describing.cells import Pairs, Parts, Plain, Rows, laid_out
from toolscale.records import GATES, RowChange


def changes(*rows: dict[str, object]) -> list[RowChange]:
    return [RowChange.model_validate(row) for row in rows]


def test_rows_are_compared_cell_by_cell_and_those_that_differ_come_first() -> None:
    same = {"table": "cards", "key": ["cd_1"], "before": {"status": "active"}, "after": {"status": "lost"}}
    assert compare(changes(same, *EXPECTED), changes(same, *ACTUAL)) == [
        RowComparison(
            "accounts",
            "ac_1",
            "row changed",
            "row changed",
            [
                Cell("account_id", "ac_1", "ac_1", "ac_1", changed=False, differs=False),
                Cell("available_cents", "$100.00", "$75.00", "$25.00", changed=True, differs=True),
                Cell("status", "active", "active", "active", changed=False, differs=False),
            ],
            there=True,
        ),
        RowComparison(
            "bills",
            "bl_1",
            "row changed",
            "not touched",
            [
                Cell("bill_id", "bl_1", "bl_1", "bl_1", changed=False, differs=False),
                Cell("status", "due", "paid", "due", changed=True, differs=True),
            ],
            there=True,
        ),
        RowComparison(
            "cards",
            "cd_1",
            "row changed",
            "row changed",
            [Cell("status", "active", "lost", "lost", changed=True, differs=False)],
            True,
        ),
    ]


def test_a_new_row_that_only_one_side_makes_differs_in_every_cell() -> None:
    (row,) = compare(
        [], changes({"table": "fees", "key": ["fe_1"], "before": None, "after": {"amount_cents": 1_500, "note": None}})
    )
    assert (row.expected, row.actual, row.there, row.differs) == ("not touched", "new row", False, True)
    assert row.cells == [
        Cell("amount_cents", "no row", "no row", "$15.00", changed=True, differs=True),
        Cell("note", "no row", "no row", "–", changed=True, differs=True),
    ]


def test_a_deleted_row_has_no_cells_after() -> None:
    (row,) = compare(changes({"table": "accounts", "key": ["ac_1"], "before": ACCOUNT, "after": None}), [])
    assert (row.expected, row.actual) == ("row deleted", "not touched")
    assert row.cells[2] == Cell("status", "active", "no row", "active", changed=True, differs=True)


def test_a_case_tells_calls_with_results_and_errors_and_what_survived() -> None:
    case = case_of(mutant(3))
    assert case.calls == [
        Call(
            "list_bills",
            [("client_id", '"cl_1"')],
            Parts([("bills", Pairs([("amount_cents", "$25.00"), ("bill_id", "bl_1")]))]),
        ),
        Call("pay_bill", [("amount_cents", "$25.00"), ("bill_id", '"bl_1"')], None, "The bill is paid"),
    ]
    survivor = Survivor(
        "Surviving mutant",
        "a wrong trajectory that scored 1",
        "amount",
        [Call("pay_bill", [("amount_cents", "$75.00")], None)],
        "It is paid.",
    )
    assert (case.survivor, case.compared, case.unreadable) == (survivor, True, [])
    refused = case_of(mutant(3) | {"failed": [{"gate": "equivalents_accepted", "finding": ""}]}).survivor
    assert refused is not None and refused.title == "Rejected equivalent"


def test_cells_that_hold_something_else_are_named_and_the_rest_is_told() -> None:
    for depth in range(100, 1_500, 50):
        case_of(
            reject(1, "novel", golden_calls=[{"name": "x", "arguments": "{}", "result": "[" * depth + "]" * depth}])
        )
    nested = "[" * 5_000 + "]" * 5_000
    call = {"name": HOSTILE, "arguments": "{no json", "result": nested}
    case = case_of(
        reject(
            1,
            "novel",
            golden_calls=[call],
            expected_row_changes="[1]",
            actual_row_changes=nested,
            survivor='{"calls": 3}',
        )
    )
    assert case.unreadable == ["expected_row_changes", "actual_row_changes", "survivor"]
    assert case.calls == [Call(HOSTILE, [("", "{no json")], Plain(nested))]
    assert case.rows == []


def test_results_are_laid_out_as_tables_pairs_and_parts() -> None:
    assert laid_out([{"a": 1}, {"a": None, "b_cents": -5}]) == Rows(("a", "b_cents"), [("1", "–"), ("–", "-$0.05")])
    assert laid_out({"total_cents": 123_456, "cards": []}) == Parts(
        [("", Pairs([("total_cents", "$1,234.56")])), ("cards", Plain("none"))]
    )
    assert laid_out("done") == Plain('"done"')


def test_every_gate_is_explained() -> None:
    assert tuple(MEANINGS) == (*GATES, QUARANTINE)
