"""What a domain leaves out is noted: by admission, and once to a model that drafts it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import yaml

from toolscale.cli import main
from toolscale.environment.environment import load_environment
from toolscale.environment.scaffold import read_tables, write_scaffold
from toolscale.verify.advice import uncalled, unkept, untried
from toolscale.verify.yields import Yield, measure_yields, monotonous, weak


@pytest.fixture(scope="module")
def scaffold(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_scaffold("library", read_tables("patron, loan by patron"), tmp_path_factory.mktemp("domains"))


@pytest.fixture
def library(scaffold: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(scaffold, tmp_path / "library"))


def without(folder: Path, *intents: str) -> None:
    path = folder / "intents.yaml"
    told = yaml.safe_load(path.read_text(encoding="utf-8"))
    told["intents"] = [each for each in told["intents"] if each["id"] not in intents]
    path.write_text(yaml.safe_dump(told, sort_keys=False), encoding="utf-8")
    (folder / "cases.yaml").write_text("verifier: []\n", encoding="utf-8")


def test_a_tool_that_changes_something_and_that_no_intent_calls_is_noted(library: Path) -> None:
    assert list(uncalled(load_environment(library))) == []
    without(library, "postpone_loan", "postpone_loan_too_long")
    assert [str(issue) for issue in uncalled(load_environment(library))] == [
        "toolset.yaml: tools[postpone_loan]: no intent calls postpone_loan; write an intent for it, or leave it out"
    ]


def test_a_rule_that_every_call_breaks_is_noted(library: Path) -> None:
    """No loan is postponed by more days than are allowed; then by no day at all."""
    assert unkept(load_environment(library)) == []
    rules = yaml.safe_load((library / "rules.yaml").read_text(encoding="utf-8"))
    (name,) = rules["rules"]
    rules["rules"][name]["breaks"] = "call.days >= 0"
    (library / "rules.yaml").write_text(yaml.safe_dump(rules, sort_keys=False), encoding="utf-8")
    assert [str(issue) for issue in unkept(load_environment(library))] == [
        f"rules.yaml: rules.{name}.breaks: every call of postpone_loan that is found breaks 'call.days >= 0'; "
        "correct it, or plant rows that keep it"
    ]


def test_an_outcome_that_no_task_has_is_noted(library: Path) -> None:
    """The library hands over to nobody yet, and has a reason to."""
    environment = load_environment(library)
    told = {each.id: Yield(each.id, each.id, judged=1, accepted=1) for each in environment.spec.intents.intents}
    (issue,) = untried(environment, list(told.values()))
    assert (issue.place, issue.problem) == ("intents", "no task has the outcome 'transfer': no intent has it")
    told["postpone_loan_too_long"].accepted = 0
    assert [issue.problem for issue in untried(environment, list(told.values()))] == [
        "no task has the outcome 'refuse': nothing of postpone_loan_too_long is accepted",
        "no task has the outcome 'transfer': no intent has it",
    ]
    turned = Yield("postpone_loan+turned", "postpone_loan", "turned", judged=1, accepted=1)
    assert list(untried(environment, [*told.values(), turned])) == [issue]
    assert list(untried(environment, [])) == []


@pytest.mark.parametrize(
    ("item", "problem"),
    [
        (Yield("a", "a", judged=12, accepted=6), ""),
        (Yield("a", "a", judged=12, accepted=4), "the stream a yields 4 of 12 candidates, drawn in 40 draws"),
        (Yield("a", "a", judged=12, accepted=3), ""),  # poor, which is told as such
        (Yield("a", "a"), ""),  # barren
        (Yield("a", "a", judged=3, accepted=3),
         "the stream a yields 3 of 3 candidates where 12 are wanted, drawn in 40 draws"),
        (Yield("a+evolved", "a", "evolved", judged=12, accepted=4), ""),
        (Yield("a+evolved", "a", "evolved", judged=12, accepted=3),
         "the stream a+evolved yields 3 of 12 candidates, drawn in 40 draws"),
        (Yield("a+evolved", "a", "evolved"), ""),
        (Yield("a+turned", "a", "turned", judged=12, accepted=4),
         "the stream a+turned yields 4 of 12 candidates, drawn in 40 draws"),
        (Yield("a+turned", "a", "turned"),
         "the stream a+turned yields 0 of 0 candidates: no rows fit it in 40 draws; where a said value breaks the "
         "rule, give the rule `draws`, and the slot `from` instead of `sql`"),
    ],
)  # fmt: skip
def test_a_stream_that_yields_less_than_it_might_is_weak(item: Yield, problem: str) -> None:
    assert [issue.problem for issue in weak([item])] == [problem] * bool(problem)


def test_requests_that_are_worded_like_those_of_another_intent_are_noted(library: Path) -> None:
    path = library / "intents.yaml"
    told = yaml.safe_load(path.read_text(encoding="utf-8"))
    words = "I have been thinking about this for a while now and I have made up my mind: "
    for each in told["intents"]:
        if each["id"] in ("close_last_loan", "postpone_loan"):
            each["requests"] = [f"{words}{say}" for say in each["requests"]]
    path.write_text(yaml.safe_dump(told, sort_keys=False), encoding="utf-8")
    yields = measure_yields(load_environment(library), 6, intents=("close_last_loan", "postpone_loan"))
    found = {issue.place: issue for issue in monotonous(yields)}
    issue = found["intents[postpone_loan].requests"]
    assert "new in their stream are worded like close_last_loan: candidate" in issue.problem
    assert "thinking about this" in issue.problem
    assert issue.remedy == "say it in other words than intents[close_last_loan] does"


def test_admission_notes_it_and_admits_all_the_same(library: Path, capsys: pytest.CaptureFixture[str]) -> None:
    note = (
        "intents.yaml: intents: no task has the outcome 'transfer': no intent has it; write an intent with "
        "`outcome: transfer` whose transfer_to_human is not all that it does"
    )
    assert main(["admit", str(library), "--candidates", "1"]) == 0
    assert f"note: {note}\n" in capsys.readouterr().out
    assert main(["admit", str(library), "--candidates", "1", "--json"]) == 0
    notes = json.loads(capsys.readouterr().out)["notes"]
    assert [each["place"] for each in notes if "outcome" in each["problem"]] == ["intents"]
