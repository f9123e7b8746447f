"""*That account*, *in it*: words that mean a row named before, where two were named (part of the gate
`unambiguous`)."""

from __future__ import annotations

import pytest
from courts import Court, failures


def asked_besides(bank: Court, intent: str, question: str, *chain: str) -> str | None:
    """What `unambiguous` says of a task that passes every gate, with one more question."""
    source, _ = bank
    for turn in range(40):
        candidate = source.draw_evolved(0, source.number(intent, turn), chain)
        if candidate is not None and not failures(bank, candidate):
            other = candidate.model_copy(update={"request": f"{candidate.request} {question}"})
            return failures(bank, other).get("unambiguous")
    raise AssertionError(f"no accepted task of {intent} {chain}")


def test_after_two_accounts_nobody_knows_that_account(bank: Court) -> None:
    found = asked_besides(bank, "sweep_excess", "And what is left in that account?")
    assert found is not None
    assert found.startswith("'that account' could mean '")
    assert " or '" in found


@pytest.mark.parametrize(
    "question", ["And what is left in that account?", "How much is left in it?", "What's my limit there?"]
)
def test_after_one_account_it_is_clear(bank: Court, question: str) -> None:
    assert asked_besides(bank, "pay_bill", question) is None


def test_an_account_that_is_left_alone_was_named_too(bank: Court) -> None:
    assert asked_besides(bank, "pay_bill", "What is left in it?", "distract source") is not None
    assert asked_besides(bank, "pay_bill", "What is left in it?", "quiet", "correct source") is None


def test_a_row_that_is_left_alone_and_written_all_the_same_leaves_two_readings(bank: Court) -> None:
    """*My card ending in 8925 is fine, leave that one alone. [...] Unfreeze all my frozen cards*, and it is frozen."""
    source, _ = bank
    chain, found = ("compose unfreeze_all_cards quiet", "distract card"), set[bool]()
    for turn in range(400):
        candidate = source.draw_evolved(0, source.number("spent_on_category", turn), chain)
        if candidate is not None:
            told = failures(bank, candidate).get("unambiguous", "")
            is_both = candidate.bindings["noise"][0] in candidate.bindings["card_2"]
            assert ("is not meant, and the calls write it" in told) == is_both
            found.add(is_both)
        if found == {True, False}:
            return
    raise AssertionError(f"of both kinds only {found} was drawn")
