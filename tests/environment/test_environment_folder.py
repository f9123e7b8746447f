"""Loading a folder: every fault of every file, each in one line with file, place, value and remedy."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from toolscale.cli import main
from toolscale.environment.environment import Environment, load_environment
from toolscale.errors import SpecError, UsageError

Spoil = Callable[..., Path]

FIVE = [
    "environment.yaml: verison: unknown key 'verison'; did you mean 'version'? "
    "known keys: currency, description, drafted, example, license, locale, now, proposed, signed_in, slips, tasks, "
    "title, transfer_reasons, version",
    "language.yaml: describe.loans.soonest.cue: unknown key 'cue'; did you mean 'cues'? "
    "known keys: cols, cues, first, tense, text",
    "cases.yaml: verifier[1].calls: 'nothing' does not fit here; it should be 'golden', 'writes' or 'none'",
    "schema.yaml: tables.loans.columns.member_id.fk: unknown column of members 'id'; "
    "use one of date_of_birth, fees_cents, full_name, member_id, status",
    "rules.yaml: rules.desk_limit.guards: unknown tool 'pay_fee'; did you mean 'pay_fees'?",
]

NOT_FOUND = """        error: "Member {member_id} not found"
    returns:
      loans"""


def issues(folder: Path) -> list[str]:
    with pytest.raises(SpecError) as caught:
        load_environment(folder)
    return [str(issue) for issue in caught.value.issues]


def test_the_mock_domain_loads(mock_environment: Environment) -> None:
    environment = mock_environment
    assert environment.domain == "mock"
    assert list(environment.tools) == [
        "find_member",
        "list_loans",
        "renew_loan",
        "return_loan",
        "pay_fees",
        "transfer_to_human",
        "calculate",
    ]
    assert list(environment.schema.tables) == ["members", "loans", "payments", "handovers"]
    assert [tool for tool, compiled in environment.tools.items() if compiled.mutates_state] == [
        "renew_loan",
        "return_loan",
        "pay_fees",
        "transfer_to_human",
    ]
    assert sorted(environment.files) == [
        "cases.yaml",
        "environment.yaml",
        "intents.yaml",
        "language.yaml",
        "policy.md",
        "population.yaml",
        "rules.yaml",
        "schema.yaml",
        "toolset.yaml",
    ]


def test_the_hash_sees_content_and_not_layout(spoil: Spoil, mock_environment: Environment) -> None:
    folder = spoil(("schema.yaml", "tables:\n", "# a comment\ntables:\n\n"))
    assert load_environment(folder).hash == mock_environment.hash
    policy = folder / "policy.md"
    policy.write_text(policy.read_text() + "Be kind.\n")
    changed = load_environment(folder)
    assert changed.hash != mock_environment.hash
    assert [name for name in changed.files if changed.files[name] != mock_environment.files[name]] == ["policy.md"]


@pytest.mark.parametrize(
    ("at", "said"), [(".", "./club"), ("club", "."), ("club", "../club"), ("club/..", "club/"), ("club/inner", "..")]
)
def test_what_has_a_separator_or_begins_with_a_dot_is_a_path(
    spoil: Spoil, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: str, said: str
) -> None:
    (spoil().rename(tmp_path / "club") / "inner").mkdir()
    monkeypatch.chdir(tmp_path / at)
    assert load_environment(said).domain == "club"
    with pytest.raises(UsageError, match=r"^nowhere is not a folder; give a domain by name or the folder of one$"):
        load_environment("./nowhere")


def test_an_unknown_domain_lists_the_known_ones() -> None:
    with pytest.raises(UsageError, match=r"^unknown domain 'finanse'; known domains: .*mock"):
        load_environment("finanse")


@pytest.mark.parametrize(
    ("file", "old", "new", "line"),
    [
        (
            "schema.yaml",
            "{type: text, values: [open",
            "{typ: text, values: [open",
            [
                "schema.yaml: tables.loans.columns.status.typ: unknown key 'typ'; did you mean 'type'? known keys: "
                "check, description, domain, fk, nullable, pk, type, unique, unit, values, volatile",
            ],
        ),
        (
            "schema.yaml",
            "fees_cents: {type: cents",
            "fees_cents: {type: money",
            [
                "schema.yaml: tables.members.columns.fees_cents.type: 'money' does not fit here; "
                "it should be 'text', 'int', 'cents', 'bool', 'date', 'datetime' or 'time'",
            ],
        ),
        (
            "schema.yaml",
            "fk: members.member_id",
            "fk: member.member_id",
            [
                "schema.yaml: tables.loans.columns.member_id.fk: unknown table 'member'; did you mean 'members'?",
            ],
        ),
        (
            "schema.yaml",
            "      full_name: {type: text}",
            "      full_name: {type: text}\n      full_name: {type: date}",
            [
                "schema.yaml: line 7: the key 'full_name' stands twice in one mapping; remove one of them",
            ],
        ),
        (
            "schema.yaml",
            "      full_name:",
            "      on:",
            [
                "schema.yaml: line 6: YAML reads the key 'on' as True; put it in quotes, or use another word",
            ],
        ),
        (
            "schema.yaml",
            "tables:",
            "tables: [",
            [
                "schema.yaml: line 3, column 16: not YAML: did not find expected ',' or ']'; "
                "text with ': ', ' #', '{' or ',' in it needs quotes; check the indentation",
            ],
        ),
        (
            "toolset.yaml",
            NOT_FOUND,
            NOT_FOUND.replace("error", "errors"),
            [
                "toolset.yaml: tools[list_loans].steps[0].errors: unknown key 'errors'; did you mean 'error'? "
                "known keys: error, let, sql",
            ],
        ),
        (
            "toolset.yaml",
            "      - let: member",
            "      - fetch: member",
            [
                "toolset.yaml: tools[list_loans].steps[0]: "
                "{'fetch': 'member', 'sql': 'SELECT status FROM members WHERE member_id = :mem... "
                "is not a step; a step is one of let, let_rows, check, forbid, new_id, exec",
            ],
        ),
        (
            "toolset.yaml",
            "default: 14",
            "default: 50",
            [
                "toolset.yaml: tools[renew_loan].parameters.days: default 50 does not fit the parameter's own schema; "
                "correct one of them",
            ],
        ),
        (
            "population.yaml",
            "{sequence: mb_}",
            "{sequense: mb_}",
            [
                "population.yaml: tables[0].columns.member_id: {'sequense': 'mb_'} is not a kind of value; "
                "use one of value, sequence, faker, choice, int, cents, date, datetime, time, parent, ref, "
                "digits, expr, text, by, null, other",
            ],
        ),
        (
            "population.yaml",
            "{faker: first_name}",
            "{faker: first_nam}",
            [
                "population.yaml: tables[0].columns._first: Faker has no provider 'first_nam'; "
                "use one such as name, first_name, last_name, company, street_address, city",
            ],
        ),
        (
            "population.yaml",
            "{faker: first_name}",
            "{faker: date_of_birth}",
            [
                "population.yaml: tables[0].columns._first: the Faker provider 'date_of_birth' is not repeatable or "
                "depends on the real clock; use date, datetime, int or digits",
            ],
        ),
        (
            "population.yaml",
            "{_first} {_last}",
            "{_first} {_lost}",
            [
                "population.yaml: tables[0].columns.full_name: _lost is not a column made before this one; "
                "known here: member_id, _first, _last",
            ],
        ),
        (
            "population.yaml",
            "per: members",
            "per: member",
            [
                "population.yaml: tables[1].per: no batch above makes 'member'; did you mean 'members'?",
                "population.yaml: tables[1].columns.member_id: this batch has no parent; add per: TABLE",
            ],
        ),
        (
            "population.yaml",
            "      status: {choice: {open: 3, returned: 1}}\n",
            "",
            [
                "population.yaml: tables[1].columns: status of loans are not made; "
                "give a value for every column that is not nullable",
                "population.yaml: tables[1].columns.returned_on: status is not a column made before this one; "
                "known here: loan_id, member_id, title, due_on, renewals",
            ],
        ),
        (
            "rules.yaml",
            "call.amount_cents > policy.desk_limit_cents",
            "call.amount > policy.limit",
            [
                "rules.yaml: rules.desk_limit.breaks: call.amount is not a parameter of pay_fees; "
                "did you mean 'amount_cents'?",
                "rules.yaml: rules.desk_limit.breaks: unknown constant of the policy 'limit'; "
                "use one of desk_limit_cents",
            ],
        ),
        (
            "language.yaml",
            "cols: [title]",
            "cols: [name]",
            [
                "language.yaml: describe.loans.title.cols: unknown column of loans 'name'; "
                "use one of due_on, loan_id, member_id, renewals, returned_on, status, title",
                "language.yaml: describe.loans.title.text: {title} is not one of cols; use one of name",
            ],
        ),
        (
            "intents.yaml",
            "loan: {is: loans, of: member, where",
            "loan: {is: lons, of: membr, where",
            [
                "intents.yaml: intents[return_all].roles.loan.is: unknown table 'lons'; did you mean 'loans'?",
                "intents.yaml: intents[return_all].roles.loan.of: 'membr' is not a role above; did you mean 'member'?",
            ],
        ),
        (
            "intents.yaml",
            "renew_loan: {loan_id: loan.loan_id}",
            "renew_loan: {loan: loan.loan_id}",
            [
                "intents.yaml: intents[renew_due_first].do[0].renewed.renew_loan.loan: "
                "unknown parameter of renew_loan 'loan'; did you mean 'loan_id'?",
            ],
        ),
        (
            "intents.yaml",
            "kind: money, from: [4500",
            "kind: monny, from: [4500",
            [
                "intents.yaml: intents[pay_over_desk_limit].slots.amount_cents.kind: 'monny' does not fit here; "
                "it should be 'money', 'date', 'time', 'duration', 'number', 'text', 'bool', 'yes_no', 'digits' or "
                "'id'",
            ],
        ),
        (
            "cases.yaml",
            "kind: determinism, intent: return_all",
            "kind: determinism, intent: return_every",
            [
                "cases.yaml: verifier[6].intent: unknown intent 'return_every'; did you mean 'return_all'?",
            ],
        ),
        (
            "environment.yaml",
            "now: 2026-03-16T09:30:00",
            "now: 2026-03-16",
            [
                "environment.yaml: now: '2026-03-16' is not a moment; write it as YYYY-MM-DDTHH:MM:SS",
            ],
        ),
        (
            "environment.yaml",
            "license: apache-2.0",
            "license: apache2",
            [
                "environment.yaml: license: the Hub knows no licence 'apache2'; did you mean apache-2.0?",
            ],
        ),
        (
            "environment.yaml",
            "license: apache-2.0",
            "license: proprietary",
            [
                "environment.yaml: license: the Hub knows no licence 'proprietary'; "
                "use an identifier that the Hub lists, such as apache-2.0, mit or cc-by-4.0",
            ],
        ),
        (
            "environment.yaml",
            "license: apache-2.0\n",
            "",
            ["environment.yaml: license: a required key is missing; add 'license'"],
        ),
        (
            "environment.yaml",
            'version: "1"',
            'version: "1st"',
            [
                "environment.yaml: version: '1st' is not a version; "
                "write one to three numbers with dots between them, such as 1 or 1.2",
            ],
        ),
        ("policy.md", "", None, ["policy.md: the file is missing; write it in mock/"]),
        ("language.yaml", "", None, ["language.yaml: the file is missing; write it in mock/"]),
    ],
)
def test_one_fault_is_told_in_whole_lines(spoil: Spoil, file: str, old: str, new: str | None, line: list[str]) -> None:
    assert issues(spoil((file, old, new))) == line


@pytest.mark.parametrize(
    ("name", "line"),
    [
        (
            "rejects",
            "environment.yaml: the domain is called 'rejects', which means something else in every dataset or run; "
            "rename its folder",
        ),
        (
            "m" * 61,
            f"environment.yaml: the domain is called '{'m' * 61}'; rename its folder: 60 letters at most",
        ),
        (
            "My Bank",
            "environment.yaml: the domain is called 'My Bank'; "
            "rename its folder: small letters first, then also digits, _ and -, 60 at most",
        ),
    ],
)
def test_a_domain_needs_a_name_that_a_dataset_can_hold(spoil: Spoil, name: str, line: str) -> None:
    folder = spoil()
    assert issues(folder.rename(folder.parent / name)) == [line]


def test_five_faults_in_five_files_are_all_told(spoil: Spoil) -> None:
    folder = spoil(
        ("environment.yaml", "version:", "verison:"),
        ("schema.yaml", "fk: members.member_id", "fk: members.id"),
        ("rules.yaml", "guards: [pay_fees]", "guards: [pay_fee]"),
        ("language.yaml", "cues: [due first]", "cue: [due first]"),
        ("cases.yaml", "calls: none}", "calls: nothing}"),
    )
    assert issues(folder) == FIVE


def test_a_tool_that_cannot_be_read_hides_no_fault_of_another(spoil: Spoil) -> None:
    folder = spoil(
        ("toolset.yaml", "description: Find members", "descripton: Find members"),
        (
            "toolset.yaml",
            "FROM loans\n          WHERE member_id = :member_id ORDER BY",
            "FROM loans\n          WHERE membr_id = :member_id ORDER BY",
        ),
        ("toolset.yaml", "SELECT status FROM members", "SELECT statu FROM members"),
    )
    with pytest.raises(SpecError) as error:
        load_environment(folder)
    assert [issue.place for issue in error.value.issues] == [
        "tools[find_member].descripton",
        "tools[list_loans].steps[0].sql",
        "tools[list_loans].returns.loans.rows",
    ]


RETURN = "  - name: return_loan\n"
REFUSED = {
    "_close_loan": "begins with _, and TRL offers no such method to a model",
    "verify": "is a route that a server of NeMo Gym keeps for itself",
    "respond": "is a name that an OpenEnv server keeps for itself",
    "get_reward": "is a method that TRL calls itself",
    "return_" + "loan_" * 11 + "now": "has more than 64 letters, which providers of models refuse",
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_tool_has_a_name_that_every_consumer_takes(name: str, spoil: Spoil) -> None:
    found = issues(spoil(("toolset.yaml", RETURN, f"  - name: {name}\n")))
    problem = f"{name!r} cannot name a tool: it {REFUSED[name]}"
    assert f"toolset.yaml: tools[{name}]: {problem}; choose another name" in found


@pytest.mark.parametrize(
    ("parameter", "schema", "why"),
    [
        ("from", "{type: string}", "is a word of Python, and tau2 makes signatures of parameters"),
        ("self", "{type: string}", "is an argument of tau2 itself"),
        ("_id", "{type: string}", "begins with _, and tau2 makes models of parameters"),
        ("a" * 65, "{type: string}", "has more than 64 letters, which providers of models refuse"),
        ("order", "{type: array, items: {type: string}}", "is a word of SQL"),
        ("today", "{type: string}", "has a meaning of its own"),
    ],
)
def test_so_has_a_parameter(parameter: str, schema: str, why: str, spoil: Spoil) -> None:
    old = "  - name: return_loan\n    description: Take back a book.\n    parameters:\n"
    found = issues(spoil(("toolset.yaml", old, f"{old}      {parameter}: {schema}\n")))
    place, problem = f"tools[return_loan].parameters.{parameter}", f"{parameter!r} cannot name a parameter: it {why}"
    assert f"toolset.yaml: {place}: {problem}; choose another name" in found


def test_a_parameter_that_is_no_relation_may_be_called_as_sql_is(spoil: Spoil) -> None:
    old = "  - name: return_loan\n    description: Take back a book.\n    parameters:\n"
    found = issues(spoil(("toolset.yaml", old, f"{old}      order: {{type: string}}\n")))
    assert not [line for line in found if "cannot name" in line]


@pytest.mark.parametrize(
    ("table", "line"),
    [
        (
            "sqlite_books",
            "schema.yaml: tables.sqlite_books: 'sqlite_books' begins as tables of SQLite itself do; "
            "choose another name",
        ),
        ("handovers", "schema.yaml: tables.handovers: the table 'handovers' is built in; remove it, or rename it"),
        ("values", "schema.yaml: tables.values: 'values' is a word of SQL; choose another name, values_rows say"),
    ],
)
def test_a_table_has_a_name_that_the_engines_take(table: str, line: str, spoil: Spoil) -> None:
    more = f"tables:\n  {table}:\n    columns:\n      a_id: {{type: text, pk: true}}\n"
    assert line in issues(spoil(("schema.yaml", "tables:\n", more)))


def test_a_tool_whose_name_leaves_no_room_for_a_prefix_is_told(
    spoil: Spoil, capsys: pytest.CaptureFixture[str]
) -> None:
    name = "return_one_loan_that_a_member_has_brought_back_today"
    folder = spoil(("toolset.yaml", RETURN, f"  - name: {name}\n"))
    for file in ("intents.yaml", "cases.yaml", "rules.yaml", "language.yaml", "policy.md"):
        text = (folder / file).read_text()
        (folder / file).write_text(text.replace("return_loan", name))
    assert main(["admit", str(folder), "--candidates", "0"]) == 0
    assert (
        f"note: toolset.yaml: tools[{name}]: the name has 52 letters, and hosts put a prefix before it; providers take "
        "64; choose one of fewer than 48"
    ) in " ".join(capsys.readouterr().out.split())
