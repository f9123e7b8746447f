"""Faults planted one by one, as in the study of gates: each must be rejected, by the check that is there for it."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from courts import Court, OpenCourt, failures, first

from toolscale.environment import Environment, Rows, World, discover, load_environment, populate
from toolscale.errors import SpecError
from toolscale.tasks import CandidateSource
from toolscale.tasks.check import check_intents
from toolscale.verify import Judge

Edit = tuple[str, str, str]

INTENTS = "intents.yaml"
PAID = "{pay_fees: {member_id: member.member_id, amount_cents: say.amount_cents}}"
OWED = "      - {kind: money, is: paid.fees_cents}"
COUNTED = '      - {kind: number, is: "(SELECT COUNT(*) FROM loan)"}'
EACH_RETURNED = "      - each: loan\n        do:\n          - returned: {return_loan: {loan_id: loan.loan_id}}\n"
DUE_FIRST = (
    "where: loan.status = 'open'\n        first: loan.due_on\n        text: whichever of my open loans is due first\n        cues: [due first, open]"
)
NAMED = (
    (INTENTS, DUE_FIRST, "by: title\n        where: loan.status = 'open'"),
    (INTENTS, "      - {kind: text, is: loan.title}\n", ""),
)
"""The loan is named by its title, which is then no news."""
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
            "intents.yaml: intents[pay_some_fees].do.paid.amount_cents: 500 is a literal that nobody said; use a slot, a role or policy.NAME",
            id="literal amount",
        ),
        pytest.param(
            (INTENTS, "loan_id: loan.loan_id", "loan_id: \"'ln_1001'\""),
            "intents.yaml: intents[renew_due_first].do.renewed.loan_id: 'ln_1001' is a literal that nobody said; use a slot, a role or policy.NAME",
            id="literal id",
        ),
        pytest.param(
            (INTENTS, f"      - paid: {PAID}\n", CONDITIONAL.format(test=">", other="paid", amount="777")),
            "intents.yaml: intents[pay_some_fees].do.paid.amount_cents: 777 is a literal that nobody said; use a slot, a role or policy.NAME",
            id="literal in the branch not taken",
        ),
        pytest.param(
            (INTENTS, "amount_cents: say.amount_cents}}", "amount_cents: paid.fees_cents}}"),
            "intents.yaml: intents[pay_some_fees].do[0].paid.amount_cents: paid.fees_cents: no paid in FROM; in FROM stand none",
            id="use before the call",
        ),
        pytest.param(
            (INTENTS, "amount_cents: say.amount_cents}}", "amount_cents: case.amount_cents}}"),
            "intents.yaml: intents[pay_some_fees].do[0].paid.amount_cents: case.amount_cents: no case in FROM; in FROM stand none",
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
            "intents.yaml: intents[pay_some_fees].do[0].paid.amount_cents: say.amuont_cents is not known here; say has amount_cents",
            id="misspelt slot",
        ),
        pytest.param(
            ("toolset.yaml", "title, due_on, renewals, status, returned_on FROM loans\n", "title, renewals, status, returned_on FROM loans\n"),
            "intents.yaml: intents[renew_due_first].roles.loan: no read tool shows loans.due_on; let a read tool return it, or do not use it",
            id="invisible column",
        ),
        pytest.param(
            (INTENTS, "Put {amount_cents|words} towards", "Put something towards"),
            "intents.yaml: intents[pay_some_fees].requests[1]: the slot amount_cents is not said; write {amount_cents} into it, in every alternative",
            id="phrase lacks a slot",
        ),
        pytest.param(
            (INTENTS, "[Please pay|I would like to pay] {amount_cents|money} of", "[Please pay {amount_cents|money}|I would like to pay] of"),
            "intents.yaml: intents[pay_some_fees].requests[0]: the slot amount_cents is not said; write {amount_cents} into it, in every alternative",
            id="one alternative lacks a slot",
        ),
        pytest.param(
            (INTENTS, "text: whichever of my open loans is due first", "text: whichever of my open loans is due next"),
            "intents.yaml: intents[renew_due_first].requests[0]: the cue 'due first' of loan is not in it; say {loan}, or the cue itself",
            id="phrase lacks a superlative",
        ),
        pytest.param(
            (INTENTS, "text: all my open loans", "text: my open loans"),
            "intents.yaml: intents[return_all].requests[0]: the cue 'all' of loan is not in it; say {loan}, or the cue itself",
            id="phrase lacks all",
        ),
        pytest.param(
            (INTENTS, OWED, f"{OWED}\n{OWED}"),
            "intents.yaml: intents[pay_some_fees].tell: two facts of kind money without `about`; say which is which with `about`",
            id="two facts of one kind",
        ),
        pytest.param(
            (INTENTS, f"      - paid: {PAID}", f"      - seen: {{list_loans: {{member_id: member.member_id}}}}\n      - paid: {PAID}"),
            "intents.yaml: intents[pay_some_fees].do.seen: this look-up is never used; use its result or leave it out",
            id="unused look-up",
        ),
    ],
)
def test_a_fault_of_the_plan_is_found_before_anything_runs(tmp_path: Path, edit: Edit, issue: str) -> None:
    found = [str(one) for one in check_intents(load_environment(spoilt(tmp_path / "mock", "mock", edit)))]
    print("STATIC", len(found), found[1:])
    assert found == [issue]


@pytest.mark.parametrize(
    ("edit", "issue"),
    [
        pytest.param(
            ("schema.yaml", "check: fees_cents >= 0,", "check: fees_cents >= 0, volatile: true,"),
            "schema.yaml: tables.members.columns.fees_cents: money in members.fees_cents is volatile: wrong amounts would pass; "
            "compare it: remove volatile",
            id="volatile money",
        ),
        pytest.param(
            ("toolset.yaml", "date_of_birth = :date_of_birth ORDER BY member_id", "date_of_birth = :date_of_birth ORDER BY member_id LIMIT 1"),
            "toolset.yaml: tools[find_member].returns.members.rows: LIMIT 1 hides the other rows that fit; return all of them",
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
            [(INTENTS, EACH_RETURNED, ""), (INTENTS, "    do:\n    tell:\n" + COUNTED, "    do: []\n    tell:\n" + COUNTED), (INTENTS, COUNTED, "      - {kind: bool, is: (SELECT COUNT(*) FROM loan) > 1}")],
            "return_all", {}, id="pure yes or no",
        ),
        pytest.param(
            [(INTENTS, f"      - paid: {PAID}\n", CONDITIONAL.format(test="<", other="later", amount="say.amount_cents"))],
            "pay_some_fees", {}, id="fact of the branch not taken",
        ),
        pytest.param(
            [NAMED[0]], "renew_due_first", {}, id="leaked answer",
        ),
        pytest.param(
            [("rules.yaml", "call.amount_cents > policy", "call.amount_cents >= policy"), (INTENTS, "[4500, 5000, 6250]", "[4000]")],
            "pay_over_desk_limit", {}, id="a limit said by the user",
        ),
        pytest.param(
            [("rules.yaml", "call.amount_cents > policy", "call.amount_cents >= policy"), (INTENTS, "[500, 1250, 2000, 2999]", "[4000]")],
            "pay_some_fees", {}, id="rule broken by a hair",
        ),
        pytest.param(
            [(INTENTS, "[4500, 5000, 6250]", "[4000]")],
            "pay_over_desk_limit", {}, id="refusal of what is just allowed",
        ),
        pytest.param(
            [("toolset.yaml", "add_days(due_on, :days), renewals", "due_on, renewals"), ("toolset.yaml", "renewals = renewals + 1 WHERE", "renewals = renewals WHERE")],
            "renew_due_first", {}, id="no-op write",
        ),
    ],
)
def test_a_faulty_intent_yields_no_task(plant: OpenCourt, edits: list[Edit], intent: str, found: dict[str, str]) -> None:
    court = plant(*edits)
    print("FOUND", failures(court, first(court, intent)))
