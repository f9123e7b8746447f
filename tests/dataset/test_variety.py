"""Figures of variety, each against a value worked out by hand, and what holds for texts of any number."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

from toolscale.dataset.describing.embedding import Embedding, load_embedding, missing_packages
from toolscale.dataset.describing.measured import measure_texts
from toolscale.dataset.describing.variety import (
    Entropy,
    distinct_2,
    draw,
    entropy,
    likeness,
    nearest_pairs,
    self_bleu,
    vendi_score,
)


def test_distinct_2_counts_different_pairs_of_words() -> None:
    assert distinct_2(["a b A, b"]) == 0.6667  # a b, b a, a b
    assert distinct_2(["pay it", "pay it", "do it"]) == 0.6667  # pairs do not reach over texts
    assert (distinct_2([]), distinct_2(["alone"])) == (0.0, 0.0)


def test_self_bleu_is_the_mean_bleu_of_each_against_the_others() -> None:
    # Against each other: 5 of 6 words, 3 of 5 pairs, 2 of 4 threes, 1 of 3 fours; the lengths are equal.
    expected = round((5 / 6 * 3 / 5 * 2 / 4 * 1 / 3) ** 0.25, 4)
    assert self_bleu([("1", "the cat sat on the mat"), ("2", "the cat sat on a mat")]) == expected == 0.5373


def test_self_bleu_of_equal_texts_is_one_and_one_text_has_none() -> None:
    assert self_bleu([(str(number), "pay my power bill now please") for number in range(60)]) == 1.0
    assert self_bleu([("1", "pay my power bill now please")]) is None


def test_a_draw_depends_on_ids_alone() -> None:
    items = [(str(number), number) for number in range(100)]
    drawn = draw(items, 10)
    assert draw(reversed(items), 10) == drawn == draw(items, 100)[:10]
    assert (
        len(set(drawn)) == 10 and drawn != draw(items, 10, "another") and sorted(draw(items, 500)) == list(range(100))
    )


@given(some.integers(1, 40))
def test_the_vendi_score_of_equal_texts_is_one_and_of_orthogonal_ones_their_number(count: int) -> None:
    equal = np.tile([0.6, 0.8], (count, 1))
    assert (vendi_score(equal), vendi_score(np.eye(count))) == (1.0, count)
    assert vendi_score(np.eye(count, 2 * count)) == count
    assert likeness(equal)[1:] == [1.0] * (count - 1) and likeness(np.eye(count))[1:] == [0.0] * (count - 1)


def test_the_vendi_score_by_hand() -> None:
    # Two of one kind and one of another: eigenvalues 2/3 and 1/3.
    vectors = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    assert vendi_score(vectors) == round(math.exp(2 / 3 * math.log(3 / 2) + 1 / 3 * math.log(3)), 2) == 1.89
    assert vendi_score(np.zeros((0, 2))) is None


def test_nearest_pairs_are_the_same_whatever_the_size_of_a_block(monkeypatch: pytest.MonkeyPatch) -> None:
    vectors = np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8], [0.8, 0.6]])
    expected = [(0.96, 2, 3), (0.8, 1, 2), (0.8, 0, 3), (0.6, 0, 2), (0.6, 1, 3), (0.0, 0, 1)]
    for block in (1, 2, 3, 512):
        monkeypatch.setattr("toolscale.dataset.describing.variety.BLOCK", block)
        assert nearest_pairs(vectors, 9) == expected
        assert nearest_pairs(vectors, 2) == expected[:2]
        assert likeness(vectors) == [-1.0, 0.0, 0.8, 0.96]


def test_entropy_of_things_that_are_spread_over_kinds() -> None:
    assert entropy(["pay", "pay", "send", "send"]) == Entropy(kinds=2, bits=1.0, share=0.5)
    assert entropy(["pay", "send", "freeze", "list"]) == Entropy(kinds=4, bits=2.0, share=1.0)
    assert entropy(["pay"] * 4) == Entropy(kinds=1, bits=0.0, share=0.0)
    assert entropy([]) == Entropy(kinds=0, bits=0.0, share=0.0)


def test_without_embeddings_their_figures_are_left_out() -> None:
    found = measure_texts([("1", "pay my bill"), ("2", "pay my bill")], None)
    assert (found.vendi, found.vendi_of_few, found.near_duplicates, found.likeness, found.nearest) == (
        None,
        None,
        None,
        (),
        (),
    )
    assert (found.count, found.words, found.distinct_2) == (2, 3.0, 0.5)


PAIRS = [
    ("Please pay my electricity bill from the savings account.", "Could you settle the power bill using my savings?"),
    ("I lost my card yesterday, please block it.", "My card has gone missing since yesterday; freeze it, please."),
    ("How much money is left in my checking account?", "What is the balance of my checking account right now?"),
    ("Send 200 dollars to my brother today.", "Transfer $200 to my brother this afternoon, please."),
    ("Cancel my standing order to the gym.", "Stop the recurring payment to my gym."),
    ("I want to return the shoes I bought last week.", "The shoes from last week's order should go back; refund me."),
    ("Book a table for four on Friday evening.", "Reserve dinner for four people on Friday night."),
    ("Change the date of my flight to Monday.", "Move my flight so that I leave on Monday."),
    ("When does the library close on Sundays?", "Until what time is the library open on Sunday?"),
    ("Renew the book that I borrowed in May.", "Please extend the loan of the book I took out in May."),
]
"""The same wish in other words, made by hand."""


@pytest.fixture
def embedding() -> Embedding:
    found = load_embedding()
    if found is None:
        pytest.skip(missing_packages() or "")
    return found


def test_paraphrases_are_nearer_than_any_two_unrelated_requests(embedding: Embedding) -> None:
    one, other = (embedding.embed([pair[side] for pair in PAIRS]) for side in (0, 1))
    cosines = one @ other.T
    apart = cosines[~np.eye(len(PAIRS), dtype=bool)]
    assert cosines.diagonal().min() > 0.5 > apart.max()
    assert cosines.diagonal().mean() > 3 * apart.mean()


def test_an_embedding_is_of_the_text_alone_and_a_unit(embedding: Embedding) -> None:
    alone, among = embedding.embed(["Pay my bill."])[0], embedding.embed(["Send $5.", "Pay my bill.", ""])
    assert np.allclose(alone, among[1]) and np.allclose(np.linalg.norm(among, axis=1), [1, 1, 0])
    assert np.allclose(embedding.embed(["PAY my bill."])[0], alone)


def test_equal_requests_are_found_by_every_figure(embedding: Embedding) -> None:
    texts = [(str(number), "Pay my power bill from my savings account.") for number in range(5)]
    found = measure_texts(texts, embedding)
    assert (found.vendi, found.vendi_of_few, found.self_bleu, found.near_duplicates) == (1.0, 1.0, 1.0, 0.8)
    assert [pair.cosine for pair in found.nearest] == [1.0] * 10
