"""What is asked of DuckDB: pages, filters, counts, files that come, go and break."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scheduled_runs import DAG_ID, MONDAY, TUESDAY, reject, write_run, write_shard
from toolscale_ui.data_folder import DataFolder
from toolscale_ui.query import Query
from toolscale_ui.rejects import COLUMNS, Rejects

from toolscale.dataset.arrow import RUN_REJECT_SCHEMA
from toolscale.errors import StorageError


def open_rejects(data: Path) -> Rejects:
    return Rejects(DataFolder(str(data), listing_seconds=0))


def numbers(rejects: Rejects, **query: str) -> list[int]:
    return [row["number"] for row in rejects.page(Query.of(query)).rows]


def test_the_newest_run_comes_first_and_then_the_order_of_candidates(data: Path) -> None:
    page = open_rejects(data).page(Query())
    assert [(row["run_id"], row["number"]) for row in page.rows] == [
        (TUESDAY, 3),
        (TUESDAY, 4),
        (MONDAY, 1),
        (MONDAY, 2),
        (MONDAY, 5),
    ]
    assert (page.total, page.there, page.pages) == (5, 5, 1)
    assert page.rows[2] == {
        "location": str(data / "runs/monday/finance/rejects/finance-000.parquet"),
        "row": 0,
        "started": "2026-11-16T02:00:05+00:00",
        "evolutions": ["compose"],
        "number": 1,
        "domain": "finance",
        "intent_id": "pay_bill",
        "run_id": MONDAY,
        "task_id": "finance.judge",
        "map_index": 0,
        "shard": "finance-000",
        "request": "Please pay my bill, number 1.",
        "failed": [{"gate": "novel", "finding": "novel found something"}],
    }


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ({"run_id": MONDAY}, [1, 2, 5]),
        ({"gate": "novel"}, [1, 2]),
        ({"gate": "novel", "intent": "freeze_card"}, [2]),
        ({"evolution": "compose", "run_id": MONDAY}, [1, 5]),
        ({"domain": "retail"}, []),
        ({"domain": "finance' OR 1=1 --"}, []),
        ({"sort": "candidate", "order": "desc"}, [5, 4, 3, 2, 1]),
        ({"sort": "candidate", "order": "asc"}, [1, 2, 3, 4, 5]),
        ({"sort": "number; DROP TABLE reject", "order": "asc", "run_id": MONDAY}, [1, 2, 5]),
        ({"dag_id": DAG_ID, "run_id": MONDAY}, [1, 2, 5]),
        ({"dag_id": DAG_ID, "run_id": MONDAY, "task_id": "finance.judge", "map_index": "1"}, [5]),
        ({"dag_id": DAG_ID, "run_id": MONDAY, "task_id": "finance.judge", "map_index": "{MAP_INDEX}"}, [1, 2, 5]),
        ({"dag_id": DAG_ID, "run_id": MONDAY, "task_id": "finance.plan", "map_index": "{MAP_INDEX}"}, []),
        ({"dag_id": DAG_ID, "run_id": ""}, []),
        ({"dag_id": "another_dag", "run_id": MONDAY}, []),
    ],
)
def test_a_query_string_selects_and_sorts(data: Path, query: dict[str, str], found: list[int]) -> None:
    assert numbers(open_rejects(data), **query) == found


def test_choices_count_what_each_would_leave_with_the_other_filters_as_they_are(data: Path) -> None:
    page = open_rejects(data).page(Query(gate="novel"))
    assert page.choices["gate"] == {"grounded": 1, "mutants_killed": 1, "novel": 2, "replay": 1, "unambiguous": 1}
    assert page.choices["intent"] == {"freeze_card": 1, "pay_bill": 1}
    assert page.choices["evolution"] == {"compose": 1}
    assert page.choices["run_id"] == {MONDAY: 2}
    assert open_rejects(data).page(Query(gate="lawful")).choices["gate"]["lawful"] == 0


def test_pages_do_not_overlap_and_leave_nothing_out(data: Path) -> None:
    write_shard(data, "monday", MONDAY, 2, [reject(100 + place, "novel") for place in range(120)])
    rejects = open_rejects(data)
    pages = [numbers(rejects, sort="gate", page=str(page)) for page in (1, 2, 3)]
    assert [len(page) for page in pages] == [50, 50, 25]
    assert len({number for page in pages for number in page}) == 125
    assert numbers(rejects, sort="gate", page="99") == pages[2]


def test_a_case_has_all_columns_and_its_neighbours_in_the_list(data: Path) -> None:
    rejects = open_rejects(data)
    row = rejects.case(MONDAY, "finance", 2)
    assert row is not None
    assert {name: row[name] for name in ("number", "reproduce", "path", "folder")} == {
        "number": 2,
        "reproduce": "toolscale judge finance 2 --seed 0",
        "path": "runs/monday/finance/rejects/finance-000.parquet",
        "folder": "monday",
    }
    assert set(COLUMNS) < row.keys()
    before, after = rejects.neighbours(Query(), MONDAY, "finance", 2)
    assert before is not None and after is not None and (before["number"], after["number"]) == (1, 5)
    assert rejects.neighbours(Query(gate="unambiguous"), MONDAY, "finance", 2) == (None, None)
    assert rejects.case(MONDAY, "finance", 99) is None


def test_files_that_come_change_and_go_are_seen(data: Path) -> None:
    rejects = open_rejects(data)
    assert numbers(rejects, run_id=MONDAY) == [1, 2, 5]
    path = write_shard(data, "monday", MONDAY, 2, [reject(7, "novel")])
    assert numbers(rejects, run_id=MONDAY) == [1, 2, 5, 7]
    write_shard(data, "monday", MONDAY, 2, [reject(8, "novel"), reject(9, "novel")])
    assert numbers(rejects, run_id=MONDAY) == [1, 2, 5, 8, 9]
    path.unlink()
    assert numbers(rejects, run_id=MONDAY) == [1, 2, 5]


def test_corrupt_files_are_named_and_the_rest_is_shown(data: Path) -> None:
    cut = data / "runs/monday/finance/rejects/finance-001.parquet"
    cut.write_bytes(cut.read_bytes()[:300])
    pq.write_table(
        pa.table({"number": ["one"], "domain": ["finance"]}), data / "runs/monday/finance/rejects/finance-002.parquet"
    )
    (data / "runs/tuesday/finance/rejects/finance-009.parquet").write_bytes(b"")
    rejects = open_rejects(data)
    assert numbers(rejects) == [3, 4, 1, 2]
    assert sorted(rejects.corrupt) == [
        "runs/monday/finance/rejects/finance-001.parquet",
        "runs/monday/finance/rejects/finance-002.parquet",
        "runs/tuesday/finance/rejects/finance-009.parquet",
    ]
    other = "its columns are not those of rejects: number, intent_id, evolutions and 15 more"
    assert rejects.corrupt["runs/monday/finance/rejects/finance-002.parquet"] == other
    assert all(str(data) not in reason and "\n" not in reason for reason in rejects.corrupt.values())
    write_shard(data, "monday", MONDAY, 1, [reject(5, "replay")])
    (data / "runs/tuesday/finance/rejects/finance-009.parquet").unlink()
    assert numbers(rejects) == [3, 4, 1, 2, 5]
    assert sorted(rejects.corrupt) == ["runs/monday/finance/rejects/finance-002.parquet"]


def test_a_file_that_breaks_after_it_was_listed_is_left_out_too(data: Path) -> None:
    rejects = Rejects(DataFolder(str(data), listing_seconds=600))
    assert len(numbers(rejects)) == 5
    broken = data / "runs/monday/finance/rejects/finance-001.parquet"
    broken.write_bytes(b"PAR1" + bytes(400) + b"PAR1")
    assert numbers(rejects) == [3, 4, 1, 2]
    assert list(rejects.corrupt) == ["runs/monday/finance/rejects/finance-001.parquet"]
    assert rejects.case(MONDAY, "finance", 5) is None


def test_rows_of_another_dag_are_never_shown(data: Path) -> None:
    write_run(data, "other", "theirs", "2026-11-18T00:00:00+00:00", dag_id="secret_dag")
    write_shard(data, "other", "theirs", 0, [reject(66, "novel")], dag_id="secret_dag")
    rejects = open_rejects(data)
    assert numbers(rejects) == [3, 4, 1, 2, 5]
    assert numbers(rejects, dag_id="secret_dag", run_id="theirs") == []
    assert rejects.case("theirs", "finance", 66) is None
    assert rejects.corrupt == {}


def test_a_folder_that_is_not_there_yet_is_empty_and_one_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    assert numbers(open_rejects(tmp_path / "nothing")) == []
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match=r"file cannot be read: .*TOOLSCALE_DATA"):
        open_rejects(tmp_path / "file").page(Query())


def test_the_columns_are_those_that_the_pipeline_writes() -> None:
    assert tuple(COLUMNS) == tuple(RUN_REJECT_SCHEMA.names)
