"""`toolscale audit harbor:FOLDER`: what is refused before anything runs, and what runs say. tests/hosts runs Harbor."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from toolscale.audit.found import OF_RUNS, Audit, Finding, Undecided
from toolscale.audit.harbor import Run, TaskFolder, check_runs, not_run, read_tasks, run_of
from toolscale.audit.page import audit_json, render_page
from toolscale.cli import main

OUT = "it is a link out of its task, to "
WON, LOST, HALF = Run({"reward": 1.0}, ""), Run({"reward": 0.0}, ""), Run({"reward": 0.5, "style": 1.0}, "")
BROKEN = Run(None, "HealthcheckError: it is not well")
LATE = Run({"reward": 0.0}, "AgentTimeoutError: after 5 seconds")


def task(folder: Path, name: str = "one", solution: bool = True) -> Path:
    made = folder / name
    (made / "tests").mkdir(parents=True)
    (made / "task.toml").write_text(f'schema_version = "1.4"\n[task]\nname = "me/{name}"\n')
    (made / "tests" / "test.sh").write_text("echo 1 >/logs/verifier/reward.txt\n")
    if solution:
        (made / "solution").mkdir()
        (made / "solution" / "solve.sh").write_text("true\n")
    return made


def test_a_folder_is_tasks_or_one_task(tmp_path: Path) -> None:
    one, other = task(tmp_path), task(tmp_path, "other", solution=False)
    (tmp_path / "wheels").mkdir()
    (one / "solution" / "link").symlink_to("solve.sh")
    assert read_tasks(tmp_path) == [TaskFolder("one", one, True), TaskFolder("other", other, False)]
    assert read_tasks(one) == [TaskFolder("one", one, True)]


def test_a_task_of_steps_has_a_solution_if_a_step_has_one(tmp_path: Path) -> None:
    made = task(tmp_path, solution=False)
    with (made / "task.toml").open("a") as file:
        file.write('[[steps]]\nname = "first"\n')
    assert not read_tasks(made)[0].has_solution
    (made / "steps" / "first" / "solution").mkdir(parents=True)
    (made / "steps" / "first" / "solution" / "solve.sh").write_text("true\n")
    assert read_tasks(made)[0].has_solution


def test_what_a_task_asks_of_the_machine_is_told(tmp_path: Path) -> None:
    made = task(tmp_path)
    with (made / "task.toml").open("a") as file:
        file.write('[verifier.env]\nA = "${TOKEN}"\nB = "Bearer ${KEY} ${PORT:-80}"\n[metadata]\nenv_of = "${NOT}"\n')
    assert read_tasks(made) == [TaskFolder("one", made, True, ("KEY", "TOKEN"))]
    reason = "it asks for variables of this machine, which an audit gives to none: KEY, TOKEN"
    assert [*not_run(read_tasks(made)[0], reason)] == [
        Undecided(kind, ("one",), reason) for kind in ("untouched_wins", "solution_loses")
    ]


def big(path: Path) -> None:
    (path / "task.toml").write_bytes(b"#" * 10_000_000)


def no_toml(path: Path) -> None:
    (path / "task.toml").write_text("[task\n")


def link(path: Path) -> None:
    (path / "tests" / "key").symlink_to("/etc/hostname")


def climbing(path: Path) -> None:
    (path / "tests" / "up").symlink_to("../../..")


def pipe(path: Path) -> None:
    os.mkfifo(path / "tests" / "pipe")


def moved(path: Path) -> None:
    path.rename(path.parents[1] / "elsewhere")
    path.symlink_to(path.parents[1] / "elsewhere")


@pytest.mark.parametrize(
    ("spoil", "line"),
    [
        (big, "ONE/task.toml: it has 10,000,000 bytes, 1,000,000 at most are read; leave the task out"),
        (no_toml, "ONE/task.toml: it is no TOML (Expected ']' at the end of a table declaration (at line 1, column 6)"
                  "); mend it"),
        (link, f"ONE/tests/key: {OUT}/etc/hostname; remove it, or put the file itself there"),
        (climbing, f"ONE/tests/up: {OUT}../../..; remove it, or put the file itself there"),
        (pipe, "ONE/tests/pipe: it is neither a file nor a folder; remove it"),
        (moved, "ONE: it is a link out of its folder, to ELSEWHERE; copy the task into it"),
    ],
)  # fmt: skip
def test_a_task_that_holds_what_none_should_is_one_line_and_nothing_runs(
    spoil: Callable[[Path], None], line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    task(tmp_path / "tasks", "sound")
    spoil(task(tmp_path / "tasks"))
    told = line.replace("ONE", str(tmp_path / "tasks" / "one")).replace("ELSEWHERE", str(tmp_path / "elsewhere"))
    page = tmp_path / "audit.html"
    assert main(["audit", f"harbor:{tmp_path / 'tasks'}", "--html", str(page), "--python", "/nothing"]) == 2
    assert (capsys.readouterr().err, page.exists()) == (f"toolscale: {told}\n", False)


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["harbor:FOLDER/none"], "FOLDER/none: there is no such folder; give a folder of tasks for Harbor"),
        (["harbor:FOLDER/empty"], "FOLDER/empty: it holds no task for Harbor (task.toml is missing); give a task, or a "
                                  "folder of tasks, each with its task.toml"),
        (["harbor:FOLDER", "--domain", "retail"], "harbor:FOLDER: --domain and --python are for tau2 alone; leave them "
                                                  "out, or give tau2:harbor:FOLDER"),
        (["FOLDER", "--task-timeout", "5"], "FOLDER: --environment and --task-timeout are for harbor:PATH alone; "
                                            "leave them out"),
        (["harbor:FOLDER", "--python", "FOLDER/none"], "FOLDER/none: it cannot be run (No such file or directory); "),
        (["harbor:FOLDER", "--python", sys.executable], f"{sys.executable}: Harbor is not installed there; make one: "),
    ],
)  # fmt: skip
def test_what_cannot_be_audited_is_one_line(
    words: list[str], line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    task(tmp_path)
    (tmp_path / "empty").mkdir()
    assert main(["audit", *(word.replace("FOLDER", str(tmp_path)) for word in words)]) == 2
    told = capsys.readouterr().err
    assert told.startswith(f"toolscale: {line.replace('FOLDER', str(tmp_path))}") and told.count("\n") == 1


@pytest.mark.parametrize(
    ("solution", "untouched", "solved", "found"),
    [
        (True, [LOST, LOST], [WON, WON], []),
        (True, [WON, WON], [WON, WON], [("untouched_wins", "reward", "nobody did anything: reward 1")]),
        (True, [LOST, LOST], [HALF, HALF], [
            ("solution_loses", "reward", "after its own solution: reward 0.5, style 1")
        ]),
        (True, [LOST, LOST], [LATE, LATE], [
            ("solution_loses", "reward", "after its own solution: reward 0 (AgentTimeoutError: after 5 seconds)")
        ]),
        (True, [LOST, LOST], [WON, LOST], [
            ("unstable", "reward", "solved, the same run twice: reward 1, then reward 0")
        ]),
        (True, [HALF, LOST], [WON, WON], [
            ("unstable", "reward", "untouched, the same run twice: reward 0.5, style 1, then reward 0")
        ]),
        (False, [LOST, LOST], [BROKEN, BROKEN], [
            ("no_solution", "solution", "there is no solution/solve.sh, so nothing shows that it can be won")
        ]),
        (True, [BROKEN, BROKEN], [WON, BROKEN], [
            ("untouched_wins", "HealthcheckError: it is not well"),
            ("solution_loses", "HealthcheckError: it is not well"),
        ]),
        (True, [Run(None, ""), Run(None, "")], [WON, WON], [
            ("untouched_wins", "Harbor ran it and tells no reward"),
        ]),
    ],
)  # fmt: skip
def test_what_runs_say_of_a_task(
    solution: bool, untouched: list[Run], solved: list[Run], found: list[tuple[str, ...]], tmp_path: Path
) -> None:
    told = [
        (each.kind, each.place, each.evidence) if isinstance(each, Finding) else (each.kind, each.reason)
        for each in check_runs(TaskFolder("one", tmp_path, solution), untouched, solved)
    ]
    assert told == found


def test_a_result_of_harbor_is_its_rewards_and_its_error() -> None:
    error = {"exception_type": "AgentTimeoutError", "exception_message": "after\n5\x1b seconds"}
    assert run_of({"verifier_result": {"rewards": {"reward": 1}}, "exception_info": None}) == WON
    read = run_of({"verifier_result": None, "exception_info": error})
    assert read.rewards is None and "\x1b" not in read.error and read.error.startswith("AgentTimeoutError: after 5")
    for wrong in (
        {},
        {"verifier_result": 1, "exception_info": None},
        {"verifier_result": {"rewards": {"reward": "x"}}},
    ):
        with pytest.raises((KeyError, TypeError, ValueError, AttributeError)):
            run_of(wrong)


def test_the_page_has_what_was_looked_for_and_nothing_else() -> None:
    found = (Finding("no_solution", ("one",), "solution", "<b>none</b>"),)
    audit = Audit(
        "harbor", "mine", 1, 0, 0, found, (Undecided("unstable", ("one",), "why"),), ("run by Harbor",), OF_RUNS
    )
    page = render_page(audit).decode()
    assert [*audit_json(audit)["counts"]] == [*OF_RUNS]
    assert "&lt;b&gt;none&lt;/b&gt;" in page and "golden call" not in page and "Run by Harbor." in page
