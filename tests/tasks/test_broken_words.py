"""Phrasings that some choice of alternatives breaks are named with the words that are left; right ones are let be."""

from __future__ import annotations

from dataclasses import replace

import pytest

from toolscale.environment.environment import Environment, load_environment
from toolscale.environment.registry import discover
from toolscale.language.phrasing import every_choice
from toolscale.records import Request
from toolscale.tasks.broken_words import check_broken


def saying(text: str) -> Environment:
    """The smallest domain, with this as the only phrasing of its only intent."""
    environment = load_environment("mock")
    intent = environment.spec.intents.intents[0].model_copy(update={"requests": (Request(say=text, persona=None),)})
    intents = environment.spec.intents.model_copy(update={"intents": (intent,)})
    return replace(environment, spec=environment.spec.model_copy(update={"intents": intents}))


BROKEN = [
    ("Please pay the[ whole fee|].", "an article that nothing follows: 'Please pay the.'"),
    ("Pay it[, please|],[ thank you|].", "marks in a row: 'Pay it, please,.'"),
    ("Pay it now.[, please|] [Bye|]", "marks in a row: 'Pay it now., please Bye'"),
    ("Pay {amount_cents|money}[ now.|]. Thanks", "marks in a row: 'Pay … now.. Thanks'"),
    ("[Well|], pay it.", "a mark where words should begin: ', pay it.'"),
    ("Pay it and[ tell me what is left|].", "a word that goes on to nothing: 'Pay it and.'"),
    ("Pay [the|my] [the fee|fees].", "a word twice: 'Pay the the fee.'"),
    ("Could you [please |]please pay it?", "a word twice: 'Could you please please pay it?'"),
    ("Pay it [now|today.", "a bracket that is not closed, or a place that is none: 'Pay it [now|today.'"),
    ("Pay it from[ my savings| the card|].", "a word that goes on to nothing: 'from[ my savings| the card|].'"),
    ("I'm done with [{member}|]", "a word that goes on to nothing: 'with […|]'"),
    ("Pay { amount_cents } now.", "a bracket that is not closed, or a place that is none: 'Pay { amount_cents } now.'"),
    ("Pay it, {more}. Thanks[ a lot|].", "marks in a row: 'Pay it,. Thanks a lot.'"),
]


@pytest.mark.parametrize(("text", "evidence"), BROKEN)
def test_what_is_broken_is_shown(text: str, evidence: str) -> None:
    (issue,) = check_broken(saying(text))
    assert (issue.file, issue.place) == ("intents.yaml", "intents[pay_some_fees].requests[0]")
    assert issue.problem.endswith(evidence)


RIGHT = [
    "[Please|] pay it[ now|][, please|]. {more} [Thanks!|]",
    "Which account is it paid from[ then|]? And which one do you send it to?",
    "It's due at 8 a.m., isn't it? Call Smith & Co., please... Or don't, etc., whatever.",
    "I had had enough of that that day. [OK|Right], so, so: pay it, and, if you can, tell me.",
    "Tell me where it came from[ then|]. Pay all of [the fees|my fees]. All [of |]my books. Move it from [the|] here.",
    "Really?! Pay it :) [Thanks ;)|]",
    "My, my. Pay {amount_cents|money}, {amount_cents|words} that is.\n\nThank you!",
]


@pytest.mark.parametrize("text", RIGHT)
def test_what_is_right_is_let_be(text: str) -> None:
    assert not list(check_broken(saying(text)))


@pytest.mark.parametrize("domain", sorted(discover()))
def test_no_shipped_phrasing_is_found_broken(domain: str) -> None:
    assert not list(check_broken(load_environment(domain)))


def test_every_choice_is_made_once() -> None:
    assert list(every_choice("[a|b] [c[ d|]|e]")) == ["A c d", "A e", "A c", "A e", "B c d", "B e", "B c", "B e"]
    assert list(every_choice("as it is")) == ["as it is"]
