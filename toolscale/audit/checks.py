"""What is wrong with tasks, found from what was executed and from what their texts hold. Pure: no file, no process."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from functools import cache
from typing import TypeVar

from toolscale.audit.examined import Examined, Run
from toolscale.audit.found import Finding, Kind, Undecided
from toolscale.audit.needles import wrong_sentence
from toolscale.audit.stated import look_for

Found = Finding | Undecided
Key = TypeVar("Key", bound=Hashable)

NOT_RUN = "it takes the tools and the database to tell, and the dataset has none"


def check_tasks(tasks: Sequence[Examined]) -> Iterator[Found]:
    """Yield what is found in what the tasks of one domain do, and what cannot be told of it."""
    for task in tasks:
        yield from _criteria(task)
        yield from _calls(task)
        yield from _runs(task)
    yield from _shared(tasks)


def check_texts(tasks: Sequence[Examined]) -> Iterator[Found]:
    """Yield what is found in their texts, for tasks that are graded as tau2 grades."""
    for task in tasks:
        yield from _needles(task)
        yield from _arguments(task)


def _criteria(task: Examined) -> Iterator[Found]:
    if not task.basis:
        yield Finding("empty_criteria", (task.id,), "criteria", "the task has none: every run gets the reward")
    elif not (task.calls or task.needles or task.assertions):
        yield Finding("empty_criteria", (task.id,), "criteria", "no call, no text to say and no assertion is named")
    for told in task.hollow:
        yield Finding("empty_part", (task.id,), "reward", told)
    for told in task.ungraded:
        yield Finding("not_graded", (task.id,), "reward", told)


def _calls(task: Examined) -> Iterator[Found]:
    for place, call in enumerate(task.calls, 1):
        if call.error is not None:
            yield Finding("golden_fails", (task.id,), f"call {place}", f"{call}: {call.error}")
        elif call.writes and call.changed is False:
            yield Finding("no_effect", (task.id,), f"call {place}", f"{call} writes, and all is as it was before")
    if any(call.result is None and call.error is None for call in task.calls):
        yield Undecided("golden_fails", (task.id,), NOT_RUN)
        yield Undecided("no_effect", (task.id,), NOT_RUN)


def _runs(task: Examined) -> Iterator[Found]:
    if (idle := _won("idle_wins", task, task.idle)) is not None:
        yield idle
    if isinstance(idle, Undecided) or idle is None:
        words = _won("words_win", task, task.words)
        if words is not None and not (isinstance(idle, Undecided) and isinstance(words, Undecided)):
            yield words
    yield from _golden(task)


def _golden(task: Examined) -> Iterator[Found]:
    run = task.golden
    if run is None or run.reward is None or run.reward > 0:
        if run is not None and run.reward is None:
            yield Undecided("golden_loses", (task.id,), run.why)
        return
    if not task.calls and task.assertions:
        yield Undecided("golden_loses", (task.id,), "it has assertions, and no golden answer that could be tried")
        return
    lost = ", ".join(name for name, value in run.parts.items() if not value)
    comma = [needle for needle in task.needles if "," in needle]
    why = f"; {comma[0]!r} has a comma, and commas are taken out of what is said" if comma else ""
    yield Finding("golden_loses", (task.id,), "reward", f"not met: {lost or 'the answer'}{why}")


def _won(kind: Kind, task: Examined, run: Run | None) -> Found | None:
    if run is None:
        return Undecided(kind, (task.id,), NOT_RUN)
    if run.reward is None:
        return Undecided(kind, (task.id,), run.why)
    if run.reward <= 0:
        return None
    lost = [place for place, call in enumerate(task.calls, 1) if call.error is not None and call.writes]
    if not task.calls:
        why = "the task has no golden call, so there is nothing to do"
    elif lost:
        why = f"golden call {lost[0]} should write and fails, so its change is no part of the goal"
    elif task.idles:
        number = len(task.calls)
        all_of_them = f"the {number} golden calls change" if number > 1 else "the golden call changes"
        why = f"{all_of_them} no row, and neither does an agent that makes none"
    else:
        why = "the reward does not count what the calls change"
    parts = ", ".join(f"{name} {value:g}" for name, value in run.parts.items()) or "it has no part"
    told = f"an agent that makes no call and says {run.said!r} gets the reward {run.reward:g} ({parts})"
    return Finding(kind, (task.id,), "reward", f"{told}: {why}")


def _needles(task: Examined) -> Iterator[Found]:
    """Say which needles stand in something else. `COMMUNICATE` looks for them as tau2 does: anywhere in a message."""
    graded = "" if "COMMUNICATE" in task.basis else " (the reward does not count it)"
    texts = [
        *(("the instructions", text) for text in task.told),
        *((f"the result of call {place}", call.result or "") for place, call in enumerate(task.calls, 1)),
        *(("the policy and the tools", text) for text in task.heard),
    ]
    for needle in task.needles:
        wrong = wrong_sentence(needle, texts)
        if wrong is not None:
            yield Finding("weak_needle", (task.id,), repr(needle), f"{wrong.told}{graded}")


def _arguments(task: Examined) -> Iterator[Found]:
    """Say which arguments were in no text before their call; those of one call are one finding, and each value is told
    once: a later call may have it from the earlier one."""
    texts, known = [*task.told, *task.heard], set[str]()
    stored = cache(lambda: json.dumps(task.databases, ensure_ascii=False))
    missing = "" if task.heard else "the policy and the tools are not there"
    for place, call in enumerate(task.calls, 1):
        lost: dict[Kind, list[str]] = {"unsaid": [], "unread": []}
        for path, value, why in look_for(call.arguments, texts):
            told = f"{path} {value!r}"
            if why or missing:
                reason = why or f"is in no text of the row; {missing}"
                yield Undecided("unsaid", (task.id,), f"call {place}, {told} {reason}")
            elif repr(value) not in known:
                known.add(repr(value))
                is_stored = bool(task.databases) and not any(look_for(value, [stored()]))
                lost["unread" if is_stored else "unsaid"].append(told)
        for kind, parts in lost.items():
            if parts:
                also = "; nor does the database" if task.databases else ""
                also = "; the database holds it" if kind == "unread" else also
                evidence = f"{call.name}: nothing that was said before holds {', '.join(parts)}{also}"
                yield Finding(kind, (task.id,), f"call {place}", evidence)
        texts.append(call.result or call.error or "")
        if call.result is None and call.error is None:
            missing = missing or "results of earlier calls are not there"


def _shared(tasks: Sequence[Examined]) -> Iterator[Finding]:
    """Yield the goals that tasks share. Those that change nothing share one state: their other criteria tell them
    apart."""
    for (what, _), group in _groups((goal, task) for task in tasks if (goal := _goal_of(task)) is not None):
        whole = _groups((repr((sorted(task.needles), sorted(task.assertions), task.basis)), task) for task in group)
        same = [part for _, part in whole]
        changes = group[0].idles is False or (group[0].idles is None and bool(group[0].calls))
        if changes and not (len(same) == 1 and len(same[0]) == len(group)):
            yield _shared_by("shared_state", group, f"all have the same {what}; what else is graded differs")
        for part in same:
            told = f"all have the same {what}" if changes else "nothing is to change in any of them"
            yield _shared_by("shared_goal", part, f"{told}, and all else that is graded is equal{_wanted(part[0])}")


def _goal_of(task: Examined) -> tuple[str, str] | None:
    """Return what tells the goal, and the goal itself; None if nothing is compared with it."""
    if not task.basis:
        return None
    if task.goal is not None:
        return "end state", task.goal
    calls = [(call.name, sorted(call.arguments.items(), key=repr)) for call in task.calls]
    return "list of calls", repr(calls)


def _groups(keyed: Iterable[tuple[Key, Examined]]) -> list[tuple[Key, list[Examined]]]:
    found: dict[Key, list[Examined]] = defaultdict(list)
    for key, task in keyed:
        found[key].append(task)
    return [(key, group) for key, group in found.items() if len(group) > 1]


def _shared_by(kind: Kind, group: Sequence[Examined], told: str) -> Finding:
    return Finding(kind, tuple(task.id for task in group), "goal", told)


def _wanted(task: Examined) -> str:
    return f" (to be said: {', '.join(map(repr, task.needles))})" if task.needles else ""
