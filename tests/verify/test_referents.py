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
