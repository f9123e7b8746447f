"""Admission tries every stream: how much of it is accepted, and what is found."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import pytest

from toolscale.cli import main
from toolscale.cli.tallies import print_yields
from toolscale.environment.environment import load_environment
from toolscale.verify.yields import Yield, measure_yields, monotonous

Spoil = Callable[..., Path]
INTENTS, CASES = "intents.yaml", "cases.yaml"
HEDGED = (
    (
        INTENTS,
        "Please pay {amount_cents|money} of my fees[ now|].",
        "Please pay about {amount_cents|money} of my fees.",
    ),
    (INTENTS, "pay {amount_cents|words} of them.", "pay roughly {amount_cents|words} of them."),
)
"""The refusal asks for no exact amount: nothing that is said can be read back."""
UNTRIED = (
    CASES,
    "  - {title: a refusal without the limit, kind: zero_reward, intent: pay_over_desk_limit, "
    'answer: \'{"done": "none"}\'}\n',
    "",
)
"""The only verifier case of that intent, which would show the fault before."""


def test_every_stream_of_a_sound_domain_yields() -> None:
    yields = measure_yields(load_environment("mock"), 5)
    intents = ["pay_some_fees", "renew_due_first", "return_all", "pay_over_desk_limit"]
    assert [(item.stream, item.judged, item.accepted, item.commonest) for item in yields] == [
        (name, 5, 5, "") for name in (*intents, *(f"{intent}+evolved" for intent in intents[:3]))
    ]


def test_an_intent_that_yields_nothing_is_an_error_that_shows_a_candidate(
    spoil: Spoil, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = spoil(*HEDGED, UNTRIED)
    assert main(["admit", str(folder), "--write", "--candidates", "3"]) == 2
    captured = capsys.readouterr()
    assert re.search(r"^pay_some_fees +3 +3  100\.0 %", captured.out, re.MULTILINE)
    assert "toolscale: intents.yaml: intents[pay_over_desk_limit]: the stream pay_over_desk_limit yields nothing" in (
        captured.err
    )
    assert "grounded (3), as in candidate 3: " in captured.err
    assert not (folder / "admission.json").exists()
    assert main(["judge", str(folder), "3"]) == 1


def test_the_streams_stand_in_the_json_and_none_are_tried_if_none_are_asked_for(
    spoil: Spoil, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = spoil()
    assert main(["admit", str(folder), "--candidates", "2", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert len(found["streams"][0].pop("requests")) == 2
    assert found["streams"][0] == {
        "stream": "pay_some_fees",
        "intent": "pay_some_fees",
        "kind": "plain",
        "judged": 2,
        "accepted": 2,
        "findings": {},
        "examples": {},
        "alike": 0,
        "repeated": "",
        "repeated_in": "requests",
        "worded": 0,
        "echoes": {},
        "echoed": "",
        "wanted": 2,
        "share": 1.0,
    }
    assert main(["admit", str(folder), "--candidates", "0", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["streams"] == []


@pytest.mark.parametrize(
    ("kind", "judged", "accepted", "barren", "poor"),
    [
        ("plain", 12, 12, False, False),
        ("plain", 12, 4, False, False),
        ("plain", 12, 3, False, True),
        ("plain", 12, 0, True, False),
        ("plain", 0, 0, True, False),
        ("evolved", 12, 0, True, False),
        ("evolved", 0, 0, False, True),
    ],
)
def test_a_stream_yields_enough_or_little_or_nothing(
    kind: Literal["plain", "evolved"], judged: int, accepted: int, barren: bool, poor: bool
) -> None:
    item = Yield("stream", "intent", kind, judged=judged, accepted=accepted)
    assert (item.is_barren, item.is_poor) == (barren, poor)


def test_what_is_found_most_often_is_told_with_the_first_candidate_that_has_it() -> None:
    item = Yield("stream", "intent")
    item.take("4 (obscure loan:due)", "Pay about $5.", [("grounded", "'about $5' reads as nothing firm")])
    item.take("8", "Pay $5.", [])
    item.take("12", "Pay my fee.", [("unambiguous", "two loans fit"), ("grounded", "another")])
    assert (item.judged, item.accepted, item.findings) == (3, 1, Counter(grounded=2, unambiguous=1))
    assert item.requests == ["Pay $5."]
    assert item.commonest == "grounded (2), as in candidate 4 (obscure loan:due): 'about $5' reads as nothing firm"


def test_a_stream_that_no_rows_fit_says_so() -> None:
    assert Yield("stream", "intent").commonest == "no rows fit it in 40 draws"


def test_requests_of_a_stream_are_printed_and_one_stream_is_judged(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["admit", "mock", "--candidates", "2", "--requests"]) == 0
    out = capsys.readouterr().out
    listed = out[out.rindex("\nrenew_due_first\n") :].splitlines()
    (first,) = (item for item in measure_yields(load_environment("mock"), 2) if item.stream == "renew_due_first")
    assert len(first.requests) == 2 and first.requests[0].split()[0] in listed[2]
    assert main(["judge", "mock", "--intent", "renew_due_first", "1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["task"]["request"] == first.requests[1]
    assert main(["judge", "mock", "--intent", "renew"]) == 2
    assert capsys.readouterr().err.startswith(
        "toolscale: --intent: no stream is called 'renew'; use one of pay_some_fees, renew_due_first, "
    )


def test_an_intent_that_no_evolution_fits_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    print_yields([Yield("a", "a", judged=1, accepted=1), Yield("b", "b"), Yield("b+evolved", "b", "evolved")], "mock")
    assert "no evolution applies to: a\n" in capsys.readouterr().out


def test_a_stream_that_repeats_itself_is_told_with_what_it_repeats(
    spoil: Spoil, capsys: pytest.CaptureFixture[str]
) -> None:
    """One phrasing without alternatives: after three tasks with the same words, no other is new."""
    first = (
        "[Please pay|I would like to pay] {amount_cents|money} of my fees. How much do I still owe [after that|then]?"
    )
    long = "Please take {amount_cents|money} off what I owe and then tell me how much of it I still owe after that."
    second = '      - "Put {amount_cents|words} towards my fees, please, and tell me what is left."\n'
    found = {
        item.stream: item
        for item in measure_yields(load_environment(spoil((INTENTS, first, long), (INTENTS, second, ""))), 6)
    }
    item = found["pay_some_fees"]
    assert (item.accepted, item.alike, item.is_monotonous) == (6, 5, True)
    assert item.repeated.startswith("candidate 7 shares 12 words, 'off what i owe and then tell me how much of it'")
    print_yields([item], "mock")
    assert "! repeats itself pay_some_fees: 5 of 6 accepted are no new task: candidate 7 shares" in " ".join(
        capsys.readouterr().out.split()
    )


def test_words_of_a_role_that_repeat_are_told_where_they_stand(spoil: Spoil) -> None:
    role = "text: whichever of my open loans is due first\n"
    long = "text: the one of all the open loans that I still have at home which is due first\n"
    more = ("population.yaml", "count: 8", "count: 40")
    found = measure_yields(load_environment(spoil((INTENTS, role, long), more)), 6)
    (item,) = [item for item in found if item.stream == "renew_due_first"]
    assert (item.is_monotonous, item.repeated_in) == (True, "roles.loan.text")
    (issue,) = [issue for issue in monotonous(found) if issue.place.startswith("intents[renew_due_first]")]
    assert (issue.place, issue.remedy) == (
        "intents[renew_due_first].roles.loan.text",
        "write the text with alternatives, [in other words|said otherwise], or shorter",
    )


def test_issues_stand_in_the_json_too(spoil: Spoil, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["admit", str(spoil((INTENTS, "is: loans", "is: lones"))), "--json"]) == 2
    captured = capsys.readouterr()
    issues = json.loads(captured.out)["issues"]
    assert issues[0] == {
        "file": INTENTS,
        "place": "intents[renew_due_first].roles.loan.is",
        "problem": "unknown table 'lones'",
        "remedy": "did you mean 'loans'?",
        "edit": {
            "path": "intents[renew_due_first].roles.loan.is", "old": "lones", "new": "loans", "is_key": False,
        },
    }  # fmt: skip
    assert captured.err.count("\n") == len(issues)
