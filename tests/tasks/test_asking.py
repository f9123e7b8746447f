"""Deeds and questions apart: an intent with `asks` is quiet about half of the time, and then only its state is
graded."""

from __future__ import annotations

import pytest

from toolscale.environment.environment import load_environment
from toolscale.errors import SpecIssue
from toolscale.records import Intent, Tell
from toolscale.tasks.asking import asking, is_owed, quiet
from toolscale.tasks.check import check_phrasings
from toolscale.tasks.evolution import Inapplicable, evolve

PAY = Intent.model_validate(
    {
        "id": "pay",
        "roles": {"member": {"is": "members", "by": "identity"}},
        "do": [{"paid": {"pay_fees": {"member_id": "member.member_id", "amount_cents": "member.fees_cents"}}}],
        "tell": [{"kind": "money", "is": "paid.fees_cents"}],
        "requests": [{"brisk": "Clear my fees. {more}"}, "Can you clear my fees? {more}"],
        "asks": ["What's left?", {"formal": "Kindly state what remains."}],
    }
)

RENEW = Intent.model_validate(
    {
        "id": "renew",
        "roles": {
            "member": {"is": "members", "by": "identity"},
            "loan": {"is": "loans", "of": "member", "by": "title"},
        },
        "do": [{"renewed": {"renew_loan": {"loan_id": "loan.loan_id"}}}],
        "tell": [{"kind": "date", "is": "renewed.due_on"}],
        "requests": ["Renew {loan}."],
        "asks": ["When is it due?"],
    }
)


def said(intent: Intent) -> list[tuple[str | None, str]]:
    return [(request.persona, request.say) for request in intent.requests]


def evolved(*chain: str) -> Intent:
    return evolve(load_environment("mock"), {"pay": PAY, "renew": RENEW}, "pay", chain)


def test_a_question_stands_behind_the_deed_in_the_words_of_its_own_kind_of_person() -> None:
    assert said(asking(PAY)) == [
        ("brisk", "Clear my fees. {more} What's left?"),
        (None, "Can you clear my fees? {more} What's left?"),
        ("formal", "Can you clear my fees? {more} [What's left?|Kindly state what remains.]"),
    ]


def test_who_is_quiet_is_told_nothing() -> None:
    assert (said(quiet(PAY)), quiet(PAY).tell) == (
        [("brisk", "Clear my fees. {more}"), (None, "Can you clear my fees? {more}")],
        (),
    )
    assert evolved("quiet") == quiet(PAY)
    assert evolved() == asking(PAY)


def test_what_decides_a_condition_is_told_without_a_question() -> None:
    when = PAY.model_copy(
        update={
            "do": Intent.model_validate(
                {
                    "id": "x",
                    "roles": {},
                    "requests": [],
                    "do": [{"if": "member.fees_cents > say.limit", "then": []}],
                }
            ).do
        }
    )
    fees, left = Tell.model_validate({"kind": "money", "is": "member.fees_cents"}), PAY.tell[0]
    done = Tell.model_validate({"kind": "bool", "is": "1"})
    assert [is_owed(when, tell) for tell in (fees, done, left)] == [True, True, False]
    assert quiet(when.model_copy(update={"tell": (fees, done, left)})).tell == (fees, done)


@pytest.mark.parametrize(
    ("chain", "facts"),
    [
        (("compose renew",), 2),
        (("compose renew quiet",), 1),
        (("quiet", "compose renew"), 1),
        (("quiet", "compose renew quiet"), 0),
    ],
)
def test_each_matter_of_a_composition_asks_or_not(chain: tuple[str, ...], facts: int) -> None:
    composed = evolved(*chain)
    assert len(composed.tell) == facts
    assert {
        request.say.count("When is it due?") + ("What's left?" in request.say) for request in composed.requests
    } == {facts}


def test_a_refusal_asks_nothing_of_what_is_not_done() -> None:
    bank = load_environment("finance")
    pay = next(intent for intent in bank.spec.intents.intents if intent.id == "pay_bill").model_copy(
        update={"asks": PAY.asks}
    )
    refused = evolve(bank, {"pay_bill": pay}, "pay_bill", ("refuse inactive_source",))
    assert (refused.tell, refused.asks, said(refused)) == ((), (), said(pay))


def test_only_what_asks_apart_can_be_quiet() -> None:
    with pytest.raises(Inapplicable, match="other has no question apart from what it asks for"):
        evolve(
            load_environment("mock"), {"other": PAY.model_copy(update={"id": "other", "asks": ()})}, "other", ("quiet",)
        )


def test_questions_that_nobody_can_ask_or_answer_are_told() -> None:
    environment = load_environment("mock")
    alone = PAY.model_copy(update={"asks": PAY.asks[1:], "tell": ()})
    assert list(check_phrasings(alone, environment)) == [
        SpecIssue(
            "intents.yaml",
            "intents[pay].asks",
            "only what is fulfilled, does something and tells something can ask apart from what it asks for",
            "write the question into requests",
        ),
        SpecIssue(
            "intents.yaml",
            "intents[pay].asks",
            "nobody like 'brisk' asks, who has a request",
            "add one for brisk, or for anybody",
        ),
    ]
