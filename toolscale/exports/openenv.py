"""For OpenEnv: a server whose environments are tasks, in the layout that its commands take."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import yaml

from toolscale.config import VERSION
from toolscale.errors import UsageError
from toolscale.exports.format import Format, Options, Source, json_of, render
from toolscale.exports.golden import Golden
from toolscale.forbidden_names import OPENENV
from toolscale.records import Split

HOST = "openenv==0.10.0"
RESPOND = "respond"
SPEAK = {
    "type": "function",
    "function": {
        "name": RESPOND,
        "description": "Say something to the person: a question, or the final message. After the final message the "
        "task is over.",
        "parameters": {
            "type": "object",
            "properties": {"message": {"type": "string"}},
            "required": ["message"],
            "additionalProperties": False,
        },
    },
}
FILES = (
    ".dockerignore", "client.py", "models.py", "server/Dockerfile", "server/app.py", "server/environment.py",
    "server/tasks.py", "validation/oracle.py",
)  # fmt: skip
MOST_ACTIONS, LARGEST_PLAN = 100, 60_000
"""Of a runtime plan, in bytes; the host reads 65,536."""

Json = dict[str, Any]
Placed = Sequence[tuple[int, Golden]]
"""The tasks of a split, each with its number there."""


def _openenv(source: Source, _: Options) -> Iterator[tuple[str, str]]:
    source.check_names(OPENENV)
    name, tools = source.module, _tools(source)
    splits: dict[Split, Placed] = {split: list(enumerate(source.of(split))) for split in source.splits}
    placed = [each for split in splits.values() for each in split]
    oracle = [_trajectory(index, golden, actions_of(golden), 1.0) for index, golden in placed]
    canaries = [_trajectory(index, golden, wrong, 0.0) for index, golden in placed for wrong in _wrong(golden)]
    counts = {split: len(each) for split, each in splits.items()}
    needed = (HOST, f"toolscale=={VERSION}")
    yield "openenv.yaml", yaml.safe_dump(_manifest(name, source, counts, tools), sort_keys=False)
    yield "requirements.txt", "".join(f"{each}\n" for each in needed)
    yield "pyproject.toml", render("openenv/pyproject.toml.jinja", package=name, version=VERSION, needed=needed)
    yield "tasks.json", json_of({split: [_task(*each) for each in split_] for split, split_ in splits.items()})
    yield "tools.json", json_of(tools)
    yield "server/__init__.py", ""
    yield "validation/oracle.json", json_of(oracle)
    yield "validation/canaries.json", json_of(canaries)
    yield "validation/runtime.json", json_of(_plan(oracle))
    for path in FILES:
        yield (
            path,
            render(f"openenv/{path.removeprefix('.')}.jinja", package=name, version=VERSION, splits=source.splits),
        )


def _tools(source: Source) -> list[Json]:
    """All tools, which are listed before a task is chosen."""
    tools: dict[str, Json] = {}
    for golden in source.golden:
        for tool in golden.tools:
            tools.setdefault(tool["function"]["name"], tool)
    return [*tools.values(), SPEAK]


def _task(index: int, golden: Golden) -> Json:
    task = golden.task
    return {"id": task.id, "index": index, "domain": task.domain, "difficulty": task.difficulty.tier}


def actions_of(golden: Golden) -> list[Json]:
    """Return what OpenEnv is sent in the golden trajectory."""
    actions = []
    for message in golden.messages[len(golden.prompt) :]:
        for call in message.get("tool_calls", ()):
            actions.append(_call(call["function"]["name"], json.loads(call["function"]["arguments"])))
        if message["role"] == "assistant" and message["content"] is not None:
            actions.append(_call(RESPOND, {"message": message["content"]}))
    return actions


def _wrong(golden: Golden) -> Iterator[list[Json]]:
    """What earns nothing: silence, and the right answer where nothing was done of what it tells."""
    yield [_call(RESPOND, {"message": ""})]
    if golden.task.row_changes:
        yield actions_of(golden)[-1:]


def _call(name: str, arguments: Mapping[str, Any]) -> Json:
    return {"type": "call_tool", "tool_name": name, "arguments": dict(arguments)}


def _trajectory(index: int, golden: Golden, actions: list[Json], reward: float) -> Json:
    return {"reset": {"split": golden.split, "index": index}, "actions": actions, "reward": reward}


def _plan(oracle: Sequence[Json]) -> Json:
    """The episode that the host measures: the shortest golden one."""
    shortest = min(oracle, key=lambda each: len(json.dumps(each)))
    if len(shortest["actions"]) > MOST_ACTIONS or len(json.dumps(shortest)) > LARGEST_PLAN:
        raise UsageError(f"no task has at most {MOST_ACTIONS} calls and {LARGEST_PLAN:,} bytes of them for OpenEnv")
    reset = {"episode_id": "validation", "seed": 0, "options": shortest["reset"]}
    return {"plan_schema_version": "1", "reset": reset, "actions": shortest["actions"]}


def _manifest(name: str, source: Source, counts: Mapping[Split, int], tools: Sequence[Json]) -> Json:
    return {
        "spec_version": 1,
        "name": name,
        "version": VERSION,
        "type": "space",
        "runtime": "fastapi",
        "app": "server.app:app",
        "port": 8000,
        "validation": {
            "reward": {"range": [0.0, 1.0], "oracle_tolerance": 0.0, "floor_margin": 1.0},
            "resources": {"cpu": 1.0, "memory_mb": 1024, "disk_mb": 1024, "episode_timeout_s": 600.0},
            "network": {"mode": "no-network"},
            "task_distribution": {"dataset_version": source.fingerprint},
            "capabilities": {
                "verifier": {"kind": "reward_channel"},
                "oracle": {"form": "script", "location": "validation/oracle.py"},
                "canaries": "validation/canaries.json",
                "task_api": True,
                "declared_tools": [tool["function"]["name"] for tool in tools],
                "declared_task_count": dict(counts),
            },
            "types": {"tags": ["tool-use", *source.domains]},
            "execution": {"dockerfile": "server/Dockerfile", "context": "."},
        },
    }


FORMATS = (
    Format(
        "openenv",
        "openenv 0.10.0",
        "a server for trainers that speak OpenEnv, with the Task API, a Dockerfile, and golden and wrong trajectories",
        _openenv,
        plays=True,
        talks=True,
        cannot=(
            f"a message: what is said to the person, the final message included, is a call of the tool `{RESPOND}`, "
            "and the reward comes with the observation that ends the episode",
            "a session over plain HTTP: `/reset` and `/step` are a world each; an episode is one WebSocket (`/ws`), "
            "which is what the clients open",
            "that results are checked beyond the manifest, the rewards, the observations, the state and the network: "
            "of its validation this release has no more checks, and says so for each",
        ),
    ),
)
