"""Faults planted one by one, as in the study of gates: each must be rejected, by the check that is there for it."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from courts import Court, OpenCourt, composed, failures, first

from toolscale.environment.environment import Environment, load_environment
from toolscale.environment.population import populate
from toolscale.environment.registry import discover
from toolscale.environment.world import World
from toolscale.errors import SpecError
from toolscale.sandbox.base import Rows
from toolscale.tasks.binding import CandidateSource
from toolscale.tasks.check import check_intents
from toolscale.verify.judge import Judge

Edit = tuple[str, str, str]

INTENTS = "intents.yaml"
PAID = "{pay_fees: {member_id: member.member_id, amount_cents: say.amount_cents}}"
OWED = "      - {kind: money, is: paid.fees_cents, what: fees still owed}"
COUNTED = '      - {kind: number, is: "(SELECT COUNT(*) FROM loan)", what: number of loans}'
EACH_RETURNED = "      - each: loan\n        do:\n          - returned: {return_loan: {loan_id: loan.loan_id}}\n"
DUE_FIRST = (
    "where: loan.status = 'open'\n        first: loan.due_on\n"
    "        text: whichever of my open loans is due first\n        cues: [due first, open]"
)
NAMED = (
    (INTENTS, DUE_FIRST, "by: title\n        where: loan.status = 'open'"),
    (INTENTS, "      - {kind: text, is: loan.title, what: title}\n", ""),
)
"""The loan is named by its title, which is then no news."""
FROZEN = "      - frozen: {freeze_card: {card_id: card.card_id}}\n"
THAWED = "    title: Unfreeze a card and set its limit\n"
ANY_OPEN = (
    "where: loan.status = 'open'\n        take: any\n        same: [title]\n"
    "        text: any of my open loans\n        cues: [any, open]"
)
MORE_OR_EQUAL = ("rules.yaml", "call.amount_cents > policy", "call.amount_cents >= policy")
HIDES = (
    "toolset.yaml",
    "WHERE member_id = :member_id ORDER BY due_on",
    "WHERE member_id = :member_id AND renewals < 3 ORDER BY due_on",
)
EXACTLY = "in a way that reads back as exactly that"
NO_DAY = (
    f"does not say first_on = '2026-04-01' {EXACTLY}: 'Fisher, DOB December 31, 1972' reads as 1972-12-31, {{}}; "
    "said as 'April 1, 2026' it does"
)
FRIDAYS = "'first payment next Friday' reads as 2026-03-20 or 2026-03-27"
AROUND = "'payment around April 1, 2026' reads as 2026-04-01 (hedged)"
NO_WORDS = "these words do not stand in it; said as"
UNASKED = {"grounded": "the request asks nothing, and the text The Ninth Gate Keeper must be told"}
NOT_OPEN = {
    "grounded": "the request lacks the cue 'open' of loan",
    "unambiguous": "loan could be ln_1058, which ends in another state; no word says loan.status = 'open'",
}
TOOL_NAMED = {
    "grounded": "the request says 'pay_fees', which the plan knows nothing of; say it as a slot, or leave it out",
    "not_leaked": "the request names the tool pay_fees",
}


def unread(name: str, value: int | str, heard: str, works: str) -> dict[str, str]:
    """What the gate `grounded` finds of a value that is not said."""
    return {"grounded": f"the request does not say {name} = {value!r} {EXACTLY}: {heard}; said as {works!r} it does"}


JUNE = unread(
    "member.date_of_birth", "2004-07-18", "'Andrews, born June 18, 2004' reads as 2004-06-18", "July 18, 2004"
)
LATER = unread(
    "member.date_of_birth", "2004-07-18", "'Andrews, born July 19, 2004' reads as 2004-07-19", "July 18, 2004"
)
NOT_NAMED = unread("member.full_name", "Patricia Andrews", "these words do not stand in it", "Patricia Andrews")
MORE = unread("amount_cents", 2999, "'Please pay $30.99' reads as 3099", "$29.99")
NOT_SAID = unread("amount_cents", 2999, "no money stands in it", "$29.99")
CONDITIONAL = (
    "      - if: member.fees_cents {test} say.amount_cents\n"
    "        then: [{{paid: " + PAID.replace("{", "{{").replace("}", "}}") + "}}]\n"
    "        else: [{{{other}: {{pay_fees: {{member_id: member.member_id, amount_cents: {amount}}}}}}}]\n"
)


def spoilt(folder: Path, domain: str, *edits: Edit) -> Path:
    """A copy of a domain with text replaced in its files."""
    shutil.copytree(discover()[domain], folder)
    for file, old, new in edits:
        text = (folder / file).read_text(encoding="utf-8")
        assert old in text, f"{old!r} does not stand in {file}"
        (folder / file).write_text(text.replace(old, new, 1), encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    ("edit", "issue"),
    [
        pytest.param(
            (INTENTS, "amount_cents: say.amount_cents}}", "amount_cents: '500'}}"),
            "intents.yaml: intents[pay_some_fees].do.paid.amount_cents: 500 is a literal that nobody said; "
            "use a slot, a role or policy.NAME\n"
            "intents.yaml: intents[pay_some_fees].slots.amount_cents: the request says it and nothing depends on it; "
            "use it or leave it out",
            id="literal amount",
        ),
        pytest.param(
            (INTENTS, "loan_id: loan.loan_id", "loan_id: \"'ln_1001'\""),
            "intents.yaml: intents[renew_due_first].do.renewed.loan_id: 'ln_1001' is a literal that nobody said; "
            "use a slot, a role or policy.NAME",
            id="literal id",
        ),
        pytest.param(
            (INTENTS, f"      - paid: {PAID}\n", CONDITIONAL.format(test=">", other="paid", amount="777")),
            "intents.yaml: intents[pay_some_fees].do.paid.amount_cents: 777 is a literal that nobody said; "
            "use a slot, a role or policy.NAME",
            id="literal in the branch not taken",
        ),
        pytest.param(
            (INTENTS, "amount_cents: say.amount_cents}}", "amount_cents: paid.fees_cents}}"),
            "intents.yaml: intents[pay_some_fees].do[0].paid.amount_cents: "
            "unknown name 'paid' of paid.fees_cents in 'paid.fees_cents'; use one of member, policy, say",
            id="use before the call",
        ),
        pytest.param(
            (INTENTS, "amount_cents: say.amount_cents}}", "amount_cents: case.amount_cents}}"),
            "intents.yaml: intents[pay_some_fees].do[0].paid.amount_cents: unknown name 'case' of case.amount_cents in "
            "'case.amount_cents'; use one of member, policy, say",
            id="slot of the case",
        ),
        pytest.param(
            (INTENTS, "amount_cents: say.amount_cents}}", "amount_cents: (SELECT MIN(amount_cents) FROM payments)}}"),
            "intents.yaml: intents[pay_some_fees].do[0].paid.amount_cents: unknown table 'payments' "
            "(in '(SELECT MIN(amount_cents) FROM payments)'); use one of none",
            id="sub-select on a table",
        ),
        pytest.param(
            (INTENTS, "amount_cents: say.amount_cents}}", "amount_cents: say.amuont_cents}}"),
            "intents.yaml: intents[pay_some_fees].do[0].paid.amount_cents: say.amuont_cents is not known here; "
            "say has amount_cents",
            id="misspelt slot",
        ),
        pytest.param(
            (
                "toolset.yaml",
                "title, due_on, renewals, status, returned_on FROM loans\n",
                "title, renewals, status, returned_on FROM loans\n",
            ),
            "intents.yaml: intents[renew_due_first].roles.loan: no read tool shows loans.due_on; "
            "let a read tool return it, or do not use it",
            id="invisible column",
        ),
        pytest.param(
            (INTENTS, "Put {amount_cents|words} towards", "Put something towards"),
            "intents.yaml: intents[pay_some_fees].requests[1]: the slot amount_cents is not said; "
            "write {amount_cents} into it, in every alternative",
            id="phrase lacks a slot",
        ),
        pytest.param(
            (
                INTENTS,
                "[Please pay|I would like to pay] {amount_cents|money} of",
                "[Please pay {amount_cents|money}|I would like to pay] of",
            ),
            "intents.yaml: intents[pay_some_fees].requests[0]: the slot amount_cents is not said; "
            "write {amount_cents} into it, in every alternative",
            id="one alternative lacks a slot",
        ),
        pytest.param(
            (INTENTS, '"Renew {loan}, please. Which', '"Renew my open loan, please. Which'),
            "intents.yaml: intents[renew_due_first].requests[0]: the cue 'due first' of loan is not in it; "
            "say {loan}, or the cue itself, in every alternative",
            id="phrase lacks a superlative",
        ),
        pytest.param(
            (INTENTS, "I am bringing back {loan}.", "I am bringing back my open loans."),
            "intents.yaml: intents[return_all].requests[0]: the cue 'all' of loan is not in it; "
            "say {loan}, or the cue itself, in every alternative",
            id="phrase lacks all",
        ),
        pytest.param(
            (INTENTS, OWED, f"{OWED}\n{OWED}"),
            "intents.yaml: intents[pay_some_fees].tell: two facts of kind money without `about`; "
            "give each an `about`: what it belongs to (bill.company), or a word that every right answer says beside it "
            "('fee'); those of a refusal stand in its rule",
            id="two facts of one kind",
        ),
        pytest.param(
            (
                INTENTS,
                f"      - paid: {PAID}",
                f"      - seen: {{list_loans: {{member_id: member.member_id}}}}\n      - paid: {PAID}",
            ),
            "intents.yaml: intents[pay_some_fees].do.seen: this look-up is never used; use its result or leave it out",
            id="unused look-up",
        ),
    ],
)
def test_a_fault_of_the_plan_is_found_before_anything_runs(tmp_path: Path, edit: Edit, issue: str) -> None:
    found = [str(one) for one in check_intents(load_environment(spoilt(tmp_path / "mock", "mock", edit)))]
    assert "\n".join(found) == issue


@pytest.mark.parametrize(
    ("domain", "edit", "issues"),
    [
        pytest.param(
            "mock",
            (INTENTS, "first: loan.due_on", "first: days_between(loan.due_on, :today)"),
            [
                "intents.yaml: intents[renew_due_first].roles.loan: the words say 'due first', "
                "and days_between(loan.due_on, :today) takes the highest due_on first; "
                "turn the order round, or the words"
            ],
            id="latest for first",
        ),
        pytest.param(
            "finance",
            (
                INTENTS,
                "reserve.account_id, to_account_id: target.account_id",
                "target.account_id, to_account_id: reserve.account_id",
            ),
            [
                "intents.yaml: intents[top_up_and_pay].requests[#]: it says to target, and moved goes from there; "
                "exchange the arguments, or the words"
            ],
            id="swapped accounts",
        ),
    ],
)
def test_a_plan_that_goes_against_its_words_is_found_before_anything_runs(
    tmp_path: Path, domain: str, edit: Edit, issues: list[str]
) -> None:
    found = [
        re.sub(r"requests\[\d+\]", "requests[#]", str(one))
        for one in check_intents(load_environment(spoilt(tmp_path / domain, domain, edit)))
    ]
    assert list(dict.fromkeys(found)) == issues


@pytest.mark.parametrize(
    ("edit", "issue"),
    [
        pytest.param(
            ("schema.yaml", "check: fees_cents >= 0,", "check: fees_cents >= 0, volatile: true,"),
            "schema.yaml: tables.members.columns.fees_cents: money in members.fees_cents is volatile: "
            "wrong amounts would pass; compare it: remove volatile",
            id="volatile money",
        ),
        pytest.param(
            (
                "toolset.yaml",
                "date_of_birth = :date_of_birth ORDER BY member_id",
                "date_of_birth = :date_of_birth ORDER BY member_id LIMIT 1",
            ),
            "toolset.yaml: tools[find_member].returns.members.rows: LIMIT 1 hides the other rows that fit; "
            "return all of them",
            id="finder that picks one of two",
        ),
    ],
)
def test_a_fault_of_the_world_is_not_loaded(tmp_path: Path, edit: Edit, issue: str) -> None:
    with pytest.raises(SpecError) as caught:
        load_environment(spoilt(tmp_path / "mock", "mock", edit))
    assert [str(one) for one in caught.value.issues] == [issue]


@pytest.mark.parametrize(
    ("edits", "intent", "found"),
    [
        pytest.param(
            [
                (INTENTS, f"    do:\n{EACH_RETURNED}    tell:\n{COUNTED}", f"    do: []\n    tell:\n{COUNTED}"),
                (INTENTS, COUNTED, "      - {kind: bool, is: (SELECT COUNT(*) FROM loan) > 1}"),
            ],
            "return_all",
            {
                "schema": "nothing changes and nothing but a yes or no is told",
                "idle_fails": 'an agent that does not do the task scores 1: idle: no write; says \'{"done":"all"}\'',
            },
            id="pure yes or no",
        ),
        pytest.param(
            [
                (
                    INTENTS,
                    f"      - paid: {PAID}\n",
                    CONDITIONAL.format(test="<", other="later", amount="say.amount_cents"),
                )
            ],
            "pay_some_fees",
            {"schema": "paid has no value on the path taken"},
            id="fact of the branch not taken",
        ),
        pytest.param(
            [NAMED[0]],
            "renew_due_first",
            {"not_leaked": "the request already says what must be told: text The Ninth Gate Keeper"},
            id="leaked answer",
        ),
        pytest.param(
            [MORE_OR_EQUAL, (INTENTS, "[4500, 5000, 6250]", "[4000]")],
            "pay_over_desk_limit",
            {"not_leaked": "the request already says what must be told: money 4000"},
            id="the limit is in the request",
        ),
        pytest.param(
            [MORE_OR_EQUAL, (INTENTS, "[500, 1250, 2000, 2999]", "[4000]")],
            "pay_some_fees",
            {"lawful": "pay_fees breaks the rule desk_limit: Payments of more than $40 are taken at the desk only."},
            id="rule broken by a cent",
        ),
        pytest.param(
            [(INTENTS, "[4500, 5000, 6250]", "[4000]")],
            "pay_over_desk_limit",
            {"lawful": "what is asked does not break the rule desk_limit"},
            id="refusal of what is just allowed",
        ),
        pytest.param(
            [("toolset.yaml", "add_days(due_on, :days), renewals = renewals + 1", "add_days(due_on, :days - :days)")],
            "renew_due_first",
            {
                "necessary": "without renew_loan the end state is accepted all the same",
                "mutants_killed": "a wrong trajectory scores 1: sibling: renew_loan(loan_id='ln_1055')",
            },
            id="no-op write",
        ),
    ],
)
def test_a_faulty_intent_yields_no_task(
    plant: OpenCourt, edits: list[Edit], intent: str, found: dict[str, str]
) -> None:
    court = plant(*edits)
    assert failures(court, first(court, intent)) == found


@pytest.mark.parametrize(
    ("intent", "pattern", "instead", "found"),
    [
        pytest.param("renew_due_first", "open ", "", NOT_OPEN, id="lost adjective"),
        pytest.param(
            "return_all", "all my", "my", {"grounded": "the request lacks the cue 'all' of loan"}, id="lost all"
        ),
        pytest.param("pay_some_fees", "born July", "born June", JUNE, id="another month of birth"),
        pytest.param("pay_some_fees", "July 18, 2004", "July 19, 2004", LATER, id="off by one day"),
        pytest.param("pay_some_fees", "Andrews", "Andrew", NOT_NAMED, id="misspelt name"),
        pytest.param("pay_some_fees", r"\$29\.99", "$30.99", MORE, id="a dollar more"),
        pytest.param("pay_some_fees", r"\$29\.99", "some money", NOT_SAID, id="lost amount"),
        pytest.param("pay_some_fees", r"\Z", " Use pay_fees.", TOOL_NAMED, id="named tool"),
        pytest.param("renew_due_first", r" Which book.*", "", UNASKED, id="nothing asked"),
    ],
)
def test_a_request_that_lost_its_meaning_is_rejected(
    court: Court, intent: str, pattern: str, instead: str, found: dict[str, str]
) -> None:
    candidate = first(court, intent)
    request = re.sub(pattern, instead, candidate.request, count=1)
    assert request != candidate.request
    assert failures(court, candidate.model_copy(update={"request": request})) == found


def same_name_and_birthday(rows: Rows) -> Rows:
    """Everybody has a double."""
    return {
        **rows,
        "members": [*rows["members"], *((f"mbx{str(member[0])[3:]}", *member[1:]) for member in rows["members"])],
    }


def suspended_double(rows: Rows) -> Rows:
    """Everybody has a double who is suspended."""
    return {
        **rows,
        "members": [*rows["members"], *((f"mbx{str(m[0])[3:]}", *m[1:3], "suspended", m[4]) for m in rows["members"])],
    }


def second_copy(rows: Rows) -> Rows:
    """Every open loan has a twin of the same title that is due later, and was renewed often."""
    return {
        **rows,
        "loans": [
            *rows["loans"],
            *((f"{n[0]}9", n[1], n[2], "2026-04-24", 3, "open", None) for n in rows["loans"] if n[5] == "open"),
        ],
    }


def returned_copy(rows: Rows) -> Rows:
    """Every open loan has a twin of the same title that was returned."""
    return {
        **rows,
        "loans": [
            *rows["loans"],
            *((f"{n[0]}9", *n[1:5], "returned", "2026-03-08") for n in rows["loans"] if n[5] == "open"),
        ],
    }


@pytest.mark.parametrize(
    ("edits", "twins", "intent", "found"),
    [
        pytest.param(
            [],
            same_name_and_birthday,
            "pay_some_fees",
            {"unambiguous": "2 rows fit member equally well; said: full_name, date_of_birth"},
            id="name and birthday",
        ),
        pytest.param(
            [(INTENTS, "{is: members, by: identity}", "{is: members, by: identity, where: member.status = 'active'}")],
            suspended_double,
            "pay_some_fees",
            {
                "unambiguous": "member could be mbx1002, which ends in another state; no word says "
                "member.status = 'active'"
            },
            id="same description, other status",
        ),
        pytest.param(
            [*NAMED],
            second_copy,
            "renew_due_first",
            {"unambiguous": "2 rows fit loan equally well; said: title; different: due_on, renewals"},
            id="same description",
        ),
        pytest.param(
            [
                *NAMED,
                (INTENTS, "when: loan.due_on >= :today", "when: loan.due_on >= :today AND loan.due_on <> '2026-04-24'"),
            ],
            second_copy,
            "renew_due_first",
            {"unambiguous": "2 rows fit loan equally well; said: title; different: due_on, renewals"},
            id="a row that only fails `when`",
        ),
        pytest.param(
            [
                *NAMED,
                HIDES,
                (INTENTS, "when: loan.due_on >= :today", "when: loan.due_on >= :today AND loan.renewals < 3"),
            ],
            second_copy,
            "renew_due_first",
            {"unambiguous": "loan could be ln_10499, which no tool shows; no word says loan.status = 'open'"},
            id="a row hidden by the finder",
        ),
        pytest.param(
            [HIDES],
            second_copy,
            "return_all",
            {
                "case_agrees": "loan: the case is about ln_1001, ln_10019, ln_1004, ln_10049, ln_1007, ln_10079, "
                "ln_1010, ln_10109, the agent chose ln_1001, ln_1004, ln_1007, ln_1010",
                "unambiguous": "loan could be 8 rows, which no tool shows",
            },
            id="a row of a set hidden by the finder",
        ),
        pytest.param(
            [(INTENTS, DUE_FIRST, ANY_OPEN)],
            second_copy,
            "renew_due_first",
            {"unambiguous": "rows that fit loan differ in title"},
            id="any, of rows that differ",
        ),
        pytest.param([*NAMED], returned_copy, "renew_due_first", {}, id="a twin that the tool refuses does no harm"),
    ],
)
def test_a_twin_is_ambiguous(
    plant: OpenCourt, edits: list[Edit], twins: Callable[[Rows], Rows], intent: str, found: dict[str, str]
) -> None:
    def with_twins(environment: Environment) -> Rows:
        return twins(populate(environment))

    court = plant(*edits, rows=with_twins)
    assert failures(court, first(court, intent)) == found


@pytest.fixture(scope="module")
def bank(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Court]:
    """The domain finance with three faulty intents."""
    edits = (
        (INTENTS, FROZEN, f"{FROZEN}      - thawed: {{unfreeze_card: {{card_id: card.card_id}}}}\n"),
        (INTENTS, "reason: \"'duplicate'\"", "reason: \"'wrong_amount'\""),
        (INTENTS, THAWED, f"{THAWED}    outcome: refuse\n    rule: unusable_card_limit\n"),
        (
            INTENTS,
            "    tell: [{kind: money, is: card.daily_limit_cents, before: true, what: daily limit before}]\n",
            "",
        ),
    )
    folder = spoilt(tmp_path_factory.mktemp("planted") / "finance", "finance", *edits)
    environment = composed(load_environment(folder))
    rows = populate(environment)
    judge = Judge(environment, rows, audit_share=0, replica=False)
    yield CandidateSource(environment, World(environment, rows)), judge
    judge.close()


@pytest.mark.parametrize(
    ("intent", "found"),
    [
        pytest.param(
            "freeze_card",
            {
                "idle_fails": ('an agent that does not do the task scores 1: idle: no write; says \'{"done":"all"}\''),
                "necessary": "without freeze_card the end state is accepted all the same",
                "mutants_killed": (
                    "a wrong trajectory scores 1: stranger: "
                    "freeze_card(card_id='cd_5223'), unfreeze_card(card_id='cd_4581')"
                ),
            },
            id="freeze and unfreeze",
        ),
        pytest.param(
            "dispute_duplicate",
            {
                "grounded": (
                    "open_dispute(reason='wrong_amount') has no cue in the request; "
                    "one of wrong amount, overcharged, too much"
                )
            },
            id="wrong enum value",
        ),
        pytest.param(
            "unfreeze_and_set_limit",
            {"lawful": "what is asked breaks no rule if it is done in order: unfreeze_card, set_card_limit"},
            id="refusal of what an earlier call makes lawful",
        ),
    ],
)
def test_a_faulty_intent_of_the_bank_yields_no_task(bank: Court, intent: str, found: dict[str, str]) -> None:
    assert failures(bank, first(bank, intent)) == found


@pytest.mark.parametrize(
    ("intent", "old", "new", "finding"),
    [
        pytest.param(
            "create_standing_order", "April 1, 2026", "next Friday", NO_DAY.format(FRIDAYS), id="two-reading date"
        ),
        pytest.param(
            "create_standing_order", "April 1, 2026", "around April 1, 2026", NO_DAY.format(AROUND), id="hedged date"
        ),
        pytest.param(
            "create_standing_order",
            "monthly",
            "regular",
            f"does not say frequency = 'monthly' {EXACTLY}: {NO_WORDS} 'monthly' it does",
            id="lost enum value",
        ),
        pytest.param("biggest_charge", "biggest", "bigger", "lacks the cue 'biggest' of charge", id="lost superlative"),
        pytest.param("pay_all_overdue_bills", "all", "the", "lacks the cue 'all' of bill", id="lost all"),
        pytest.param(
            "pay_bill",
            "school account",
            "scool account",
            f"does not say source.nickname = 'school account' {EXACTLY}: {NO_WORDS} 'school account' it does",
            id="misspelt name",
        ),
    ],
)
def test_a_request_to_the_bank_that_lost_its_meaning_is_rejected(
    bank: Court, intent: str, old: str, new: str, finding: str
) -> None:
    candidate = next(each for turn in range(60) if old in (each := first(bank, intent, turn)).request)
    changed = candidate.model_copy(update={"request": candidate.request.replace(old, new)})
    assert failures(bank, changed)["grounded"] == f"the request {finding}"


PAYMENTS_OF_LOANS: list[Edit] = [
    (
        "schema.yaml",
        "paid_at: {type: datetime}",
        "paid_at: {type: datetime}\n      loan_id: {type: text, fk: loans.loan_id, nullable: true}",
    ),
    ("population.yaml", "where: fees_cents < 9000\n    count: 1", "count: 3"),
    (
        "population.yaml",
        "paid_at: {datetime: [-60, -1]}",
        "paid_at: {datetime: [-60, -1]}\n      loan_id: {ref: loans, match: {member_id: member_id}}",
    ),
    (
        "toolset.yaml",
        "  - name: list_loans",
        """  - name: list_payments
    description: List all payments of a member.
    parameters:
      member_id: {type: string}
    returns:
      payments:
        rows: >-
          SELECT payment_id, loan_id, amount_cents, paid_at FROM payments WHERE member_id = :member_id
          ORDER BY payment_id
  - name: list_loans""",
    ),
    (
        INTENTS,
        "intents:\n",
        """intents:
  - id: ask_payment
    title: ask about the largest payment for a loan
    roles:
      member: {is: members, by: identity}
      loan: {is: loans, of: member, by: title}
      payment: {is: payments, of: loan, first: 0 - payment.amount_cents, text: my largest payment, cues: [largest]}
    when: (SELECT COUNT(*) FROM payments z WHERE z.loan_id = loan.loan_id) = 1
    tell: [{kind: money, is: payment.amount_cents, what: amount}]
    requests: ["How much was {payment} for {loan}?"]

""",
    ),
]  # fmt: skip


def test_a_role_is_of_its_parent_though_the_lookup_shows_those_of_others(plant: OpenCourt) -> None:
    """The payments of a member are listed, and those of one loan are meant."""
    court = plant(*PAYMENTS_OF_LOANS)
    assert [failures(court, first(court, "ask_payment", turn)) for turn in range(4)] == [{}] * 4
