"""Bad input of `toolscale admit`: every fault is one line with file, place, value and remedy, all are told at once, and
nothing is written."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from toolscale.cli import main
from toolscale.environment.registry import discover
from toolscale.errors import SpecError
from toolscale.pipeline import admit_domain

Spoil = Callable[..., Path]

INTENTS, LANGUAGE, RULES, CASES = "intents.yaml", "language.yaml", "rules.yaml", "cases.yaml"
RENEWED = "      - renewed: {renew_loan: {loan_id: loan.loan_id}}"
RENEWED_IF = """      - if: loan.due_on > :today
        rule: {rule}
        then: [{{renewed: {{renew_loan: {{loan_id: loan.loan_id}}}}}}]"""
PAID = "      - paid: {pay_fees: {member_id: member.member_id, amount_cents: say.amount_cents}}"
PAID_IF = """      - if: member.fees_cents > 0
        rule: desk_limit
        then: [{paid: {pay_fees: {member_id: member.member_id, amount_cents: say.amount_cents}}}]"""
BREAKS = "    breaks: call.amount_cents > policy.desk_limit_cents"
CONDITIONS = 'conditions: ["{why}, so only do it if {condition}; otherwise leave it. Either way, tell me {noun}."]'


@pytest.mark.parametrize(
    ("edits", "lines"),
    [
        pytest.param(
            [(INTENTS, RENEWED, RENEWED_IF.format(rule="desk_limt"))],
            [
                "intents.yaml: intents[renew_due_first].do[0].rule: unknown rule 'desk_limt'; "
                "did you mean 'desk_limit'?",
            ],
            id="unknown rule of a branch",
        ),
        pytest.param(
            [(INTENTS, RENEWED, RENEWED_IF.format(rule="desk_limit"))],
            [
                "intents.yaml: intents[renew_due_first].do[0].rule: desk_limit guards no call of then; "
                "name a rule that does, or call pay_fees",
            ],
            id="rule of a branch that guards nothing there",
        ),
        pytest.param(
            [(INTENTS, PAID, PAID_IF)],
            [
                "intents.yaml: intents[pay_some_fees].do[0].rule: desk_limit has no case, so the database does not "
                "tell the side; add case to the rule, or leave the rule out here",
            ],
            id="rule of a branch that picks no cases",
        ),
        pytest.param(
            [(INTENTS, PAID, PAID_IF), (RULES, BREAKS, f"{BREAKS}\n    case: auto")],
            [
                "intents.yaml: intents[pay_some_fees].do[0].rule: nothing else is done where desk_limit forbids it; "
                "add else, or leave the rule out",
            ],
            id="rule of a branch without another side",
        ),
        pytest.param(
            [
                (INTENTS, "Renew {loan}, please", "Renew {lon}, please"),
                (INTENTS, "        of: member\n", "        of: membr\n"),
                (INTENTS, "- each: loan", "- each: lon"),
            ],
            [
                "intents.yaml: intents[renew_due_first].roles.loan.of: 'membr' is not a role above; "
                "did you mean 'member'?",
                "intents.yaml: intents[renew_due_first].requests[0]: unknown role or slot 'lon'; did you mean 'loan'?",
                "intents.yaml: intents[return_all].do[0].each: unknown role 'lon'; did you mean 'loan'?",
            ],
            id="unknown roles",
        ),
        pytest.param(
            [
                (
                    INTENTS,
                    "    do:\n      - renewed",
                    """    do:
      - find: lon
      - renewed""",
                ),
                (INTENTS, "when: member.fees_cents > say", "when: membr.fees_cents > say"),
                (INTENTS, "return_loan: {loan_id: loan.loan_id}", "return_loan: {loan_id: lon.loan_id}"),
                (
                    INTENTS,
                    "paid: {pay_fees: {member_id: member.member_id, amount_cents: say.amount_cents}}\n    requests",
                    "paid: {pay_fees: {member_id: member.member_id, amount_cents: sy.amount_cents}}\n    requests",
                ),
            ],
            [
                "intents.yaml: intents[renew_due_first].do[0].find: unknown role 'lon'; did you mean 'loan'?",
                "intents.yaml: intents[return_all].do[0].do[0].returned.loan_id: "
                "unknown name 'lon' of lon.loan_id in 'lon.loan_id'; did you mean 'loan'?",
                "intents.yaml: intents[pay_over_desk_limit].do[0].paid.amount_cents: "
                "unknown name 'sy' of sy.amount_cents in 'sy.amount_cents'; did you mean 'say'?",
                "intents.yaml: intents[pay_some_fees].when: unknown name 'membr' of membr.fees_cents in "
                "'membr.fees_cents > say.amount_cents'; did you mean 'member'?",
            ],
            id="unknown roles in find and in expressions",
        ),
        pytest.param(
            [
                (INTENTS, "        where: loan.status = 'open'", "        where: lon.status = 'open'"),
                (INTENTS, "is: paid.fees_cents", "is: pad.fees_cents"),
            ],
            [
                "intents.yaml: intents[pay_some_fees].tell[0].is: "
                "unknown name 'pad' of pad.fees_cents in 'pad.fees_cents'; did you mean 'paid'?",
                "intents.yaml: intents[renew_due_first].roles.loan: "
                "unknown name 'lon' of lon.status in \"(lon.status = 'open')\"; did you mean 'loan'?",
            ],
            id="unknown roles in conditions and facts",
        ),
        pytest.param(
            [
                (
                    INTENTS,
                    """member: {is: members, by: identity}
      loan:
""",
                    """member: {is: members, by: identity, of: loan}
      loan:
""",
                ),
                (INTENTS, "loan: {is: loans, of: member, where: loan", "loan: {is: loans, of: loan, where: loan"),
            ],
            [
                "intents.yaml: intents[renew_due_first].roles.member.of: the parents go in a circle: "
                "member of loan of member; let one of them be of none",
                "intents.yaml: intents[return_all].roles.loan.of: loan is its own parent; let one of them be of none",
            ],
            id="circles of parents",
        ),
        pytest.param(
            [
                (INTENTS, "cues: [due first, open]", "cues: [due first, still out]"),
                (INTENTS, "Please return {loan} for me.", "Please return [{loan}|my loans] for me."),
            ],
            [
                "intents.yaml: intents[renew_due_first].roles.loan.cues: no request says the cue 'still out'; "
                "say it, or {loan} where its words hold it",
                "intents.yaml: intents[return_all].requests[1]: the cues 'all' and 'open' of loan are not in it; "
                "say {loan}, or the cue itself, in every alternative",
            ],
            id="cues that are lost",
        ),
        pytest.param(
            [
                (
                    INTENTS,
                    "[Please pay|I would like to pay] {amount_cents|money} of",
                    "[Please pay {amount_cents|money}|Pay some] [|(that is {amount_cents|money})] of",
                ),
                (
                    INTENTS,
                    "Put {amount_cents|words} towards",
                    "Put [[{amount_cents|words}|some]|{amount_cents|words}] towards",
                ),
                (INTENTS, "Please pay {amount_cents|money} of my fees[ now|].", "Please pay my fees[ now|]."),
            ],
            [
                "intents.yaml: intents[pay_some_fees].requests[0]: the slot amount_cents is not said; "
                "write {amount_cents} into it, in every alternative",
                "intents.yaml: intents[pay_some_fees].requests[1]: the slot amount_cents is not said; "
                "write {amount_cents} into it, in every alternative",
                "intents.yaml: intents[pay_over_desk_limit].requests[0]: the slot amount_cents is not said; "
                "write {amount_cents} into it, in every alternative",
            ],
            id="slots that are lost",
        ),
        pytest.param(
            [
                (
                    RULES,
                    "    tell:\n",
                    """    case: call.amount_cents > policy.desk_limit_cents
    draws: {amount_cents: [100, 200]}
    tell:
""",
                ),
            ],
            [
                "rules.yaml: rules.desk_limit.case: no row of the database fulfils "
                "'call.amount_cents > policy.desk_limit_cents' with call.amount_cents drawn from 100, 200 (draws); "
                "correct it or draws, or plant rows that fulfil it",
            ],
            id="a case that no row fulfils, whatever is drawn",
        ),
        pytest.param(
            [
                (
                    RULES,
                    "    tell:\n",
                    """    case: >-
      (SELECT z.fees_cents FROM members z WHERE z.member_id = call.member_id) < 0 - call.amount_cents
    tell:
""",
                ),
            ],
            [
                "rules.yaml: rules.desk_limit.case: no row of the database fulfils "
                "'(SELECT z.fees_cents FROM members z WHERE z.member_id = call.member_id) < 0 - call.amount_cents' "
                "with call.amount_cents made up (or give draws), call.member_id taken from the rows of "
                "members.member_id; correct it or draws, or plant rows that fulfil it",
            ],
            id="a case that no row fulfils, and where its arguments come from",
        ),
        pytest.param(
            [
                (
                    RULES,
                    "    tell:\n",
                    """    case: (SELECT z.fees_cents FROM members z WHERE z.member_id = call.member_id) < 0
    tell:
""",
                ),
                (
                    "toolset.yaml",
                    "      fees_cents: {value: SELECT fees_cents",
                    """      loan_count: {value: SELECT COUNT(*) FROM loans WHERE member_id = :member_id}
      fees_cents: {value: SELECT fees_cents""",
                ),
            ],
            [
                "rules.yaml: rules.desk_limit.case: no row of the database fulfils "
                "'(SELECT z.fees_cents FROM members z WHERE z.member_id = call.member_id) < 0' "
                "with call.member_id taken from the rows of members.member_id; "
                "correct it or draws, or plant rows that fulfil it",
            ],
            id="a case whose argument refers from several tables to one",
        ),
        pytest.param(
            [
                (INTENTS, "when: loan.due_on >= :today", "when: loan.due_on >= '2999-01-01'"),
                (INTENTS, "z.status = 'open') >= 2", "z.status = 'open') >= 200"),
            ],
            [
                "intents.yaml: intents[renew_due_first]: no rows fit it in 40 draws, "
                "when \"loan.due_on >= '2999-01-01'\"; "
                "plant such rows in population.yaml, or ask less of its roles and of when",
                'intents.yaml: intents[return_all]: no rows fit it in 40 draws, when "(SELECT COUNT(*) FROM loans z '
                "WHERE z.member_id = member.member_id AND z.status = 'open') >= 200\"; "
                "plant such rows in population.yaml, or ask less of its roles and of when",
            ],
            id="intents that no rows fit",
        ),
        pytest.param(
            [
                (
                    LANGUAGE,
                    "quantities:\n",
                    """quantities:
  a: {roles: {member: membrs}, value: "1", kind: money, test: "say.limit > 1", text: "{limit}", noun: it, steps: [1]}
  b: {roles: {membr: members}, value: "1", kind: money, test: "say.limit > 1", text: "{limit}", noun: it, steps: [1]}
  c: {roles: {member: members}, reads: {x: {list_lones: {member_id: "{member}.member_id"}}},
     value: "1", kind: money, test: "say.limit > 1", text: "{limit}", noun: it, steps: [1]}
  d: {roles: {member: members}, value: "{membr}.fees_cents", kind: money, test: "say.limit > 1",
     text: "{limit}", noun: it, steps: [1], tools: [pay_fee]}
  e: {roles: {member: members}, value: "{member}.fee_cents", kind: money, test: "say.limt > 1",\
 text: "{limt}", noun: "{meber}", steps: []}
  f: {roles: {member: members}, backup: other, reads: {x: {list_loans: {membr_id: "{member}.member_id"}}},
     value: "x.title", kind: money, test: "say.limit > 1", text: "[{limit}|it]", noun: it, steps: [1]}
  g: {roles: {loan: members}, value: "1 +", kind: money, test: "say.limit > 1",\
 text: "{limit}", noun: it, steps: [1], about: "{loan}.nickname"}
""",
                ),
            ],
            [
                "language.yaml: quantities.a.roles.member: unknown table 'membrs'; did you mean 'members'?",
                "language.yaml: quantities.b.roles.membr: unknown role 'membr'; did you mean 'member'?",
                "language.yaml: quantities.c.reads.x: unknown tool 'list_lones'; did you mean 'list_loans'?",
                "language.yaml: quantities.d.tools: unknown tool 'pay_fee'; did you mean 'pay_fees'?",
                "language.yaml: quantities.d.value: {membr} is neither one of roles nor a parameter of a tool; "
                "did you mean 'member'?",
                "language.yaml: quantities.e.steps: there is no limit to draw; "
                "give limits that the value may lie on either side of",
                "language.yaml: quantities.e.text: {limt} is neither one of roles nor limit; did you mean 'limit'?",
                "language.yaml: quantities.e.noun: {meber} is neither one of roles nor limit; did you mean 'member'?",
                "language.yaml: quantities.f.backup: unknown role 'other'; use one of member",
                "language.yaml: quantities.f.reads.x.list_loans.membr_id: unknown parameter of list_loans 'membr_id'; "
                "did you mean 'member_id'?",
                "language.yaml: quantities.f.text: it does not say {limit}; "
                "write {limit} into it, in every alternative",
                "language.yaml: quantities.g.roles.loan: no intent has a role loan of members; "
                "name its table, or another role",
                "language.yaml: quantities.e.value: member.fee_cents is not known here; "
                "member has date_of_birth, fees_cents, full_name, member_id, status",
                "language.yaml: quantities.e.test: unknown parameter :say.limt (in 'say.limt > 1'); "
                "did you mean :say.limit? use one of :now, :today, :say.limit",
                "language.yaml: quantities.f.value: x.title is not known here; x has no columns",
                "language.yaml: quantities.g.value: '1 +' is no SQL expression; correct it behind '1 +'",
                "language.yaml: quantities.g.about: loan.nickname is not known here; "
                "loan has date_of_birth, fees_cents, full_name, member_id, status",
            ],
            id="quantities",
        ),
        pytest.param(
            [
                (
                    LANGUAGE,
                    'acts:\n  renew_loan: "renew {loan_id}"\n  return_loan: "take back {loan_id}"\n',
                    'acts: {renew_lone: "renew {loan_id}", renew_loan: "renew {loan}"}\n',
                ),
                (
                    LANGUAGE,
                    CONDITIONS,
                    """conditions: ["{why}: only if [{condition}|so].", "Tell me {noun}."]
fallbacks: ["Only if {condition}, else another; tell me {noun}."]""",
                ),
                (
                    LANGUAGE,
                    "counts: [How many was that?]",
                    """counts: ["How many, and {totl}?"]
totals: {loans: {column: amount, ask: what}, lones: {column: renewals, ask: what}}
plurals: {lones: books}
shared: [lans]
enum_cues: {complant: [complaint]}""",
                ),
                (LANGUAGE, "nouns: {loans: book, members: membership}", "nouns: {loan: book}"),
                (LANGUAGE, "cues: [due first]}", "cues: [due last]}"),
                (
                    LANGUAGE,
                    "\"status = 'returned'\": returned",
                    "\"status = = 'returned'\": returned, \"status='open'\": open, \"state = 'open'\": open, "
                    '"loans.title = copy.title": same',
                ),
                (LANGUAGE, "Hello, my name is {member}.", "Hello, my name is {membr}."),
                (
                    LANGUAGE,
                    "hurried: In a hurry, writes short sentences.",
                    'hurried: {text: In a hurry., openings: ["I am {mebmer}."]}',
                ),
                (INTENTS, '- "Renew {loan}, please. Which', '- hurrid: "Renew {loan}, please. Which'),
            ],
            [
                "language.yaml: describe.loans.soonest.cues: the cue 'due last' does not stand in its text; "
                "write it into the text, in every alternative",
                "language.yaml: plurals.lones: unknown table 'lones'; did you mean 'loans'?",
                "language.yaml: nouns.loan: unknown table 'loan'; did you mean 'loans'?",
                "language.yaml: totals.lones: unknown table 'lones'; did you mean 'loans'?",
                "language.yaml: shared[0]: unknown table 'lans'; did you mean 'loans'?",
                "language.yaml: totals.loans.column: unknown column of loans 'amount'; "
                "use one of due_on, loan_id, member_id, renewals, returned_on, status, title",
                "language.yaml: acts.renew_lone: unknown tool 'renew_lone'; did you mean 'renew_loan'?",
                "language.yaml: acts.renew_loan: {loan} is not a parameter of renew_loan; did you mean 'loan_id'?",
                "language.yaml: enum_cues.complant: unknown enum value 'complant'; did you mean 'complaint'?",
                "language.yaml: conditions[0]: '{why}: only if [{condition}|so].' lacks {condition}; "
                "write {condition} into it, in every alternative",
                "language.yaml: conditions[1]: 'Tell me {noun}.' lacks {condition}; "
                "write {condition} into it, in every alternative",
                "language.yaml: fallbacks[0]: 'Only if {condition}, else another; tell me {noun}.' lacks {backup}; "
                "write {backup} into it, in every alternative",
                "language.yaml: counts[0]: {totl} is no place of counts; did you mean 'total'?",
                "language.yaml: openings[1]: unknown role 'membr'; did you mean 'member'?",
                "language.yaml: personas.hurried.openings[0]: unknown role 'mebmer'; did you mean 'member'?",
                "intents.yaml: intents[renew_due_first].requests[0]: unknown persona 'hurrid'; did you mean 'hurried'?",
                "language.yaml: adjectives.loans: \"status = = 'returned'\" is no SQL expression; "
                "correct it behind 'status = ='",
                "language.yaml: adjectives.loans: \"status='open'\" is never found in a where; "
                "write it as status = 'open'",
                "language.yaml: adjectives.loans: unknown column 'state'; did you mean status? "
                "use one of loan_id, member_id, title, due_on, renewals, status, returned_on",
                "language.yaml: adjectives.loans: 'loans.title = copy.title' names copy, "
                "and an adjective is of one row of loans; leave it out, and give the role `cues` that say it",
            ],
            id="sentences and words",
        ),
        pytest.param(
            [
                (
                    LANGUAGE,
                    "private:\n",
                    """private:
  a:
    roles: {other: {is: membrs, by: identity}, theirs: {is: loans, of: othr}, third: {is: members, by: name}}
    asks: ["What about {othr}?"]
    withhold: [{kind: money, is: other.fees_cents, each: thirs}]
    about: other.full_name
  b:
    roles: {other: {is: members, by: identity}, theirs: {is: loans, of: other, where: theirs.state = 'open', take: all}}
    when: othr.fees_cents > 0
    asks: ["What about {other}?"]
    withhold: [{kind: money, is: theirs.amount_cents, each: theirs}]
    about: other.name
""",
                ),
            ],
            [
                "language.yaml: private.a.roles.other.is: unknown table 'membrs'; did you mean 'members'?",
                "language.yaml: private.a.roles.theirs.of: 'othr' is not a role above; did you mean 'other'?",
                "language.yaml: private.a.roles.third.by: unknown description of members 'name'; use one of identity",
                "language.yaml: private.a.asks[0]: {othr} is not one of roles; did you mean 'other'?",
                "language.yaml: private.a.withhold[0].each: unknown role 'thirs'; did you mean 'theirs'?",
                "language.yaml: private.b.roles.theirs.where: unknown parameter :theirs.state "
                "(in \"theirs.state = 'open'\"); did you mean :theirs.status? "
                "use one of :now, :today, :theirs.loan_id, :theirs.member_id, :theirs.title, :theirs.due_on, "
                ":theirs.renewals, :theirs.status, :theirs.returned_on",
                "language.yaml: private.b.withhold[0].is: theirs.amount_cents is not known here; "
                "theirs has due_on, loan_id, member_id, renewals, returned_on, status, title",
                "language.yaml: private.b.about: other.name is not known here; "
                "other has date_of_birth, fees_cents, full_name, member_id, status",
                "language.yaml: private.b.when: unknown name 'othr' of othr.fees_cents in 'othr.fees_cents > 0'; "
                "did you mean 'other'?",
            ],
            id="private things",
        ),
        pytest.param(
            [
                (
                    RULES,
                    "    tell:\n",
                    """    case: call.amount > policy.desk_limit
    draws: {amount: [5000], amount_cents: [a lot, 5000], member_id: []}
    lifts: ["status = = 'open'", "status='open'", "status = 'opn'"]
    tell:
""",
                ),
                (
                    RULES,
                    "invariants:\n",
                    """  second:
    text: Nothing.
    guards: [pay_fees]
    case: (SELECT m.fee_cents FROM members m WHERE m.member_id = call.member_id) > 0
    breaks: call.amount_cents > policy.desk_limit_cents
invariants:
""",
                ),
            ],
            [
                "rules.yaml: rules.desk_limit.case: call.amount is not a parameter of pay_fees; "
                "did you mean 'amount_cents'?",
                "rules.yaml: rules.desk_limit.case: unknown constant of the policy 'desk_limit'; "
                "did you mean 'desk_limit_cents'?",
                "rules.yaml: rules.desk_limit.draws.amount: unknown parameter of pay_fees 'amount'; "
                "did you mean 'amount_cents'?",
                "rules.yaml: rules.desk_limit.draws.amount_cents: 'a lot' is not a whole number; "
                "amount_cents is an integer: give cents or numbers",
                "rules.yaml: rules.desk_limit.draws.member_id: there is nothing to draw from; "
                "give values that break the rule, or leave it out",
                "rules.yaml: rules.desk_limit.lifts[0]: \"status = = 'open'\" is no SQL expression; "
                "correct it behind 'status = ='",
                "rules.yaml: rules.desk_limit.lifts[1]: \"status='open'\" is never found in a where; "
                "write it as status = 'open'",
                "rules.yaml: rules.desk_limit.lifts[2]: no role of any intent has the condition \"status = 'opn'\"; "
                "write it as a role does, or leave it out",
                "rules.yaml: rules.second.case: unknown column 'fee_cents' of m "
                "(in '(SELECT m.fee_cents FROM members m WHERE m.member_id = call.member_id) > 0'); "
                "did you mean fees_cents? use one of member_id, full_name, date_of_birth, status, fees_cents",
            ],
            id="draws, lifts and cases of rules",
        ),
        pytest.param(
            [
                (RULES, "breaks: call.amount_cents > policy.desk_limit_cents", "breaks: call.amount_cents < 0"),
                (LANGUAGE, CONDITIONS, "conditions: [Only if it is so.]"),
                (LANGUAGE, 'value: "{member}.fees_cents"', 'value: "{member}.fee_cents"'),
                (INTENTS, "renew_loan: {loan_id: loan.loan_id}", "renew_loan: {loan_id: lon.loan_id}"),
                (INTENTS, "loan: {is: loans, of: member, where: loan", "loan: {is: loans, of: loan, where: loan"),
                (
                    INTENTS,
                    "when: member.fees_cents > say.amount_cents",
                    "when: member.fees_cents > say.amount_cents + 99900000",
                ),
                (CASES, "error: Paper Lanterns", "error: The Salt Road"),
            ],
            [
                "language.yaml: conditions[0]: 'Only if it is so.' lacks {condition}; "
                "write {condition} into it, in every alternative",
                "intents.yaml: intents[return_all].roles.loan.of: loan is its own parent; let one of them be of none",
                "cases.yaml: calls[0]: return_loan(loan_id='ln_1001') gives the error "
                "'Paper Lanterns has been returned already', the case says 'The Salt Road has been returned already'; "
                "correct the case or the tool",
                "intents.yaml: intents[renew_due_first].do[0].renewed.loan_id: "
                "unknown name 'lon' of lon.loan_id in 'lon.loan_id'; did you mean 'loan'?",
                "language.yaml: quantities.fees.value: member.fee_cents is not known here; "
                "member has date_of_birth, fees_cents, full_name, member_id, status",
                "rules.yaml: rules.desk_limit.breaks: no call of pay_fees that the tools let through breaks "
                "'call.amount_cents < 0'; correct it, plant rows that break it, or add a call that does to cases.yaml",
                "intents.yaml: intents[pay_some_fees]: no rows fit it in 40 draws, "
                "when 'member.fees_cents > say.amount_cents + 99900000'; "
                "plant such rows in population.yaml, or ask less of its roles and of when",
            ],
            id="faults of many kinds in many files",
        ),
    ],
)
def test_each_fault_is_one_line(spoil: Spoil, tried: Path, edits: list[tuple[str, str, str]], lines: list[str]) -> None:
    with pytest.raises(SpecError) as caught:
        admit_domain(spoil(*edits), tried)
    assert [str(issue) for issue in caught.value.issues] == lines


def test_the_command_exits_2_and_writes_nothing(spoil: Spoil, capsys: pytest.CaptureFixture[str]) -> None:
    folder = spoil(
        (RULES, "breaks: call.amount_cents > policy", "breaks: call.amount_cents < 0 AND 1 > policy"),
        (INTENTS, "- each: loan", "- each: lon"),
    )
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert main(["admit", str(folder), "--write"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == [
        "toolscale: intents.yaml: intents[return_all].do[0].each: unknown role 'lon'; did you mean 'loan'?",
        "toolscale: rules.yaml: rules.desk_limit.breaks: no call of pay_fees that the tools let through breaks "
        "'call.amount_cents < 0 AND 1 > policy.desk_limit_cents'; "
        "correct it, plant rows that break it, or add a call that does to cases.yaml",
    ]
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


WORN = """  worn_out:
    text: While a book is kept longer than four times, the desk takes it back.
    guards: [return_loan]
    reads:
      kept: {list_loans: {member_id: "'mb_1001'"}}
    breaks: (SELECT MAX(k.renewals) FROM kept AS k) > 4
invariants:
"""

SHOWN = """calls:
  - title: a book that was renewed five times comes back
    before: [ONE, ONE, ONE, ONE, ONE]
    call: {return_loan: {loan_id: ln_1004}}
""".replace("ONE", "{renew_loan: {loan_id: ln_1004}}")


def test_a_call_of_cases_shows_that_a_rule_can_be_broken(spoil: Spoil, tried: Path, tmp_path: Path) -> None:
    with pytest.raises(SpecError) as caught:
        admit_domain(spoil((RULES, "invariants:\n", WORN)), tried)
    assert [str(issue) for issue in caught.value.issues] == [
        "rules.yaml: rules.worn_out.breaks: no call of return_loan breaks "
        "'(SELECT MAX(k.renewals) FROM kept AS k) > 4'; "
        "correct it, plant rows that break it, or add a call that does to cases.yaml"
    ]
    (tmp_path / "mock").rename(tmp_path / "before")
    admission = admit_domain(spoil((RULES, "invariants:\n", WORN), (CASES, "calls:\n", SHOWN)), tried)
    assert admission.tools["return_loan"].guards_reached == 2


def test_a_fault_beside_declared_look_ups_is_one_line(tmp_path: Path) -> None:
    """What is no list was read as one when the faulty tools were left out, and admission ended in a traceback."""
    folder = Path(shutil.copytree(discover()["gym"], tmp_path / "gym", ignore=shutil.ignore_patterns("admission.json")))
    path = folder / "toolset.yaml"
    path.write_text(path.read_text().replace("    description: Find a member.", "    descriptoin: Find a member.", 1))
    with pytest.raises(SpecError) as caught:
        admit_domain(folder)
    assert [str(issue) for issue in caught.value.issues] == [
        "toolset.yaml: tools[find_member].descriptoin: unknown key 'descriptoin'; did you mean 'description'? "
        "known keys: description, name, parameters, returns, steps"
    ]
