"""tau2-bench: files in its form, made up here, and its rewards from trajectories alone."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from eval.cli import main
from eval.comparing import compare_folders
from eval.recorded.tau2_reward import golden, grade_simulation, idle
from eval.records import Settings
from eval.running import Wanted, run_benchmark
from eval.storage import read_results
from toolscale.errors import UsageError
from toolscale.tau2.files import Simulation, Source, Tau2Task, read_run, read_task

BOOK = {"action_id": "1", "name": "book_slot", "arguments": {"slot": "s1", "notes": '{"a": 1}'}}
LOOK = {"action_id": "2", "name": "get_slot", "arguments": {"slot": "s1"}}

CUT, LOST = "no end of its own", "infrastructure_error"
UNTOLD = "tau2 recorded nothing, and it takes its environment to tell"

TASKS: list[dict[str, Any]] = [
    {
        "id": "book",
        "evaluation_criteria": {
            "actions": [LOOK, BOOK], "communicate_info": ["1500"], "reward_basis": ["DB", "COMMUNICATE"],
        },
    },
    {"id": "look", "evaluation_criteria": {"actions": [LOOK], "communicate_info": []}},
    {"id": "must", "evaluation_criteria": {"actions": [LOOK], "reward_basis": ["ACTION"]}},
    {"id": "env", "evaluation_criteria": {"env_assertions": [{"func_name": "f"}], "reward_basis": ["ENV_ASSERTION"]}},
    {"id": "free"},
]  # fmt: skip


def task(name: str) -> Tau2Task:
    return next(each for each in tasks_of(TASKS) if each.id == name)


def tasks_of(raw: list[dict[str, Any]]) -> list[Tau2Task]:
    return [read_task(each, Source("tasks")) for each in raw]


def calling(*calls: dict[str, Any], role: str = "assistant") -> dict[str, Any]:
    made = [
        {"id": f"c{place}", "name": call["name"], "arguments": call["arguments"]} for place, call in enumerate(calls)
    ]
    return {"role": role, "content": None, "tool_calls": made}


def saying(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


def simulated(name: str, *messages: dict[str, Any], ending: str = "user_stop", **recorded: Any) -> Simulation:
    return Simulation(name, 0, ending, messages, 0.02, 5.0, recorded)


@pytest.mark.parametrize(
    ("simulation", "status", "score", "finding"),
    [
        (simulated("book", calling(LOOK, BOOK), saying("It costs $1,500.")), "scored", 1.0, "met: DB, COMMUNICATE"),
        (simulated("book", calling(BOOK), saying("1500")), "scored", 1.0, "met: DB, COMMUNICATE"),
        (simulated("book", calling(BOOK), saying("150 0")), "scored", 0.0, "not met: COMMUNICATE"),
        (simulated("book", calling(LOOK), saying("1500")), "scored", 0.0, "not met: DB"),
        (simulated("book", calling(BOOK), saying("1500"), ending="max_steps"), "scored", 0.0, f"{CUT}: max_steps"),
        (simulated("book", saying("1500"), ending=LOST), "error", None, f"the trial broke: {LOST}"),
        (simulated("look", saying("Hm.")), "scored", 1.0, "met: DB, COMMUNICATE"),
        (simulated("must", saying("Hm.")), "scored", 0.0, "not met: ACTION"),
        (simulated("must", calling(LOOK, role="user")), "scored", 1.0, "met: ACTION"),
        (simulated("must", calling({"name": "get_slot", "arguments": {}})), "scored", 1.0, "met: ACTION"),
        (simulated("env", saying("Hm.")), "unscored", None, f"ENV_ASSERTION: {UNTOLD}"),
        (simulated("env", saying("Hm."), env_assertions=[{"met": True}]), "scored", 1.0, "met: ENV_ASSERTION"),
        (simulated("env", saying("Hm."), env_assertions=[{"met": False}]), "scored", 0.0, "not met: ENV_ASSERTION"),
        (simulated("free", saying("Hm.")), "scored", 1.0, "met: nothing was asked"),
    ],
)  # fmt: skip
def test_the_reward_of_a_trajectory(simulation: Simulation, status: str, score: float | None, finding: str) -> None:
    found = grade_simulation(task(simulation.task), simulation)
    assert (found.status, found.score, found.finding) == (status, score, finding)


def test_another_write_is_for_tau2_to_judge_and_what_it_recorded_holds() -> None:
    other = {"name": "book_slot", "arguments": {"slot": "s2"}}
    made = simulated("book", calling(other), saying("1500"))
    assert grade_simulation(task("book"), made).status == "unscored"
    for match in (True, False):
        recorded = simulated("book", calling(other), saying("1500"), db_check={"db_match": match})
        assert grade_simulation(task("book"), recorded).score == float(match)


def test_a_call_that_failed_changed_nothing() -> None:
    failed = {"role": "tool", "id": "c0", "content": "no", "error": True}
    assert grade_simulation(task("book"), simulated("book", calling(BOOK), failed, saying("1500"))).score == 0.0


def test_arguments_in_a_text_are_read() -> None:
    same = {"name": "book_slot", "arguments": {"slot": "s1", "notes": '{ "a" : 1 }'}}
    assert grade_simulation(task("book"), simulated("book", calling(same), saying("1500"))).score == 1.0


def test_the_reference_is_right_and_doing_nothing_is_sometimes_right_too() -> None:
    tasks = tasks_of(TASKS)
    assert [grade_simulation(each, golden(each)).score for each in tasks] == [1.0, 1.0, 1.0, None, 1.0]
    assert [grade_simulation(each, idle(each)).score for each in tasks] == [0.0, 1.0, 0.0, None, 1.0]


@pytest.fixture
def domain(tmp_path: Path) -> Path:
    """A domain folder, and beside it the results of two agents."""
    folder = tmp_path / "desk"
    folder.mkdir()
    (folder / "tasks.json").write_text(json.dumps(TASKS))
    (folder / "split_tasks.json").write_text(json.dumps({"base": ["book", "look", "must"], "test": ["must"]}))
    for agent, told in (("good", "1500"), ("bad", "no")):
        trials = [
            {
                "task_id": name, "trial": trial, "termination_reason": "agent_stop", "agent_cost": 0.02,
                "messages": [calling(LOOK, *([BOOK] if name == "book" else [])), saying(told if trial == 0 else "no")],
                "duration": 5.0,
            }
            for name in ("book", "look", "must")
            for trial in (1, 0)
        ]  # fmt: skip
        info = {"agent_info": {"llm": agent}, "user_info": {"llm": "gpt-5.2"}}
        (tmp_path / f"{agent}.json").write_text(json.dumps({"info": info, "simulations": trials}))
    return folder


def test_recorded_runs_are_graded_beside_idle_and_golden(domain: Path, tmp_path: Path, capsys: Any) -> None:
    data = (str(domain), str(tmp_path / "good.json"), str(tmp_path / "bad.json"))
    wanted = Wanted("tau2", Settings(data=data), tmp_path / "out")
    found = asyncio.run(run_benchmark(wanted))
    figures = {each.policy: each for each in found.summaries}
    accuracy = {name: round(each.accuracy.value, 4) for name, each in figures.items() if each.accuracy is not None}
    assert accuracy == {"good": 0.8333, "bad": 0.6667, "idle": 0.3333, "golden": 1.0}
    passes = {k: round(each.value, 4) for k, each in figures["good"].pass_hat.items()}
    assert passes == {1: 0.8333, 2: 0.6667}
    header, lines = read_results(found.folder / "good")
    assert (header.benchmark, header.notes) == ("tau2 desk (base)", ("3 tasks", "User simulator: gpt-5.2"))
    assert [(line.task, line.sample) for line in lines] == [
        (name, trial) for name in ("book", "look", "must") for trial in (0, 1)
    ]
    assert compare_folders(found.folder / "good", found.folder / "bad").tasks == 3
    assert main(["regrade", str(found.folder / "good")]) == 2
    assert "with the same --data grades it again" in capsys.readouterr().err
    again = asyncio.run(run_benchmark(wanted))
    assert again == found and len(read_results(found.folder / "good")[1]) == 6


def test_what_is_missing_is_one_line(domain: Path, tmp_path: Path) -> None:
    def refused(*data: str, setting: str | None = None, policies: Any = ()) -> str:
        with pytest.raises(UsageError) as caught:
            asyncio.run(run_benchmark(Wanted("tau2", Settings(data=data, setting=setting), tmp_path / "o", policies)))
        assert "\n" not in str(caught.value)
        return str(caught.value)

    assert "tau2 needs the tasks of a domain: --data FOLDER" in refused()
    assert "tasks.json: is missing" in refused(str(tmp_path))
    assert "has no split 'train'; it has base, test" in refused(str(domain), setting="train")
    assert "tau2 has no setting 'all'" in refused(str(domain), setting="all")
    assert "leave --policy out" in refused(str(domain), policies=(("m", "model"),))
    assert "has no `simulations`" in refused(str(domain), str(domain / "split_tasks.json"))
    (tmp_path / "other.json").write_text(json.dumps({"simulations": [{"task_id": "x", "messages": []}]}))
    assert "none of its tasks is in" in refused(str(domain), str(tmp_path / "other.json"))
    (tmp_path / "cut.json").write_text('{"simulations": [')
    assert "cut.json: cannot be read" in refused(str(domain), str(tmp_path / "cut.json"))


def test_runs_keep_the_names_of_agent_and_user(tmp_path: Path, domain: Path) -> None:
    run = read_run(tmp_path / "good.json")
    assert (run.agent, run.user, len(run.simulations)) == ("good", "gpt-5.2", 6)
