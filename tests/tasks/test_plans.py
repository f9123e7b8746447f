"""Intents that cannot be compiled: every branch is checked, taken or not, and every fault is one line."""

from __future__ import annotations

import dataclasses

import pytest

from toolscale.environment.environment import load_environment
from toolscale.environment.population import populate
from toolscale.environment.world import World
from toolscale.errors import SpecError
from toolscale.records import Intent
from toolscale.tasks.binding import CandidateSource
from toolscale.tasks.check import check_constants
from toolscale.tasks.compiler import PlanCompiler, compile_plans
from toolscale.tasks.queries import compile_case

MEMBER = {"member": {"is": "members", "by": "identity"}}
LOAN = {**MEMBER, "loan": {"is": "loans", "of": "member", "by": "title"}}

RETURN = {"returned": {"return_loan": {"loan_id": "loan.loan_id"}}}


def issues(**parts: object) -> list[str]:
    """What is wrong with an intent of the mock domain."""
    compiler = PlanCompiler(load_environment("mock"))
    rules = compiler.compile_rules()
    intent = Intent.model_validate({"id": "x", "roles": MEMBER, "requests": ["{member}"], **parts})
    compiler.compile_intent(intent, rules)
    return [str(issue) for issue in compiler.issues]


def pay(amount: str) -> dict[str, object]:
    return {"paid": {"pay_fees": {"member_id": "member.member_id", "amount_cents": amount}}}


@pytest.mark.parametrize(
    ("parts", "line"),
    [
        (
            {"do": [pay("700")]},
            "intents.yaml: intents[x].do.paid.amount_cents: 700 is a literal that nobody said; "
            "use a slot, a role or policy.NAME",
        ),
        (
            {"do": [{"if": "member.fees_cents > 0", "then": [pay("member.fees_cents")], "else": [pay("900")]}]},
            "intents.yaml: intents[x].do.paid.amount_cents: 900 is a literal that nobody said; "
            "use a slot, a role or policy.NAME",
        ),
        (
            {
                "do": [{"if": "member.fees_cents < say.amount_cents", "then": [pay("say.limit_cents")]}],
                "slots": {name: {"kind": "money", "from": [700]} for name in ("amount_cents", "limit_cents")},
            },
            "intents.yaml: intents[x].do.paid.amount_cents: say.limit_cents is given here, and the request also says "
            "amount_cents, which is named like it; give it say.amount_cents, or rename the slots",
        ),
        (
            {"do": [pay("member.nickname")]},
            "intents.yaml: intents[x].roles.member: no read tool shows members.nickname; "
            "let a read tool return it, or do not use it",
        ),
        (
            {"do": [pay("case.amount")]},
            "intents.yaml: intents[x].do[0].paid.amount_cents: unknown name 'case' of case.amount in 'case.amount'; "
            "use one of member, policy, say",
        ),
        (
            {"do": [pay("member.fees_cents")], "roles": LOAN},
            "intents.yaml: intents[x].roles.loan: this role is never used; use it or leave it out",
        ),
        (
            {"do": [{"seen": {"list_loans": {"member_id": "member.member_id"}}}, pay("member.fees_cents")]},
            "intents.yaml: intents[x].do.seen: this look-up is never used; use its result or leave it out",
        ),
        (
            {
                "do": [pay("member.fees_cents")],
                "tell": [{"kind": "money", "is": "paid.fees_cents"}, {"kind": "money", "is": "paid.amount_cents"}],
            },
            "intents.yaml: intents[x].tell: two facts of kind money without `about`; give each an `about`: ",
        ),
        (
            {"do": [pay("member.fees_cents - 100")]},
            "intents.yaml: intents[x].do.paid.amount_cents: member.fees_cents - 100 is a literal that nobody said; "
            "use a slot",
        ),
        (
            {"do": [pay("member.fees_cents")], "tell": [{"kind": "money", "is": "paid.fees_cents + 1"}]},
            "intents.yaml: intents[x].tell[0]: paid.fees_cents + 1 holds a literal that nobody said; use a slot",
        ),
        (
            {"do": [{"if": "member.fees_cents > 5000", "then": [pay("member.fees_cents")]}]},
            "intents.yaml: intents[x].do.if: member.fees_cents > 5000 compares with a number that nobody said; "
            "use a slot or policy.NAME",
        ),
        (
            {"do": [pay("member.fees_cents")], "tell": [{"kind": "money", "is": "member.fees_cents"}]},
            "intents.yaml: intents[x].tell[0]: member.fees_cents is told as it was before a call changes it; "
            "tell the result of the call",
        ),
        (
            {"do": [pay("member.fees_cents")], "slots": {"days": {"kind": "number", "from": [7, 14]}}},
            "intents.yaml: intents[x].slots.days: the request says it and nothing depends on it; "
            "use it or leave it out",
        ),
        (
            {"do": [pay("member.fees_cents"), pay("member.fees_cents")]},
            "intents.yaml: intents[x].do: pay_fees is called 2 times with the same arguments; call it once",
        ),
        (
            {
                "do": [RETURN],
                "roles": {
                    **MEMBER,
                    "loan": {"is": "loans", "of": "member", "first": "loan.due_on", "text": "one of my loans"},
                },
            },
            "intents.yaml: intents[x].roles.loan: it is the first of an order, and no word of the request says so; "
            "give it cues",
        ),
        (
            {
                "do": [{"each": "loan", "do": [RETURN]}],
                "roles": {**MEMBER, "loan": {"is": "loans", "of": "member", "take": "all", "text": "it"}},
            },
            "intents.yaml: intents[x].roles.loan: it means several rows, and no word of the request says so; "
            "give it cues such as [all]",
        ),
        (
            {"do": [pay("member.fees_cents")], "outcome": "refuse", "rule": "no_such_rule"},
            "intents.yaml: intents[x]: rule 'no_such_rule' is not in rules.yaml; name one of desk_limit",
        ),
        (
            {"do": [{"paid": {"pay_everything": {}}}]},
            "intents.yaml: intents[x].do[0].paid: unknown tool 'pay_everything'; use one of calculate, ",
        ),
        (
            {"do": [{"paid": {"pay_fees": {"member_id": "member.member_id"}}}]},
            "intents.yaml: intents[x].do[0].paid: pay_fees needs 'amount_cents'; give it",
        ),
    ],
)
def test_a_fault_of_a_plan_is_one_line(parts: dict[str, object], line: str) -> None:
    (found,) = issues(**parts)
    assert found.startswith(line)


def test_all_faults_of_all_intents_are_reported() -> None:
    environment = load_environment("mock")
    broken = [
        intent.model_copy(update={"tell": (*intent.tell, *intent.tell)}) for intent in environment.spec.intents.intents
    ]
    changed = environment.spec.model_copy(
        update={"intents": environment.spec.intents.model_copy(update={"intents": tuple(broken)})}
    )

    with pytest.raises(SpecError) as error:
        compile_plans(dataclasses.replace(environment, spec=changed))
    assert [issue.place for issue in error.value.issues] == [
        "intents[pay_some_fees].tell",
        "intents[renew_due_first].tell",
        "intents[renew_due_first].tell",
        "intents[return_all].tell",
    ]


def test_a_draw_depends_on_seed_and_number_alone() -> None:
    environment = load_environment("mock")
    rows = populate(environment)
    one, two = (CandidateSource(environment, World(environment, rows)) for _ in range(2))
    forwards = [one.draw(3, number) for number in range(24)]
    backwards = [two.draw(3, number) for number in reversed(range(24))]
    assert forwards == backwards[::-1]
    assert forwards != [one.draw(4, number) for number in range(24)]


def test_a_skeleton_is_the_request_with_every_fact_masked() -> None:
    environment = load_environment("mock")
    source = CandidateSource(environment, World(environment, populate(environment)))
    candidate = source.draw(0, 0)
    assert candidate is not None
    masked = candidate.skeleton.split("▢")
    assert len(masked) == 4
    rest = candidate.request
    for part in filter(None, masked):
        _, found, rest = rest.partition(part)
        assert found == part


def test_an_amount_that_the_policy_does_not_say_is_an_issue() -> None:
    environment = load_environment("mock")
    policy = environment.spec.policy.model_copy(update={"constants": {"desk_limit_cents": 4400}})
    changed = dataclasses.replace(environment, spec=environment.spec.model_copy(update={"policy": policy}))
    assert [str(issue) for issue in check_constants(changed)] == [
        "rules.yaml: constants.desk_limit_cents: policy.md does not say $44; "
        "write the amount into the policy, or correct it"
    ]


def test_a_value_that_is_drawn_later_cannot_find_a_row() -> None:
    """Such an intent was admitted, and ended in a KeyError when it was drawn."""
    environment = load_environment("mock")
    due = "SELECT z.due_on FROM loans z WHERE z.loan_id = late.loan_id"
    roles = {
        **MEMBER,
        "loan": {"is": "loans", "of": "member", "where": "loan.due_on < say.day", "text": "my loan"},
        "late": {"is": "loans", "of": "member", "text": "the other"},
    }
    intent = Intent.model_validate(
        {
            "id": "x",
            "slots": {"day": {"kind": "date", "sql": due}},
            "roles": roles,
            "do": [RETURN, {"kept": {"renew_loan": {"loan_id": "late.loan_id"}}}],
            "requests": ["{member} {loan} {late} {day}"],
        }
    )
    compiler = PlanCompiler(environment)
    plan = compiler.compile_intent(intent, compiler.compile_rules())
    assert plan is not None, compiler.issues
    with pytest.raises(SpecError) as raised:
        compile_case(environment, plan)
    assert str(raised.value) == (
        "intents.yaml: intents[x].roles.loan: say.day is drawn from a role that comes after loan; "
        "write the roles in another order"
    )
