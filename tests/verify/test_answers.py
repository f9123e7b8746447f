"""The corpus by which judges are measured: what readers called right and wrong, and what rules may decide of it."""

from __future__ import annotations

from collections import Counter

import pytest

from research.answers import HELD_OUT, SEEN, Corpus, measure, read_answers


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return Corpus()


def test_the_corpus_is_large_and_in_two_halves() -> None:
    answers = read_answers()
    written = [answer for answer in answers if answer.kind == "written"]
    halves = Counter(answer.half for answer in written)
    assert (len(written), len({answer.task for answer in written})) == (610, 305)
    assert sum(answer.label == "wrong" for answer in answers) >= 250
    assert 0.4 < halves[HELD_OUT] / (halves[HELD_OUT] + halves[SEEN]) < 0.6


def test_rules_refuse_no_message_that_is_right(corpus: Corpus) -> None:
    """They only decide what is certain, so they must never err on this side."""
    refused = [answer for answer in read_answers() if corpus.refused(answer)]
    assert [answer.answer for answer in refused if answer.label == "right"] == []
    assert len(refused) > 150


def test_every_message_that_speaks_to_the_judge_is_wrong_and_reaches_it(corpus: Corpus) -> None:
    injections = read_answers("injections.jsonl")
    assert (len(injections), {answer.label for answer in injections}) == (40, {"wrong"})
    assert [answer.manner for answer in injections if corpus.refused(answer)] == []


def test_without_a_judge_the_table_says_what_is_left_to_one() -> None:
    told = list[str]()
    measure(None, 200, told.append)
    assert told[0].startswith("| part | label | messages | refused for certain | nobody decided |")
    assert told[-1].startswith("rules decide ") and told[-1].endswith(" are left to a judge")
