"""What a dialogue leaves out of the request, and what the person answers."""

from __future__ import annotations

import pytest

from toolscale.environment.environment import load_environment
from toolscale.environment.population import populate
from toolscale.environment.world import World
from toolscale.records import Candidate
from toolscale.tasks.binding import CandidateSource
from toolscale.tasks.dialogue import question_for


@pytest.fixture(scope="module")
def source() -> CandidateSource:
    environment = load_environment("finance")
    return CandidateSource(environment, World(environment, populate(environment)))


def drawn(source: CandidateSource, turns: str, numbers: range) -> list[Candidate]:
    found = (source.draw(0, number, turns) for number in numbers)  # type: ignore[arg-type]
    return [candidate for candidate in found if candidate is not None]


def test_a_dialogue_is_the_same_case_with_less_said_at_first(source: CandidateSource) -> None:
    single, dialogue = (source.draw(0, source.number("pay_bill", 2), each) for each in ("single", "dialogue"))
    assert single is not None and dialogue is not None
    assert (single.bindings, single.say, single.replies) == (dialogue.bindings, dialogue.say, ())
    assert [(reply.about, reply.sort, reply.words) for reply in dialogue.replies] == [
        ("client.full_name", "identity", ("full name",)),
        ("client.date_of_birth", "identity", ("date of birth",)),
        ("bill", "row", ("bill", "biller")),
        ("source", "row", ("account", "nickname")),
    ]
    assert dialogue.held and dialogue.heard == "\n".join([dialogue.request, *(reply.says for reply in dialogue.held)])


def test_about_a_third_of_a_mixed_dataset_are_dialogues(source: CandidateSource) -> None:
    found = drawn(source, "mixed", range(1_200))
    dialogues = [candidate for candidate in found if candidate.turns == "dialogue"]
    assert 0.25 <= len(dialogues) / len(found) <= 0.40
    assert {candidate.turns for candidate in found} == {"single", "dialogue"}
    singles = [candidate for candidate in found if candidate.turns == "single"]
    assert singles[:50] == [source.draw(0, candidate.number) for candidate in singles[:50]]


def test_each_sort_of_thing_is_held_back_somewhere(source: CandidateSource) -> None:
    dialogues = drawn(source, "dialogue", range(300))
    assert {reply.sort for candidate in dialogues for reply in candidate.held} == {"identity", "row", "value"}
    assert all(
        "my bill" in candidate.request.lower() for candidate in dialogues if "bill" in {r.about for r in candidate.held}
    )


def test_one_asks_for_all_that_is_missing_in_one_message(source: CandidateSource) -> None:
    dialogue = source.draw(0, source.number("send_money", 3), "dialogue")
    assert dialogue is not None
    assert question_for(dialogue.replies) == (
        "Could you please tell me your full name and your date of birth? Which account do you mean? "
        "Which payee do you mean? What amount should it be?"
    )
