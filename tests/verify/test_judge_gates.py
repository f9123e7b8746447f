"""Each gate, shown a task that it must reject: the fault is planted, and the gate's finding is read."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import pytest
from courts import Court, OpenCourt, failures, first

from toolscale.environment.environment import Environment, load_environment
from toolscale.environment.population import populate
from toolscale.environment.world import World
from toolscale.records import ToolCall
from toolscale.sandbox.base import Rows
from toolscale.tasks.binding import CandidateSource
from toolscale.verify.equivalents import equivalents, exchanged
from toolscale.verify.judge import Judge
from toolscale.verify.states import EndState, EndStates

EXACTLY = "in a way that reads back as exactly that"


def test_good_candidates_pass_every_gate(court: Court) -> None:
    for intent in court[0].environment.spec.intents.intents:
        judged = court[1].judge(first(court, intent.id))
        assert judged.verdict.failed == ()
        assert judged.verdict.mutants_killed >= 10


def test_a_hedged_amount_is_not_said(court: Court) -> None:
    candidate = first(court, "pay_some_fees")
    hedged = candidate.model_copy(update={"request": candidate.request.replace("$", "about $")})
    (finding,) = failures(court, hedged).values()
    said, (amount,) = candidate.say["amount_cents"], re.findall(r"\$[\d.]+\d", candidate.request)
    assert finding.startswith(f"the request does not say amount_cents = {said} {EXACTLY}: ")
    assert finding.endswith(f"about {amount}' reads as {said} (hedged); said as {amount!r} it does")


def test_cents_written_as_dollars_are_another_amount(court: Court) -> None:
    candidate = first(court, "pay_some_fees")
    cents = int(candidate.say["amount_cents"])
    wrong = candidate.model_copy(update={"request": candidate.request.replace(f"${cents / 100:.2f}", f"${cents}")})
    assert list(failures(court, wrong)) == ["grounded"]


def test_a_lost_superlative_is_found(court: Court) -> None:
    candidate = first(court, "renew_due_first")
    lost = candidate.model_copy(update={"request": candidate.request.replace("due first", "still at home")})
    found = failures(court, lost)
    assert found["grounded"] == "the request lacks the cue 'due first' of loan"


def test_a_told_fact_in_the_request_is_a_leak(court: Court) -> None:
    candidate = first(court, "pay_some_fees")
    told = court[1].subject(candidate).facts[0].value
    leaking = candidate.model_copy(update={"request": f"{candidate.request} I will owe ${int(told) / 100:.2f} then."})
    assert failures(court, leaking)["not_leaked"] == f"the request already says what must be told: money {told}"


def test_a_case_about_another_row_disagrees(court: Court) -> None:
    candidate = first(court, "renew_due_first")
    other = candidate.model_copy(update={"bindings": {**candidate.bindings, "loan": (("ln_1001",),)}})
    (key,) = candidate.bindings["loan"]
    assert failures(court, other)["case_agrees"] == f"loan: the case is about ln_1001, the agent chose {' '.join(key)}"


def test_a_tie_is_ambiguous(court: Court, plant: OpenCourt) -> None:
    candidate = first(court, "renew_due_first")

    def with_twin(environment: Environment) -> Rows:
        rows = populate(environment)
        (key,) = candidate.bindings["loan"]
        loan = next(row for row in rows["loans"] if row[0] == key[0])
        return {**rows, "loans": [*rows["loans"], ("ln_9999", *loan[1:2], "Another Book", *loan[3:])]}

    assert failures(plant(rows=with_twin), candidate) == {
        "unambiguous": "2 rows fit loan equally well; different: title"
    }


def test_a_row_that_fits_all_that_is_said_is_ambiguous(court: Court, plant: OpenCourt) -> None:
    """The request names the book; the member has it twice, and only the plan's unsaid condition tells which one."""
    edits = (
        (
            "intents.yaml",
            "where: loan.status = 'open'\n        first: loan.due_on\n",
            "where: loan.renewals = 0\n        by: title\n",
        ),
        (
            "intents.yaml",
            "        text: whichever of my open loans is due first\n        cues: [due first, open]\n",
            "",
        ),
        ("intents.yaml", "      - {kind: text, is: loan.title, what: title}\n", ""),
    )

    def with_second_copy(environment: Environment) -> Rows:
        rows = populate(environment)
        copies = [
            (f"{loan[0]}9", loan[1], loan[2], "2026-12-24", 1, "open", None)
            for loan in rows["loans"]
            if loan[5] == "open" and loan[4] == 0
        ]
        return {**rows, "loans": [*rows["loans"], *copies]}

    changed = plant(*edits, rows=with_second_copy)
    found = failures(changed, first(changed, "renew_due_first"))
    assert found["unambiguous"].startswith("loan could be ln_") and found["unambiguous"].endswith(
        "which ends in another state; no word says loan.renewals = 0"
    )


def ambiguities(court: Court, intent_id: str) -> list[str]:
    """The findings of `unambiguous` for twenty candidates of an intent; empty where it passes."""
    drawn = [court[0].draw(0, court[0].number(intent_id, turn)) for turn in range(20)]
    return [failures(court, candidate).get("unambiguous", "") for candidate in drawn if candidate is not None]


def test_a_condition_that_the_words_do_not_carry_is_ambiguous(plant: OpenCourt) -> None:
    """Cues speak for a superlative, not for a number that the author slipped into the predicate."""
    edit = "where: loan.status = 'open'"
    changed = plant(("intents.yaml", edit + "\n        first", edit + " AND loan.renewals = 0\n        first"))
    found = ambiguities(changed, "renew_due_first")
    assert any(finding.startswith("loan could be ln_") for finding in found)


def test_a_condition_that_names_another_role_is_said_by_cues(plant: OpenCourt) -> None:
    edit, condition = "where: loan.status = 'open', take: all", "loan.renewals = member.fees_cents - member.fees_cents"
    changed = plant(("intents.yaml", edit, f"{edit[:-11]} AND {condition}, take: all"))
    told = f"no word says {condition} (it names member: let cues of loan say it)"
    assert any(finding.endswith(told) for finding in ambiguities(changed, "return_all"))


def test_all_of_them_is_no_word_for_which(plant: OpenCourt) -> None:
    """*All my open loans* does not say that the overdue ones stay."""
    edit = "where: loan.status = 'open', take: all"
    changed = plant(("intents.yaml", edit, f"{edit[:-11]} AND loan.due_on >= :today, take: all"))
    assert any("no word says loan.due_on >= :today" in finding for finding in ambiguities(changed, "return_all"))


@pytest.mark.parametrize(
    ("order", "word", "finding"),
    [
        ("0 - (days_between(:today, loan.due_on) + loan.renewals)", "longest", ""),
        ("9999 - (days_between(:today, loan.due_on) + loan.renewals)", "longest", ""),
        ("0 - days_between(loan.due_on, COALESCE(loan.returned_on, add_days(loan.due_on, 9)))", "longest", ""),
        ("days_between(:today, loan.due_on) + loan.renewals", "shortest", ""),
        ("days_between(:today, loan.due_on) + loan.renewals", "longest", "takes the lowest first"),
        ("0 - (days_between(:today, loan.due_on) + loan.renewals)", "shortest", "takes the highest first"),
        ("9999 - (days_between(:today, loan.due_on) + loan.renewals)", "shortest", "takes the highest first"),
    ],
)
def test_an_order_by_several_columns_points_where_its_words_do(
    plant: OpenCourt, order: str, word: str, finding: str
) -> None:
    changed = plant(
        ("intents.yaml", "first: loan.due_on", f'first: "{order}"'),
        ("intents.yaml", "text: whichever of my open loans is due first", f"text: my open loan with the {word} time"),
        ("intents.yaml", "cues: [due first, open]", f"cues: [{word}, open]"),
    )
    told = {each for each in ambiguities(changed, "renew_due_first") if each.startswith("the words say")}
    assert told == ({f"the words say {word!r}, and {order} {finding}"} if finding else set())


def test_a_paid_row_does_not_hide_that_others_are_missing_from_a_set(court: Court, plant: OpenCourt) -> None:
    """Nothing in the words says `open`, and returned loans cannot be returned: that reading is refused, and the other
    one must still be tried."""
    edit = "loan: {is: loans, of: member, where: loan.status = 'open'"
    words, fewer = (
        ", take: all, text: all my open loans, cues: [all, open]",
        " AND loan.renewals = 0, take: all, text: all I have, cues: [all]",
    )

    def with_a_returned_one(environment: Environment) -> Rows:
        rows = populate(environment)
        returned = [
            (f"ln_9{member[0][3:]}", member[0], "A Book", "2026-03-12", 0, "returned", "2026-03-10")
            for member in rows["members"]
        ]
        return {**rows, "loans": [*rows["loans"], *returned]}

    changed = plant(("intents.yaml", edit + words, edit + fewer), rows=with_a_returned_one)
    found = [finding for finding in ambiguities(changed, "return_all") if finding]
    assert found and all("which ends in another state; no word says " in finding for finding in found)


def test_a_superlative_passes_over_no_row_but_those_that_a_tool_refuses(court: Court, plant: OpenCourt) -> None:
    """The loan that is due first is overdue and cannot be renewed; the next one can, and was passed over for a
    condition that nobody said."""
    candidate = first(court, "renew_due_first")
    ((member,),), ((chosen,),) = candidate.bindings["member"], candidate.bindings["loan"]

    def three_loans(environment: Environment) -> Rows:
        rows = populate(environment)
        others = [row for row in rows["loans"] if row[1] != member]
        mine = [
            ("ln_9001", member, "Overdue", "2026-03-10", 2, "open", None),
            ("ln_9002", member, "The Next One", "2026-03-20", 2, "open", None),
            (chosen, member, "The Third One", "2026-03-24", 0, "open", None),
        ]
        return {**rows, "loans": [*others, *mine]}

    edit = "where: loan.status = 'open'"
    changed = plant(
        ("intents.yaml", edit + "\n        first", edit + " AND loan.renewals = 0\n        first"), rows=three_loans
    )
    assert failures(changed, candidate) == {
        "unambiguous": "loan could be ln_9002, which ends in another state; no word says loan.renewals = 0"
    }


def test_every_argument_has_its_mutants(plant: OpenCourt) -> None:
    """The tool ignores its second number, and the first has more mutants than an operator may make."""
    given = "      amount_cents: {type: integer, minimum: 1}\n    steps:\n"
    deaf = "      amount_cents: {type: integer, minimum: 1}\n      reference: {type: integer}\n    steps:\n"
    changed = plant(
        ("toolset.yaml", given, f'{deaf}      - check: ":reference >= 0"\n        error: No such reference\n'),
        (
            "intents.yaml",
            "amount_cents: say.amount_cents}}",
            "amount_cents: say.amount_cents, reference: member.fees_cents}}",
        ),
        (
            "intents.yaml",
            "amount_cents: say.amount_cents}}",
            "amount_cents: say.amount_cents, reference: member.fees_cents}}",
        ),
    )
    found = failures(changed, first(changed, "pay_some_fees"))
    assert found["mutants_killed"].startswith("a wrong trajectory scores 1: amount: pay_fees(")


def test_a_set_that_is_narrower_than_its_words_is_ambiguous(plant: OpenCourt) -> None:
    edit = "loan: {is: loans, of: member, where: loan.status = 'open'"
    changed = plant(("intents.yaml", edit + ", take", edit + " AND loan.renewals = 0, take"))
    found = ambiguities(changed, "return_all")
    assert any("rows, which ends in another state; no word says " in finding for finding in found)


def test_a_value_that_the_plan_ignores_is_not_grounded(court: Court) -> None:
    candidate = first(court, "pay_some_fees")
    more = candidate.model_copy(update={"request": f"{candidate.request} Actually, make it $7.77."})
    assert failures(court, more) == {
        "grounded": "the request says '$7.77', which the plan knows nothing of; say it as a slot, or leave it out"
    }


def test_a_bound_is_no_amount(court: Court) -> None:
    candidate = first(court, "pay_some_fees")
    bound = candidate.model_copy(update={"request": candidate.request.replace("$", "less than $")})
    assert failures(court, bound) == {
        "grounded": (
            f"the request gives amount_cents = {candidate.say['amount_cents']} as a bound, and a call takes it as it is"
        )
    }


def test_a_write_that_changes_nothing_is_superfluous(plant: OpenCourt) -> None:
    greet = (
        "  - name: greet_member\n    description: Note a visit.\n"
        "    parameters:\n      member_id: {type: string}\n    steps:\n"
        "      - exec: UPDATE members SET status = status WHERE member_id = :member_id\n"
        "    returns:\n      status: {value: SELECT status FROM members WHERE member_id = :member_id}\n\n"
        "  - name: pay_fees"
    )
    changed = plant(
        ("toolset.yaml", "  - name: pay_fees", greet),
        (
            "intents.yaml",
            "      - paid: {pay_fees:",
            "      - hello: {greet_member: {member_id: member.member_id}}\n      - paid: {pay_fees:",
        ),
    )
    found = failures(changed, first(changed, "pay_some_fees"))
    assert found["necessary"] == "without greet_member the end state is accepted all the same"


def test_a_bare_refusal_is_no_task(plant: OpenCourt) -> None:
    changed = plant(("rules.yaml", "      - {kind: money, is: policy.desk_limit_cents}\n", ""))
    found = failures(changed, first(changed, "pay_over_desk_limit"))
    assert found["schema"] == (
        "nothing changes and nothing but a yes or no is told: let the rule desk_limit tell a figure, a date or a name "
        "besides"
    )
    assert found["idle_fails"].startswith("an agent that does not do the task scores 1: idle")


def test_a_golden_call_against_the_policy_is_unlawful(plant: OpenCourt) -> None:
    changed = plant(("rules.yaml", "desk_limit_cents: 4000", "desk_limit_cents: 100"))
    assert failures(changed, first(changed, "pay_some_fees")) == {
        "lawful": "pay_fees breaks the rule desk_limit: Payments of more than $40 are taken at the desk only."
    }


def test_a_refusal_of_what_is_allowed_is_rejected(plant: OpenCourt) -> None:
    changed = plant(("rules.yaml", "desk_limit_cents: 4000", "desk_limit_cents: 400000"))
    assert failures(changed, first(changed, "pay_over_desk_limit")) == {
        "lawful": "what is asked does not break the rule desk_limit"
    }


def test_a_broken_invariant_is_named_with_its_row(plant: OpenCourt) -> None:
    changed = plant(("rules.yaml", "holds: fees_cents >= 0", "holds: fees_cents >= 100000"))
    candidate = first(changed, "pay_some_fees")
    ((member,),) = candidate.bindings["member"]
    assert failures(changed, candidate) == {
        "integrity": f"after pay_fees, the invariant no_negative_fees does not hold for members {member}"
    }


def test_a_call_that_fails_while_recording_is_rejected(plant: OpenCourt) -> None:
    changed = plant(
        ("intents.yaml", "[500, 1250, 2000, 2999]", "[999900]"),
        ("intents.yaml", "when: member.fees_cents > say.amount_cents", "when: member.fees_cents < say.amount_cents"),
    )
    found = failures(changed, first(changed, "pay_some_fees"))
    assert list(found) == ["replay"] and found["replay"].startswith("pay_fees fails: Only $")


def test_a_replica_on_other_rows_differs(court: Court, plant: OpenCourt) -> None:
    changed = plant(replica=True, seed=1)
    assert failures(changed, first(court, "pay_some_fees")) == {
        "deterministic": "another process gives other results or row changes"
    }


def test_the_second_process_and_the_second_engine_agree(plant: OpenCourt) -> None:
    changed = plant(replica=True, audit_share=1)
    gates = {gate.gate: gate for gate in changed[1].judge(first(changed, "return_all")).verdict.gates}
    assert (gates["deterministic"].status, gates["engines_agree"].status) == ("pass", "pass")


class KeysOnly(EndStates):
    """A weakened verifier: which rows were touched, not what they became."""

    def of(self, calls: Sequence[ToolCall]) -> EndState:
        state = super().of(calls)
        return EndState(frozenset(state.touched), state.errors, state.touched)


class CallsOnly(EndStates):
    """A verifier that compares calls with calls: too strict for another right way."""

    def of(self, calls: Sequence[ToolCall]) -> EndState:
        state = super().of(calls)
        return EndState(frozenset([repr([(call.name, call.arguments) for call in calls])]), state.errors, state.touched)


def test_a_verifier_that_looks_at_keys_alone_lets_mutants_live(plant: OpenCourt) -> None:
    weak = plant(states=KeysOnly)
    found = failures(weak, first(weak, "renew_due_first"))
    assert found["mutants_killed"].startswith("a wrong trajectory scores 1:")


def test_a_verifier_that_compares_calls_refuses_right_ways(plant: OpenCourt) -> None:
    strict = plant(states=CallsOnly)
    assert failures(strict, first(strict, "return_all"))["equivalents_accepted"].startswith(
        "a right trajectory scores 0: order"
    )


def test_an_order_that_breaks_a_rule_on_the_way_is_no_right_way(court: Court) -> None:
    subject = court[1].subject(first(court, "return_all"))
    orders = exchanged(subject)
    assert [way.calls for way in equivalents(subject, orders) if way.operator == "order"] == orders != []
    strict = replace(subject, broken_on_the_way=lambda calls: None if calls == subject.writes else "out of turn")
    assert [way for way in equivalents(strict, orders) if way.operator == "order"] == []


def test_a_candidate_about_rows_that_are_not_there_is_rejected(court: Court) -> None:
    candidate = first(court, "pay_some_fees")
    nobody = candidate.model_copy(update={"bindings": {"member": (("mb_0",),)}})
    assert failures(court, nobody) == {"schema": "member is bound to (('mb_0',),), which members does not have"}
    unknown = candidate.model_copy(update={"intent_id": "pay_nothing"})
    assert failures(court, unknown) == {"schema": "the environment has no intent 'pay_nothing'"}
    wordless = candidate.model_copy(update={"say": {}})
    assert failures(court, wordless) == {"schema": "the environment has no intent 'pay_some_fees' with the slots none"}
    evolved = candidate.model_copy(update={"evolutions": ("batch member",)})
    reason = "member has a condition without an adjective"
    assert failures(court, evolved) == {
        "schema": f"the environment has no intent 'pay_some_fees + batch member': {reason}"
    }


def test_money_moved_there_and_back_is_superfluous(plant: OpenCourt) -> None:
    """Each drop changes the end state, and so does the pair, since both leave a row in the ledger; but what was there
    ends as it began."""
    charge = (
        "  - name: charge_fee\n    description: Charge a fee.\n    parameters:\n      member_id: {type: string}\n"
        "      amount_cents: {type: integer, minimum: 1, maximum: 100000}\n    steps:\n"
        "      - let: member\n"
        "        sql: SELECT fees_cents FROM members WHERE member_id = :member_id\n        error: Nobody\n"
        "      - check: :member.fees_cents < 1000000\n        error: Too much\n"
        "      - new_id: payment_id\n        prefix: ch_\n        from: [member_id, amount_cents]\n"
        "      - exec: UPDATE members SET fees_cents = fees_cents + :amount_cents WHERE member_id = :member_id\n"
        "      - exec: INSERT INTO payments (payment_id, member_id, amount_cents, paid_at) "
        "VALUES (:payment_id, :member_id, :amount_cents, :now)\n"
        "    returns:\n      fees_cents: {value: SELECT fees_cents FROM members WHERE member_id = :member_id}\n\n"
        "  - name: pay_fees"
    )
    back = (
        "      - charged: {charge_fee: {member_id: member.member_id, amount_cents: say.amount_cents}}\n"
        "      - paid: {pay_fees:"
    )
    changed = plant(("toolset.yaml", "  - name: pay_fees", charge), ("intents.yaml", "      - paid: {pay_fees:", back))
    found = failures(changed, first(changed, "pay_some_fees"))
    assert (
        found["necessary"]
        == "without charge_fee and pay_fees the rows that were there end the same: one undoes the other"
    )


def test_a_quiet_matter_may_be_followed_by_a_question_about_somebody_else() -> None:
    """What is asked of others is told to nobody, so the first message need not ask for it."""
    environment = load_environment("travel")
    rows = populate(environment)
    judge = Judge(environment, rows, audit_share=0, replica=False)
    with World(environment, rows) as world:
        source = CandidateSource(environment, world)
        stream = source.number("postpone_balance+evolved", 0)
        drawn = (source.draw(0, stream + turn * len(source.streams), "mixed") for turn in range(500))
        pried = [one for one in drawn if one and one.agenda and one.evolutions == ("quiet", "pry neighbors")]
        findings = [failures((source, judge), one).get("grounded", "") for one in pried]
    judge.close()
    assert findings
    assert not any("asks nothing" in finding for finding in findings)


def test_a_row_that_the_rest_of_the_message_names_may_be_left_open() -> None:
    """*Move my booking to the latest show of Dragon Bakery* leaves open which booking, whatever its film."""
    environment = load_environment("entertainment")
    rows = populate(environment)
    judge = Judge(environment, rows, audit_share=0, replica=False)
    with World(environment, rows) as world:
        source = CandidateSource(environment, world)
        drawn = (source.draw(0, source.number("move_latest_same_day", turn), "dialogue") for turn in range(40))
        left_open = [one for one in drawn if one and "booking" in {reply.about for reply in one.held}]
        findings = [failures((source, judge), one).get("grounded", "") for one in left_open]
    judge.close()
    assert left_open and all("my booking" in one.request.lower() for one in left_open)
    assert not any("to be told only when asked" in finding for finding in findings)
