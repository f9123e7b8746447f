"""Runs under a Python that has tau2, and writes what tau2's own loaders, environments and evaluators say: JSON lines.

It is started as a file of its own, loads nothing of this package, and needs tau2 1.0 or later. Arguments: the domain,
the file to write, and, where only what an agent is worth that does nothing is asked, `idle` and the ids of tasks.
The lines: one `domain`, a `task` or `broken` for each task, one `end`; or an `idle` for each task, and the `end`.
What it prints is for people.
"""

# mypy: ignore-errors

from __future__ import annotations

import functools
import hashlib
import inspect
import json
import sys
from importlib.metadata import version

IDLE = "I am sorry, I cannot do that."
RETRIEVAL = "full_kb"
"""All documents stand in the policy. The others need a client of some provider, or a sandbox."""
CALLERS = {"call_discoverable_agent_tool": "agent_tool_name", "call_discoverable_user_tool": "discoverable_tool_name"}
"""Tools that call the tool that an argument names."""


def dumped(value):
    return value.model_dump(mode="json") if hasattr(value, "model_dump") else value


def constructor_of(make, actions):
    """Return the constructor of a domain for a task with these golden calls: with a retrieval that needs no key, and
    with the look-ups among them logged, as in a run of tau2."""
    called = {(action.arguments or {}).get(CALLERS[action.name]) for action in actions if action.name in CALLERS}
    known = {"retrieval_variant": RETRIEVAL, "read_log_allowlist": called - {None}}
    taken = inspect.signature(make).parameters
    return functools.partial(make, **{name: value for name, value in known.items() if name in taken})


def golden_of(task):
    return list((task.evaluation_criteria and task.evaluation_criteria.actions) or [])


def kits_of(environment):
    kits = {"agent": environment.tools, "user": environment.user_tools}
    return {name: kit for name, kit in kits.items() if kit}


def databases_of(environment):
    """Return what the databases hold. In some domains the person has that of the agent."""
    found = {name: kit.db for name, kit in kits_of(environment).items() if kit.db is not None}
    if found.get("user") is found.get("agent"):
        found.pop("user", None)
    return {name: dumped(database) for name, database in found.items()}


def differences(before, after, path=()):
    """Yield where two values differ: the path, and what stands there afterwards, if anything does."""
    if not (isinstance(before, dict) and isinstance(after, dict)):
        if before != after:
            yield {"path": path, "value": after}
        return
    for name in {**before, **after}:
        if name not in after:
            yield {"path": (*path, name)}
        elif name not in before:
            yield {"path": (*path, name), "value": after[name]}
        else:
            yield from differences(before[name], after[name], (*path, name))


def state_of(environment):
    """Return one text for the state of both databases."""
    return f"{environment.get_db_hash()} {environment.get_user_db_hash()}"


def kept_by(environment):
    """Return one text for all that the tools keep: the databases, and what they note beside them."""
    noted = [{name: kept for name, kept in vars(kit).items() if name != "db"} for kit in kits_of(environment).values()]
    return f"{state_of(environment)} {noted!r}"


def writes(environment, action):
    """Whether a call changes something: one that calls another tool does if that one does."""
    called = (action.arguments or {}).get(CALLERS.get(action.name), action.name)
    return environment._is_mutating_tool(str(called))


def opened(make, task):
    """Return a fresh environment in the state that the task begins with."""
    environment, initial = make(), task.initial_state
    environment.set_state(
        initialization_data=initial and initial.initialization_data,
        initialization_actions=initial and initial.initialization_actions,
        message_history=(initial and initial.message_history) or [],
    )
    return environment


def played(environment, actions):
    """Make golden calls, as the evaluator makes them, and return what came of each."""
    calls, kept = [], kept_by(environment)
    for action in actions:
        call = {"name": action.name, "arguments": action.arguments, "writes": writes(environment, action)}
        call["compared"] = getattr(action, "compare_args", None)
        try:
            result = environment.make_tool_call(action.name, action.requestor, **action.arguments)
            call["result"] = environment.to_json_str(result)
        except Exception as error:
            call["error"] = f"{type(error).__name__}: {error}"
        before, kept = kept, kept_by(environment) if call["writes"] else kept
        calls.append({**call, "changed": kept != before})
    return calls


def trajectory(make, task, said, acting):
    """Return the messages of an agent that makes the golden calls, or none, and then says something."""
    from tau2.data_model.message import AssistantMessage, ToolCall, UserMessage

    history = list((task.initial_state and task.initial_state.message_history) or [])
    messages = []
    if acting:
        environment = opened(make, task)
        for place, action in enumerate(golden_of(task)):
            call = ToolCall(
                id=f"call_{place}", name=action.name, arguments=action.arguments, requestor=action.requestor
            )
            sort = UserMessage if action.requestor == "user" else AssistantMessage
            messages.append(sort(role=action.requestor, content=None, tool_calls=[call]))
            messages.append(environment.get_response(call))
    return [*history, *messages, AssistantMessage(role="assistant", content=said)]


def graded(make, task, said, acting=False):
    """Return what tau2's own evaluators give for each part of the reward. A part that a model judges is left out."""
    from tau2.data_model.tasks import RewardType
    from tau2.evaluator.evaluator_action import ActionEvaluator
    from tau2.evaluator.evaluator_communicate import CommunicateEvaluator
    from tau2.evaluator.evaluator_env import EnvironmentEvaluator

    criteria = task.evaluation_criteria
    if criteria is None:
        return {"said": said, "parts": {}, "judged": False}
    messages, parts, judged = trajectory(make, task, said, acting), {}, False
    found = EnvironmentEvaluator.calculate_reward(environment_constructor=make, task=task, full_trajectory=messages)
    for part in criteria.reward_basis:
        if part in (RewardType.DB, RewardType.ENV_ASSERTION):
            parts[part.value] = (found.reward_breakdown or {}).get(part, found.reward)
        elif part is RewardType.COMMUNICATE:
            parts[part.value] = CommunicateEvaluator.calculate_reward(task=task, full_trajectory=messages).reward
        elif part is RewardType.ACTION:
            parts[part.value] = ActionEvaluator.calculate_reward(task=task, full_trajectory=messages).reward
        elif criteria.nl_assertions:
            judged = True
        else:
            parts[part.value] = 1.0  # tau2 asks no model where nothing is asserted, and counts it as met
    return {"said": said, "parts": parts, "judged": judged}


def worth(make, task, said, acting=False):
    """Return the same, or why the evaluators cannot tell: an assertion on what nobody made is an exception in them."""
    try:
        return graded(make, task, said, acting)
    except Exception as error:
        return {"said": said, "error": f"{type(error).__name__}: {error}"}


def examined(make, task, fresh):
    """Return all that is asked of a task. `fresh`: state and databases of an environment as the domain makes it."""
    criteria = task.evaluation_criteria
    make = constructor_of(make, golden_of(task))
    environment = opened(make, task)
    start = state_of(environment)
    changes = list(differences(fresh[1], databases_of(environment))) if start != fresh[0] else []
    calls = played(environment, golden_of(task))
    needles = list((criteria and criteria.communicate_info) or [])
    answer = ". ".join(needles) or "Done."
    initial = task.initial_state
    setting = json.dumps(dumped(initial), sort_keys=True) if initial else ""
    return {
        "kind": "task",
        "id": task.id,
        "scenario": dumped(task.user_scenario),
        "ticket": task.ticket,
        "history": dumped(initial).get("message_history") if initial else None,
        "setting": hashlib.sha256(setting.encode()).hexdigest() if setting else "",
        "has_criteria": criteria is not None,
        "basis": [part.value for part in criteria.reward_basis] if criteria else [],
        "needles": needles,
        "nl_assertions": list((criteria and criteria.nl_assertions) or []),
        "env_assertions": [dumped(each) for each in (criteria and criteria.env_assertions) or []],
        "calls": calls,
        "differences": changes,
        "start": start,
        "goal": state_of(environment),
        "idle": worth(make, task, IDLE),
        "words": worth(make, task, answer) if needles else None,
        "golden": worth(make, task, answer, acting=criteria is not None),
    }


def described(make):
    """Return what is said of a domain, and the state and databases of an environment as it makes it."""
    environment = constructor_of(make, [])()
    fresh = state_of(environment), databases_of(environment)
    tools = [tool.openai_schema for kit in kits_of(environment).values() for tool in kit.get_tools().values()]
    return {"policy": environment.get_policy(), "tools": tools, "databases": fresh[1]}, fresh


def idling(make, task):
    """Return what an agent is worth that does nothing."""
    found = worth(constructor_of(make, golden_of(task)), task, IDLE)
    return {"kind": "idle", "id": task.id, **found}


def main(domain, out, what="", *ids):
    def say(line):
        print(json.dumps(line, default=str), file=out, flush=True)

    from loguru import logger
    from tau2.registry import registry

    logger.remove()  # it writes a line for each call that is made
    make, tasks = registry.get_env_constructor(domain), registry.get_tasks_loader(domain)
    tasks = [task for task in tasks(None) if not ids or task.id in ids]
    if what == "idle":
        ask = functools.partial(idling, make)
    else:
        told, fresh = described(make)
        say({"kind": "domain", "tau2": version("tau2"), "tasks": len(tasks), **told})
        ask = functools.partial(examined, make, fresh=fresh)
    for number, task in enumerate(tasks, 1):
        try:
            say(ask(task))
        except Exception as error:
            say({"kind": "broken", "id": task.id, "error": f"{type(error).__name__}: {error}"})
        print(f"Status: {number}/{len(tasks)} complete.", flush=True)
    say({"kind": "end"})


if __name__ == "__main__":
    with open(sys.argv[2], "w", encoding="utf-8") as lines:  # noqa: PTH123
        main(sys.argv[1], lines, *sys.argv[3:])
