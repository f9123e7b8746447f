"""`superlatives: auto` describes rows by being first in what their columns hold."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from toolscale.environment.environment import inspect_environment, load_environment
from toolscale.pipeline import admit_domain
from toolscale.verify.yields import measure_yields

Spoil = Callable[..., Path]
AUTO = ("language.yaml", "describe:", "superlatives: auto\ndescribe:")
NO_WORDS_FOR_ONE = (
    "language.yaml",
    "nouns: {loans: book, members: membership}",
    "nouns: {loans: loan, members: membership}",
)
FEES = ("schema.yaml", "      renewals: {type: int", "      deposit_cents: {type: cents}\n      renewals: {type: int")
DEPOSITS = (
    "population.yaml",
    "      renewals: {int",
    "      deposit_cents: {cents: [100, 9000]}\n      renewals: {int",
)


def test_they_follow_what_the_file_describes_itself(spoil: Spoil) -> None:
    """`soonest` has the order of `due_first` already; `returned_on` may be empty, and a person has no superlative."""
    language = load_environment(spoil(AUTO, NO_WORDS_FOR_ONE, FEES, DEPOSITS)).spec.language
    assert list(language.describe["members"]) == ["identity"]
    assert {name: item.model_dump(exclude_defaults=True) for name, item in language.describe["loans"].items()} == {
        "title": {"cols": ("title",), "text": "my copy of {title}", "tense": "future"},
        "soonest": {"first": "{r}.due_on", "text": "the open loan that is due first", "cues": ("due first",)},
        "due_last": {
            "first": "days_between({r}.due_on, :today)",
            "text": "[my {adj} loan that is due last|whichever of my {adj} loans is due last]",
            "cues": ("due last",),
        },
        "highest_deposit": {
            "first": "-{r}.deposit_cents",
            "text": "[my {adj} loan with the highest deposit|whichever of my {adj} loans has the highest deposit]",
            "cues": ("highest deposit",),
        },
        "lowest_deposit": {
            "first": "{r}.deposit_cents",
            "text": "[my {adj} loan with the lowest deposit|whichever of my {adj} loans has the lowest deposit]",
            "cues": ("lowest deposit",),
        },
    }


def test_they_can_be_asked_for_by_column(spoil: Spoil) -> None:
    folder = spoil(("language.yaml", "describe:", "superlatives: {payments: [amount_cents]}\ndescribe:"))
    assert {name: item.text for name, item in load_environment(folder).spec.language.describe["payments"].items()} == {
        "biggest": "[my biggest payment|whichever of my payments is biggest]",
        "smallest": "[my smallest payment|whichever of my payments is smallest]",
    }


def test_an_intent_that_names_one_yields(spoil: Spoil, tried: Path) -> None:
    intent = """        where: loan.status = 'open'
        first: loan.due_on
        text: whichever of my open loans is due first
        cues: [due first, open]
"""
    folder = spoil(
        AUTO,
        NO_WORDS_FOR_ONE,
        ("language.yaml", "    soonest: {first", "    next: {first"),
        ("language.yaml", '"{r}.due_on", text: the open loan', '"{r}.renewals", text: the open loan'),
        ("language.yaml", "that is due first, cues: [due first]", "with the fewest renewals, cues: [fewest renewals]"),
        ("intents.yaml", intent, "        by: due_first\n        where: loan.status = 'open'\n"),
    )
    admit_domain(folder, tried)
    (found,) = [item for item in measure_yields(load_environment(folder), 6) if item.stream == "renew_due_first"]
    assert found.accepted == found.judged == 6
    assert {"my open loan that is due first" in text or "whichever of my open loans" in text for text in (
        text.lower() for text in found.requests
    )} == {True}  # fmt: skip


@pytest.mark.parametrize(
    ("wanted", "line"),
    [
        ("{loan: [due_on]}", "superlatives.loan: unknown table 'loan'; did you mean 'loans'?"),
        ("{loans: [due]}", "superlatives.loans: unknown column of loans 'due'; did you mean 'due_on'?"),
        (
            "{loans: [title]}",
            "superlatives.loans: title makes no superlative; name a column of money (_cents), minutes (_minutes) or "
            "times (_time), or a day that has a participle (due_on, opened_on), and is never empty, or describe it",
        ),
    ],
)
def test_what_makes_none_is_named(spoil: Spoil, wanted: str, line: str) -> None:
    _, issues = inspect_environment(spoil(("language.yaml", "describe:", f"superlatives: {wanted}\ndescribe:")))
    assert [str(issue) for issue in issues] == [f"language.yaml: {line}"]


def test_what_is_derived_counts_as_content_of_the_file(spoil: Spoil, tmp_path: Path) -> None:
    with_them = load_environment(spoil(AUTO))
    (tmp_path / "mock").rename(tmp_path / "first")
    with_money = load_environment(spoil(AUTO, FEES, DEPOSITS))
    assert with_them.files["language.yaml"] != with_money.files["language.yaml"]
