"""The judge's own mutation test: the verifier without one of its checks is visibly worse, so the checks are not
decoration."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path

import pytest
from courts import Court, OpenCourt, failures, first

from toolscale.canonical import canonical_json
from toolscale.environment.environment import load_environment
from toolscale.environment.population import populate
from toolscale.errors import UsageError
from toolscale.records import Candidate
from toolscale.verify.mutants import MutantMaker
from toolscale.verify.subject import Subject
from toolscale.verify.trajectories import Trajectory, swap_argument
from toolscale.verify.weakened import VERIFIERS, Trial, WeakenedResult, measure

pytestmark = pytest.mark.xdist_group("weakened")  # what they share takes longer than they do

ROOT = Path(__file__).parents[2]
NAMES = [verifier.name for verifier in VERIFIERS]

UNREAD = ["state only", "names of calls", "golden calls contained"]
"""Who does not read the form."""


@pytest.fixture(scope="module")
def finance() -> dict[str, WeakenedResult]:
    environment = load_environment("finance")
    return {result.name: result for result in measure(environment, populate(environment), tasks=60, seed=5)}


@pytest.fixture(scope="module")
def mock() -> dict[str, WeakenedResult]:
    environment = load_environment("mock")
    return {result.name: result for result in measure(environment, populate(environment), tasks=40, seed=5)}


def test_the_full_verifier_is_right_about_every_trajectory(
    finance: dict[str, WeakenedResult], mock: dict[str, WeakenedResult]
) -> None:
    for full in (finance["full"], mock["full"]):
        assert (full.wrong_killed, full.right_accepted, full.idle_killed) == (1, 1, 1)
        assert full.wrong > full.idle > 0 and full.right > 0


def test_every_weakened_verifier_is_visibly_weaker(finance: dict[str, WeakenedResult]) -> None:
    assert [name for name, result in finance.items() if not result.visibly_weaker] == ["full"]


def test_money_hides_in_the_key_of_a_payment_of_mock(mock: dict[str, WeakenedResult]) -> None:
    """Its only tool that moves money makes the key of a row from the amount, so another amount is another row."""
    assert [name for name, result in mock.items() if not result.visibly_weaker] == ["full", "money volatile"]


def test_idle_agents_live_by_what_is_not_looked_at(mock: dict[str, WeakenedResult]) -> None:
    assert [name for name, result in mock.items() if result.idle_killed < 1] == [
        "state only",
        "substring facts",
        "names of calls",
        "golden calls contained",
        "no idle gate",
    ]


def test_the_draw_is_decided_by_its_seed() -> None:
    environment = load_environment("mock")
    rows = populate(environment)
    assert measure(environment, rows, tasks=8, seed=3) == measure(environment, rows, tasks=8, seed=3)


def test_an_environment_without_cases_is_said_to_yield_none() -> None:
    environment = load_environment("mock")
    with pytest.raises(UsageError, match="mock: 0 of 15 candidates of seed 1 are accepted; ask for fewer tasks"):
        measure(environment, {table: [] for table in environment.schema.tables}, tasks=3, seed=1)


@pytest.mark.parametrize(
    ("intent", "change", "accepted_by"),
    [
        ("pay_some_fees", "nothing", NAMES),
        ("pay_some_fees", "silent", UNREAD),
        ("pay_some_fees", "buried", ["state only", "substring facts", "names of calls", "golden calls contained"]),
        ("pay_some_fees", "a cent more", ["row counts", "names of calls"]),
        ("pay_some_fees", "paid again", ["golden calls contained"]),
        ("pay_some_fees", "idle", []),
        ("renew_due_first", "renewed again", ["touched keys", "row counts", "golden calls contained"]),
        ("pay_over_desk_limit", "idle", [*UNREAD, "no idle gate"]),
    ],
)
def test_each_verifier_misses_what_it_does_not_compare(
    court: Court, intent: str, change: str, accepted_by: list[str]
) -> None:
    subject = court[1].subject(first(court, intent))
    made = changed(subject, change)
    trial = Trial(subject, made, subject.end_state(made), right=made.label == "right", idle=False)
    assert [verifier.name for verifier in VERIFIERS if verifier.accepts(trial)] == accepted_by


def changed(subject: Subject, change: str) -> Trajectory:
    """The golden trajectory of a subject with something changed."""
    writes = subject.writes
    if change in ("nothing", "silent"):
        return Trajectory(
            change, "right" if change == "nothing" else "wrong", writes, None if change == "nothing" else ""
        )
    if change == "idle":
        return Trajectory(change, "wrong", (), "")
    if change == "buried":
        return Trajectory(
            change, "wrong", writes, json.dumps({**json.loads(subject.answer), "reasons": [101, 202, 303, 404]})
        )
    if change == "a cent more":
        return Trajectory(
            change, "wrong", swap_argument(writes, 0, amount_cents=writes[0].arguments["amount_cents"] + 1)
        )
    return Trajectory(change, "open", (*writes, writes[0]))


COUNTED = '      - {kind: number, is: "(SELECT COUNT(*) FROM loan)", what: number of loans}'
RENEWED = (
    "      - {kind: text, is: loan.title, what: title}\n      - {kind: date, is: renewed.due_on, what: new due date}"
)


def exchanged(court: Court, candidate: Candidate) -> list[tuple[str | None, int]]:
    """What is said by the mutants that exchange facts, and what it scores."""
    subject = court[1].subject(candidate)
    mutants = MutantMaker(court[1].environment, populate(court[1].environment)).make(
        subject, court[1].recorder, random.Random(0)
    )
    return [(mutant.answer, subject.score(mutant)) for mutant in mutants if mutant.operator == "exchanged"]


def due_on(harbour: str, road: str) -> str:
    dates = [{"of": "Winter Harbour", "value": harbour}, {"of": "The Salt Road", "value": road}]
    return canonical_json({"done": "all", "due_on": dates, "reasons": []})


def test_facts_are_exchanged_between_labels(plant: OpenCourt) -> None:
    court = plant(("intents.yaml", COUNTED, "      - {each: loan, kind: date, is: loan.due_on, about: loan.title}"))
    candidate = first(court, "return_all", 1)
    first_due, second_due = "2026-03-28", "2026-04-05"
    assert court[1].subject(candidate).answer == due_on(first_due, second_due)
    assert exchanged(court, candidate) == [(due_on(second_due, first_due), 0)]
    assert failures(court, candidate) == {}


def test_a_label_of_one_of_two_facts_is_enough_to_keep_them_apart(plant: OpenCourt) -> None:
    told = (
        "      - {kind: date, is: loan.due_on, before: true}\n"
        "      - {kind: date, is: renewed.due_on, about: loan.title}"
    )
    court = plant(("intents.yaml", RENEWED, told))
    assert failures(court, first(court, "renew_due_first")) == {}


def test_facts_without_labels_are_not_exchanged(court: Court) -> None:
    assert [exchanged(court, first(court, intent.id)) for intent in court[0].environment.spec.intents.intents] == [
        []
    ] * 4


def test_the_committed_table_is_about_these_verifiers() -> None:
    page = (ROOT / "docs" / "measurements" / "verifier.md").read_text(encoding="utf-8")
    rows = [re.split(r" *\| *", line)[1:-1] for line in page.splitlines() if line.startswith("| ")]
    assert [(name, what) for name, what, *_ in rows[1:]] == [(verifier.name, verifier.what) for verifier in VERIFIERS]
    assert rows[1][2:] == ["100 %", "100 %", "100 %"]


@pytest.mark.parametrize("domain", [Path(__file__).parent / "boats", "medicine"])
def test_where_no_tool_takes_an_amount_no_verifier_overlooks_money(domain: Path | str) -> None:
    environment = load_environment(domain)
    found = [result.name for result in measure(environment, populate(environment), tasks=4, seed=5)]
    assert found == [name for name in NAMES if name != "money volatile"]
