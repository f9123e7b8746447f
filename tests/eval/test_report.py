"""The page, the summary and the command line."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from chat_server import chat_server, said
from evaluated import Play, timeless

from eval.cli import main
from eval.policies import scripted
from eval.report.charts import pareto
from eval.report.tables import RIGHT, SPENT, right_row, spent_row, text_table
from eval.report.writing import write_report
from eval.storage import RESULTS, ROLLOUTS, read_results
from eval.summary import summarize
from toolscale.errors import UsageError

ROOT = Path(__file__).parents[2]
STOPS = 4


class Loads(HTMLParser):
    """What a page loads, and whether its tags are closed in order."""

    VOID = frozenset({"meta", "link", "br", "hr", "img", "input", "path", "use", "rect", "line", "circle"})

    def __init__(self) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.loaded += [
            str(value)
            for name, value in attributes
            if name in ("src", "href", "xlink:href") and not str(value).startswith(("#", "data:"))
        ]
        if tag == "script":
            self.loaded.append("a script")
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.VOID:
            assert self.open.pop() == tag


@pytest.fixture
def folder(play: Play, tmp_path: Path) -> Path:
    """Results of four policies."""
    for name in ("idle", "golden", "random", "strongest"):
        play(scripted(name))
    return tmp_path


def test_the_page_needs_nothing_else_and_has_every_policy(folder: Path) -> None:
    page, summary = (path.read_text() for path in write_report(folder))
    reader = Loads()
    reader.feed(page)
    assert (reader.loaded, reader.open) == ([], [])
    assert "prefers-color-scheme: dark" in page and 'name="viewport"' in page
    for name in ("idle", "golden", "random", "strongest"):
        assert f'<th scope="row">{name}</th>' in page and f"| {name} |" in summary
    assert page.count("<details>") > 0 and "Orchestrator-8B" in page and "model (published)" in summary
    assert "The experts are simulated" in page and "The experts are simulated" in summary


def test_figures_of_the_page_are_those_of_the_stored_lines_to_the_last_digit(folder: Path) -> None:
    _, summary = (path.read_text() for path in write_report(folder))
    for name in ("idle", "golden", "random", "strongest"):
        found = summarize(*read_results(folder / name))
        for cells, head in ((right_row(found), RIGHT), (spent_row(found), SPENT)):
            assert len(cells) == len(head)
            assert f"| {' | '.join(cells)} |" in summary


def test_what_others_wrote_is_shown_and_not_obeyed(folder: Path) -> None:
    path = folder / "random" / RESULTS
    path.write_text(path.read_text().replace('"finding":"', '"finding":"<script>alert(1)</script>'))
    page = write_report(folder)[0].read_text()
    assert "<script>" not in page and "&lt;script&gt;alert(1)" in page


def test_the_front_is_what_nobody_beats() -> None:
    assert pareto([(3.0, 0.9), (1.0, 0.5), (2.0, 0.5), (2.0, 0.7), (4.0, 0.8)]) == [1, 3, 0]


def test_a_report_needs_results(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="holds no results of policies; give the folder of a benchmark"):
        write_report(tmp_path)


def test_a_table_on_the_terminal_is_aligned(folder: Path) -> None:
    lines = text_table([summarize(*read_results(folder / name)) for name in ("idle", "golden")])
    assert lines[0] == "policy   right    95 % interval  tasks  errors  utility  cents  seconds"
    assert lines[2].startswith("golden  100.0%")


def strictly(text: str) -> Any:
    """Read JSON; Infinity and NaN are none."""

    def refuse(name: str) -> None:
        raise ValueError(f"{name} is no JSON")

    return json.loads(text, parse_constant=refuse)


def test_a_bound_without_end_is_null_wherever_figures_are_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["questions", "--tasks", "3", "--no-baselines", "--policy", "cheapest", "--out", str(tmp_path)]
    assert main(["run", *arguments, "--json"]) == 0
    found = strictly(capsys.readouterr().out)
    shown, kept = found["policies"][0], strictly((Path(found["folder"]) / "done.json").read_text())["cheapest"]
    assert shown["per_right"][2] is None and kept["per_right"] == shown["per_right"]


def test_a_run_a_comparison_and_a_report_by_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["questions", "--tasks", "6", "--no-baselines", "--policy", "tools", "--out", str(tmp_path)]
    assert main(["run", *arguments, "--json"]) == 0
    found = strictly(capsys.readouterr().out)
    assert [each["policy"] for each in found["policies"]] == ["tools", "idle", "golden"]
    assert [each["accuracy"]["value"] for each in found["policies"]][1:] == [0, 1]
    folder = Path(found["folder"])
    made = sorted(path.name for path in folder.iterdir())
    assert made == ["done.json", "golden", "idle", "report.html", "summary.md", "tools"]
    assert main(["compare", str(folder / "idle"), str(folder / "golden"), "--gate", "--json"]) == 1
    found = strictly(capsys.readouterr().out)
    assert (found["verdict"], found["tasks"]) == ("worse", 6)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["run", "gsm8k"], "eval: there is no benchmark 'gsm8k'; there are: "),
        (["run", "questions", "--policy", "nobody"], "eval: there is no policy 'nobody': give idle, golden"),
        (
            ["run", "questions", "--policy", "x=var/nowhere"],
            "eval: var/nowhere: holds no model (config.json is missing)",
        ),
        (["run", "questions", "--policy", "x=idle"], "eval: --policy x=idle: idle is no folder"),
        (["run", "questions", "--policy", "idle", "--policy", "idle"], "eval: --policy: 'idle' is given twice"),
        (["run", "questions", "--samples", "0"], "eval: Invalid value for '--samples'"),
        (["run", "hle"], "eval: hle (text-only) needs 1 file: --data FILE; gated: accept the conditions"),
        (["compare", "nowhere", "nowhere"], "eval: nowhere: holds no results (header.json is missing)"),
        (["regrade", "nowhere"], "eval: nowhere: holds no results"),
        (["report", "nowhere"], "eval: nowhere: holds no results of policies"),
    ],
)
def test_bad_input_is_one_line(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    out = ["--out", str(tmp_path)] if arguments[0] == "run" else []
    assert main([*arguments, *out]) == 2
    printed = capsys.readouterr()
    assert printed.out == "" and printed.err.startswith(said) and printed.err.count("\n") == 1


def _heed_ctrl_c() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.slow("tests/eval/test_harness.py")
def test_a_run_that_is_stopped_again_and_again_asks_nothing_twice(tmp_path: Path) -> None:
    tasks = 60
    arguments = ["run", "questions", "--tasks", str(tasks), "--no-baselines", "--policy", "model", "--at-once", "3"]
    with chat_server(reply=_slowly) as server:
        environ = {**os.environ, "TOOLSCALE_MODEL": "m", "OPENAI_BASE_URL": server.base_url, "OPENAI_API_KEY": ""}
        environ["TOOLSCALE_MODEL_AT_ONCE"] = "3"

        def started(out: Path, replies: Path) -> subprocess.Popen[bytes]:
            given = [*arguments, "--out", str(out), "--replies", str(replies)]
            command = [sys.executable, "-m", "eval", *given]
            # Tests that run in the background ignore Ctrl-C, and so would what they start.
            return subprocess.Popen(command, cwd=ROOT, env=environ, preexec_fn=_heed_ctrl_c)

        stopped = 0
        for number in range(STOPS):
            before = len(server.asked)
            running = started(tmp_path / "cut", tmp_path / "cut.sqlite")
            while running.poll() is None and len(server.asked) < before + 3 + number % 3:
                time.sleep(0.01)
            if running.poll() is None:
                running.send_signal((signal.SIGINT, signal.SIGTERM)[number % 2])
            stopped += running.wait() == 130
        assert stopped >= STOPS - 1
        assert started(tmp_path / "cut", tmp_path / "cut.sqlite").wait() == 0
        assert len(server.asked) == tasks
        assert started(tmp_path / "whole", tmp_path / "whole.sqlite").wait() == 0
    cut, whole = (timeless(tmp_path / name / "questions" / "m") for name in ("cut", "whole"))
    assert cut == whole
    assert (tmp_path / "cut" / "questions" / "m" / ROLLOUTS).read_text().count("\n") == tasks


def _slowly(body: dict[str, Any]) -> Any:
    time.sleep(0.02)
    number = re.search(r"\d+", body["messages"][-1]["content"])
    return said(f"The answer is {number[0] if number else 7}.")
