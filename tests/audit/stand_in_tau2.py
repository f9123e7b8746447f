"""A small tau2 with one domain, `bank`: what the driver takes of tau2, and a Python that seems to have it installed.

Run as `python stand_in_tau2.py -I …`, it does what `python -I …` would do where tau2 is installed. As in tau2's
banking, the environment needs a key unless it is asked for a retrieval that needs none, tools say `Error: …` instead of
raising, some tools are called by the name that another one is given, and tasks begin with data of their own.
"""

from __future__ import annotations

import copy
import enum
import hashlib
import importlib.metadata
import json
import runpy
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

CARDS = {"c1": {"owner": "Ann", "open": True}, "c2": {"owner": "Bo", "open": True}}
READS = {"get_card"}


class Part(enum.Enum):
    DB, ACTION = "DB", "ACTION"


class Database:
    def __init__(self, cards: Any) -> None:
        self.cards, self.seen = copy.deepcopy(cards), list[str]()

    def model_dump(self, mode: str = "python") -> dict[str, Any]:
        return copy.deepcopy({"cards": self.cards, "seen": self.seen})


class Kit:
    def __init__(self, db: Database, tools: tuple[str, ...], logged: set[str]) -> None:
        self.db, self._tools, self._logged, self._unlocked = db, tools, logged, dict[str, int]()

    def get_tools(self) -> dict[str, Any]:
        return {name: SimpleNamespace(openai_schema={"name": name}) for name in self._tools}

    def unlock(self, name: str) -> str:
        self._unlocked[name] = 1
        return f"{name} is unlocked"

    def call_discoverable_agent_tool(self, agent_tool_name: str, arguments: str) -> str:
        if agent_tool_name not in self._unlocked:
            return f"Error: {agent_tool_name} is not unlocked"
        if agent_tool_name in self._logged & READS and agent_tool_name not in self.db.seen:
            self.db.seen.append(agent_tool_name)
        return getattr(self, agent_tool_name)(**json.loads(arguments))  # type: ignore[no-any-return]

    def get_card(self, card_id: str) -> str:
        return json.dumps(self.db.cards[card_id]) if card_id in self.db.cards else f"Error: no card {card_id}"

    def close_card(self, card_id: str) -> str:
        if card_id not in self.db.cards:
            return f"Error: no card {card_id}"
        self.db.cards[card_id]["open"] = False
        return "The card is closed"


class Bank:
    def __init__(self, policy: str, db: Database, logged: set[str]) -> None:
        self._policy, self.tools = policy, Kit(db, ("unlock", "call_discoverable_agent_tool"), logged)
        self.user_tools = Kit(db, (), set())

    def get_policy(self) -> str:
        return self._policy

    def get_db_hash(self) -> str:
        return hashlib.sha256(json.dumps(self.tools.db.model_dump()).encode()).hexdigest()

    get_user_db_hash = get_db_hash

    def set_state(self, initialization_data: Any, initialization_actions: Any, message_history: Any) -> None:
        self.tools.db.cards.update(copy.deepcopy(initialization_data or {}))
        for name in initialization_actions or []:
            del self.tools.db.cards[name]
        for call in message_history:
            for each in getattr(call, "tool_calls", None) or []:
                self.get_response(each)

    def _is_mutating_tool(self, name: str) -> bool:
        return name not in READS

    def make_tool_call(self, name: str, requestor: str, /, **arguments: Any) -> str:
        return getattr(self.tools, name)(**arguments)  # type: ignore[no-any-return]

    def get_response(self, call: Any) -> Any:
        return SimpleNamespace(content=self.make_tool_call(call.name, call.requestor, **call.arguments))

    @staticmethod
    def to_json_str(result: str) -> str:
        return result


def open_bank(
    retrieval_variant: str | None = None, read_log_allowlist: set[str] | None = None, solo_mode: bool = False
) -> Bank:
    if retrieval_variant != "full_kb":
        raise RuntimeError("the api_key client option must be set")
    return Bank("Unlock get_card and close_card first.", Database(CARDS), read_log_allowlist or set())


def call(name: str, /, **arguments: str) -> Any:
    return SimpleNamespace(name=name, arguments=arguments, requestor="assistant", compare_args=["name"])


def called(name: str, card: str) -> list[Any]:
    inner = json.dumps({"card_id": card})
    return [
        call("unlock", name=name),
        call("call_discoverable_agent_tool", agent_tool_name=name, arguments=inner),
    ]


class State(SimpleNamespace):
    def model_dump(self, mode: str = "python") -> dict[str, Any]:
        return dict(vars(self))


def task(
    name: str, said: str, actions: list[Any], data: Any = None, gone: tuple[str, ...] = (), part: Part = Part.DB
) -> Any:
    criteria = SimpleNamespace(
        actions=actions, communicate_info=[], nl_assertions=None, env_assertions=None, reward_basis=[part]
    )
    state = State(initialization_data=data, initialization_actions=list(gone), message_history=None)
    return SimpleNamespace(id=name, user_scenario=said, ticket=None, initial_state=state, evaluation_criteria=criteria)


def tasks(split: str | None) -> list[Any]:
    return [
        task("sound", "Close card c9.", called("close_card", "c9"), {"c9": {"owner": "Cy", "open": True}}),
        task("read twice", "Read card c1.", [*called("get_card", "c1"), *called("get_card", "c1")[1:]]),
        task("said as a text", "Close my card.", called("close_card", "c7")),
        task("closed before", "Close card c1.", called("close_card", "c1"), {"c1": {"owner": "Ann", "open": False}}),
        task("in its own data", "Close my card.", called("close_card", "c8"), {"c8": {"owner": "Di", "open": True}}),
        task("unlock one", "Unlock get_card.", called("get_card", "")[:1], part=Part.ACTION),
        task("unlock another", "Unlock close_card.", called("close_card", "")[:1], part=Part.ACTION),
        task("not in its data", "Close my card.", called("close_card", "c2"), gone=("c2",)),
    ]


class Evaluator:
    @staticmethod
    def calculate_reward(environment_constructor: Any, task: Any, full_trajectory: Any) -> Any:
        ends = []
        for calls in ([SimpleNamespace(tool_calls=task.evaluation_criteria.actions)], full_trajectory):
            bank, state = environment_constructor(solo_mode=False), task.initial_state
            bank.set_state(state.initialization_data, state.initialization_actions, calls)
            ends.append(bank.get_db_hash())
        return SimpleNamespace(reward=float(ends[0] == ends[1]), reward_breakdown={Part.DB: float(ends[0] == ends[1])})


PARTS = SimpleNamespace(DB=Part.DB, ENV_ASSERTION=None, COMMUNICATE=None, ACTION=Part.ACTION)


class Actions:
    @staticmethod
    def calculate_reward(task: Any, full_trajectory: Any) -> Any:
        made = [vars(each) for message in full_trajectory for each in getattr(message, "tool_calls", None) or []]
        wanted = [(each.name, each.arguments) for each in task.evaluation_criteria.actions]
        return SimpleNamespace(reward=float(wanted == [(each["name"], each["arguments"]) for each in made]))


REGISTRY = SimpleNamespace(get_env_constructor=lambda domain: open_bank, get_tasks_loader=lambda domain: tasks)
MODULES: dict[str, dict[str, Any]] = {
    "loguru": {"logger": SimpleNamespace(remove=lambda: None)},
    "tau2": {"__file__": __file__},
    "tau2.registry": {"registry": REGISTRY},
    "tau2.data_model.message": dict.fromkeys(("AssistantMessage", "ToolCall", "UserMessage"), SimpleNamespace),
    "tau2.data_model.tasks": {"RewardType": PARTS},
    "tau2.evaluator.evaluator_action": {"ActionEvaluator": Actions},
    "tau2.evaluator.evaluator_communicate": {"CommunicateEvaluator": None},
    "tau2.evaluator.evaluator_env": {"EnvironmentEvaluator": Evaluator},
}


def install() -> None:
    for name, content in MODULES.items():
        parts = name.split(".")
        for depth in range(1, len(parts) + 1):
            whole = ".".join(parts[:depth])
            sys.modules.setdefault(whole, ModuleType(whole)).__dict__.setdefault("__path__", [])
            if depth > 1:
                setattr(sys.modules[".".join(parts[: depth - 1])], parts[depth - 1], sys.modules[whole])
        vars(sys.modules[name]).update(content)
    importlib.metadata.version = lambda name: "1.0.1"


if __name__ == "__main__":
    install()
    _, _, first, *rest = sys.argv
    if first == "-c":
        exec(rest[0])
    else:
        sys.argv = [first, *rest]
        runpy.run_path(first, run_name="__main__")
