"""For Harbor: a folder for each task, and one image in which the task's desk runs beside the agent.

The desk is `toolscale serve` as a user of its own: the agent, another user, reaches the tools and nothing else.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, distribution
from typing import Any

from toolscale.config import VERSION
from toolscale.errors import UsageError
from toolscale.exports.format import Format, Options, Source, render
from toolscale.exports.golden import Golden
from toolscale.forbidden_names import HARBOR, SAY

TESTED = "harbor 0.26.0"
PORT = 8_765
IMAGE_FILES = ("Containerfile", "up", "grade", "tool")
NEEDED = ("toolscale", "mcp")
"""The package of the desk and its extra."""


def _make(source: Source, options: Options) -> Iterator[tuple[str, str]]:
    source.check_names(HARBOR)
    said = [golden.task.id for golden in source.golden if golden.task.answer == "message"]
    if said:
        raise UsageError(
            f"{source.name}: {len(said)} tasks, {said[0][:12]} the first, are answered by a message, which no judge "
            "reads in a container; make the dataset with --answer form"
        )
    image = options["image"] or f"{source.name.lower()}:{source.fingerprint[:12]}"
    if not re.fullmatch(r"[a-z0-9][\w./:@-]*", image):
        raise UsageError(f"-o image={image!r} is no name of an image; say such as registry.example/finance:1")
    if options["mcp"] not in ("yes", "no"):
        raise UsageError(f"-o mcp={options['mcp']!r}: say yes or no")
    facts = {"image": image, "version": VERSION, "port": PORT, "mcp": options["mcp"] == "yes"}
    yield "image/requirements.txt", f"toolscale=={VERSION}\n" + "".join(f"{each}\n" for each in _pinned())
    for name in IMAGE_FILES:
        yield f"image/{name}", render(f"harbor/image/{name}.jinja", **facts)
    yield ".dockerignore", "*\n!image\n!wheels\n!dataset\n"
    for golden in source.golden:
        folder = folder_of(golden)
        told = facts | _facts(source, golden)
        for name in ("task.toml", "instruction.md"):
            yield f"{folder}/{name}", render(f"harbor/{name}.jinja", golden=golden, say=SAY, **told)
        yield f"{folder}/environment/README.md", f"The image {image} has it all: ../../image/Containerfile.\n"
        yield f"{folder}/tests/test.sh", render("harbor/test.sh.jinja", **told)
        yield f"{folder}/solution/solve.sh", render("harbor/solve.sh.jinja", calls=list(_calls(golden)), **told)


def folder_of(golden: Golden) -> str:
    """Return the name of the folder of a task."""
    return f"{golden.task.domain}-{golden.task.id}".replace("_", "-")


def canary(source: Source, golden: Golden) -> str:
    """Return a word that stands in the solution and the tests of a task alone."""
    return sha256(f"canary {source.fingerprint} {golden.task.id}".encode()).hexdigest()[:32]


def _facts(source: Source, golden: Golden) -> dict[str, Any]:
    task = golden.task
    metadata = {
        "id": task.id,
        "domain": task.domain,
        "split": golden.split,
        "intent": task.intent_id,
        "outcome": task.outcome,
        "turns": task.turns,
        "difficulty": task.difficulty.tier,
        "license": source.license,
        "environment_hash": task.environment_hash,
        "dataset": source.name,
        "dataset_manifest": source.fingerprint,
    }
    return {
        "package": _text(f"toolscale/{folder_of(golden)}"),
        "metadata": {name: _text(value) for name, value in metadata.items()},
        "canary": canary(source, golden),
    }


def _text(value: str) -> str:
    """Return a text as TOML has it: as JSON, but that TOML wants one letter more escaped."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _calls(golden: Golden) -> Iterator[str]:
    """Yield the golden trajectory as commands of a shell."""
    for message in golden.messages[len(golden.prompt) :]:
        for call in message.get("tool_calls", ()):
            yield shlex.join(["tool", call["function"]["name"], call["function"]["arguments"]])
        if message["role"] == "assistant" and message["content"] is not None:
            yield shlex.join(["tool", SAY, json.dumps({"message": message["content"]}, ensure_ascii=False)])


def _pinned() -> list[str]:
    """Return what the desk needs, in the versions that are installed here."""
    pins: dict[str, str] = {}
    _pin(*NEEDED, pins)
    return sorted(f"{name}=={version}" for name, version in pins.items() if name != NEEDED[0])


def _pin(name: str, extra: str, pins: dict[str, str]) -> None:
    try:
        found = distribution(name)
    except PackageNotFoundError:  # of another system, or of the extra that is not installed here
        return
    key = re.sub(r"[-_.]+", "-", name).lower()
    if key in pins:
        return
    pins[key] = found.version
    for told in found.requires or ():
        needed, _, marker = told.partition(";")
        wanted = re.findall(r"extra\s*==\s*['\"]([\w-]+)", marker)
        if not wanted or extra in wanted:
            parts = re.match(r"([\w.-]+)(?:\[([\w-]+))?", needed)
            assert parts is not None, f"{name} needs {told!r}"
            _pin(parts[1], parts[2] or "", pins)


FORMATS = (
    Format(
        "harbor",
        TESTED,
        "a folder for each task (`task.toml`, `instruction.md`, `tests/`, `solution/`), and an image for all of them",
        _make,
        plays=True,
        talks=True,
        is_replaced=False,
        options={
            "image": ": the name of the image, where it is not built on the machine that runs it",
            "mcp": "yes: whether tasks declare the MCP server; Harbor then refuses agents that have no MCP",
        },
        cannot=(
            f"that a person answers: in dialogues the agent speaks to the person by a tool, `{SAY}`",
            "a text beside the reward: `finding`, why it is no 1, is the file `finding.txt` beside `reward.json`",
            "that an MCP server may be left out: where a task declares one, it refuses agents that have no MCP "
            "(`aider`, `trae-agent`). `-o mcp=no` declares none, and leaves the command `tool`",
            "that an agent may be anybody but root: the task names its user, and an environment that runs agents as "
            "root nevertheless would show them the desk",
        ),
    ),
)
