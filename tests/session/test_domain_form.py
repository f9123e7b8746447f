"""One `final_answer` for all tasks of a domain, for hosts that bind tools to an environment: what an agent is told,
what it may call, and what it hears of a call that does not fit."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from domain_forms import of_domain

from toolscale.environment.builtins import FINAL_ANSWER
from toolscale.errors import UsageError
from toolscale.records import ToolCall
from toolscale.session.playable import Playable
from toolscale.session.sessions import MOST_TRIES, Sessions
from toolscale.tasks.form import Field, Form, flat_form, with_listing

pytestmark = pytest.mark.xdist_group("domain forms")

PARAMETERS = Form(
    (
        Field("left_cents", "money", "left in the account", listed=False, labelled=False),
        Field("names", "text", "names", listed=True, labelled=False),
        Field("limits_cents", "money", "limits", listed=True, labelled=True),
    )
).parameters
VALUES = {"left_cents": 1250, "names": None, "limits_cents": [{"of": "card 1234", "value": 500}]}


@pytest.fixture(scope="module")
def sessions(forms: Path) -> Iterator[Sessions]:
    with Sessions(forms, domain_form=True) as opened:
        yield opened


@pytest.fixture(scope="module")
def right(forms: Path) -> dict[str, tuple[tuple[ToolCall, ...], str]]:
    """Task -> its golden calls and its filled form."""
    playable = Playable(forms)
    keys = {id_: playable.domain(playable.task(id_)).key(playable.task(id_)).right for id_ in playable.ids}
    playable.close()
    return {id_: (key.calls, key.answer) for id_, key in keys.items()}


@pytest.fixture
def asking(sessions: Sessions, right: dict[str, tuple[tuple[ToolCall, ...], str]]) -> tuple[str, dict[str, Any]]:
    """A session of a task that asks for something, all of it done, and the call that answers it."""
    task, (calls, answer) = next((id_, key) for id_, key in right.items() if of_domain(key[1])["values"])
    opened = sessions.open(task)
    for call in calls:
        assert sessions.call(opened, call.name, call.arguments).ok
    return opened, of_domain(answer)


def test_a_request_lists_what_values_takes() -> None:
    assert with_listing("Pay it.", PARAMETERS) == (
        "Pay it.\n\n---\n"
        "Not said by the person: `values` of final_answer takes these, null where one does not apply:\n"
        "- left_cents (integer): Left in the account, in whole cents.\n"
        "- names (list of string): Names, as the tools show it; one for each.\n"
        '- limits_cents (list of {"of": which one, "value": integer}): Limits, in whole cents; one for each.'
    )
    nothing = "Pay it.\n\n---\nNot said by the person: `values` of final_answer takes nothing here: {}"
    assert with_listing("Pay it.", Form(()).parameters) == nothing
    assert with_listing("Pay it.", None) == "Pay it."


def test_all_tasks_show_one_tool_and_each_lists_its_own_names(sessions: Sessions, forms: Path) -> None:
    playable, tools = Playable(forms), set()
    for id_ in playable.ids:
        view, task = sessions.view(sessions.open(id_)), playable.task(id_)
        tools.add(json.dumps(view.tools))
        assert view.messages[-1]["content"] == view.request == with_listing(task.request, task.form)
    [shown] = tools
    assert json.loads(shown)[-1]["function"]["parameters"]["properties"].keys() == {"done", "values", "reasons"}


def test_every_right_form_scores_1_as_a_call_flat_or_not_and_as_a_message(
    sessions: Sessions, right: dict[str, tuple[tuple[ToolCall, ...], str]]
) -> None:
    for task, (calls, answer) in right.items():
        for arguments in (of_domain(answer), json.loads(answer), None):
            opened = sessions.open(task)
            assert all(sessions.call(opened, call.name, call.arguments).ok for call in calls)
            if arguments is not None:
                assert sessions.call(opened, FINAL_ANSWER, arguments).value == {"taken": True}
            said = json.dumps(of_domain(answer))
            assert sessions.finish(opened, said).score == 1
            sessions.close(opened)


@pytest.mark.parametrize(
    ("given", "flat"),
    [
        ({"done": "all", "values": VALUES}, {"done": "all", **VALUES}),
        ({"done": "all", **VALUES, "reasons": []}, {"done": "all", "reasons": [], **VALUES}),
        ([1], [1]),
        (
            {"done": "all", "values": {**VALUES, "fee": 1}},
            'values takes no "fee"; what is asked for is "left_cents", "names", "limits_cents"',
        ),
        (
            {"done": "all", "fee": 1, **VALUES},
            'values takes no "fee"; what is asked for is "left_cents", "names", "limits_cents"',
        ),
        (
            {"done": "all", "values": VALUES, "left_cents": 7},
            '"left_cents" cannot stand beside values; what is asked for is "left_cents", "names", "limits_cents"',
        ),
        (
            {"done": "all", "values": [{"name": "left_cents", "value": 1250}]},
            'values is [{"name": "left_cents", "value": 1250}], and takes an object: "left_cents", "names", '
            '"limits_cents"',
        ),
        (
            {"done": "all", "values": {"left_cents": 1250}},
            'values lacks "names", "limits_cents"; give null where one does not apply',
        ),
    ],
)
def test_a_form_of_the_domain_is_made_flat_or_refused_in_one_line(given: Any, flat: Any) -> None:
    try:
        made = json.loads(flat_form(PARAMETERS, json.dumps(given)))
    except UsageError as error:
        made = str(error)
    assert made == flat


def test_names_that_are_missing_at_the_end_are_null() -> None:
    given = json.dumps({"done": "all", "values": {"left_cents": 1250}})
    assert json.loads(flat_form(PARAMETERS, given, whole=False)) == {"done": "all", "left_cents": 1250}


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, '{"values": ' * 10_000, '"all"', "1e999"])
def test_what_is_no_object_comes_back_as_it_is(text: str) -> None:
    assert flat_form(PARAMETERS, text) == text


def test_a_call_that_does_not_fit_is_told_what_is_wrong_and_can_be_made_again(
    sessions: Sessions, asking: tuple[str, dict[str, Any]]
) -> None:
    opened, arguments = asking
    names = [*arguments["values"]]
    asked = ", ".join(f'"{name}"' for name in names)
    tried = [
        {**arguments, "values": {**arguments["values"], "surprise": 1}},
        {**arguments, "values": {}},
        arguments,
    ]
    assert [sessions.call(opened, FINAL_ANSWER, each).model_dump(exclude_none=True) for each in tried] == [
        {"error": f'values takes no "surprise"; what is asked for is {asked}; call it again (2 more)'},
        {"error": f"values lacks {asked}; give null where one does not apply; call it again (1 more)"},
        {"value": {"taken": True}},
    ]
    assert sessions.finish(opened).score == 1


def test_the_third_call_that_does_not_fit_counts_as_it_is(
    sessions: Sessions, asking: tuple[str, dict[str, Any]]
) -> None:
    opened, arguments = asking
    wrong = {**arguments, "done": "yes"}
    *_, last = [sessions.call(opened, FINAL_ANSWER, wrong).error for _ in range(MOST_TRIES)]
    fault = "the answer is no filled form: done: 'yes' is not one of ['all', 'part', 'none']"
    takes = "final_answer takes done, values and reasons"
    assert last == f"{fault}; {takes}; this was the last call, and it counts as it is"
    again = sessions.call(opened, FINAL_ANSWER, arguments).error
    assert again == "not made: the final answer was given before"
    grade = sessions.finish(opened, json.dumps(arguments), last=True)
    assert (grade.score, grade.finding) == (0, f"{fault}; {takes}")
    assert json.loads(sessions.solution(opened).answer) == wrong


def test_elsewhere_a_task_keeps_the_tool_of_its_own(forms: Path, asking: tuple[str, dict[str, Any]]) -> None:
    with Sessions(forms) as others:
        opened = others.open(others.tasks[0])
        shown = others.view(opened).tools[-1]["function"]["parameters"]["properties"]
        assert "values" not in shown
        _, arguments = asking
        for _ in range(MOST_TRIES + 1):
            assert str(others.call(opened, FINAL_ANSWER, arguments).error).endswith(
                "give the fields of final_answer as one JSON object"
            )
