"""The reward of tau2-bench 1.0.1 from a trajectory alone, as far as that is possible without its environment.

Reward: the product over what the task is rewarded for; 0 if the conversation did not come to its own end. DB compares
end states, which only a replay in tau2's own environment gives: where tau2 recorded what it found, that holds; else the
calls that write are compared, and what they cannot decide is unscored.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from eval.benchmark import Graded
from eval.grading import NOBODY
from toolscale.audit.needles import passes
from toolscale.strict_json import read_json
from toolscale.tau2.driver import IDLE
from toolscale.tau2.files import Action, Simulation, Tau2Call, Tau2Task

JUDGE = "tau2 1.0.1"
ENDED = frozenset({"agent_stop", "user_stop"})
BROKEN = frozenset({"infrastructure_error"})
"""tau2 takes such trials out before it counts; here they are errors."""

_READS = re.compile(
    r"(?:get|search|list|find|calculate|think|check|look)(?:_|$)|transfer_to_human_agents$|(?:kb|KB)_", re.ASCII
)
"""Names of tools that change nothing, as the domains of tau2 have them."""


def grade_simulation(task: Tau2Task, simulation: Simulation) -> Graded:
    """Return the reward of a trajectory: 1, 0, or none where something of it cannot be told from here."""
    if simulation.ending in BROKEN:
        return Graded("error", None, f"the trial broke: {simulation.error or simulation.ending}", NOBODY)
    if simulation.ending not in ENDED:
        return Graded("scored", 0.0, f"no end of its own: {simulation.ending or 'cut off'}", JUDGE)
    parts = {name: _part(name, task, simulation) for name in task.basis}
    if failed := [name for name, met in parts.items() if met is False]:
        return Graded("scored", 0.0, f"not met: {', '.join(failed)}", JUDGE)
    if unknown := [name for name, met in parts.items() if met is None]:
        told = f"{', '.join(unknown)}: tau2 recorded nothing, and it takes its environment to tell"
        return Graded("unscored", None, told, NOBODY)
    return Graded("scored", 1.0, f"met: {', '.join(parts) or 'nothing was asked'}", JUDGE)


def golden(task: Tau2Task) -> Simulation:
    """Return the trajectory of the reference solution: its calls, then all that is to be said."""
    calls = [
        {"id": str(place), "name": action.name, "arguments": dict(action.arguments)}
        for place, action in enumerate(task.actions)
    ]
    acting = [{"role": "assistant", "content": None, "tool_calls": calls}] if calls else []
    told = {"role": "assistant", "content": ". ".join(task.communicate) or "Done."}
    return Simulation(task.id, 0, "agent_stop", (*acting, told), 0.0, 0.0)


def idle(task: Tau2Task) -> Simulation:
    """Return the trajectory of an agent that does nothing and says so."""
    told = {"role": "assistant", "content": IDLE}
    return Simulation(task.id, 0, "agent_stop", (told,), 0.0, 0.0)


def _part(name: str, task: Tau2Task, simulation: Simulation) -> bool | None:
    """Return whether one thing is met that the task is rewarded for; None where it cannot be told."""
    recorded = simulation.recorded
    if name == "ACTION":
        calls = simulation.calls()
        return all(any(_matches(action, call) for call in calls) for action in task.actions)
    if name == "COMMUNICATE":
        return all(any(passes(info, text) for text in simulation.said()) for info in task.communicate)
    if name == "DB":
        found = (recorded.get("db_check") or {}).get("db_match")
        return bool(found) if found is not None else _same_writes(task.actions, simulation.calls())
    asserted = {"ENV_ASSERTION": "env_assertions", "NL_ASSERTION": "nl_assertions"}.get(name, "")
    checks = recorded.get(asserted)
    if checks is None:
        return None if (task.raw.get("evaluation_criteria") or {}).get(asserted) else True
    return all(bool(check.get("met")) for check in checks)


def _matches(action: Action, call: Tau2Call) -> bool:
    """Whether a call is an action, by tau2's own rule: without `compare`, the arguments count that the *call* has."""
    if action.name != call.name:
        return False
    names = call.arguments.keys() if action.compare is None else action.compare
    return all(_read(action.arguments.get(name)) == _read(call.arguments.get(name)) for name in names)


def _same_writes(actions: Sequence[Action], calls: Sequence[Tau2Call]) -> bool | None:
    """Whether both change the same: yes if the calls that write are the same in the same order, no if one side has none
    and the other has some; else only a replay can tell."""
    wanted = [(each.name, _read(dict(each.arguments))) for each in actions if not _READS.match(each.name)]
    made = [
        (each.name, _read(dict(each.arguments))) for each in calls if not each.failed and not _READS.match(each.name)
    ]
    if wanted == made:
        return True
    return None if wanted and made else False


def _read(value: Any) -> Any:
    """Return a value in which JSON that stands in a text is read: some tools take their arguments as a text."""
    if isinstance(value, str) and value.strip().startswith(("{", "[")):
        try:
            return _read(read_json(value))
        except ValueError:
            return value
    if isinstance(value, dict):
        return {key: _read(item) for key, item in value.items()}
    return [_read(item) for item in value] if isinstance(value, list) else value
