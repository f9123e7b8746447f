"""The verbs that put tasks before solvers: play, grade."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click

from toolscale.cli.judging import takes_judge
from toolscale.cli.output import as_json, echo_json, print_result, say
from toolscale.errors import UsageError

if TYPE_CHECKING:
    from toolscale.models.judging import JudgeSettings
    from toolscale.records import Grade, ToolCall
    from toolscale.session.playable import Playable
    from toolscale.session.sitting import Sitting
    from toolscale.session.solutions import BadLine, Graded
    from toolscale.session.transcript import View

Calls = list[tuple[str, "ToolCall"]]
"""Calls, each after the place where it stands."""

HELP = (
    'a call is a line such as: find_client {"full_name": "…"}; "answer" begins the final message, '
    '"say" a message to the person of a dialogue, an empty line ends it; "quit" leaves'
)


@click.command()
@click.argument("dataset", type=click.Path(path_type=Path))
@click.argument("task_id", metavar="[ID]", required=False)
@click.option("--list", "list_", is_flag=True, help="Print the ids of all tasks, and nothing else.")
@click.option("--session", type=click.Path(path_type=Path), help="The folder of the session.  [default: var/play/ID]")
@click.option(
    "--call",
    "given",
    multiple=True,
    metavar="JSON",
    help='Make a call: {"name": …, "arguments": {…}}. Several are made in order.',
)
@click.option(
    "--calls",
    type=click.File("r", encoding="utf-8"),
    metavar="FILE",
    help="Make the calls of a file, one a line; - is standard input.",
)
@click.option("--say", "said", metavar="TEXT", help="Say something to the person of a dialogue, who answers.")
@click.option("--answer", metavar="TEXT", help="Give the final message: the session is over, and graded.")
@click.option(
    "--answer-from",
    type=click.File("r", encoding="utf-8"),
    metavar="FILE",
    help="The same from a file; - is standard input.",
)
@click.option(
    "--brief",
    is_flag=True,
    help="Leave policy and tools out, which are the same for all tasks of a domain; final_answer is shown.",
)
@takes_judge
@as_json
@click.pass_context
def play(
    context: click.Context,
    dataset: Path,
    task_id: str | None,
    list_: bool,
    session: Path | None,
    given: Sequence[str],
    calls: TextIO | None,
    said: str | None,
    answer: str | None,
    answer_from: TextIO | None,
    brief: bool,
    judge: JudgeSettings | None,
    json_: bool,
) -> None:
    """Solve the task ID of DATASET (the first letters are enough; --list prints all ids) without seeing its solution.

    Shown are the policy, the tools and the request. Calls are made in the task's own world; after them comes one final
    message to the person who asked (or, if the task has the tool final_answer, a call of it), and then, and only then,
    the grade. In a dialogue part of what is needed is told only when asked: --say sends the person a message; one that
    asks for nothing is the final one. On a terminal it asks for calls and messages; otherwise they are options, over as
    many commands as wanted: the state is kept in the session folder. Exits 1 if the grade is 0, also where rules cannot
    grade the final message and no judge was named: then it is called undecided.

    \b
      toolscale play DATASET ID --session s1
      toolscale play DATASET --session s1 --call '{"name": "list_bills", "arguments": {"client_id": "cl_1154"}}'
      toolscale play DATASET --session s1 --call '{"name": "final_answer", "arguments": {"done": "all"}}'
    """
    from toolscale.session.playable import Playable
    from toolscale.session.sitting import Sitting

    playable = Playable(dataset)
    try:
        if list_:
            return echo_json(playable.ids) if json_ else say("\n".join(playable.ids))
        folder = session or Path("var/play") / playable.task(_wanted(task_id, dataset)).id
        wanted = _calls(given, calls)
        message = _read(answer_from) if answer_from is not None else answer
        if said is not None and message is not None:
            raise UsageError("--say and --answer do not go together; a message that asks for nothing is the answer")
        with Sitting.at(folder, playable, task_id, judge) as sitting:
            grade = _sit(sitting, wanted, said, message, brief=brief, json_=json_)
    finally:
        playable.close()
    context.exit(0 if grade is None or grade.score else 1)


@click.command()
@click.argument("dataset", type=click.Path(path_type=Path))
@click.argument("file", type=click.File("r", encoding="utf-8"))
@takes_judge
@as_json
@click.pass_context
def grade(context: click.Context, dataset: Path, file: TextIO, judge: JudgeSettings | None, json_: bool) -> None:
    """Grade the recorded solutions in FILE (- is standard input): one JSON object a line with the keys task, calls and
    answer.

    One grade a line, in the same order; `solution.json` of a session is such a line. What cannot be graded is named,
    and the rest is graded all the same; then the exit status is 2. A message that rules cannot grade counts as wrong
    and is called undecided, unless a judge is named, who reads it. One on which the judge gives no verdict stays
    undecided; how many those are is said at the end, and the exit status is 1, or 2 where the judge refuses.
    """
    from toolscale.session.playable import Playable
    from toolscale.session.solutions import BadLine, grade_solutions

    playable, why = Playable(dataset), ""
    try:
        found = list(grade_solutions(playable, _read(file).split("\n")))
        is_bad = any(isinstance(each, BadLine) for each in found)
        if judge is not None:
            found, why, refuses = _judged(playable, found, judge)
            is_bad |= refuses
    finally:
        playable.close()
    shown = list[dict[str, Any]]()
    for each in found:
        if isinstance(each, BadLine):
            say(f"toolscale: {file.name}: line {each.line}: {each.problem}", err=True)
        elif json_:
            shown.append({"line": each.line, "task": each.solution.task, **each.grade.model_dump(mode="json")})
        else:
            say(f"{each.solution.task}  {each.grade.score}  {each.grade.finding}")
    if json_:
        echo_json(shown)
    if why:
        say(f"toolscale: {why}", err=True)
    context.exit(2 if is_bad else 1 if why else 0)


def _judged(
    playable: Playable, found: list[Graded | BadLine], judge: JudgeSettings
) -> tuple[list[Graded | BadLine], str, bool]:
    """Return what was graded as the judge decides it, why messages have no verdict (empty if all have), and whether it
    refuses to be asked: what rules have graded is told all the same."""
    from toolscale.models.judging import judge_model
    from toolscale.session.judged import decide_solutions
    from toolscale.session.solutions import BadLine

    graded = [each for each in found if not isinstance(each, BadLine)]
    if not any(each.grade.undecided for each in graded):
        return found, "", False
    judge_model(judge)  # half a judge is not one that refuses
    try:
        decided = decide_solutions(playable, [(each.solution, each.grade) for each in graded], judge)
    except UsageError as error:
        return found, str(error), True
    grades = iter(decided.grades)
    anew = [each if isinstance(each, BadLine) else replace(each, grade=next(grades)) for each in found]
    told = f"{decided.lost} messages have no verdict and stay undecided; the last: {decided.last}"
    return anew, told if decided.lost else "", False


def _wanted(task_id: str | None, dataset: Path) -> str:
    if task_id is None:
        raise UsageError(
            f"say which task: toolscale play {dataset} ID, or --session FOLDER to go on; "
            f"toolscale play {dataset} --list prints all ids"
        )
    return task_id


def _calls(given: Sequence[str], file: TextIO | None) -> Calls:
    """Read all calls before any is made."""
    from toolscale.session.sitting import read_call

    lines = [(f"--call {number}: " if len(given) > 1 else "", line) for number, line in enumerate(given, 1)]
    if file is not None:
        lines += [(f"{file.name}: line {number}: ", line) for number, line in enumerate(_read(file).split("\n"), 1)]
    calls = Calls()
    for place, line in lines:
        if line.strip():
            with _at(place):
                calls.append((place, read_call(line)))
    return calls


def _read(file: TextIO) -> str:
    try:
        return file.read()
    except UnicodeDecodeError as error:
        raise UsageError(f"{file.name}: byte {error.start} is not UTF-8; write the file again") from error


@contextmanager
def _at(place: str) -> Iterator[None]:
    """Say of what goes wrong where it stands."""
    try:
        yield
    except UsageError as error:
        raise UsageError(f"{place}{error}") from error


def _check(sitting: Sitting, calls: Calls, spoken: bool) -> str | None:
    """Return the final answer if the last call is it. UsageError if one of the calls cannot be made: none is made
    then. `spoken`: a message is given too."""
    for number, (place, call) in enumerate(calls, 1):
        with _at(place):
            if not sitting.is_answer(sitting.read_call(call.name, call.arguments)):
                continue
            if number < len(calls):
                raise UsageError(f"{call.name} ends the session, and calls come after it; make it the last one")
            if spoken:
                raise UsageError(f"{call.name} is the final answer; leave --say and --answer out, or give it later")
            answer = json.dumps(call.arguments, ensure_ascii=False)
            sitting.check_answer(answer)
            return answer
    return None


def _sit(
    sitting: Sitting,
    given: Calls,
    said: str | None,
    message: str | None,
    *,
    brief: bool,
    json_: bool,
) -> Grade | None:
    """Do what one command asks for; the grade, if the final message was given."""
    calls = [call for _, call in given]
    filled = _check(sitting, given, said is not None or message is not None)
    if filled is not None:
        calls, message = calls[:-1], filled
    results = [
        {"call": call.model_dump(mode="json"), "result": sitting.call(call).model_dump(mode="json")} for call in calls
    ]
    ended = sitting.grade if results else None  # by a limit of the sandbox
    reply = sitting.say(said) if said is not None else sitting.finish(message) if message is not None else ended
    heard, grade = (reply, None) if isinstance(reply, str) else (None, reply)
    if json_:
        is_under_way = bool(calls) or reply is not None
        shown = {} if brief and is_under_way else _facts(sitting.view(), brief)
        told = {"session": str(sitting.folder), **shown, "results": results}
        told |= {"heard": heard} if heard is not None else {}
        echo_json(told | ({"grade": grade.model_dump(mode="json")} if grade else {}))
        return grade
    if not calls and reply is None:
        from toolscale.cli.screen import print_view

        print_view(sitting.view(), brief=brief)
        if sys.stdin.isatty() and sys.stdout.isatty() and sitting.grade is None:
            grade = _converse(sitting)
    for made in results:
        print_result(made["result"])
    if heard is not None:
        say(f"the person: {heard}")
    if grade is not None:
        say(f"score {grade.score}: {grade.finding}")
    return grade


def _facts(view: View, brief: bool) -> dict[str, Any]:
    """What a solver sees, as JSON; `brief`: without what is the same for all tasks of the domain."""
    facts = asdict(view)
    return {name: facts[name] for name in facts if name != "policy"} | {"tools": view.own_tools} if brief else facts


def _text() -> str:
    """Read lines up to an empty one."""
    return "\n".join(iter(lambda: click.prompt("", prompt_suffix="  ", default="", show_default=False), ""))


def _converse(sitting: Sitting) -> Grade | None:
    """Ask a person for calls, and for the final message."""
    click.echo(HELP)
    while (line := click.prompt("", prompt_suffix="> ").strip()) != "quit":
        if line == "answer":
            return sitting.finish(_text())
        if line == "say":
            reply = sitting.say(_text())
            if not isinstance(reply, str):
                return reply
            say(f"the person: {reply}")
            continue
        name, _, arguments = line.partition(" ")
        try:
            call = sitting.read_call(name, arguments)
            if sitting.is_answer(call):
                return sitting.finish(json.dumps(call.arguments, ensure_ascii=False))
            print_result(sitting.call(call).model_dump(mode="json"))
        except UsageError as error:
            say(f"{error}; {HELP}")
    return None
