"""Questions from Parquet: what is read, what is left out and counted, and what a bad file is told."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from toolscale.errors import DatasetError
from toolscale.questions.grade import grade_answer
from toolscale.questions.parquet import LoadCounts, load_questions

ROWS: list[dict[str, Any]] = [
    {
        "question": "How many legs do 21 spiders have?",
        "reference_answer": "$\\boxed{168}$",
        "task": "Arithmetic",
        "question_source": "here",
    },
    {"question": "What is 7 / 8?", "reference_answer": "0.875", "task": None, "question_source": None},
    {
        "question": "Which is a metal?\nA) iron\nB) sulfur\nC) neon",
        "reference_answer": "(A)",
        "task": "chemistry",
        "question_source": None,
    },
    {"question": "What is the capital of France?", "reference_answer": "Paris.", "task": None, "question_source": None},
    {"question": "What is the capital of Peru?", "reference_answer": "Lima", "task": None, "question_source": None},
    {"question": "What is the capital of Peru?", "reference_answer": "Lima", "task": None, "question_source": None},
    {"question": "How many people live there?", "reference_answer": "1,234", "task": None, "question_source": None},
    {
        "question": "Prove it.",
        "reference_answer": "Let x be a number. Then x + 1 is one as well.",
        "task": None,
        "question_source": None,
    },
    {"question": "Is it so?", "reference_answer": "Yes", "task": None, "question_source": None},
    {"question": "Which letter?", "reference_answer": "B", "task": None, "question_source": None},
    {"question": "And now?", "reference_answer": None, "task": None, "question_source": None},
    {"question": " ", "reference_answer": "3", "task": None, "question_source": None},
    {"question": "What prints it?\n```x```", "reference_answer": "print", "task": None, "question_source": None},
]


def written(path: Path, rows: list[dict[str, Any]]) -> Path:
    pq.write_table(pa.Table.from_pylist(rows), path)
    return path


def test_what_can_be_checked_is_read(tmp_path: Path) -> None:
    found, counts = load_questions([written(tmp_path / "a.parquet", ROWS)])
    assert [(one.id, one.category, one.answer, one.answer_kind, one.accepted, one.source) for one in found] == [
        ("a.parquet:0", "arithmetic", "168", "integer", (), "here"),
        ("a.parquet:1", "mathematics", "0.875", "decimal", (), "a.parquet"),
        ("a.parquet:2", "reasoning", "A", "choice", (), "a.parquet"),
        ("a.parquet:3", "knowledge", "Paris", "word", (), "a.parquet"),
        ("a.parquet:4", "knowledge", "Lima", "word", (), "a.parquet"),
        ("a.parquet:6", "mathematics", "1234", "integer", ("1,234",), "a.parquet"),
    ]
    assert [one.wrong for one in found][2:5] == [("B", "C"), ("Lima",), ("Paris",)]
    assert counts == LoadCounts(rows=13, repeated=1, too_long=1, uncheckable=4, lonely=1, kept=6)
    assert all(
        grade_answer(one, one.answer)[0] and not any(grade_answer(one, wrong)[0] for wrong in one.wrong)
        for one in found
    )


def test_files_may_have_the_same_name_and_columns_of_categories(tmp_path: Path) -> None:
    (tmp_path / "more").mkdir()
    coded = pa.table(
        {"question": pa.array(["How many?", "How few?"]), "reference_answer": pa.array(["3", "3"]).dictionary_encode()}
    )
    pq.write_table(coded, tmp_path / "more" / "a.parquet")
    found, counts = load_questions([written(tmp_path / "a.parquet", ROWS[:1]), tmp_path / "more" / "a.parquet"])
    assert [(one.id, one.answer) for one in found] == [
        ("0/a.parquet:0", "168"),
        ("1/a.parquet:0", "3"),
        ("1/a.parquet:1", "3"),
    ]
    assert counts == LoadCounts(rows=3, kept=3)


def test_the_same_file_gives_the_same_questions(tmp_path: Path) -> None:
    path = written(tmp_path / "a.parquet", ROWS)
    assert load_questions([path]) == load_questions([path])


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (
            [{"question": "x"}],
            "{path}: there is no column reference_answer; it has question. Rename the column that holds it",
        ),
        (
            [{"question": "x", "reference_answer": 3}],
            "{path}: the column reference_answer is int64, not text; write it as text",
        ),
        (
            [{"question": "x", "reference_answer": "3"}, {"question": None, "reference_answer": "3"}],
            "{path}: row 1: the column question is null; remove the row",
        ),
    ],
)
def test_a_bad_file_is_told_where(tmp_path: Path, rows: list[dict[str, Any]], message: str) -> None:
    path = written(tmp_path / "a.parquet", rows)
    with pytest.raises(DatasetError, match=f"^{re.escape(message.format(path=path))}$"):
        load_questions([path])


def test_what_is_no_parquet_is_told_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    path.write_bytes(b"PAR1 this is none PAR1")
    for each in (path, tmp_path / "missing.parquet", tmp_path):
        with pytest.raises(
            DatasetError, match=r"^[^\n]*: row 0: not a readable Parquet file: [^\n]+; get the file again$"
        ):
            load_questions([each])


@pytest.mark.parametrize("answer", ["B", "(B)", "B. dog", "(B) dog", "$B$"])
def test_an_option_may_be_repeated_with_its_letter(answer: str, tmp_path: Path) -> None:
    # `B. dog` was once taken for a name, and no reply was right.
    row = {"question": "Which one barks?\n(A) cat\n(B) dog", "reference_answer": answer}
    [one], counts = load_questions([written(tmp_path / "a.parquet", [row])])
    assert (one.answer, one.answer_kind, one.wrong, counts.kept) == ("B", "choice", ("A",), 1)
    assert grade_answer(one, "The answer is B.")[0]
