"""`case: auto`: what a rule says of look-ups, said of the database."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from toolscale.environment.derived_cases import with_cases
from toolscale.environment.environment import load_environment
from toolscale.environment.scaffold import read_tables, write_scaffold
from toolscale.environment.spec_files import read_folder
from toolscale.errors import SpecError
from toolscale.pipeline import admit_domain
from toolscale.records import PolicySpec, ToolsetSpec

Spoil = Callable[..., Path]
LOAN = {"loan": {"get_loan": {"loan_id": "call.loan_id"}}}
LOANS = {"loan": LOAN["loan"], "others": {"list_loans_by_patron": {"patron_id": "loan.patron_id"}}}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    tables = read_tables("patron, title, copy of title, loan of copy by patron")
    return write_scaffold("library", tables, tmp_path_factory.mktemp("domains"))


def derive(
    library: Path, reads: dict[str, Any], breaks: str, applies: str | None = None
) -> tuple[str | None, list[str]]:
    toolset = read_folder(library).part(ToolsetSpec)
    assert toolset is not None
    rule = {"text": "x", "guards": ["close_loan"], "reads": reads, "breaks": breaks, "applies": applies, "case": "auto"}
    policy = PolicySpec.model_validate({"rules": {"one": rule}})
    found, issues = with_cases(policy, {tool.name: tool for tool in toolset.tools})
    return found.rules["one"].case, [str(issue) for issue in issues]


ROW = "(SELECT loan_row.{} FROM loans AS loan_row WHERE loan_row.loan_id = call.loan_id)"


@pytest.mark.parametrize(
    ("reads", "breaks", "case"),
    [
        ({}, "call.days > policy.most_days", "call.days > policy.most_days"),
        (LOAN, "loan.due_on < :today", f"{ROW.format('due_on')} < :today"),
        (
            LOANS,
            "(SELECT COUNT(*) FROM others o WHERE o.status = 'open') > 3",
            "(SELECT COUNT(*) FROM loans AS o WHERE o.status = 'open' AND "
            f"o.patron_id = {ROW.format('patron_id')}) > 3",
        ),
        (
            LOANS,
            "EXISTS (SELECT 1 FROM others WHERE others.due_on < loan.due_on)",
            f"EXISTS(SELECT 1 FROM loans AS others WHERE others.due_on < {ROW.format('due_on')} AND "
            f"others.patron_id = {ROW.format('patron_id')})",
        ),
    ],
)
def test_a_case_is_the_predicate_on_the_database(library: Path, reads: dict[str, Any], breaks: str, case: str) -> None:
    assert derive(library, reads, breaks) == (case, [])


def test_where_a_rule_applies_is_part_of_its_case(library: Path) -> None:
    assert derive(library, {}, "call.days > 30", "call.days > 10") == ("(call.days > 10) AND (call.days > 30)", [])


@pytest.mark.parametrize(
    ("reads", "breaks", "why"),
    [
        ({"it": {"look_up": {"loan_id": "call.loan_id"}}}, "it.status = 'open'", "look_up is no derived look-up"),
        (LOAN, "loan.colour = 'red'", "loans has no column colour"),
        (LOANS, "others.status = 'open'", "others means several rows, and others.status one of them"),
        (LOAN, "loan.due_on <", "'loan.due_on <' cannot be read"),
        (LOANS, "(SELECT COUNT(*) FROM copies c LEFT JOIN others o ON 1 = 1) > 1", "others is joined by an outer join"),
    ],
)  # fmt: skip
def test_what_cannot_be_derived_is_one_line(library: Path, reads: dict[str, Any], breaks: str, why: str) -> None:
    case, issues = derive(library, reads, breaks)
    assert (case, issues) == (
        None,
        [f"rules.yaml: rules.one.case: the case cannot be derived: {why}; write the case out"],
    )


def test_a_tool_that_the_file_declares_is_no_derived_look_up(spoil: Spoil) -> None:
    rule = "    breaks: call.amount_cents > policy.desk_limit_cents\n"
    reads = "    reads: {owed: {find_member: {full_name: call.member_id, date_of_birth: call.member_id}}}\n"
    with pytest.raises(SpecError) as caught:
        load_environment(spoil(("rules.yaml", rule, f"{reads}{rule}    case: auto\n")))
    assert str(caught.value) == (
        "rules.yaml: rules.desk_limit.case: the case cannot be derived: find_member is no derived look-up; "
        "write the case out"
    )


def test_a_derived_case_counts_as_content(spoil: Spoil) -> None:
    rule = "    breaks: call.amount_cents > policy.desk_limit_cents\n"
    derived = load_environment(spoil(("rules.yaml", rule, f"{rule}    case: auto\n")))
    assert derived.spec.policy.rules["desk_limit"].case == "call.amount_cents > policy.desk_limit_cents"
    assert derived.hash != load_environment("mock").hash


def test_a_case_that_says_something_else_is_told_with_a_call(spoil: Spoil, tried: Path) -> None:
    rule = "    breaks: call.amount_cents > policy.desk_limit_cents\n"
    case = "    case: call.amount_cents >= policy.desk_limit_cents\n    draws: {amount_cents: [4000, 4500]}\n"
    with pytest.raises(SpecError) as caught:
        admit_domain(spoil(("rules.yaml", rule, f"{rule}{case}")), tried)
    assert str(caught.value).startswith(
        "rules.yaml: rules.desk_limit.case: case holds and breaks does not for pay_fees(amount_cents=4000, member_id="
    )
    assert str(caught.value).endswith("; make them say the same, or write case: auto")
