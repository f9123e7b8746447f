"""Evolution: a chain of lines turns an intent into a harder one, whose plan and words are compiled, recorded and judged
like any other."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from toolscale.environment.environment import Environment, load_environment
from toolscale.environment.population import populate
from toolscale.environment.world import World
from toolscale.records import CallStep, Candidate, Intent, Slot, Task
from toolscale.tasks.binding import CandidateSource
from toolscale.tasks.evolution import OPERATORS, Inapplicable, evolve
from toolscale.tasks.evolution.renaming import rename_expression, rename_intent
from toolscale.verify.judge import Judge

Court = tuple[CandidateSource, Judge]


@pytest.fixture(scope="module")
def bank() -> Iterator[Court]:
    environment = load_environment("finance")
    rows = populate(environment)
    source = CandidateSource(environment, World(environment, rows))
    judge = Judge(environment, rows, audit_share=0, replica=False, catalogue=source.catalogue)
    yield source, judge
    judge.close()


def evolved(environment: Environment, intent_id: str, *chain: str) -> Intent:
    intents = {intent.id: intent for intent in environment.spec.intents.intents}
    return evolve(environment, intents, intent_id, chain)


def accepted(court: Court, intent_id: str, *chain: str, where: str = "") -> Task:
    """The first accepted task of a chain; `where` stands in its request."""
    source, judge = court
    for turn in range(80):
        candidate = source.draw_evolved(0, source.number(f"{intent_id}+evolved", turn), chain)
        if candidate is not None and where in candidate.request:
            judged = judge.judge(candidate)
            if judged.verdict.accepted and judged.task is not None:
                return judged.task
    raise AssertionError(f"no accepted task of {intent_id} {chain}")


def calls(task: Task) -> list[str]:
    return [call.name for call in task.golden_calls]


def facts(task: Task) -> list[tuple[str, object]]:
    return [(fact.kind, fact.about) for fact in task.communicate]


def test_names_are_exchanged_in_expressions_but_not_in_quotes_or_columns() -> None:
    names = {"bill": "bill_2", "pay": "pay_2"}
    text = (
        "(SELECT SUM(bill.amount_cents) FROM bill) > pay.paid_cents + say.limit AND x.bill = 'bill' AND o.pay = :today"
    )
    assert rename_expression(text, names, {"limit": "limit_2"}) == (
        "(SELECT SUM(bill_2.amount_cents) FROM bill_2) > pay_2.paid_cents + say.limit_2 "
        "AND x.bill = 'bill' AND o.pay = :today"
    )


def test_renaming_an_intent_keeps_what_is_shared() -> None:
    intent = Intent.model_validate(
        {
            "id": "x",
            "slots": {"amount": {"kind": "money", "from": [100]}},
            "object": "bill",
            "roles": {
                "client": {"is": "clients"},
                "bill": {"is": "bills", "of": "client", "where": "bill.amount_cents > say.amount"},
            },
            "when": "client.age > 3",
            "do": [{"pay": {"pay_bill": {"bill_id": "bill.bill_id", "amount": "say.amount"}}}],
            "tell": [{"kind": "money", "is": "pay.left", "about": "bill.biller"}],
            "requests": ["Pay {bill^} with {amount}. {more} Then tell me."],
        }
    )
    second = rename_intent(intent, "_2", frozenset({"client"}))
    assert second.slots == {"amount_2": Slot.model_validate({"kind": "money", "from": [100]})}
    assert list(second.roles) == ["client", "bill_2"]
    assert (second.roles["bill_2"].of, second.roles["bill_2"].where) == ("client", "bill_2.amount_cents > say.amount_2")
    assert second.when == ("client.age > 3",)
    assert second.do == (
        CallStep(name="pay_2", tool="pay_bill", arguments={"bill_id": "bill_2.bill_id", "amount": "say.amount_2"}),
    )
    assert (second.tell[0].is_, second.tell[0].about) == ("pay_2.left", "bill_2.biller")
    assert second.requests[0].say == "Pay {bill_2^} with {amount_2}. {more_2} Then tell me."


def test_a_composition_does_both_and_looks_up_what_the_second_needs_after_the_first(bank: Court) -> None:
    task = accepted(bank, "freeze_card", "compose pay_bill")
    assert calls(task) == ["find_client", "list_cards", "freeze_card", "list_bills", "list_accounts", "pay_bill"]
    assert task.evolutions == ("compose pay_bill",)


def test_balances_are_read_again_after_money_was_moved_and_cards_are_not(bank: Court) -> None:
    assert calls(accepted(bank, "pay_bill", "compose send_money")).count("list_accounts") == 2
    assert calls(accepted(bank, "freeze_card", "compose unfreeze_and_set_limit")).count("find_client") == 1


def test_facts_of_one_kind_are_labelled_in_a_composition(bank: Court) -> None:
    task = accepted(bank, "pay_bill", "compose send_money")
    labels = [about for kind, about in facts(task) if kind == "money"]
    assert len(labels) == 2
    assert None not in labels
    assert len(set(labels)) == 2


def test_a_yes_or_no_is_labelled_by_its_own_matter() -> None:
    composed = evolved(load_environment("railway"), "cancel_ticket", "compose cancel_if_refund")
    assert [tell.about for tell in composed.tell if tell.kind == "bool"] == ["leg_2.destination"]


def test_a_refused_part_is_told_and_not_done(bank: Court) -> None:
    task = accepted(bank, "freeze_card", "compose refuse_over_daily_limit")
    assert task.outcome == "fulfil"
    assert [change.table for change in task.row_changes] == ["cards"]
    (own, limit), (no, part), (figure, rule) = facts(task)
    assert (own, no, figure) == ("money", "bool", "money")
    assert part == rule
    assert limit not in (part, None)
    assert next(fact.value for fact in task.communicate if fact.kind == "bool") == 0


def test_a_condition_is_told_whether_it_holds_or_not(bank: Court) -> None:
    source, judge = bank
    found = {}
    for turn in range(120):
        candidate = source.draw_evolved(0, source.number("pay_bill+evolved", turn), ("constrain size",))
        judged = judge.judge(candidate) if candidate else None
        if judged and judged.verdict.accepted and judged.task:
            done = next(fact.value for fact in judged.task.communicate if fact.kind == "bool")
            found[done] = (len(judged.task.row_changes) > 0, [kind for kind, _ in facts(judged.task)].count("money"))
    assert found == {1: (True, 2), 0: (False, 1)}


def test_where_a_condition_does_not_hold_nothing_was_done_and_nothing_refused(bank: Court) -> None:
    source, judge = bank
    for turn in range(200):
        candidate = source.draw_evolved(0, source.number("pay_older_of_two_bills+evolved", turn), ("constrain cover",))
        if candidate is None:
            continue
        subject = judge.subject(candidate)
        if not subject.writes and judge.judge(candidate).verdict.accepted:
            form = json.loads(subject.answer)
            assert (form["done"], form["reasons"]) == ("none", [])
            amount = judge.row("bills", candidate.bindings["bill"][0])["amount_cents"]
            refused = f"{amount} decided no refusal"
            assert subject.form_finding(json.dumps({**form, "reasons": [amount]})) == refused
            return
    raise AssertionError("no case in which the condition does not hold")


def test_a_batch_acts_on_every_row_that_the_adjective_names(bank: Court) -> None:
    task = accepted(bank, "pay_bill", "batch bill")
    paid = calls(task).count("pay_bill")
    assert paid >= 2
    assert task.communicate[0].model_dump(include={"kind", "value"}) == {"kind": "number", "value": paid}


def test_what_is_somebody_elses_is_neither_looked_up_nor_told(bank: Court) -> None:
    task = accepted(bank, "pay_bill", "pry relative")
    assert calls(task).count("find_client") == 1
    withheld = [fact for fact in task.communicate if fact.withheld]
    assert withheld
    assert all(fact.kind == "money" for fact in withheld)
    assert ("bool", task.scenario.known["other.full_name"]) in facts(task)


def test_a_refusal_is_bound_by_the_rule(bank: Court) -> None:
    """Each is accepted, but where the amount that the person asks for is the figure to be told."""
    source, judge = bank
    drawn = (
        source.draw_evolved(0, source.number("send_money+turned", turn), ("refuse daily_limit",)) for turn in range(20)
    )
    refused = [judge.judge(candidate) for candidate in drawn if candidate is not None]
    assert len(refused) >= 10
    for judged in refused:
        assert judged.task is not None
        assert (judged.task.outcome, judged.task.row_changes) == ("refuse", ())
        limit = next(fact.value for fact in judged.task.communicate if fact.kind == "money")
        assert {gate.gate for gate in judged.verdict.failed} == (
            {"not_leaked"} if judged.candidate.say["amount_cents"] == limit else set()
        )


def test_a_stream_is_there_only_if_a_chain_can_begin(bank: Court) -> None:
    """Nothing can be made harder of a refusal that is about the client alone; no account that must be active can be one
    that is not."""
    source, _ = bank
    names = [stream.name for stream in source.streams]
    assert len(set(names)) == len(names)
    assert {
        "pay_bill",
        "pay_bill+evolved",
        "pay_bill+turned",
        "refuse_expired_identity",
        "biggest_charge+evolved",
    } <= set(names)
    assert not {
        "refuse_expired_identity+evolved",
        "refuse_expired_identity+turned",
        "biggest_charge+turned",
    } & set(names)
    assert all(stream.weight > 0 for stream in source.streams)


@pytest.mark.parametrize(
    ("chain", "finding"),
    [
        (("tickle bill",), f"'tickle bill' is no evolution; use one of {', '.join(OPERATORS)} and what it acts on"),
        (("compose no_such_intent",), "there is no intent no_such_intent"),
        (("obscure nobody:biller",), "nobody:biller: no such role with a description"),
        (("pry relative", "batch bill"), "what the request only mentions would be left out of it"),
        (("constrain no_such",), "no_such: no such quantity, or no words for it"),
        (("refuse card_limit_double",), "no call can be made to break card_limit_double"),
    ],
)
def test_what_does_not_apply_is_said(chain: tuple[str, ...], finding: str) -> None:
    with pytest.raises(Inapplicable) as caught:
        evolved(load_environment("finance"), "pay_bill", *chain)
    assert str(caught.value) == finding


@pytest.mark.parametrize("domain", ["finance", "mock"])
def test_every_line_that_an_operator_offers_applies_or_says_why(domain: str) -> None:
    environment = load_environment(domain)
    for intent in environment.spec.intents.intents:
        for name, (_, options) in OPERATORS.items():
            for line in options(environment, intent) if options else ():
                assert line.startswith(f"{name} ")
                try:
                    assert isinstance(evolved(environment, intent.id, line), Intent)
                except Inapplicable as reason:
                    assert str(reason)


def test_an_evolved_draw_depends_on_seed_and_number_alone(bank: Court) -> None:
    source, _ = bank
    numbers = [source.number(stream.name, 2) for stream in source.streams if stream.kind != "plain"][:20]
    again = CandidateSource(source.environment, source.world)
    first: list[Candidate | None] = [source.draw(3, number) for number in numbers]
    assert [again.draw(3, number) for number in reversed(numbers)][::-1] == first


def test_what_another_role_is_known_by_stays_said() -> None:
    """*That train* is found by what is said of the ticket: an obscured ticket left it unsaid, and every such task was
    rejected."""
    environment = load_environment("railway")
    with pytest.raises(Inapplicable, match="another role is known by what is said of leg"):
        evolved(environment, "two_together", "obscure leg:at")


@pytest.mark.parametrize(
    ("domain", "intent", "line", "finding"),
    [
        # The slot `other` is a day; *use Harry Ibarra, if that fails as well leave it* was asked for in its place.
        ("restaurant", "move_or_next_choice", "pry email", "the names of its roles are taken"),
        # The first says nobody's name, so the second was asked for by nobody.
        ("railway", "ask_last_train", "compose buy_there_and_back", "are not one person's"),
        # *Appeal all my fines* left out on what ground.
        ("sport", "appeal_wrong_facts", "batch fine", "has no place in these"),
        # What comes back was told twice.
        ("restaurant", "cancel_sign_up", "constrain people_paid", "another fact of this kind is told about the same"),
    ],
)
def test_what_would_leave_something_unsaid_or_say_it_twice_does_not_apply(
    domain: str, intent: str, line: str, finding: str
) -> None:
    with pytest.raises(Inapplicable, match=finding):
        evolved(load_environment(domain), intent, line)
