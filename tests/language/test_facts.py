from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from toolscale.language.answers import STYLES, state_facts
from toolscale.language.clauses import clauses_of, read_answer, stretches
from toolscale.language.corrections import take_back
from toolscale.language.facts import grade_answer
from toolscale.language.mentions import mentions
from toolscale.records import Fact

TODAY = "2026-03-16"


def read_lines(name: str) -> list[tuple[str, ...]]:
    lines = (Path(__file__).parent / name).read_text().splitlines()
    return [tuple(part.strip() for part in line.split("||", 2)) for line in lines if line and not line.startswith("#")]


CASES = read_lines("golden_answers.txt")


def typed(kind: str, text: str) -> Any:
    return int(text) if kind in ("money", "number", "bool") else text


def read_case(text: str) -> tuple[list[Fact], dict[str, Any]]:
    facts: list[Fact] = []
    settings: dict[str, Any] = {"allowed": frozenset(), "observed": {}, "budget": 0}
    for part in text.split("; "):
        if part.startswith("budget="):
            settings["budget"] = int(part[7:])
        elif part.startswith(("seen ", "allowed ")):
            word, _, rest = part.partition(" ")
            kind, _, values = rest.partition("=")
            read = frozenset(typed(kind, value) for value in values.split(","))
            if word == "seen":
                settings["observed"][kind] = settings["observed"].get(kind, frozenset()) | read
            else:
                settings["allowed"] |= {(kind, value) for value in read}
        else:
            told, _, others = part.strip().partition(" ~")
            told, _, about = told.partition(" @")
            kind, _, value = told.strip().partition("=")
            name, withheld = kind.removeprefix("withheld "), kind.startswith("withheld ")
            told_others = tuple(filter(None, others.split(",")))
            facts.append(
                Fact(kind=name, value=typed(name, value), about=about or None, others=told_others, withheld=withheld)
            )
    return facts, settings


@pytest.mark.parametrize(("expected", "facts", "answer"), CASES)
def test_golden_answer_is_graded_as_a_person_would(expected: str, facts: str, answer: str) -> None:
    told, settings = read_case(facts)
    finding = grade_answer(answer.replace("\\n", "\n"), told, today=TODAY, **settings)
    assert ("ok" if finding is None else "fail") == expected, finding


REJECTED_THOUGH_RIGHT = {
    "You don't have any open orders at the moment.",
    "Only one of your three cards is frozen.",
    "That is more than I may send in one day: the limit is $500.00.",
}


def test_held_out_answers_are_never_wrongly_accepted() -> None:
    """Answers written blind. Their first run gave 1 false accept and 9 false rejects in 100; what was mended then is
    learned in other words."""
    accepted, rejected = set(), set()
    for expected, facts, answer in read_lines("heldout_answers.txt"):
        told, settings = read_case(facts)
        finding = grade_answer(answer.replace("\\n", "\n"), told, today=TODAY, **settings)
        if ("ok" if finding is None else "fail") != expected:
            (accepted if finding is None else rejected).add(answer)
    assert accepted == set()
    assert rejected <= REJECTED_THOUGH_RIGHT


def test_nothing_to_tell_is_told_by_anything() -> None:
    assert grade_answer("", [], today=TODAY) is None


def test_findings_name_the_fact_and_the_rival() -> None:
    fact = Fact(kind="money", value=500, about="joint account")
    assert grade_answer("Done.", [fact], today=TODAY) == "the money of joint account is not stated as 500"
    seen = {"money": frozenset((500,))}
    assert (
        grade_answer("It is $5, and $7 is due.", [fact], today=TODAY, observed=seen) == "a money that nothing gave: $7"
    )


NAMES = (
    "joint account",
    "savings account",
    "City Gas",
    "my rainy day fund",
    "Savings 2",
    "Metro Water",
    "card ending in 4821",
)
labels = st.one_of(st.none(), st.sampled_from(NAMES))
values = {
    "money": st.integers(-500_000, 9_999_999),
    "date": st.dates().filter(lambda day: 1900 < day.year < 2100).map(lambda day: day.isoformat()),
    "time": st.integers(0, 1439).map(lambda minute: f"{minute // 60:02}:{minute % 60:02}"),
    "duration": st.integers(1, 3000),
    "number": st.integers(0, 5000),
    "text": st.sampled_from(["Blue Bottle", "frozen", "7-Eleven", "The Corner Cafe", "Forever 21", "two-day shipping"]),
    "digits": st.integers(0, 9999).map(lambda number: f"{number:04}"),
    "id": st.from_regex(r"[a-z]{2,3}_[a-z2-7]{10}", fullmatch=True),
    "bool": st.integers(0, 1),
}


@st.composite
def one_of_each_kind(draw: st.DrawFn) -> list[Fact]:
    kinds = draw(st.lists(st.sampled_from(sorted(values)), unique=True, min_size=1, max_size=4))
    facts = []
    for kind in kinds:
        about = draw(labels) if kind != "bool" else None
        others = tuple(name for name in NAMES if name != about) if about else ()
        facts.append(Fact(kind=kind, value=draw(values[kind]), about=about, others=others))
    return facts


@given(one_of_each_kind(), st.integers(0, STYLES - 1))
def test_what_is_stated_in_any_style_is_graded_as_stated(facts: list[Fact], style: int) -> None:
    answer = state_facts(facts, TODAY, style)
    assert (
        grade_answer(
            answer, facts, today=TODAY, observed={"money": frozenset(), "date": frozenset(), "number": frozenset()}
        )
        is None
    )


@given(st.sampled_from(["money", "date", "number"]), st.data(), st.integers(0, STYLES - 1))
def test_labels_tell_two_facts_of_a_kind_apart(kind: str, data: st.DataObject, style: int) -> None:
    first, second = data.draw(st.lists(values[kind], unique=True, min_size=2, max_size=2))
    one, two = data.draw(st.lists(st.sampled_from(NAMES), unique=True, min_size=2, max_size=2))
    facts = [
        Fact(kind=kind, value=first, about=one, others=(two,)),
        Fact(kind=kind, value=second, about=two, others=(one,)),
    ]
    swapped = [fact.model_copy(update={"value": value}) for fact, value in zip(facts, (second, first), strict=True)]
    assert grade_answer(state_facts(facts, TODAY, style), facts, today=TODAY) is None
    assert grade_answer(state_facts(swapped, TODAY, style), facts, today=TODAY) is not None


@given(st.sampled_from(sorted(values)), st.data(), st.integers(0, STYLES - 1))
def test_another_value_is_never_accepted(kind: str, data: st.DataObject, style: int) -> None:
    first, second = data.draw(st.lists(values[kind], unique=True, min_size=2, max_size=2))
    told, wanted = Fact(kind=kind, value=first), Fact(kind=kind, value=second)
    assert grade_answer(state_facts([told], TODAY, style), [wanted], today=TODAY, budget=9) is not None


ENDINGS = ("4821", "9213", "0343", "5844")
LABELS = (*NAMES[:-1], *ENDINGS)


@st.composite
def mixed_facts(draw: st.DrawFn) -> list[Fact]:
    """Facts as composed tasks have them: several of a kind, with and without labels, parts that were done or not,
    labels that end cards."""
    names = draw(st.lists(st.sampled_from(LABELS), unique=True, min_size=1, max_size=3))
    facts: list[Fact] = []
    for name in names:
        others = tuple(other for other in LABELS if other != name and draw(st.booleans()))
        for kind in draw(
            st.lists(st.sampled_from(["bool", "money", "date", "text", "number"]), unique=True, min_size=1, max_size=3)
        ):
            facts.append(Fact(kind=kind, value=draw(values[kind]), about=name, others=others))
    for kind in draw(
        st.lists(st.sampled_from(["money", "date", "number", "text", "digits", "id"]), unique=True, max_size=3)
    ):
        facts.append(
            Fact(kind=kind, value=draw(values[kind] | st.sampled_from(ENDINGS) if kind == "digits" else values[kind]))
        )
    said = [(fact.kind, fact.value) for fact in facts if fact.kind != "bool"]
    assume(len(set(said)) == len(said))
    return draw(st.permutations(facts))


@given(mixed_facts(), st.integers(0, STYLES - 1))
@example([Fact(kind="number", value=3, about="joint account"), Fact(kind="bool", value=0, about="Savings 2")], 0)
def test_several_labelled_facts_are_graded_as_stated(facts: list[Fact], style: int) -> None:
    answer = state_facts(facts, TODAY, style)
    nothing: dict[str, frozenset[Any]] = {kind: frozenset() for kind in ("money", "date", "number", "digits")}
    assert grade_answer(answer, facts, today=TODAY, observed=nothing) is None, answer


@given(mixed_facts(), st.data(), st.integers(0, STYLES - 1))
def test_several_labelled_facts_with_one_false_are_graded_as_wrong(
    facts: list[Fact], data: st.DataObject, style: int
) -> None:
    fact = data.draw(st.sampled_from(facts))
    # What is the label of another fact is told as soon as that one is: the judge makes no such mutants either.
    assume(fact.kind not in ("text", "digits") or str(fact.value) not in {told.about for told in facts})
    other = 1 - int(fact.value) if fact.kind == "bool" else data.draw(values[fact.kind])
    assume((fact.kind, other) not in {(told.kind, told.value) for told in facts} or fact.kind == "bool")
    assume(str(other).lower() not in {str(told.about).lower() for told in facts})
    changed = [told.model_copy(update={"value": other}) if told is fact else told for told in facts]
    answer = state_facts(changed, TODAY, style)
    assert grade_answer(answer, facts, today=TODAY, budget=9) is not None, answer


@given(
    st.sampled_from(LABELS), st.sampled_from(LABELS), st.integers(0, 1), st.integers(0, 1), st.integers(0, STYLES - 1)
)
def test_a_part_is_done_or_not_whatever_was_done_elsewhere(
    one: str, other: str, first: int, second: int, style: int
) -> None:
    assume(one != other)
    facts = [
        Fact(kind="bool", value=first, about=one, others=(other,)),
        Fact(kind="bool", value=second, about=other, others=(one,)),
    ]
    answer = state_facts(facts, TODAY, style)
    for told in facts:
        wrong = told.model_copy(update={"value": 1 - int(told.value)})
        assert grade_answer(answer, [told], today=TODAY) is None, answer
        assert grade_answer(answer, [wrong], today=TODAY) is not None, answer


@given(st.sampled_from(["money", "date", "digits", "text", "id"]), st.data(), st.integers(0, STYLES - 1))
def test_a_withheld_value_must_not_be_said_unless_something_told_says_it(
    kind: str, data: st.DataObject, style: int
) -> None:
    value = data.draw(values[kind])
    secret = Fact(kind=kind, value=value, about="Crystal Becker", withheld=True)
    refusal = Fact(kind="bool", value=0)
    said = secret.model_copy(update={"withheld": False})
    kept, spilt = state_facts([refusal, secret], TODAY, style), state_facts([refusal, said], TODAY, style)
    assert grade_answer(kept, [refusal, secret], today=TODAY) is None
    assert grade_answer(spilt, [refusal, secret], today=TODAY) is not None, spilt
    assert grade_answer(spilt, [refusal, secret], today=TODAY, allowed=frozenset(((kind, value),))) is None
    assert grade_answer(spilt, [refusal, secret, said], today=TODAY) is None


PIECES = (
    "The fee is $5", "Your balance is USD 40", "Not the card ending in 4821", "It is about", "approx", "Fri", "Mar",
    "March 20, 2026", "Sorry", "No", "It was $7", "Now it is $9", "$3", "You have 2", "1", "Is it $6", "Or $8",
    "At 4 p.m", "From $5 to $6", "Eight of them", "USD", "the end", "10", "or more",
)  # fmt: skip


@given(
    st.lists(
        st.tuples(st.sampled_from(PIECES), st.sampled_from((". ", ", ", "? ", "\n", "! ", ".\n", " ", ": "))),
        max_size=8,
    )
)
def test_a_sentence_reads_the_same_wherever_it_stands(pieces: list[tuple[str, str]]) -> None:
    text = "".join(piece + mark for piece, mark in pieces)
    answer = read_answer(text, TODAY)
    assert "".join(stretches(text)) == text
    assert answer.mentions == take_back(answer.lower, mentions(text, TODAY))
    assert answer.clauses == tuple(clauses_of(answer.lower, answer.mentions))


def test_findings_name_the_part_and_what_is_disclosed() -> None:
    part, secret = Fact(kind="bool", value=0, about="my mother"), Fact(kind="money", value=4200, withheld=True)
    answer = "I sent $5 to your mother."
    assert grade_answer(answer, [part], today=TODAY) == "says of mother the opposite of no or not done"
    assert grade_answer("Hello!", [part], today=TODAY) == "does not plainly say no or not done of mother"
    assert grade_answer("It is about $42.", [secret], today=TODAY) == "discloses the money that is withheld: $42"


def test_a_refusal_reads_as_one() -> None:
    facts = [Fact(kind="bool", value=0), Fact(kind="money", value=100_000)]
    assert state_facts(facts, TODAY) == "I'm sorry, but I can't do that. The limit is $1,000."
    assert state_facts([Fact(kind="bool", value=1)], TODAY) == "Done."
    assert (
        state_facts([Fact(kind="money", value=19885, about="joint account")], TODAY)
        == "For your joint account, the amount is $198.85."
    )
