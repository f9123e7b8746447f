"""For NVIDIA NeMo Gym: rows for its rollouts and training, and a resources server that plays and grades them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import yaml

from toolscale.config import VERSION
from toolscale.errors import UsageError
from toolscale.exports.format import Format, Options, Source, lines_of, render
from toolscale.exports.golden import Golden
from toolscale.forbidden_names import NEMO_GYM
from toolscale.records import Split

LICENSES = (
    "TBD", "Apache 2.0", "MIT", "Creative Commons Attribution 4.0 International",
    "Creative Commons Attribution-ShareAlike 4.0 International", "CC BY-SA 4.0", "CC BY-NC 3.0",
    "NVIDIA Internal Use Only, Do Not Distribute", "NVIDIA Evaluation Dataset License Agreement",
    "GNU General Public License v3.0",
)  # fmt: skip
"""All that the host takes for rows."""
NAMES: tuple[tuple[str, Split], ...] = (("train", "train"), ("validation", "test"))
"""What the host calls a split, and what a dataset does."""
EXAMPLES = 5
MOST_STEPS = 50

Json = dict[str, Any]


def gym_row(golden: Golden, agent: str) -> Json:
    """Return a task: what the model is asked, which agent plays, and the id by which it is graded."""
    tools = [{"type": "function", **tool["function"], "strict": False} for tool in golden.tools]
    asked = {"input": list(golden.prompt), "tools": tools, "parallel_tool_calls": False}
    return {
        "id": golden.task.id,
        "responses_create_params": asked,
        "agent_ref": {"type": "responses_api_agents", "name": agent},
    }


def _gym(source: Source, options: Options) -> Iterator[tuple[str, str]]:
    if options["license"] not in LICENSES:
        raise UsageError(f"NeMo Gym knows no license {options['license']!r}; it knows {', '.join(LICENSES)}")
    source.check_names(NEMO_GYM)
    name = source.module
    folder, agent = f"resources_servers/{name}", f"{name}_simple_agent"
    splits = {called: [gym_row(each, agent) for each in source.of(ours)] for called, ours in NAMES}
    splits = {called: rows for called, rows in splits.items() if rows}
    splits["example"] = next(iter(splits.values()))[:EXAMPLES]
    for called, rows in splits.items():
        yield f"{folder}/data/{called}.jsonl", lines_of(rows)
    config = _config(name, folder, agent, list(splits), options["license"])
    yield f"{folder}/configs/{name}.yaml", yaml.safe_dump(config, sort_keys=False)
    yield f"{folder}/requirements.txt", f"toolscale=={VERSION}\n"
    yield f"{folder}/app.py", render("nemo-gym/app.py.jinja")


def _config(name: str, folder: str, agent: str, splits: list[str], license_: str) -> Json:
    datasets = [
        {"name": split, "type": split, "jsonl_fpath": f"{folder}/data/{split}.jsonl"}
        | ({} if split == "example" else {"license": license_})
        for split in splits
    ]
    server = {
        "entrypoint": "app.py",
        "domain": "agent",
        "verified": False,
        "description": "Tasks with tools over a database; a verifier checks what was changed and what was said",
        "value": "Improve multi-step tool use, and what is told about it",
    }
    plays = {
        "entrypoint": "app.py",
        "max_steps": MOST_STEPS,
        "resources_server": {"type": "resources_servers", "name": name},
        "model_server": {"type": "responses_api_models", "name": "policy_model"},
        "datasets": datasets,
    }
    return {
        name: {"resources_servers": {name: server}},
        agent: {"responses_api_agents": {"simple_agent": plays}},
    }


FORMATS = (
    Format(
        "nemo-gym",
        "nemo-gym 0.4.0",
        "rows and a resources server for NeMo Gym and what trains from it",
        _gym,
        plays=True,
        options={"license": "TBD: the license of the rows, one of those that NeMo Gym knows"},
        cannot=(
            "a person who answers: its agents speak to nobody before the end, so dialogues are left out",
            "that a rollout is over: a world is given back when it is graded, or when it was idle for half an hour",
            "the order of calls that are made at once: rows turn `parallel_tool_calls` off, and calls are graded in "
            "the order of the response",
        ),
    ),
)
