"""A tool that was tried is tried anew only after something changed on which its calls depend."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from toolscale.environment.admission import admit
from toolscale.environment.environment import Environment, load_environment
from toolscale.environment.kept_tools import read_tools
from toolscale.errors import SpecError
from toolscale.records import Admission

Spoil = Callable[..., Path]
READING = {"find_member", "list_loans"}
WRITING = {"renew_loan", "return_loan", "pay_fees", "transfer_to_human"}
REOPEN = """tools:
  - name: reopen_loan
    description: Give back a book that was taken back today.
    parameters:
      loan_id: {type: string}
    steps:
      - let: loan
        sql: SELECT returned_on FROM loans WHERE loan_id = :loan_id AND status = 'returned'
        error: "Loan {loan_id} is not returned"
      - check: ":loan.returned_on = :today"
        error: "It came back on {loan.returned_on}"
      - exec: UPDATE loans SET status = 'open', returned_on = NULL WHERE loan_id = :loan_id
    returns:
      loan: {row: "SELECT loan_id, status FROM loans WHERE loan_id = :loan_id"}

"""
MARK = 9000


def edit(folder: Path, file: str, old: str, new: str) -> None:
    text = (folder / file).read_text(encoding="utf-8")
    assert text.count(old) == 1
    (folder / file).write_text(text.replace(old, new), encoding="utf-8")


def not_tried_again(folder: Path, cache: Path, *edits: tuple[str, str, str]) -> set[str]:
    """Edit a folder and admit it: return the tools in the cache that were not tried again. What is kept is marked by a
    number of calls that no trial comes to, and without the mark the admission is that of a fresh trial."""
    for each in edits:
        edit(folder, *each)
    fresh = admit(load_environment(folder)).model_dump_json()
    file = cache / "tools" / "mock.json"
    kept = json.loads(file.read_text(encoding="utf-8"))
    for tool in kept["tools"].values():
        tool["calls"] += MARK
    file.write_text(json.dumps(kept), encoding="utf-8")
    admission = admit(load_environment(folder), cache)
    reused = {name for name, tool in admission.tools.items() if tool.calls >= MARK}
    tools = {
        name: tool.model_copy(update={"calls": tool.calls - MARK}) if name in reused else tool
        for name, tool in admission.tools.items()
    }
    assert admission.model_copy(update={"tools": tools}).model_dump_json() == fresh
    return reused


def test_what_did_not_change_is_not_tried_again(spoil: Spoil, tried: Path) -> None:
    assert not_tried_again(spoil(), tried) == READING | WRITING


def test_a_tool_that_changed_is_tried_again(spoil: Spoil, tried: Path) -> None:
    more = ("toolset.yaml", "minimum: 7, maximum: 28", "minimum: 7, maximum: 35")
    assert not_tried_again(spoil(), tried, more) == READING | WRITING - {"renew_loan"}


@pytest.mark.slow("tests/environment/test_kept_tools.py")
def test_the_order_of_parameters_counts(spoil: Spoil, tried: Path) -> None:
    """It decides which calls are drawn."""
    first, second = "      member_id: {type: string}\n", "      amount_cents: {type: integer, minimum: 1}\n"
    turned = ("toolset.yaml", first + second, second + first)
    assert not_tried_again(spoil(), tried, turned) == READING | WRITING - {"pay_fees"}


def test_what_no_tool_depends_on_changes_nothing(spoil: Spoil, tried: Path) -> None:
    words = ("language.yaml", "loans: book,", "loans: volume,")
    limit = ("rules.yaml", "desk_limit_cents: 4000", "desk_limit_cents: 5000")
    assert not_tried_again(spoil(), tried, words, limit) == READING | WRITING


def test_an_invariant_that_changed_is_held_against_all_that_writes(spoil: Spoil, tried: Path) -> None:
    holds = ("rules.yaml", "holds: fees_cents >= 0", "holds: fees_cents >= 0 AND LENGTH(full_name) > 0")
    assert not_tried_again(spoil(), tried, holds) == READING


@pytest.mark.parametrize(
    "change",
    [
        ("population.yaml", "add_days(returned_on, 2)", "add_days(returned_on, 3)"),
        *(
            pytest.param(change, marks=pytest.mark.slow("tests/environment/test_kept_tools.py"))
            for change in (
                ("schema.yaml", "What the member owes.", "What is owed."),
                ("environment.yaml", "now: 2026-03-16T09:30:00", "now: 2026-03-16T10:30:00"),
            )
        ),
    ],
)
def test_other_tables_rows_or_another_day_make_all_be_tried_again(
    spoil: Spoil, tried: Path, change: tuple[str, str, str]
) -> None:
    assert not_tried_again(spoil(), tried, change) == set()


def test_a_tool_that_needs_a_call_of_another_depends_on_it(spoil: Spoil, tmp_path: Path) -> None:
    """No row was taken back today: `reopen_loan` succeeds only after `return_loan`."""
    folder, cache = spoil(("toolset.yaml", "tools:\n", REOPEN)), tmp_path / "cache"
    admit(load_environment(folder), cache)
    same = Path(shutil.copytree(cache, tmp_path / "same"))
    assert not_tried_again(folder, same) == READING | WRITING | {"reopen_loan"}
    other = ("toolset.yaml", "description: Take back a book.", "description: Take back a book today.")
    assert not_tried_again(folder, cache, other) == READING | WRITING - {"return_loan"}


def test_a_tool_with_a_finding_is_not_kept(spoil: Spoil, tried: Path) -> None:
    folder = spoil()
    edit(folder, "toolset.yaml", "status = 'returned', returned_on = :today", "status = 'returned'")
    findings = []
    for _ in range(2):
        with pytest.raises(SpecError) as caught:
            admit(load_environment(folder), tried)
        findings.append(caught.value.issues)
        assert set(read_tools(tried, "mock")) == (READING | WRITING) - {"return_loan"}
    assert findings[0] == findings[1]


def test_a_file_that_is_not_ours_is_not_read(
    mock_environment: Environment, mock_admission: Admission, tried: Path
) -> None:
    (tried / "tools" / "mock.json").write_text('{"tools": {"pay_fees": {"key": 1}}}', encoding="utf-8")
    assert admit(mock_environment, tried) == mock_admission


def test_a_cache_that_cannot_be_written_costs_only_time(
    mock_environment: Environment, mock_admission: Admission, tmp_path: Path
) -> None:
    (tmp_path / "cache").write_text("a file", encoding="utf-8")
    assert admit(mock_environment, tmp_path / "cache") == mock_admission
