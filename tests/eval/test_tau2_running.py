"""tau2-bench in a process of its own: a checkout that is none here, and the real one where a variable names it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from chat_server import Answer, chat_server, said
from stand_in import asked_of, stand_in, told
from test_tau2 import TASKS

from eval.cli import main
from eval.storage import read_results
from tests.installed import needs

SECRET = "sk-never-to-be-seen"
SERVER = "http://127.0.0.1:9/v1"
ROOT = Path(__file__).parents[2]
REAL = os.environ.get("TOOLSCALE_TAU2_CHECKOUT", "")
"""A checkout of tau2-bench 1.0.1 with its environment."""


@pytest.fixture(autouse=True)
def named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The models that the environment names."""
    for name in [name for name in os.environ if name.startswith(("TOOLSCALE_", "OPENAI_"))]:
        monkeypatch.delenv(name)
    named = {
        "TOOLSCALE_MODEL": "small",
        "TOOLSCALE_USER": "person",
        "OPENAI_BASE_URL": SERVER,
        "OPENAI_API_KEY": SECRET,
    }
    for name, value in named.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout that is none, with the domain `desk`."""
    folder = stand_in(tmp_path / "tau2")
    domain = desk(folder)
    domain.mkdir(parents=True)
    (domain / "tasks.json").write_text(json.dumps(TASKS))
    (domain / "split_tasks.json").write_text(json.dumps({"base": ["book", "look", "env"], "test": ["must"]}))
    return folder


def desk(checkout: Path) -> Path:
    return checkout / "data" / "tau2" / "domains" / "desk"


def run(checkout: Path, out: Path, *more: str, data: Path | None = None) -> int:
    return main(
        ["run", "tau2", "--checkout", str(checkout), "--data", str(data or desk(checkout)), "--out", str(out), *more]
    )


def scores(folder: Path) -> dict[str, list[tuple[str, int, str, float | None]]]:
    """Policy -> (task, sample, status, score) of its lines."""
    return {
        path.parent.name: [(each.task, each.sample, each.status, each.score) for each in read_results(path.parent)[1]]
        for path in sorted(folder.glob("*/header.json"))
    }


def results_of(folder: Path) -> Path:
    (found,) = folder.glob("tau2/*/results.json")
    return found


def test_a_run_is_graded_as_its_recording_is(checkout: Path, tmp_path: Path) -> None:
    assert run(checkout, tmp_path / "out", "--policy", "model", "--samples", "2") == 0
    played = tmp_path / "out" / "tau2-desk"
    assert scores(played) == {
        "golden": [("book", 0, "scored", 1.0), ("look", 0, "scored", 1.0), ("env", 0, "unscored", None)],
        "idle": [("book", 0, "scored", 0.0), ("look", 0, "scored", 1.0), ("env", 0, "scored", 1.0)],
        "openai_small": [
            ("book", 0, "scored", 1.0), ("book", 1, "scored", 0.0), ("look", 0, "scored", 1.0),
            ("look", 1, "scored", 1.0), ("env", 0, "scored", 1.0), ("env", 1, "scored", 1.0),
        ],
    }  # fmt: skip
    recorded = ["--data", str(desk(checkout)), "--data", str(results_of(played)), "--out", str(tmp_path / "again")]
    assert main(["run", "tau2", *recorded]) == 0
    for policy in ("openai_small", "golden"):
        ours, theirs = (read_results(out / policy) for out in (played, tmp_path / "again" / "tau2-desk"))
        assert ours[1] == theirs[1]
        notes = ("3 tasks", "User simulator: openai/person")
        dollars = "Dollars: the price table of LiteLLM; not known for what it lacks"
        assert theirs[0].notes == notes
        assert ours[0] == theirs[0].model_copy(update={"notes": (*notes, "Played by tau2 1.0.1, seed 0", dollars)})
        assert ours[0].benchmark == "tau2 desk (base)"
    report = (played / "summary.md").read_text()
    assert "User simulator: openai/person" in report and "tau2 1.0.1" in report and "tau2 desk (base)" in report


def test_what_tau2_is_told(checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "TOOLSCALE_USER_URL": "http://user/v1", "TOOLSCALE_JUDGE_URL": "http://judge/v1",
        "TOOLSCALE_MODEL_PRICE": "0.5/2", "TOOLSCALE_MODEL_AT_ONCE": "4", "HF_TOKEN": SECRET, "PYTHONPATH": "/ours",
    }.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    out = tmp_path / "out"
    assert run(checkout, out, "--seed", "7", "--temperature", "0.5", "--samples", "2", "--tasks", "2") == 0
    asked, graded = asked_of(checkout)
    results = results_of(out / "tau2-desk")
    agent = {
        "temperature": 0.5, "api_base": SERVER, "timeout": 300.0,
        "input_cost_per_token": 5e-07, "output_cost_per_token": 2e-06,
    }  # fmt: skip
    user = {"temperature": 0.0, "api_base": "http://user/v1", "timeout": 300.0}
    assert asked["argv"] == [
        "run", "--domain", "desk", "--task-split-name", "base", "--num-trials", "2", "--seed", "7",
        "--max-concurrency", "4", "--agent", "llm_agent", "--agent-llm", "openai/small",
        "--agent-llm-args", json.dumps(agent), "--user", "user_simulator", "--user-llm", "openai/person",
        "--user-llm-args", json.dumps(user), "--save-to", str(results.parent), "--auto-resume",
        "--task-ids", "book", "look",
    ]  # fmt: skip
    assert graded["argv"] == ["idle", "book", "look"] and asked["cwd"] == graded["cwd"] == str(checkout)
    assert graded["environ"]["TAU2_DATA_DIR"] == str(checkout / "data") and SECRET not in graded["environ"].values()
    given = asked["environ"]
    assert {name: given.get(name) for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "TAU2_DATA_DIR")} == {
        "OPENAI_API_KEY": SECRET, "OPENAI_BASE_URL": "http://judge/v1", "TAU2_DATA_DIR": str(checkout / "data"),
    }  # fmt: skip
    assert not {"HF_TOKEN", "PYTHONPATH"} & given.keys()
    assert SECRET not in json.dumps([each["argv"] for each in asked_of(checkout)])
    assert not [path for path in out.rglob("*") if path.is_file() and SECRET in path.read_text()]


def test_a_repaired_set_is_run_where_it_lies(checkout: Path, tmp_path: Path) -> None:
    repaired = desk(tmp_path / "repaired")
    repaired.parent.mkdir(parents=True)
    desk(checkout).rename(repaired)
    out = tmp_path / "out"
    assert run(checkout, out, "--setting", "repaired base", data=repaired) == 0
    asked = asked_of(checkout)[0]
    assert asked["argv"][4] == "base" and asked["environ"]["TAU2_DATA_DIR"] == str(tmp_path / "repaired" / "data")
    assert read_results(out / "tau2-desk-repaired-base" / "idle")[0].benchmark == "tau2 desk (repaired base)"


def test_running_again_asks_for_what_is_missing_and_no_more(checkout: Path, tmp_path: Path, capsys: Any) -> None:
    out = tmp_path / "out"

    def asked() -> list[str]:
        """What was asked by a run: its verbs, with the trials that were played."""
        return [line for line in capsys.readouterr().err.splitlines() if "trials" in line]

    assert run(checkout, out, "--tasks", "2") == 0
    assert asked() == ["tau2 1.0.1: 2 of 2 trials are to be played"]
    first = scores(out / "tau2-desk")
    assert run(checkout, out, "--tasks", "2") == 0
    assert (asked(), scores(out / "tau2-desk"), len(asked_of(checkout))) == ([], first, 2)
    assert run(checkout, out, "--tasks", "2", "--samples", "2") == 0
    assert asked() == ["tau2 1.0.1: 2 of 4 trials are to be played"]
    assert run(checkout, out, "--samples", "2") == 0
    assert asked() == ["tau2 1.0.1: 2 of 6 trials are to be played"]
    assert run(checkout, out, "--tasks", "1", "--samples", "1") == 0 and asked() == []
    assert run(checkout, out, "--tasks", "1", "--samples", "3") == 2
    refused = capsys.readouterr().err
    assert "was begun with 3 tasks, and tau2 does not go on with 1; give --tasks 3 or more, or another --out" in refused


def test_a_trial_that_broke_is_an_error_and_is_played_again(checkout: Path, tmp_path: Path) -> None:
    (checkout / "mood").write_text("breaking")
    out = tmp_path / "out"
    assert run(checkout, out) == 0
    assert scores(out / "tau2-desk")["openai_small"][1] == ("look", 0, "error", None)
    assert read_results(out / "tau2-desk" / "openai_small")[1][1].finding == "the trial broke: refused: …"
    assert SECRET not in results_of(out / "tau2-desk").read_text()
    (checkout / "mood").unlink()
    assert run(checkout, out) == 0
    assert scores(out / "tau2-desk")["openai_small"][1] == ("look", 0, "scored", 1.0)


def test_a_failure_is_one_line(checkout: Path, tmp_path: Path, capsys: Any) -> None:
    (checkout / "mood").write_text("failing")
    out = tmp_path / "out"
    assert run(checkout, out) == 1
    (line,) = (each for each in capsys.readouterr().err.splitlines() if each.startswith("eval: "))
    (log,) = out.glob("tau2-desk/tau2/*/tau2.log")
    assert line == (
        f"eval: tau2 ended with status 1: ValueError: no such luck; {log} has all of it, and the same command goes on"
    )
    assert log.read_text() == "Key … is refused\nValueError: no such luck\n\n----\n"
    assert not list(out.rglob("*.jsonl"))
    (checkout / "mood").unlink()
    assert run(checkout, out) == 0


def test_a_run_in_which_no_trial_ends_is_a_failure(checkout: Path, tmp_path: Path, capsys: Any) -> None:
    (checkout / "mood").write_text("refused")
    assert run(checkout, tmp_path / "out") == 1
    last = capsys.readouterr().err.splitlines()[-1]
    assert last == "eval: no trial of tau2 came to an end: refused: …; the same command plays them again"
    assert not list((tmp_path / "out").rglob("*.jsonl"))


def test_a_run_that_is_stopped_leaves_no_lines_and_goes_on(checkout: Path, tmp_path: Path, capsys: Any) -> None:
    (checkout / "mood").write_text("hanging")
    out = tmp_path / "out"
    arguments = ["run", "tau2", "--checkout", str(checkout), "--data", str(desk(checkout)), "--out", str(out)]
    # As a script does that starts it in the background.
    command = ["sh", "-c", 'trap "" INT; exec "$@"', "sh", sys.executable, "-m", "eval", *arguments]
    process = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True)
    while not list(out.glob("tau2-desk/tau2/*/results.json")):
        assert process.poll() is None
        time.sleep(0.05)
    assert run(checkout, out) == 2 and "another run is writing" in capsys.readouterr().err
    process.send_signal(signal.SIGTERM)
    said = process.communicate(timeout=60)[1].splitlines()
    assert (process.returncode, said[-1]) == (130, "eval: interrupted; run the same command again to go on")
    assert not list(out.rglob("*.jsonl")) and not list(out.rglob(".results_*"))
    (checkout / "mood").unlink()
    assert run(checkout, out) == 0
    assert "tau2 1.0.1: 2 of 3 trials are to be played" in capsys.readouterr().err
    assert len(scores(out / "tau2-desk")["openai_small"]) == 3


def test_a_run_whose_parent_is_killed_ends_and_is_gone_on_with(checkout: Path, tmp_path: Path) -> None:
    (checkout / "mood").write_text("slow")
    out = tmp_path / "out"
    arguments = ["run", "tau2", "--checkout", str(checkout), "--data", str(desk(checkout)), "--out", str(out)]
    process = subprocess.Popen([sys.executable, "-m", "eval", *arguments], cwd=ROOT)
    while not list(out.glob("tau2-desk/tau2/*/results.json")):
        assert process.poll() is None
        time.sleep(0.05)
    process.kill()
    process.wait()
    deadline = time.monotonic() + 60
    while (status := run(checkout, out)) == 2 and time.monotonic() < deadline:  # until what it started has ended
        time.sleep(0.2)
    assert status == 0
    assert len(scores(out / "tau2-desk")["openai_small"]) == 3


@pytest.mark.parametrize(
    ("says", "lacks"),
    [
        (
            told((3, 11), ""),
            "is Python 3.11, and tau2 needs 3.12; name the Python that has tau2 with --interpreter, ",
        ),
        (told((3, 13), ""), "has no tau2; in "),
        (told(tau2="1.0.0"), "has tau2 1.0.0, and what is read here is tau2 1.0.1; in "),
        (told(problem="ImportError: x"), "tau2 cannot be imported there (ImportError: x); name the Python "),
        ("hello", "is no Python (it says nothing); name the Python that has tau2 with --interpreter, or in "),
    ],
)
def test_what_a_python_lacks(says: str, lacks: str, tmp_path: Path, capsys: Any) -> None:
    checkout = stand_in(tmp_path / "tau2", says=says)
    desk(checkout).mkdir(parents=True)
    (desk(checkout) / "tasks.json").write_text(json.dumps(TASKS))
    assert run(checkout, tmp_path / "out") == 2
    assert capsys.readouterr().err.startswith(f"eval: {checkout / '.venv' / 'bin' / 'python'}: {lacks}")


def test_what_is_missing_is_one_line(checkout: Path, tmp_path: Path, capsys: Any, monkeypatch: Any) -> None:
    def refused(*more: str, data: Path | None = None, folder: Path = checkout) -> str:
        assert run(folder, tmp_path / "out", *more, data=data) == 2
        (line,) = capsys.readouterr().err.splitlines()
        return str(line)

    assert "is no checkout of tau2-bench (src/tau2/domains is missing); git clone" in refused(
        folder=tmp_path, data=desk(checkout)
    )
    other = tmp_path / "data" / "tau2" / "domains" / "shop"
    other.parent.mkdir(parents=True)
    desk(checkout).rename(other)
    assert f"{checkout}: it has no domain 'shop'; take one of desk" in refused(data=other)
    other.rename(tmp_path / "desk")
    assert "does not lie in a folder tau2/domains" in refused(data=tmp_path / "desk")
    (tmp_path / "desk").rename(desk(checkout))
    assert "has no split 'train'; it has base, test" in refused("--setting", "train")
    assert "--policy tools: tau2 plays models behind a server" in refused("--policy", "tools")
    assert "tau2 knows no --max-cost" in refused("--max-cost", "1")
    assert "none/python: there is no such Python; name " in refused("--interpreter", str(tmp_path / "none" / "python"))
    (checkout / ".venv" / "bin" / "tau2").rename(tmp_path / "away")
    assert "has no tau2 beside it" in refused()
    (checkout / ".venv" / "bin" / "python").unlink()
    assert "there is no such Python" in (line := refused())
    assert line.endswith(f"in {checkout}: python3.12 -m venv .venv && .venv/bin/pip install -e .")
    assert main(["run", "tau2", "--interpreter", "python", "--data", str(desk(checkout))]) == 2
    assert "--interpreter is the Python of a --checkout" in capsys.readouterr().err
    assert main(["run", "questions", "--checkout", str(checkout), "--tasks", "1"]) == 2
    assert "questions is played here: leave --checkout" in capsys.readouterr().err


def test_models_that_are_not_named_are_one_line(checkout: Path, tmp_path: Path, capsys: Any, monkeypatch: Any) -> None:
    def refused() -> str:
        assert run(checkout, tmp_path / "out") == 2
        (line,) = capsys.readouterr().err.splitlines()
        return str(line)

    monkeypatch.setenv("TOOLSCALE_USER_URL", "http://me:secret@host/v1")
    assert refused().startswith("eval: TOOLSCALE_USER_URL holds a user, a password or a query")
    monkeypatch.delenv("TOOLSCALE_USER")
    assert refused().startswith("eval: no user simulator is named: set TOOLSCALE_USER to the model that plays the user")
    monkeypatch.delenv("TOOLSCALE_MODEL")
    assert refused() == "eval: no model is named: set TOOLSCALE_MODEL, and OPENAI_API_KEY or OPENAI_BASE_URL"
    assert not (tmp_path / "out").exists() and not asked_of(checkout)


def test_tasks_that_a_model_judges_want_to_know_where_it_is(
    checkout: Path, tmp_path: Path, capsys: Any, monkeypatch: Any
) -> None:
    judged = [{**TASKS[0], "evaluation_criteria": {"nl_assertions": ["polite"], "reward_basis": ["NL_ASSERTION"]}}]
    (desk(checkout) / "tasks.json").write_text(json.dumps([*judged, *TASKS[1:]]))
    assert run(checkout, tmp_path / "out") == 2
    assert capsys.readouterr().err == (
        "eval: tau2 has 1 of 3 tasks judged by gpt-4.1-2025-04-14: set TOOLSCALE_JUDGE_URL to a server that has it\n"
    )
    monkeypatch.setenv("TOOLSCALE_JUDGE_URL", "http://judge/v1")
    assert run(checkout, tmp_path / "out") == 0
    assert asked_of(checkout)[-1]["argv"] == ["idle", "look", "env"]


def scripted(body: dict[str, Any]) -> Answer:
    """A person who wants a task created, and an agent that creates one, whoever asks."""
    rest = {"model": body["model"], "usage": {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}}
    last = body["messages"][-1]
    if body["model"] == "person":
        return said("###STOP###" if "done" in last["content"] else "Create 'Important Meeting' for user_1.", **rest)
    if last["role"] == "tool":
        return said("It is done.", **rest)
    function = {"name": "create_task", "arguments": '{"user_id": "user_1", "title": "Important Meeting"}'}
    return said(None, [{"id": "call_1", "type": "function", "function": function}], **rest)


@needs("tau2-bench", REAL, "name a checkout of it in TOOLSCALE_TAU2_CHECKOUT")
def test_the_real_tau2_plays_its_mock_domain(tmp_path: Path, capsys: Any, monkeypatch: Any) -> None:
    checkout, out = Path(REAL), tmp_path / "out"
    mock = checkout / "data" / "tau2" / "domains" / "mock"
    monkeypatch.setenv("TOOLSCALE_MODEL_PRICE", "1/10")
    with chat_server(reply=scripted) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        assert run(checkout, out, "--tasks", "4", "--samples", "2", data=mock) == 0
        asked = len(server.asked)
        assert asked == 4 * 4 * 2  # two messages of each side, in each trial
        assert {each["authorization"] for each in server.headers} == {f"Bearer {SECRET}"}
        assert run(checkout, out, "--tasks", "4", "--samples", "2", data=mock) == 0
        assert len(server.asked) == asked
    names = ("create_task_1", "create_task_1_with_env_assertions", "create_task_1_nl_eval", "update_task_1")
    assert scores(out / "tau2-mock") == {
        "golden": [
            (names[0], 0, "scored", 1.0), (names[1], 0, "unscored", None), (names[2], 0, "scored", 1.0),
            (names[3], 0, "scored", 1.0),
        ],
        "idle": [(name, 0, "scored", float(name == names[2])) for name in names],
        "openai_small": [(name, trial, "scored", float(name != names[3])) for name in names for trial in (0, 1)],
    }  # fmt: skip
    header, lines = read_results(out / "tau2-mock" / "openai_small")
    assert header.notes == (
        "4 tasks", "User simulator: openai/person", "Played by tau2 1.0.1, seed 0", "Dollars: TOOLSCALE_MODEL_PRICE",
    )  # fmt: skip
    assert {round(line.cost_usd, 9) for line in lines} == {0.0004}
    recorded = json.loads(results_of(out / "tau2-mock").read_text())
    assert {(each["task_id"], each["trial"]): each["reward_info"]["reward"] for each in recorded["simulations"]} == {
        (line.task, line.sample): line.score for line in lines
    }
    assert not [path for path in out.rglob("*") if path.is_file() and SECRET in path.read_text()]
    assert "report: " in capsys.readouterr().out
