"""The library that questions look things up in, and the questions that go on from what is found there."""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path

import pytest

from toolscale.errors import StorageError
from toolscale.questions.corpus import corpus, write_corpus
from toolscale.questions.generate import questions, two_step_question
from toolscale.records import Question, Split


def lookups(split: Split, count: int) -> list[Question]:
    return list(itertools.islice(questions(split, 3, ("lookup",)), count))


def test_an_answer_stands_in_one_passage_of_the_library() -> None:
    passages = {entry.title: entry for entry in corpus()}
    assert len(passages) == len(corpus()) == 400
    texts = [(entry.title, f"{entry.title}\n{entry.text}") for entry in corpus()]
    for one in lookups("train", 400) + lookups("test", 100):
        assert f'"{one.lookup}"' in one.text
        pattern = re.compile(rf"\b{re.escape(one.answer)}\b")
        assert [title for title, text in texts if pattern.search(text)] == [one.lookup], one


def test_the_library_is_written_as_json_lines(tmp_path: Path) -> None:
    path = write_corpus(tmp_path / "made" / "here")
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert path.name == "library.jsonl"
    assert lines == [{"id": entry.id, "title": entry.title, "text": entry.text} for entry in corpus()]
    assert write_corpus(tmp_path / "again").read_bytes() == path.read_bytes()
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match=r"cannot be written: .*; give a folder that can be"):
        write_corpus(tmp_path / "file")


@pytest.mark.parametrize("split", ["train", "test"])
def test_two_steps_are_a_fact_of_the_library_and_a_sum_with_it(split: Split) -> None:
    passages = {entry.title: entry.text for entry in corpus()}
    for number in range(400):
        one = two_step_question(number, 3, split)
        assert one.lookup is not None and one.snippet is not None and one.fact is not None
        assert f'"{one.lookup}"' in one.text and f"`{one.snippet}`" in one.text and one.fact not in one.text
        assert one.fact in passages[one.lookup]
        assert str(eval(one.snippet, {"n": int(one.fact)})) == one.answer
        assert one.category == "lookup" and one.answer not in one.wrong
        assert one.fact == one.answer or one.fact in one.wrong  # whoever stops half-way is wrong
