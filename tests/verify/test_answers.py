"""The judge before strangers' answers: what readers called right and wrong, and how far it agrees. docs/grading.md has
the figures."""

from __future__ import annotations

from collections import Counter

import pytest

from bench.answers import HELD_OUT, SEEN, Graded, grade_corpus, read_answers

pytestmark = pytest.mark.xdist_group("answers")  # what they share takes longer than they do

REFUSED, ACCEPTED = 0.16, 0.14
"""Shares of right answers refused, and of wrong ones accepted, beyond which the grader has become worse. Lower them as
it gets better."""


@pytest.fixture(scope="module")
def graded() -> list[Graded]:
    return list(grade_corpus())


def test_the_corpus_is_large_and_in_two_halves() -> None:
    answers = read_answers()
    written = [answer for answer in answers if answer.kind == "written"]
    halves = Counter(answer.half for answer in written)
    assert (len(written), len({answer.task for answer in written})) == (610, 305)
    assert sum(answer.label == "wrong" for answer in answers) >= 250
    assert 0.4 < halves[HELD_OUT] / (halves[HELD_OUT] + halves[SEEN]) < 0.6


@pytest.mark.parametrize("half", [SEEN, HELD_OUT])
def test_the_judge_agrees_with_readers_as_often_as_it_did(graded: list[Graded], half: str) -> None:
    shares = {
        label: sum(one.misgraded for one in part) / len(part)
        for label in ("right", "wrong")
        if (part := [one for one in graded if (one.answer.half, one.answer.label) == (half, label)])
    }
    assert shares["right"] <= REFUSED and shares["wrong"] <= ACCEPTED, shares


def test_what_was_left_out_or_hedged_is_never_right(graded: list[Graded]) -> None:
    kinds = {"left_out", "hedged", "partial_total"}
    assert [
        one.answer.answer for one in graded if one.answer.kind in kinds and one.misgraded and one.answer.half == SEEN
    ] == []
