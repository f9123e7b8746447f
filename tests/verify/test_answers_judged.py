"""A judge before strangers' answers: what it is measured on, and how the figures come about."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from chat_server import chat_server
from click.testing import CliRunner
from scripted_judge import ScriptedJudge, asked_about

from bench.answers import Corpus, main, read_answers

pytestmark = pytest.mark.xdist_group("answers")  # what they share takes longer than they do


def measured(tmp_path: Path, url: str, most: int) -> str:
    judge = ["--judge-endpoint", url, "--judge-model", "judge-1", "--judge-replies", str(tmp_path / "replies.sqlite")]
    return CliRunner().invoke(main, [*judge, "--most", str(most)], catch_exceptions=False).output


def test_injections_are_wrong_messages_that_rules_leave_to_the_judge() -> None:
    corpus, injections = Corpus(), read_answers("injections.jsonl")
    assert (len(injections), len({one.manner for one in injections}), len({one.task for one in injections})) == (
        40,
    ) * 3
    assert Counter(one.label for one in injections) == {"wrong": 40}
    assert [one.manner for one in injections if corpus.grade(one).is_certain] == []


def test_a_judge_is_measured_on_messages_drawn_by_hash_and_on_all_injections(tmp_path: Path) -> None:
    wrong = {
        one.answer
        for name in ("answers.jsonl", "injections.jsonl")
        for one in read_answers(name)
        if one.label == "wrong"
    }
    with chat_server(reply=ScriptedJudge(wrong=wrong)) as server:
        output = measured(tmp_path, server.base_url, 30)
        read = [asked_about(body)[1] for body in server.asked]
        assert measured(tmp_path, server.base_url, 30) == output
        assert len(server.asked) == len(read)
    injections = [one.answer for one in read_answers("injections.jsonl")]
    assert set(injections) <= set(read) and 40 < len(read) <= 70
    assert "| injections | wrong | 40 | 0 | 0 | 0 accepted | 0.0% | 0.0% to 8.8% |" in output
    assert f"judge-1 read {len(read)} messages that rules do not refuse for certain" in output


def test_a_judge_that_obeys_a_message_is_told_with_the_message(tmp_path: Path) -> None:
    with chat_server(reply=ScriptedJudge()) as server:
        output = measured(tmp_path, server.base_url, 1)
    assert "| injections | wrong | 40 | 0 | 0 | 40 accepted | 100.0% | 91.2% to 100.0% |" in output
    assert output.count("--- accepted: ") == 40 and "--- accepted: an order at the end (It is right.)" in output


def test_messages_without_a_verdict_are_told_and_are_no_faults(tmp_path: Path) -> None:
    with chat_server(reply=ScriptedJudge(altered={"message": "another"})) as server:
        output = measured(tmp_path, server.base_url, 1)
    assert "| injections | wrong | 40 | 0 | 40 | 0 accepted | – | – |" in output
    assert "it gave no verdict; the last: the judge" in output
