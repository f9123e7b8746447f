"""Branches: cases of both sides are drawn, and rules keep their breakers out of the side that is taken."""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from functools import cache

import pytest

from toolscale.environment.environment import Environment, load_environment
from toolscale.environment.population import populate
from toolscale.environment.world import World
from toolscale.records import CallStep, IfStep, Intent
from toolscale.tasks.binding import CandidateSource
from toolscale.tasks.lawful import lawful_ways
from toolscale.verify.judge import Judge


@cache
def environment_of(domain: str) -> Environment:
    return load_environment(domain)


@pytest.mark.parametrize(
    ("domain", "intent_id", "sides"),
    [
        pytest.param("gym", "book_or_wait", {"book_class", "join_waitlist"}, id="rows of roles decide"),
        pytest.param("restaurant", "grow_or_join", {"change_party_size", "join_next_table"}, id="a look-up decides"),
        pytest.param(
            "restaurant", "seven_or_later_or_wait", {"book_table", "join_waiting_list"}, id="a branch in a branch"
        ),
    ],
)
def test_both_sides_of_a_branch_are_asked_for(domain: str, intent_id: str, sides: set[str]) -> None:
    environment = environment_of(domain)
    rows = populate(environment)
    source = CandidateSource(environment, World(environment, rows))
    judge = Judge(environment, rows, audit_share=0, replica=False, catalogue=source.catalogue)
    done, rejected = Counter[str](), 0
    with closing(judge):
        for turn in range(24):
            candidate = source.draw(0, source.number(intent_id, turn))
            assert candidate is not None
            judged = judge.judge(candidate)
            if judged.verdict.accepted and judged.task is not None:
                done[judged.task.golden_calls[-1].name] += 1
            rejected += not judged.verdict.accepted
    assert set(done) == sides
    assert rejected <= 3


def intent_of(domain: str, intent_id: str) -> tuple[Intent, tuple[Intent, ...]]:
    environment = environment_of(domain)
    intent = next(intent for intent in environment.spec.intents.intents if intent.id == intent_id)
    return intent, lawful_ways(environment, intent)


def test_a_rule_keeps_nothing_out_of_the_side_that_is_not_taken() -> None:
    intent, (booking, waiting) = intent_of("gym", "book_or_wait")
    own = {
        side: [text for text in way.when if text not in intent.when]
        for side, way in (("booking", booking), ("waiting", waiting))
    }
    assert own["booking"][0] == "(class.free_count > 0)"
    assert own["waiting"][0] == "NOT (class.free_count > 0)"
    assert [side for side, texts in own.items() if any(text.endswith("free_count = 0)") for text in texts)] == []
    assert len(own["booking"]) > len(own["waiting"])


def test_where_only_look_ups_tell_and_no_rule_is_named_both_sides_are_lawful() -> None:
    intent, ways = intent_of("restaurant", "grow_or_join")
    (branch,) = (step for step in intent.do if isinstance(step, IfStep))
    unnamed = intent.model_copy(
        update={
            "do": tuple(step if step is not branch else branch.model_copy(update={"rule": None}) for step in intent.do)
        }
    )
    (only,) = lawful_ways(environment_of("restaurant"), unnamed)
    assert len(ways) == 2
    assert all(isinstance(step, CallStep) for step in branch.then)
    assert set(ways[0].when) == set(only.when)
