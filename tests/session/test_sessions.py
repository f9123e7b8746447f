"""Sessions for programs: many at once and from any thread, and what each of them is told when something is wrong."""

from __future__ import annotations

import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from toolscale.dataset.columns import task_of
from toolscale.dataset.describing.reading import read_dataset
from toolscale.errors import UsageError
from toolscale.pipeline import synthesize
from toolscale.records import Script, Task
from toolscale.rollout.person import NOTED, STILL_THERE
from toolscale.session.sessions import Sessions

pytestmark = pytest.mark.xdist_group("forms")  # the datasets are made once


@pytest.fixture(scope="module")
def sessions(mock_dataset: Path) -> Iterator[Sessions]:
    with Sessions(mock_dataset) as opened:
        yield opened


def play(sessions: Sessions, script: Script, session_id: str) -> int:
    for call in script.calls:
        assert sessions.call(session_id, call.name, call.arguments).ok
    score = sessions.finish(session_id, script.answer).score
    sessions.close(session_id)
    return score


def test_every_golden_trajectory_scores_1_whichever_thread_plays_it(
    sessions: Sessions, golden_scripts: dict[str, tuple[Task, Script]]
) -> None:
    def one(task_id: str) -> int:
        return play(sessions, golden_scripts[task_id][1], sessions.open(task_id))

    wanted = sessions.tasks * 3
    random.Random(0).shuffle(wanted)
    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(one, wanted)) == [1] * len(wanted)
    assert len(sessions) == 0


def test_sessions_of_one_task_do_not_see_each_other(
    sessions: Sessions, golden_scripts: dict[str, tuple[Task, Script]]
) -> None:
    task_id = next(id_ for id_, (task, _) in golden_scripts.items() if task.row_changes)
    script = golden_scripts[task_id][1]
    acting, idle = sessions.open(task_id), sessions.open(task_id)
    for call in script.calls:
        sessions.call(acting, call.name, call.arguments)
        assert sessions.view(idle).calls == []
    graded = {which: sessions.finish(which, script.answer).score for which in (idle, acting)}
    assert graded == {idle: 0, acting: 1}
    assert sessions.finish(acting) == sessions.finish(acting)
    for which in graded:
        sessions.close(which)


def test_what_is_thought_before_a_final_message_is_not_graded(
    sessions: Sessions, golden_scripts: dict[str, tuple[Task, Script]]
) -> None:
    task_id, script = next((id_, script) for id_, (task, script) in golden_scripts.items() if task.form is None)
    thoughts = "<think>I cannot do that. Or is it $1,234.56?</think>\n"
    assert play(sessions, Script(calls=script.calls, answer=f"{thoughts}{script.answer}"), sessions.open(task_id)) == 1
    unended = Script(calls=script.calls, answer=f"<think>{script.answer}")
    assert play(sessions, unended, sessions.open(task_id)) == 0


def test_more_sessions_than_worlds_take_turns(
    mock_dataset: Path, golden_scripts: dict[str, tuple[Task, Script]]
) -> None:
    with Sessions(mock_dataset, most_worlds=2) as few:
        opened = {few.open(id_): golden_scripts[id_][1] for id_ in few.tasks}
        for place in range(max(len(script.calls) for script in opened.values())):
            for session_id, script in opened.items():
                for call in script.calls[place : place + 1]:
                    assert few.call(session_id, call.name, call.arguments).ok
        assert {few.finish(session_id, script.answer).score for session_id, script in opened.items()} == {1}


def test_what_a_call_may_not_do_is_a_result_that_whoever_plays_reads(
    sessions: Sessions, golden_scripts: dict[str, tuple[Task, Script]]
) -> None:
    session_id = sessions.open(sessions.tasks[0])
    [call, *_] = golden_scripts[sessions.tasks[0]][1].calls
    huge: dict[str, Any] = {"full_name": "x" * 10_000_000}
    told = [
        sessions.call(session_id, "fly", {}).error,
        sessions.call(session_id, call.name, {}).error,
        sessions.call(session_id, call.name, huge).error,
        sessions.call(session_id, call.name, {"full_name": float("nan")}).error,
    ]
    begins = [
        "there is no tool 'fly'; the tools are find_member, ",
        "invalid arguments: '",
        "The arguments have 10000017 characters; 100000 at most are read. Write them shorter.",
        "The arguments are not JSON: NaN is not JSON. Write them again as one JSON object.",
    ]
    assert [str(line)[: len(begin)] for line, begin in zip(told, begins, strict=True)] == begins
    sessions.finish(session_id, "No.")
    assert sessions.call(session_id, call.name, call.arguments).error == "not made: the final answer was given before"
    sessions.close(session_id)


def test_a_session_that_is_not_there_and_an_answer_that_is_missing_are_one_line_each(sessions: Sessions) -> None:
    session_id = sessions.open(sessions.tasks[0])
    with pytest.raises(UsageError, match="there is no final answer yet; give it"):
        sessions.finish(session_id)
    with pytest.raises(UsageError, match="an answer has 100,000 characters at most, this one 100,001"):
        sessions.finish(session_id, "x" * 100_001)
    with pytest.raises(UsageError, match="the person has said all in the request"):
        sessions.say(session_id, "Who are you?")
    sessions.close(session_id)
    for work in (sessions.close, sessions.view, sessions.finish, lambda gone: sessions.call(gone, "fly", {})):
        with pytest.raises(UsageError, match=f"no session '{session_id}' is open: it was closed, or idle for 1800 s"):
            work(session_id)
    with pytest.raises(UsageError, match=r"no task of .* has an id that begins with 'zz'"):
        sessions.open("zz")


def test_what_nobody_uses_is_closed_and_makes_room(mock_dataset: Path) -> None:
    now = [0.0]
    with Sessions(mock_dataset, idle_s=60, most=3, clock=lambda: now[0]) as sessions:
        first, second, _ = (sessions.open(id_) for id_ in sessions.tasks[:3])
        with pytest.raises(UsageError, match="3 sessions are open; close some, or wait until they were idle for 60 s"):
            sessions.open(sessions.tasks[0])
        now[0] = 50
        sessions.view(second)
        now[0] = 70
        fourth = sessions.open(sessions.tasks[3])
        assert len(sessions) == 2 and sessions.view(second).calls == sessions.view(fourth).calls == []
        with pytest.raises(UsageError, match=r"no session .* is open"):
            sessions.view(first)


def test_a_dialogue_is_asked_and_its_last_message_is_the_answer(tmp_path: Path) -> None:
    synthesize("mock", tmp_path / "mock", tasks=6, turns="dialogue", answer="message")
    with Sessions(tmp_path / "mock") as sessions:
        alone = next(task for task in sessions.tasks if not agenda(tmp_path / "mock", task))
        session_id = sessions.open(alone)
        thinks = "<think>It may be anybody: what is their name?</think>\n"
        heard = sessions.say(session_id, f"{thinks}Could you please tell me your date of birth?")
        assert isinstance(heard, str)
        assert sessions.view(session_id).talk == [
            {"after": 0, "said": "Could you please tell me your date of birth?", "heard": heard}
        ]
        assert sessions.say(session_id, f"{thinks}I am sorry, I cannot help you.") is None
        with pytest.raises(UsageError, match="the final answer was given; the person is gone"):
            sessions.say(session_id, "Hello?")
        assert sessions.finish(session_id).score == 0
        left = sessions.open(alone)
        assert [sessions.say(left, "What is your full name?") is None for _ in range(13)] == [False] * 12 + [True]
        assert sessions.finish(left).finding == "no answer: the person was asked more than 12 times, and left"
        assert sessions.solution(left).answer == ""


@pytest.fixture(scope="module")
def dialogues(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset of dialogues that a form ends."""
    out = tmp_path_factory.mktemp("dialogues") / "mock"
    synthesize("mock", out, tasks=12, turns="dialogue")
    return out


def test_a_dialogue_goes_on_until_its_form_is_filled(dialogues: Path) -> None:
    with Sessions(dialogues) as sessions:
        alone = next(task for task in sessions.tasks if not agenda(dialogues, task))
        session_id = sessions.open(alone)
        assert "call final_answer: it ends the conversation" in sessions.view(session_id).policy
        assert sessions.say(session_id, "Let me have a look.") == NOTED
        assert sessions.call(session_id, "final_answer", {"done": "none"}).value == {"taken": True}
        assert sessions.say(session_id, "Goodbye.") is None
        assert sessions.finish(session_id).score == 0
        assert sessions.solution(session_id).answer == '{"done":"none"}'


def test_the_person_comes_back_with_what_else_they_want_before_the_form_is_taken(dialogues: Path) -> None:
    with Sessions(dialogues) as sessions:
        task = next(task for task in sessions.tasks if len(agenda(dialogues, task)) == 1)
        (later,) = agenda(dialogues, task)
        session_id = sessions.open(task)
        assert sessions.call(session_id, "final_answer", {"done": "none"}).error == STILL_THERE
        assert sessions.say(session_id, "That is done.") == later
        assert sessions.say(session_id, "That is done too.") == NOTED
        assert sessions.call(session_id, "final_answer", {"done": "none"}).value == {"taken": True}


def agenda(dataset: Path, task_id: str) -> tuple[str, ...]:
    """What the person of a task comes back with."""
    rows = [row for rows in read_dataset(dataset).rows.splits.values() for row in rows]
    return next(task_of(row).candidate.agenda for row in rows if row["id"] == task_id)


def test_a_form_is_filled_by_a_call_which_does_not_tell_the_grade(forms: Path) -> None:
    with Sessions(forms) as sessions:
        session_id = sessions.open(sessions.tasks[0])
        assert "final_answer" in [tool["function"]["name"] for tool in sessions.view(session_id).tools]
        assert "'done' is a required" in str(sessions.call(session_id, "final_answer", {}).error)
        done = sessions.view(session_id).tools[-1]["function"]["parameters"]["properties"]["done"]["enum"]
        assert sessions.call(session_id, "final_answer", {"done": done[0]}).value == {"taken": True}
        assert sessions.call(session_id, "final_answer", {"done": done[0]}).error is not None
        assert sessions.finish(session_id).score in (0, 1)
