"""A call that is not sound JSON is refused by every way in, with the same words, and nothing of it is kept."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from toolscale.cli import main
from toolscale.errors import UsageError
from toolscale.rollout.calls import read_arguments
from toolscale.session.playable import Playable
from toolscale.session.sessions import Sessions
from toolscale.session.sitting import Sitting, read_call
from toolscale.session.solutions import BadLine, Graded, grade_solutions

TOOL = "find_member"
UNSOUND = {
    "NaN": '{"full_name": NaN}',
    "a number without end": '{"full_name": -1e999}',
    "a key twice": '{"full_name": "Ann", "full_name": "Bob"}',
    "half of a pair": '{"full_name": "\\ud800"}',
    "61 levels": '{"full_name": ' + "[" * 60 + "1" + "]" * 60 + "}",
    "500 levels": '{"full_name": ' + "[" * 500 + "]" * 500 + "}",
    "980 levels": '{"full_name": ' + "[" * 980 + "]" * 980 + "}",
    "brackets without end": "[" * 3_000,
    "no object": '["Ann"]',
    "too long": json.dumps({"full_name": "x" * 100_000}),
}
NOT_READ = ("a key twice", "980 levels", "brackets without end")
"""What Python's own reader takes for something else, or cannot read either."""


@pytest.fixture(scope="module")
def sessions(mock_dataset: Path) -> Iterator[Sessions]:
    with Sessions(mock_dataset) as opened:
        yield opened


@pytest.mark.parametrize("text", UNSOUND.values(), ids=UNSOUND)
def test_what_one_way_in_refuses_all_refuse(sessions: Sessions, mock_dataset: Path, tmp_path: Path, text: str) -> None:
    task = sessions.tasks[0]
    session, (_, fault) = sessions.open(task), read_arguments(text)
    assert fault is not None and fault.startswith("The arguments ")
    assert [sessions.call(session, TOOL, given).error for given in (text, text.encode())] == [fault] * 2
    assert sessions.view(session).calls == []
    call = f'{{"name": "{TOOL}", "arguments": {text}}}'
    playable = Playable(mock_dataset)
    with Sitting.at(tmp_path / "s", playable, task) as sitting:
        with pytest.raises(UsageError) as told:
            sitting.read_call(TOOL, text)
        assert str(told.value) == fault
        with pytest.raises(UsageError):  # as `play` reads and makes it
            sitting.call(read_call(call))
    assert not (tmp_path / "s" / "calls.jsonl").exists()
    (line,) = grade_solutions(playable, [f'{{"task": "{task}", "calls": [{call}], "answer": "No."}}'])
    assert isinstance(line, BadLine)
    sessions.close(session)
    playable.close()


@pytest.mark.parametrize("name", [name for name in UNSOUND if name not in NOT_READ])
def test_what_a_host_has_read_less_strictly_is_refused_too(sessions: Sessions, name: str) -> None:
    given, session = json.loads(UNSOUND[name]), sessions.open(sessions.tasks[0])
    assert str(sessions.call(session, TOOL, given).error).startswith("The arguments ")
    assert sessions.view(session).calls == []
    sessions.close(session)


def test_sound_arguments_are_kept_as_they_are_however_they_come(sessions: Sessions) -> None:
    text, session = '{"full_name": "Ann\\u2028B", "date_of_birth": "1990-01-01"}', sessions.open(sessions.tasks[0])
    for given in (text, text.encode(), json.loads(text)):
        assert sessions.call(session, TOOL, given).value == {"members": []}
    assert [call["arguments"] for call in sessions.view(session).calls] == [json.loads(text)] * 3
    assert "'date_of_birth' is a required property" in str(sessions.call(session, TOOL, " ").error)
    sessions.close(session)


def test_a_session_in_a_folder_goes_on_whatever_its_texts_hold(mock_dataset: Path, tmp_path: Path) -> None:
    """A line separator is no end of a line of JSON, and half of a surrogate pair is what a shell makes of a byte that
    is not UTF-8."""
    playable = Playable(mock_dataset)
    text = '{"full_name": "Ann\\u2028B", "date_of_birth": "1990-01-01"}'
    for _ in range(2):
        with Sitting.at(tmp_path / "s", playable, playable.ids[0]) as sitting:
            assert sitting.call(sitting.read_call(TOOL, text)).ok
    with Sitting.at(tmp_path / "s", playable, None) as sitting:
        assert [call["arguments"] for call in sitting.view().calls] == [json.loads(text)] * 2
        assert sitting.finish("No\udcff.").score == 0
    assert json.loads((tmp_path / "s" / "solution.json").read_text())["answer"] == "No?."
    playable.close()


def test_a_call_that_hits_a_limit_of_the_sandbox_ends_the_session_in_each_way(
    sessions: Sessions, mock_dataset: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    task, huge = sessions.tasks[0], {"loan_id": "📚" * 90_000}
    session = sessions.open(task)
    told = str(sessions.call(session, "renew_loan", huge).error)
    grade = sessions.finish(session, "No.")
    assert told.endswith("; the session is over") and grade.finding.startswith("the calls hit a limit of the sandbox: ")
    sessions.close(session)
    playable, call = Playable(mock_dataset), json.dumps({"name": "renew_loan", "arguments": huge})
    with Sitting.at(tmp_path / "s", playable, task) as sitting:
        assert sitting.call(read_call(call)).error == told
        assert sitting.grade == grade
        with pytest.raises(UsageError, match="the session is over"):
            sitting.call(read_call(call))
    solution = (tmp_path / "s" / "solution.json").read_text()
    lines = list(grade_solutions(playable, [solution, solution.replace(task, "zz")]))
    assert [line.grade if isinstance(line, Graded) else line.line for line in lines] == [grade, 2]
    playable.close()
    (tmp_path / "calls.jsonl").write_text(call)
    playing = ["play", mock_dataset, task, "--session", tmp_path / "t", "--calls", tmp_path / "calls.jsonl"]
    assert main([*map(str, playing)]) == 1
    assert capsys.readouterr().out.splitlines() == [f"error: {told}", f"score 0: {grade.finding}"]
