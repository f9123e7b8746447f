"""`toolscale play` and `toolscale grade`, as a person and a program use them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from toolscale.cli import main
from toolscale.session.playable import Playable
from toolscale.session.sitting import Sitting


@pytest.fixture(scope="module")
def playable(mock_dataset: Path) -> Playable:
    return Playable(mock_dataset)


@pytest.fixture
def solved(playable: Playable) -> dict[str, Any]:
    """A task that writes, with its golden calls and answer: what a perfect solver does."""
    task = next(task for task in map(playable.task, playable.ids) if task.row_changes)
    script = playable.domain(task).key(task).right
    return {"task": task.id, "calls": [call.model_dump(mode="json") for call in script.calls], "answer": script.answer}


def said(capsys: pytest.CaptureFixture[str], *words: str | Path) -> tuple[int, str, str]:
    """Run a command: exit status, standard output, standard error."""
    status = main([str(word) for word in words])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def test_a_task_is_played_command_by_command_and_graded_at_the_end(
    mock_dataset: Path, solved: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "s1"
    status, shown, _ = said(capsys, "play", mock_dataset, solved["task"][:12], "--session", folder)
    task = Playable(mock_dataset).task(solved["task"])
    assert status == 0 and solved["task"] in shown and "policy" in shown and task.golden_calls[0].name in shown
    for call in solved["calls"][:-1]:
        assert said(capsys, "play", mock_dataset, "--session", folder, "--call", json.dumps(call))[0] == 0
    (tmp_path / "calls.jsonl").write_text(json.dumps(solved["calls"][-1]) + "\n")
    assert said(capsys, "play", mock_dataset, "--session", folder, "--calls", tmp_path / "calls.jsonl")[0] == 0
    assert said(capsys, "play", mock_dataset, "--session", folder, "--answer", solved["answer"]) == (
        0,
        "score 1: right\n",
        "",
    )
    assert json.loads((folder / "solution.json").read_text()) == solved
    assert said(capsys, "grade", mock_dataset, folder / "solution.json") == (0, f"{solved['task']}  1  right\n", "")


def test_nothing_of_the_golden_side_is_shown_before_the_grade(
    mock_dataset: Path, playable: Playable, tmp_path: Path
) -> None:
    task = playable.task(playable.ids[0])
    command = [sys.executable, "-m", "toolscale", "play", mock_dataset, task.id, "--session", tmp_path / "s", "--json"]
    shown = json.loads(subprocess.run([*map(str, command)], capture_output=True, text=True, check=True).stdout)
    assert shown.keys() == {"session", "task", "policy", "tools", "request", "calls", "talk", "results"}
    assert (shown["request"], shown["calls"], shown["results"]) == (task.request, [], [])
    assert [tool["function"]["name"] for tool in shown["tools"]] == list(playable.world(task.domain)[0].tools)


def test_sessions_stand_beside_each_other_and_a_tool_that_refuses_changes_nothing(
    playable: Playable, solved: dict[str, Any], tmp_path: Path
) -> None:
    from toolscale.records import ToolCall

    calls = [ToolCall.model_validate(call) for call in solved["calls"]]
    with (
        Sitting.at(tmp_path / "one", playable, solved["task"]) as one,
        Sitting.at(tmp_path / "two", playable, solved["task"]) as two,
    ):
        assert [one.call(call).ok for call in calls] == [True] * len(calls)
        assert two.call(ToolCall(name=calls[-1].name, arguments={})).error is not None
        assert (one.finish(solved["answer"]).score, two.finish(solved["answer"]).score) == (1, 0)


def test_what_cannot_be_played_is_told_in_one_line(
    mock_dataset: Path, solved: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    over, torn, full = tmp_path / "over", tmp_path / "torn", tmp_path / "full"
    said(capsys, "play", mock_dataset, solved["task"], "--session", over, "--answer", "No.")
    torn.mkdir(), full.mkdir()
    (torn / "session.json").write_text('{"dataset":')
    (full / "notes.txt").write_text("mine")
    other = tmp_path / "other"
    other.mkdir()
    (other / "session.json").write_text(json.dumps({"dataset": "0" * 64, "task": solved["task"]}))
    first = json.dumps(solved["calls"][0])
    nan = '{"name": "find_member", "arguments": {"a": NaN}}'
    (tmp_path / "bad").write_text(f"{first}\n\n{nan}\n")
    (tmp_path / "fly").write_text(f'{first}\n{{"name": "fly"}}\n')
    (tmp_path / "noise").write_bytes(b"\xff\xfe")
    half = tmp_path / "half"
    said(capsys, "play", mock_dataset, solved["task"], "--session", half)
    (half / "calls.jsonl").write_text('{"name": ')
    second = next(id_ for id_ in Playable(mock_dataset).ids if id_ != solved["task"])
    told = {
        "unknown id": said(capsys, "play", mock_dataset, "zz"),
        "no id": said(capsys, "play", mock_dataset),
        "no session": said(capsys, "play", mock_dataset, "--session", tmp_path / "none"),
        "a finished session": said(capsys, "play", mock_dataset, "--session", over, "--answer", "Again."),
        "a torn session": said(capsys, "play", mock_dataset, "--session", torn),
        "another folder": said(capsys, "play", mock_dataset, solved["task"], "--session", full),
        "another dataset": said(capsys, "play", mock_dataset, "--session", other),
        "another task": said(capsys, "play", mock_dataset, second, "--session", over),
        "no JSON": said(
            capsys, "play", mock_dataset, solved["task"], "--session", tmp_path / "new", "--call", "find_patron(1)"
        ),
        "no call": said(
            capsys, "play", mock_dataset, solved["task"], "--session", tmp_path / "new", "--call", '{"nam": "x"}'
        ),
        "unknown tool": said(
            capsys, "play", mock_dataset, solved["task"], "--session", tmp_path / "new", "--call", '{"name": "fly"}'
        ),
        "a bad line": said(
            capsys, "play", mock_dataset, solved["task"], "--session", tmp_path / "new", "--calls", tmp_path / "bad"
        ),
        "an unknown tool in a line": said(
            capsys, "play", mock_dataset, solved["task"], "--session", tmp_path / "new", "--calls", tmp_path / "fly"
        ),
        "a file that is no text": said(
            capsys, "play", mock_dataset, solved["task"], "--session", tmp_path / "new", "--calls", tmp_path / "noise"
        ),
        "the second call": said(
            capsys, "play", mock_dataset, solved["task"], "--session", tmp_path / "new", "--call", first,
            "--call", '{"name": "fly"}',
        ),
        "a torn transcript": said(capsys, "play", mock_dataset, "--session", half),
    }  # fmt: skip
    begins = {
        "unknown id": f"toolscale: no task of {mock_dataset} has an id that begins with 'zz'; ",
        "no id": f"toolscale: say which task: toolscale play {mock_dataset} ID",
        "no session": f"toolscale: {tmp_path / 'none'} holds no session; ",
        "a finished session": f"toolscale: {over}: the session is over",
        "a torn session": f"toolscale: {torn / 'session.json'} is no session of toolscale play; ",
        "another folder": f"toolscale: {full} is there and holds no session; ",
        "another dataset": f"toolscale: {other / 'session.json'} belongs to another dataset than {mock_dataset}; ",
        "another task": f"toolscale: {over / 'session.json'} is a session of task {solved['task']}, not of {second}; ",
        "no JSON": "toolscale: 'find_patron(1)' is no call (",
        "no call": """toolscale: '{"nam": "x"}' is no call (""",
        "unknown tool": "toolscale: there is no tool 'fly'; the tools are ",
        "a bad line": f"toolscale: {tmp_path / 'bad'}: line 3: {nan!r} is no call (it is not JSON: NaN is not JSON); ",
        "an unknown tool in a line": f"toolscale: {tmp_path / 'fly'}: line 2: there is no tool 'fly'; the tools are ",
        "a file that is no text": f"toolscale: {tmp_path / 'noise'}: byte 0 is not UTF-8; ",
        "the second call": "toolscale: --call 2: there is no tool 'fly'; the tools are ",
        "a torn transcript": f"toolscale: {half / 'calls.jsonl'} is not what toolscale play wrote; ",
    }
    assert {what: (status, out, err.count("\n")) for what, (status, out, err) in told.items()} == dict.fromkeys(
        told, (2, "", 1)
    )
    assert {what: err[: len(begins[what])] for what, (_, _, err) in told.items()} == begins
    assert not (tmp_path / "new" / "calls.jsonl").exists()


def test_grade_names_every_bad_line_and_grades_the_rest(
    mock_dataset: Path, solved: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good = json.dumps(solved)
    lines = [
        good,
        good[: len(good) // 2],
        json.dumps(solved | {"task": "zz"}),
        "",
        json.dumps(solved | {"calls": [{"name": "fly"}]}),
        good,
    ]
    file = tmp_path / "solutions.jsonl"
    file.write_text("\n".join(lines))
    status, out, err = said(capsys, "grade", mock_dataset, file)
    assert (status, out) == (2, f"{solved['task']}  1  right\n" * 2)
    assert [line.split(": ")[:3] for line in err.splitlines()] == [
        ["toolscale", str(file), f"line {number}"] for number in (2, 3, 5)
    ]
    status, out, _ = said(capsys, "grade", mock_dataset, file, "--json")
    assert status == 2 and [(row["line"], row["score"]) for row in json.loads(out)] == [(1, 1), (6, 1)]
