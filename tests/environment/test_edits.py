"""The edit that a finding carries can be made as it stands, and takes the finding away."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from toolscale.cli import main
from toolscale.environment.environment import inspect_environment
from toolscale.errors import SpecError
from toolscale.pipeline import admit_domain
from toolscale.yaml_files import read_yaml

Spoil = Callable[..., Path]
_STEP = re.compile(r"\.?([^.\[\]]+)|\[([^\]]+)\]")


def inside(value: Any, key: str) -> Any:
    if isinstance(value, dict):
        return value[key]
    named = [item for item in value if isinstance(item, dict) and key in (item.get("id"), item.get("name"))]
    return named[0] if named else value[int(key)]


def replaced(value: Any, old: str, new: str) -> Any:
    if isinstance(value, list):
        return [replaced(item, old, new) for item in value]
    if isinstance(value, dict):
        return {key: replaced(item, old, new) for key, item in value.items()}
    edge = r"\b" if old[0].isalnum() else ""
    return re.sub(f"{edge}{re.escape(old)}(?!\\w)", new, value)


def make(folder: Path, file: str, edit: dict[str, Any]) -> None:
    """Make an edit in a file, as a program would that knows no more than the finding says."""
    content, _ = read_yaml(folder / file)
    *way, last = (name or item for name, item in _STEP.findall(edit["path"]))
    parent = content
    for key in way:
        parent = inside(parent, key)
    if edit["is_key"]:
        items = list(parent.items())
        parent.clear()
        parent.update((edit["new"] if key == last else key, item) for key, item in items)
    else:
        at = parent.index(inside(parent, last)) if isinstance(parent, list) else last
        parent[at] = replaced(parent[at], edit["old"], edit["new"])
    (folder / file).write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")


MISSPELT = [
    ("schema.yaml", "fk: members.member_id}\n      title", "fk: membrs.member_id}\n      title"),
    ("population.yaml", "      renewals: {int", "      renewal: {int"),
    ("population.yaml", "per: members\n    count: [3, 4]", "per: member\n    count: [3, 4]"),
    ("toolset.yaml", "FROM loans\n          WHERE member_id", "FROM loan\n          WHERE member_id"),
    ("toolset.yaml", "sql: SELECT fees_cents FROM members", "sql: SELECT fee_cents FROM members"),
    ("toolset.yaml", '":amount_cents <= :member.fees_cents"', '":amount_cents <= :member.fee_cents"'),
    ("toolset.yaml", "SET status = 'returned', returned_on", "SET status = 'returned', return_on"),
    ("rules.yaml", "guards: [pay_fees]", "guards: [pay_fee]"),
    ("rules.yaml", "call.amount_cents > policy.desk_limit_cents", "call.amount_cents > policy.desk_limit"),
    ("rules.yaml", "call.amount_cents > policy", "call.amount_cent > policy"),
    ("language.yaml", "  loans:\n    title: {cols", "  loan:\n    title: {cols"),
    ("language.yaml", "my copy of {title}", "my copy of {titel}"),
    ("language.yaml", "{date_of_birth|date}", "{date_of_birth|dat}"),
    ("language.yaml", "{date_of_birth|date}", "{date_of_birth|money}"),
    ("language.yaml", "if {condition};", "if {conditions};"),
    ("language.yaml", '  return_loan: "take back', '  return_lone: "take back'),
    ("language.yaml", "openings:", "opening:"),
    ("intents.yaml", "{amount_cents|words}", "{amount_cents|word}"),
    ("intents.yaml", "{amount_cents|words}", "{amount_cents^|date}"),
    ("intents.yaml", "{amount_cents|words}", "{amount_cent|words}"),
    ("intents.yaml", "rule: desk_limit", "rule: desk_limits"),
    ("cases.yaml", "intent: renew_due_first, answer", "intent: renew_due_frist, answer"),
]


@pytest.mark.parametrize("misspelt", MISSPELT, ids=lambda item: f"{item[0]}: {item[2]}")
def test_the_edit_of_a_finding_mends_it(spoil: Spoil, misspelt: tuple[str, str, str]) -> None:
    folder = spoil(misspelt)
    _, issues = inspect_environment(folder)
    edits = [(issue.file, issue.facts()["edit"]) for issue in issues if issue.edit is not None]
    assert edits
    for file, edit in edits:
        make(folder, file, edit)
    environment, issues = inspect_environment(folder)
    assert environment is not None and not issues


def test_the_command_prints_it_beside_the_words(spoil: Spoil, capsys: pytest.CaptureFixture[str]) -> None:
    folder = spoil(("rules.yaml", "guards: [pay_fees]", "guards: [pay_fee]"))
    assert main(["admit", str(folder), "--json"]) == 2
    assert json.loads(capsys.readouterr().out) == {
        "issues": [
            {
                "file": "rules.yaml",
                "place": "rules.desk_limit.guards",
                "problem": "unknown tool 'pay_fee'",
                "remedy": "did you mean 'pay_fees'?",
                "edit": {"path": "rules.desk_limit.guards", "old": "pay_fee", "new": "pay_fees", "is_key": False},
            }
        ]
    }


def test_a_name_that_is_near_to_nothing_has_none(spoil: Spoil) -> None:
    _, issues = inspect_environment(spoil(("rules.yaml", "guards: [pay_fees]", "guards: [xyz]")))
    assert [issue.facts() for issue in issues] == [
        {
            "file": "rules.yaml",
            "place": "rules.desk_limit.guards",
            "problem": "unknown tool 'xyz'",
            "remedy": "use one of calculate, find_member, list_loans, pay_fees, renew_loan, return_loan, "
            "transfer_to_human",
        }
    ]


def test_a_name_that_stands_twice_in_a_statement_has_none(spoil: Spoil) -> None:
    """One of the two may be right: what a sub-select reads, say."""
    _, issues = inspect_environment(
        spoil(
            ("toolset.yaml", "SET fees_cents = fees_cents - :amount_cents", "SET fee_cents = fee_cents - :amount_cents")
        )
    )
    assert issues and not any(issue.edit for issue in issues)


def test_a_form_that_says_nothing_is_found_before_a_request_is_written(spoil: Spoil, tried: Path) -> None:
    folder = spoil(
        ("intents.yaml", "{amount_cents|money}", "{amount_cents|date}"),
        ("language.yaml", "In a hurry, writes short sentences.", "{text: In a hurry, forms: {money: [words, monney]}}"),
        ("language.yaml", "my copy of {title}", "my copy of {title|near}"),
    )
    _, issues = inspect_environment(folder)
    assert [str(issue) for issue in issues] == [
        "intents.yaml: intents[pay_some_fees].requests[0]: the form 'date' does not fit a value of the kind money; "
        "use one of money, words, dollars, text, digits, lower, plain, bool",
        "language.yaml: describe.loans.title.text: the form 'near' does not fit a value of the kind text; "
        "use one of text, digits, lower, plain, bool",
        "language.yaml: personas.hurried.forms.money: unknown form 'monney'; did you mean 'money'?",
    ]
    with pytest.raises(SpecError) as caught:
        admit_domain(folder, tried)
    assert set(issues) <= set(caught.value.issues)


def test_a_column_in_a_request_is_one_of_its_table(spoil: Spoil) -> None:
    folder = spoil(("intents.yaml", "{loan}", "{loan.titel}"))
    _, issues = inspect_environment(folder)
    assert [str(issue) for issue in issues] == [
        "intents.yaml: intents[renew_due_first].requests[0]: unknown column of loans 'titel'; did you mean 'title'?"
    ]
