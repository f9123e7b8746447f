"""For verifiers and the Environments Hub: a package with a taskset, its tools and a harness."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from toolscale.config import VERSION
from toolscale.dataset.manifest import MANIFEST
from toolscale.errors import DatasetError
from toolscale.exports.format import Format, Options, Source, lines_of, render
from toolscale.exports.golden import Golden

TESTED = "verifiers 0.4.0, mcp 2.0.0"


def data(golden: Golden) -> dict[str, Any]:
    """Return what a task's `TaskData` holds. It goes into traces, so nothing of the solution is in it."""
    task = golden.task
    system, user = (message["content"] for message in golden.prompt)
    return {
        "id": task.id,
        "name": task.intent_id,
        "system_prompt": system,
        "prompt": user,
        "domain": task.domain,
        "tier": task.difficulty.tier,
        "outcome": task.outcome,
    }


def distribution(name: str) -> str:
    """The id under which verifiers knows a dataset; its package is called alike, with `_` for `-`."""
    id_ = name.lower().replace("_", "-")
    if not re.fullmatch("[a-z]([a-z0-9-]*[a-z0-9])?", id_):
        raise DatasetError(
            f"{MANIFEST} calls the dataset {name!r}, which no package can be called; make or pull it again"
        )
    return id_


def _make(source: Source, _: Options) -> Iterator[tuple[str, str]]:
    id_ = distribution(source.name)
    package = id_.replace("-", "_")
    for split in source.splits:
        yield f"{split}.jsonl", lines_of(map(data, source.of(split)))
    for module in ("__init__", "taskset", "tools"):
        yield f"{package}/{module}.py", render(f"verifiers/{module}.py.jinja", package=package, splits=source.splits)
    about = json.dumps(f"Tasks of {', '.join(source.domains)}, verified by execution")
    yield (
        "pyproject.toml",
        render(
            "verifiers/pyproject.toml.jinja",
            distribution=id_,
            package=package,
            about=about,
            version=VERSION,
            splits=source.splits,
        ),
    )


FORMATS = (
    Format(
        "verifiers",
        TESTED,
        "a package with a v1 taskset for `vf-validate`, `vf-eval` and prime-rl",
        _make,
        plays=True,
        cannot=(
            "that a person answers questions, unless a model plays the person; so dialogues are left out",
            "that results are long: its chat harnesses cut a result beyond 20,000 bytes",
            "that a rollout is over, to a server of tools; worlds that nobody used for two minutes are given back, and "
            "made again if the rollout goes on",
        ),
    ),
)
