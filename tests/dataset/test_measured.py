"""What tasks have done and what of their domain they touch, against what the rows of the mock domain say."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from toolscale.dataset.columns import Row
from toolscale.dataset.describing.coverage import Coverage, Covered, cover, join_coverage
from toolscale.dataset.describing.measured import measure_deeds, measure_tasks
from toolscale.dataset.describing.outside import read_outside
from toolscale.dataset.describing.reading import read_dataset
from toolscale.dataset.describing.repeats import count_duplicates, count_same_changes
from toolscale.dataset.describing.told import places, tell_figures
from toolscale.dataset.describing.variety import Entropy
from toolscale.environment.environment import Environment, load_environment
from toolscale.errors import UsageError


@pytest.fixture
def tasks(mock_dataset: Path) -> list[Row]:
    return read_dataset(mock_dataset).rows.tasks


@pytest.fixture(scope="module")
def mock() -> Environment:
    return load_environment("mock")


def of(tasks: list[Row], intent: str) -> Row:
    """A task of the intent, a plain one if there is any."""
    return min((row for row in tasks if row["intent_id"] == intent), key=lambda row: bool(row["evolutions"]))


def test_what_one_payment_touches(tasks: list[Row], mock: Environment) -> None:
    loans = ("list_loans.1", "renew_loan.1", "renew_loan.2", "renew_loan.3", "return_loan.1", "return_loan.2")
    assert cover(mock, [of(tasks, "pay_some_fees")]) == Coverage(
        tools=Covered(5, ("list_loans", "renew_loan", "return_loan")),
        intents=Covered(4, ("renew_due_first", "return_all", "pay_over_desk_limit")),
        guards=Covered(8, loans),
        rules=Covered(1, ()),  # it guards pay_fees, which is called
        refused=Covered(1, ("desk_limit",)),
        values=Covered(0, ()),
        distinct={
            "find_member.date_of_birth": 1,
            "find_member.full_name": 1,
            "pay_fees.amount_cents": 1,
            "pay_fees.member_id": 1,
        },
    )


def test_a_refusal_touches_the_rule_that_it_is_about(tasks: list[Row], mock: Environment) -> None:
    found = cover(mock, [of(tasks, "pay_over_desk_limit")])
    assert (found.refused, found.rules, found.tools.share) == (Covered(1, ()), Covered(1, ()), 0.2)


def test_a_composed_task_covers_both_intents(tasks: list[Row], mock: Environment) -> None:
    row = of(tasks, "pay_some_fees") | {"evolutions": ["compose return_all"]}
    assert cover(mock, [row]).intents.missing == ("renew_due_first", "pay_over_desk_limit")


def test_values_that_an_argument_may_choose_from() -> None:
    finance = load_environment("finance")
    call = {"name": "open_dispute", "arguments": '{"reason":"duplicate"}', "result": "{}"}
    row: Row = {"intent_id": "?", "evolutions": [], "golden_calls": [call]}
    missing = cover(finance, [row]).values.missing
    assert [name for name in missing if name.startswith("open_dispute")] == [
        "open_dispute.reason=not_recognized",
        "open_dispute.reason=wrong_amount",
        "open_dispute.reason=not_received",
    ]


def test_several_domains_together(tasks: list[Row], mock: Environment) -> None:
    one, other = cover(mock, tasks), cover(mock, [of(tasks, "pay_some_fees")])
    found = join_coverage({"a": one, "b": other})
    assert str(found.tools) == f"{10 - len(one.tools.missing) - 3} of 10"
    assert found.tools.missing[-3:] == ("b.list_loans", "b.renew_loan", "b.return_loan")
    assert found.distinct["b.pay_fees.amount_cents"] == 1


def test_what_tasks_have_done(tasks: list[Row], mock: Environment) -> None:
    rows = [of(tasks, name) for name in ("pay_some_fees", "renew_due_first", "pay_over_desk_limit", "pay_some_fees")]
    found = measure_deeds(rows, cover(mock, rows))
    # 2 calls of which 1 writes, 3 of which 1 writes, 1 that reads, and the first once more.
    assert (found.calls, found.writes) == (2.0, 0.75)
    assert found.sequences == Entropy(kinds=3, bits=1.5, share=0.75)
    assert (found.duplicates, found.same_changes) == (1, 1)


@pytest.mark.parametrize("count", [1, 2, 7])
def test_equal_tasks_are_duplicates_but_for_the_first(tasks: list[Row], count: int) -> None:
    rows = [of(tasks, "pay_some_fees")] * count
    assert (count_duplicates(rows), count_same_changes(rows)) == (count - 1, count - 1)


def test_two_people_who_say_the_same_are_no_duplicates(tasks: list[Row]) -> None:
    row = of(tasks, "pay_some_fees")
    known = '{"member.full_name": "Somebody Else"}'
    other = row | {"scenario": {**row["scenario"], "known": known}, "row_changes": "[]"}
    assert count_duplicates([row, other]) == 0
    assert count_duplicates([row, other | {"scenario": row["scenario"]}]) == 1


def test_the_same_changes_by_other_calls_and_words_are_found(tasks: list[Row]) -> None:
    row = of(tasks, "pay_some_fees")
    other = row | {"request": "Other words.", "golden_calls": row["golden_calls"][1:]}
    assert (count_duplicates([row, other]), count_same_changes([row, other])) == (0, 1)
    assert count_same_changes([row, other | {"domain": "elsewhere"}]) == 0
    told = [fact | {"value": "1"} for fact in row["communicate"]]
    assert count_same_changes([row, other | {"communicate": [*told, *told]}]) == 0


def test_refusals_and_hand_overs_are_not_the_same_change(tasks: list[Row]) -> None:
    row = of(tasks, "pay_over_desk_limit")
    handed = json.dumps([{"table": "handovers", "key": ["ho_1"], "before": None, "after": {"reason": "other"}}])
    assert count_same_changes([row, row, row | {"row_changes": handed}, row | {"row_changes": handed}]) == 0


def test_overlap_with_a_file(tasks: list[Row], mock: Environment, tmp_path: Path) -> None:
    request = of(tasks, "renew_due_first")["request"]
    file = tmp_path / "bench.txt"
    file.write_text(f"Something else entirely.\n\nThey said: {request.upper()}\n")
    outside = read_outside(str(file))
    rows = [of(tasks, "renew_due_first"), of(tasks, "pay_over_desk_limit")]
    found = measure_tasks("mock", rows, cover(mock, rows), outsides=[outside])
    assert found.overlaps == {f"{tmp_path.name}/bench": 0.5}
    assert [told.text(found) for told in tell_figures([found])][-1] == "50 %"


EIGHT = "one two three four five six seven eight"


def test_files_of_every_kind_are_read(tmp_path: Path) -> None:
    records = [{"id": "x", "said": {"why": EIGHT, "what": ["nine", "ten"]}}, {"id": "y", "said": None}]
    (tmp_path / "a.json").write_text(json.dumps(records))
    (tmp_path / "b.jsonl").write_text("".join(f"{json.dumps(record)}\n" for record in records))
    pq.write_table(pa.table({"said": [EIGHT, "nine"]}), tmp_path / "c.parquet")
    (tmp_path / "d.md").write_text(f"{EIGHT}\n\nnine")
    assert read_outside(str(tmp_path / "a.json")).texts == (f"x\n{EIGHT}\nnine\nten", "y")
    assert read_outside(f"{tmp_path / 'b.jsonl'}#said").texts == (f"{EIGHT}\nnine\nten",)
    assert read_outside(f"{tmp_path / 'a.json'}#said.why").texts == (EIGHT,)
    for name in ("c.parquet", "d.md"):
        assert read_outside(str(tmp_path / name)).texts == (EIGHT, "nine")


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("short.txt", b"five words are not enough", "no text has 8 words, so nothing can be compared with it"),
        ("broken.json", b"{", "cannot be read: Expecting property name"),
        ("text.json", b"\xff", "cannot be read: 'utf-8' codec"),
        ("not.parquet", b"PAR", "cannot be read: "),
        ("table.csv", b"a,b", "ends in .csv; give a file that ends in .json, .jsonl, .parquet, .txt or .md"),
        ("gone.json", None, "cannot be read: No such file or directory; give a file (.json,"),
    ],
)
def test_a_file_with_which_nothing_can_be_compared_is_refused(
    tmp_path: Path, name: str, content: bytes | None, told: str
) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(UsageError, match=re.escape(told)) as refused:
        read_outside(str(tmp_path / name))
    assert str(refused.value).count("\n") == 0 and name in str(refused.value)


def test_domains_are_put_in_order_and_equal_ones_share_a_place(tasks: list[Row], mock: Environment) -> None:
    def measured(*rows: Row) -> Any:
        return measure_tasks("mock", rows, cover(mock, rows))

    pay, renew = of(tasks, "pay_some_fees"), of(tasks, "renew_due_first")
    items = [measured(pay, pay), measured(renew), measured(renew)]
    by_title = {told.title: places(told, items) for told in tell_figures(items)}
    assert by_title["golden calls"] == [3, 1, 1]
    assert by_title["duplicates"] == [3, 1, 1]
    assert by_title["texts"] == [None, None, None]
