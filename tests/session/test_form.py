"""Tasks that are answered by a form: how a dataset of them is made, solved, graded, learned from and rolled out."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from toolscale.cli import main
from toolscale.dataset.columns import task_of
from toolscale.dataset.describing.reading import read_dataset
from toolscale.environment.builtins import FINAL_ANSWER
from toolscale.records import Fact, Tell
from toolscale.session.playable import Playable
from toolscale.tasks.form import Field, Form, field_names
from toolscale.verify.filled import fill, form_finding
from training.conversations import golden_conversations

pytestmark = pytest.mark.xdist_group("forms")  # what they share takes longer than they do

TODAY = "2026-03-16"
FORM = Form(
    (
        Field("left_cents", "money", "left", listed=False, labelled=False),
        Field("due", "date", "due", listed=False, labelled=False),
        Field("limits_cents", "money", "limits", listed=True, labelled=True),
    )
)
FACTS = (
    Fact(kind="money", value=1250, field="left_cents"),
    Fact(kind="money", value=500, about="card 1234", field="limits_cents"),
    Fact(kind="money", value=900, about="card 9999", field="limits_cents"),
)
LIMITS = [{"of": "the card 9999", "value": 900}, {"of": "card 1234", "value": 500}]


@pytest.fixture(scope="module")
def playable(forms: Path) -> Iterator[Playable]:
    opened = Playable(forms)
    yield opened
    opened.close()


def said(capsys: pytest.CaptureFixture[str], *words: str | Path) -> tuple[int, str]:
    """Run a command: exit status, and what it says."""
    status = main([str(word) for word in words])
    captured = capsys.readouterr()
    return status, captured.out + captured.err


ELIGIBLE = Form((Field("may_play", "yes_no", "whether she may play", listed=False, labelled=False),))


@pytest.mark.parametrize(("value", "said"), [(1, True), (0, False)])
def test_a_question_of_yes_or_no_has_a_field(value: int, said: bool) -> None:
    facts = (Fact(kind="yes_no", value=value, field="may_play"),)
    assert json.loads(fill(ELIGIBLE, facts, "all")) == {"done": "all", "may_play": said, "reasons": []}
    assert [_of_eligible(answer, facts) for answer in (said, not said, None)] == [
        None,
        *[f"may_play is not stated as {json.dumps(said)}"] * 2,
    ]
    assert "may_play: 1 is not of type" in str(_of_eligible(1, facts))


def test_no_is_an_answer_where_none_is_wanted() -> None:
    assert _of_eligible(None, ()) is None
    assert _of_eligible(False, ()) == "may_play is false and should be null"


def _of_eligible(answer: object, facts: tuple[Fact, ...]) -> str | None:
    return form_finding(ELIGIBLE, facts, json.dumps({"done": "all", "may_play": answer}), today=TODAY, done="all")


def found(
    answer: dict[str, Any] | str,
    facts: tuple[Fact, ...] = FACTS,
    done: str = "all",
    standing: tuple[Fact, ...] = (),
) -> str | None:
    text = answer if isinstance(answer, str) else json.dumps(answer)
    return form_finding(FORM, facts, text, today=TODAY, done=done, standing=standing)


def test_a_dataset_of_forms_verifies_and_each_row_brings_its_own_tool(
    forms: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert said(capsys, "verify", forms)[0] == 0
    reading = read_dataset(forms)
    assert reading.manifest.domains["mock"].answer == "form"
    for row in reading.rows.tasks:
        task, last = task_of(row), json.loads(row["tools"])[-1]["function"]
        assert (row["answer"], last["name"], last["parameters"]) == ("form", FINAL_ANSWER, task.form)
        assert {"done", "reasons"} <= last["parameters"]["properties"].keys()


def test_a_filled_form_scores_what_a_message_would_and_words_score_nothing(playable: Playable) -> None:
    for task in map(playable.task, playable.ids):
        domain, right = playable.domain(task), playable.domain(task).key(task).right
        empty = json.dumps({"done": "all"})
        scores = [
            domain.grade(task, right.calls, answer).score
            for answer in (right.answer, "I have done all that you asked for.", "[]")
        ]
        assert scores == [1, 0, 0]
        asked = any(not fact.withheld for fact in task.communicate)
        assert domain.grade(task, right.calls, empty).score == int(not asked)
        assert all(domain.grade(task, wrong.calls, wrong.answer).score == 0 for wrong in domain.key(task).wrong)


def test_a_form_is_played_as_a_call_or_as_the_answer_and_a_bad_one_can_be_given_again(
    forms: Path, playable: Playable, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    task = next(task for task in map(playable.task, playable.ids) if task.row_changes)
    right = playable.domain(task).key(task).right
    as_call = json.dumps({"name": FINAL_ANSWER, "arguments": json.loads(right.answer)})
    for name, last in (("a", ["--answer", right.answer]), ("b", ["--call", as_call])):
        session = ["play", forms, "--session", tmp_path / name]
        assert FINAL_ANSWER in said(capsys, *session, task.id)[1]
        assert (
            said(capsys, *session, *(word for call in right.calls for word in ("--call", call.model_dump_json())))[0]
            == 0
        )
        status, told = said(capsys, *session, "--answer", "All done!")
        assert (status, told.count("\n")) == (
            2,
            1,
        ) and "is no filled form: it is not JSON; give the fields of final_answer" in told
        assert said(capsys, *session, *last) == (0, "score 1: right\n")


def test_a_form_that_other_calls_come_after_or_beside_a_message_is_refused_before_anything_is_done(
    forms: Path, playable: Playable, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    task = next(task for task in map(playable.task, playable.ids) if task.row_changes)
    right = playable.domain(task).key(task).right
    last = json.dumps({"name": FINAL_ANSWER, "arguments": json.loads(right.answer)})
    calls = [call.model_dump_json() for call in right.calls]
    (tmp_path / "calls.jsonl").write_text("\n".join([last, *calls]))
    session = ["play", forms, task.id, "--session", tmp_path / "s"]
    told = [
        said(capsys, *session, "--call", calls[0], "--call", last, "--call", calls[0]),
        said(capsys, *session, "--call", last, "--call", last),
        said(capsys, *session, "--calls", tmp_path / "calls.jsonl"),
        said(capsys, *session, "--call", last, "--answer", right.answer),
    ]
    after = "final_answer ends the session, and calls come after it; make it the last one"
    assert told == [
        (2, f"toolscale: --call 2: {after}\n"),
        (2, f"toolscale: --call 1: {after}\n"),
        (2, f"toolscale: {tmp_path / 'calls.jsonl'}: line 1: {after}\n"),
        (2, "toolscale: final_answer is the final answer; leave --say and --answer out, or give it later\n"),
    ]
    assert [path.name for path in (tmp_path / "s").iterdir()] == ["session.json"]
    assert said(capsys, *session, *(word for call in (*calls, last) for word in ("--call", call)))[0] == 0


def test_a_brief_view_shows_the_form_and_how_tools_are_called(
    forms: Path, playable: Playable, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    task = playable.task(playable.ids[0])
    session = ["play", forms, task.id, "--session", tmp_path / "s", "--brief"]
    told = " ".join(said(capsys, *session)[1].split())
    fields = (task.form or {})["properties"]
    assert all(f"{name}:" in told or f"{name} (optional):" in told for name in fields)
    assert "renew_loan(days?, loan_id)" in told and "Give your answer, once" in told
    shown = json.loads(said(capsys, *session, "--json")[1])
    assert ([tool["function"]["name"] for tool in shown["tools"]], shown["request"]) == ([FINAL_ANSWER], task.request)
    assert "policy" not in shown
    call = '{"name": "calculate", "arguments": {"expression": "1 + 1"}}'
    assert json.loads(said(capsys, *session, "--json", "--call", call)[1]).keys() == {"session", "results"}


def test_a_conversation_to_learn_from_ends_with_the_call(forms: Path) -> None:
    for talk in golden_conversations(forms):
        assert talk["messages"][-1]["content"] is None
        assert (
            talk["messages"][-1]["tool_calls"][0]["function"]["name"]
            == talk["tools"][-1]["function"]["name"]
            == FINAL_ANSWER
        )


def test_each_fact_is_wanted_in_its_field_and_a_list_in_any_order() -> None:
    right = {"done": "all", "left_cents": 1250, "limits_cents": LIMITS}
    assert found(right) is None and found(right | {"left_cents": 1250.0, "reasons": []}) is None
    assert [found(fill(FORM, FACTS, "all", style)) for style in range(3)] == [None] * 3
    exchanged = [{"of": "card 9999", "value": 500}, {"of": "card 1234", "value": 900}]
    assert [
        found(right | change)
        for change in (
            {"left_cents": 12.5},
            {"left_cents": None},
            {"limits_cents": exchanged},
            {"limits_cents": LIMITS[:1]},
            {"done": "none"},
            {"due": "2026-03-20"},
            {"fee": 1},
            {"reasons": [1, 2, 3]},
        )
    ] == [
        "the answer is no filled form: left_cents: 12.5 is not of type 'integer', 'null'",
        "left_cents is not stated as 1250",
        'limits_cents is not stated as [{"of":"card 1234","value":500},{"of":"card 9999","value":900}]',
        'limits_cents is not stated as [{"of":"card 1234","value":500},{"of":"card 9999","value":900}]',
        "done is 'none' and should be 'all'",
        'due is "2026-03-20" and should be null',
        "the answer is no filled form: Additional properties are not allowed ('fee' was unexpected)",
        "1 decided no refusal",
    ]


def test_a_field_that_does_not_apply_stays_null_or_says_what_is_so_all_the_same() -> None:
    """Where a condition of the request does not hold, the bill that was asked about has its date nevertheless."""
    form, due = {"done": "none", "due": "2026-03-20"}, Fact(kind="date", value="2026-03-20", field="due")
    assert found(form, facts=(), done="none", standing=(due,)) is None
    assert found(form, facts=(), done="none") == 'due is "2026-03-20" and should be null'
    assert found(form | {"due": None}, facts=(), done="none", standing=(due,)) is None


def test_a_refusal_names_what_decided_it_and_what_is_withheld_stays_out() -> None:
    no = Fact(kind="bool", value=0)
    limit, hidden = Fact(kind="money", value=100000), Fact(kind="money", value=777, withheld=True, field="left_cents")

    def refused(form: dict[str, Any], *facts: Fact) -> str | None:
        return found(form, facts=(no, limit, *facts), done="none")

    for reason in (100000, "100000", "$1,000.00", "the $1,000."):
        assert refused({"done": "none", "reasons": [reason]}, hidden) is None
    assert refused({"done": "none", "reasons": ["$1,500.00"]}) == "reasons do not name the money 100000"
    assert refused({"done": "all", "reasons": [100000]}) == "done is 'all' and should be 'none'"
    disclosing = {"done": "none", "reasons": [100000], "left_cents": 777}
    assert refused(disclosing, hidden) == "discloses what is withheld: left_cents"


def test_reasons_are_single_values_exactly_those_that_decided() -> None:
    no, day = Fact(kind="bool", value=0), Fact(kind="date", value="2026-03-20")
    office = Fact(kind="text", value="Advising Center")
    hidden = Fact(kind="text", value="ann@example.org", withheld=True)

    def told(*reasons: str | int, facts: tuple[Fact, ...] = (no, day)) -> str | None:
        return found({"done": "none", "reasons": list(reasons)}, facts=facts, done="none")

    assert [told("2026-03-20"), told("March 20, 2026")] == [None, None]
    assert told("the Advising Center", "2026-03-20", facts=(no, day, office)) is None
    assert told("2026-03-20", 5000) == "5000 decided no refusal"
    assert told("2026-03-20", "March 20, 2026") == "2 reasons, and 1 decided"
    assert told() == "reasons do not name the date '2026-03-20'"
    hours = Fact(kind="duration", value=180)
    assert [told(reason, facts=(no, hours)) for reason in (180, 3, "3 hours")] == [None] * 3
    assert told("²", facts=(no, hours)) == "reasons do not name the duration 180"  # a digit, and no number
    guesses = " ".join(f"March {number}, 2026" for number in range(19, 22))
    for several in (
        guesses,
        "March 20, 2026 or 5000",
        "either the 20th of March, 2026 or a fee of $50.00",
        "one of the many things that I saw",
    ):
        assert str(told(several)).endswith("is more than one value; give each limit, date, status or name by itself")
    assert told("2026-03-20", "ann@example.org", facts=(no, day, hidden)) == "discloses what is withheld: reasons"


@pytest.mark.parametrize(
    "answer",
    [
        "", "{", "[1]", '"all"', "null", "1e999", "[" * 100_000, '{"done": "all", "left_cents": true}',
        '{"done": "none", "done": "all", "left_cents": 1250}',
    ],
)  # fmt: skip
def test_what_is_no_form_is_refused_whatever_it_is(answer: str) -> None:
    assert str(found(answer)).startswith("the answer is no filled form: ")


def test_fields_are_named_once_and_branches_of_one_thing_share_theirs() -> None:
    def tell(is_: str, when: str | None = None, kind: Any = "money", what: str | None = None) -> Tell:
        return Tell.model_construct(kind=kind, is_=is_, when=when, what=what)

    named = field_names(
        [
            tell("pay.available_cents", "x"),
            tell("other.available_cents", "NOT (x)"),
            tell("moved_2.available_cents"),
            tell("0", kind="bool"),
            tell("(SELECT SUM(bill_2.amount_cents) FROM bill_2)"),
            tell("card.last4", kind="digits", what="Last 4 digits!"),
        ]
    )
    assert named == [
        "available_cents",
        "available_cents",
        "available_cents_2",
        None,
        "total_amount_of_bill_cents",
        "last_4_digits",
    ]
