"""Look-ups that are derived from the schema instead of written."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from toolscale.cli import main
from toolscale.environment.admission_file import read_admission
from toolscale.environment.environment import load_environment
from toolscale.environment.population import populate
from toolscale.environment.world import World
from toolscale.errors import SpecError

Spoil = Callable[..., Path]
TOOLS = "toolset.yaml"


def derived(folder: Path, lookups: str, *, without: tuple[str, ...] = ("find_member", "list_loans")) -> Path:
    """Give a copy of the mock domain `lookups`, and take out the tools that they make superfluous."""
    path = folder / TOOLS
    text = path.read_text(encoding="utf-8")
    for name in without:
        text = re.sub(rf"  - name: {name}\n(?:(?!  - name: ).*\n)*", "", text)
    path.write_text(f"lookups: {lookups}\n{text}", encoding="utf-8")
    return folder


def test_a_domain_needs_no_lookups_of_its_own(spoil: Spoil) -> None:
    environment = load_environment(derived(spoil(), "auto"))
    assert list(environment.tools) == [
        "find_member", "get_member", "list_loans", "get_loan", "list_payments", "get_payment",
        "renew_loan", "return_loan", "pay_fees", "transfer_to_human", "calculate",
    ]  # fmt: skip
    assert environment.tools["list_loans"].spec.model_dump(mode="json", by_alias=True, exclude_none=True) == {
        "name": "list_loans",
        "description": "List all loans of a member, by due on.",
        "parameters": {"member_id": {"type": "string"}},
        "steps": [
            {
                "let": "member",
                "sql": "SELECT member_id FROM members WHERE member_id = :member_id",
                "error": "No member {member_id}",
            }
        ],
        "returns": {
            "loans": {
                "rows": (
                    "SELECT loan_id, member_id, title, due_on, renewals, status, returned_on FROM loans "
                    "WHERE member_id = :member_id ORDER BY due_on, loan_id"
                )
            }
        },
    }


def test_derived_tools_answer_as_the_written_ones_do(spoil: Spoil) -> None:
    written, environment = (
        load_environment("mock"),
        load_environment(derived(spoil(), "{members: [find], loans: [list]}")),
    )
    rows = populate(written)
    assert populate(environment) == rows
    person = dict(zip(written.schema.tables["members"].columns, rows["members"][0], strict=True))
    calls = [
        ("find_member", {"full_name": person["full_name"], "date_of_birth": person["date_of_birth"]}),
        ("list_loans", {"member_id": person["member_id"]}),
    ]
    with World(written, rows) as one, World(environment, rows) as other:
        assert [one.call(*call).value for call in calls] == [other.call(*call).value for call in calls]
        assert other.call("list_loans", {"member_id": "mb_0"}).error == "No member mb_0"


def test_such_a_domain_is_admitted_and_its_admission_holds_the_tools(
    spoil: Spoil, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = derived(spoil(), "{members: [find], loans: [list, get]}")
    assert main(["admit", str(folder), "--write", "--candidates", "4"]) == 0
    assert "28 of 28 candidates of 7 streams accepted" in capsys.readouterr().out
    admission = read_admission(folder)
    assert admission and list(admission.details["lookups"]) == ["find_member", "list_loans", "get_loan"]
    assert admission.details["lookups"]["get_loan"]["returns"] == {
        "loan": {
            "row": (
                "SELECT loan_id, member_id, title, due_on, renewals, status, returned_on FROM loans "
                "WHERE loan_id = :loan_id"
            )
        }
    }


def test_a_written_tool_takes_the_place_of_a_derived_one(spoil: Spoil) -> None:
    environment = load_environment(derived(spoil(), "auto", without=()))
    assert environment.tools["list_loans"].spec == load_environment("mock").tools["list_loans"].spec
    assert "get_loan" in environment.tools


def test_two_ways_to_belong_give_two_lists(spoil: Spoil) -> None:
    folder = derived(spoil(), "auto")
    schema = yaml.safe_load((folder / "schema.yaml").read_text(encoding="utf-8"))
    schema["tables"]["payments"]["columns"]["loan_id"] = {"type": "text", "fk": "loans.loan_id", "nullable": True}
    (folder / "schema.yaml").write_text(yaml.safe_dump(schema, sort_keys=False), encoding="utf-8")
    tools = load_environment(folder).tools
    assert {"list_payments_by_member", "list_payments_by_loan"} <= set(tools) and "list_payments" not in tools


@pytest.mark.parametrize(
    ("lookups", "line"),
    [
        ("{lones: [get]}", "toolset.yaml: lookups.lones: unknown table 'lones'; did you mean 'loans'?"),
        (
            "{payments: [find]}",
            "toolset.yaml: lookups.payments: payments cannot be found: nothing says how people name one; "
            "describe it in language.yaml: describe.payments.identity with cols of texts, dates, times or numbers",
        ),
        (
            "{members: [list]}",
            "toolset.yaml: lookups.members: members belongs to no other table; "
            "give it a foreign key (fk), or leave list out",
        ),
    ],
)
def test_a_lookup_that_cannot_be_derived_is_one_line(spoil: Spoil, lookups: str, line: str) -> None:
    with pytest.raises(SpecError) as caught:
        load_environment(derived(spoil(), lookups, without=()))
    assert str(caught.value) == line


def test_a_kind_that_there_is_not_is_named(spoil: Spoil) -> None:
    with pytest.raises(SpecError, match=r"toolset\.yaml: lookups"):
        load_environment(derived(spoil(), "{loans: [fetch]}", without=()))


def test_a_fault_of_the_schema_is_not_told_again_as_tools_that_lack(spoil: Spoil) -> None:
    folder = derived(
        spoil(("schema.yaml", "description: Fees that were paid.", "descripton: Fees that were paid.")), "auto"
    )
    with pytest.raises(SpecError) as caught:
        load_environment(folder)
    assert [issue.file for issue in caught.value.issues] == ["schema.yaml"]


def test_what_is_derived_counts_as_content_of_the_domain(spoil: Spoil) -> None:
    folder = derived(spoil(), "auto")
    before = load_environment(folder)
    schema = folder / "schema.yaml"
    schema.write_text(
        schema.read_text(encoding="utf-8").replace(
            "full_name: {type: text}", "full_name: {type: text, description: First and last.}"
        ),
        encoding="utf-8",
    )
    after = load_environment(folder)
    changed = {name for name in before.files if before.files[name] != after.files[name]}
    assert changed == {"schema.yaml", "toolset.yaml"}


def test_names_that_are_all_ending_keep_it(spoil: Spoil) -> None:
    folder = derived(spoil(), "auto")
    schema = yaml.safe_load((folder / "schema.yaml").read_text(encoding="utf-8"))
    schema["tables"]["s"] = {
        "columns": {"id": {"type": "text", "pk": True}, "of_id": {"type": "text", "fk": "loans.loan_id"}}
    }
    (folder / "schema.yaml").write_text(yaml.safe_dump(schema, sort_keys=False), encoding="utf-8")
    assert {"list_s", "get_s"} <= set(load_environment(folder).tools)


def test_of_two_tables_with_one_key_neither_loses_its_tool(spoil: Spoil) -> None:
    """A table whose key is that of another is called by its own name; where two keys are alike, that is told."""
    cards = {"member_id": {"type": "text", "pk": True, "fk": "members.member_id"}, "color": {"type": "text"}}
    desks = {"loan_id": {"type": "text", "pk": True}, "place": {"type": "text"}}
    folder = derived(spoil(), "auto")
    schema = yaml.safe_load((folder / "schema.yaml").read_text(encoding="utf-8"))
    schema["tables"]["cards"] = {"columns": cards}
    (folder / "schema.yaml").write_text(yaml.safe_dump(schema, sort_keys=False), encoding="utf-8")
    assert {"get_member", "get_card"} <= set(load_environment(folder).tools)
    schema["tables"]["desks"] = {"columns": desks}
    (folder / "schema.yaml").write_text(yaml.safe_dump(schema, sort_keys=False), encoding="utf-8")
    with pytest.raises(SpecError) as caught:
        load_environment(folder)
    assert str(caught.value) == (
        "toolset.yaml: lookups.desks: get_loan is derived of another table too; "
        "call their keys so that they differ, or write get_loan"
    )


BRANCHES = """  branches:
    description: Where the library is.
    columns:
      branch_id: {type: text, pk: true}
      name: {type: text, unique: true}
      seats: {type: int}
"""
ASK = """intents:
  - id: bring_back_at_branch
    title: bring a book back, and ask about seats
    roles:
      member: {is: members, by: identity}
      loan: {is: loans, of: member, by: title, where: loan.status = 'open'}
      branch: {is: branches, by: name}
    do:
      - returned: {return_loan: {loan_id: loan.loan_id}}
    tell:
      - {kind: number, is: branch.seats, what: seats}
    requests: ["Take back {loan}, please. And how many seats are there in {branch}?"]

"""


def test_what_belongs_to_nobody_is_found_by_its_name_whatever_the_capitals(
    spoil: Spoil, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = derived(
        spoil(
            ("schema.yaml", "tables:\n", f"tables:\n{BRANCHES}"),
            (
                "population.yaml",
                "tables:\n",
                "tables:\n  - table: branches\n    count: 4\n    columns:\n      branch_id: {sequence: br_}\n"
                "      name: {choice: [Old Mill, Harbour, North End, Castle Hill], distinct: true}\n"
                "      seats: {int: [10, 90]}\n",
            ),
            (
                "language.yaml",
                "describe:\n",
                'describe:\n  branches:\n    name: {cols: [name], text: "{name|lower}"}\n',
            ),
            ("intents.yaml", "intents:\n", ASK),
        ),
        "auto",
    )
    environment = load_environment(folder)
    assert environment.tools["find_branch"].spec.description == (
        "Find branches by name. Returns all that fit; none is no error."
    )
    with World(environment, populate(environment)) as world:
        found = world.call("find_branch", {"name": "old mill"}).value["branches"]
        assert [row["name"] for row in found] == ["Old Mill"]
    assert main(["admit", str(folder), "--json"]) == 0
    (stream,) = [
        each for each in json.loads(capsys.readouterr().out)["streams"] if each["stream"] == "bring_back_at_branch"
    ]
    assert stream["accepted"] == stream["judged"] > 0
