"""For Inspect AI: samples, with a solver that plays them and a scorer that grades them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from toolscale.exports.format import Format, Options, Source, lines_of, render
from toolscale.exports.golden import Golden

TESTED = "inspect-ai 0.3.285"


def sample(golden: Golden) -> dict[str, Any]:
    """Return a task as a sample. Standard errors are clustered by its intent."""
    task = golden.task
    metadata = {"domain": task.domain, "intent": task.intent_id, "tier": task.difficulty.tier, "outcome": task.outcome}
    return {"id": task.id, "input": list(golden.prompt), "metadata": metadata}


def _make(source: Source, _: Options) -> Iterator[tuple[str, str]]:
    for split in source.splits:
        yield f"{split}.jsonl", lines_of(map(sample, source.of(split)))
    yield "toolscale_inspect.py", render("inspect/toolscale_inspect.py.jinja", splits=source.splits)


FORMATS = (
    Format(
        "inspect",
        TESTED,
        "samples, a solver and a scorer for `inspect eval`",
        _make,
        plays=True,
        talks=True,
        cannot=(
            "that a tool refuses its arguments: Inspect compares them with the schema first, and what a model reads of "
            "wrong ones is in Inspect's words; what passes there is checked again when the tool is called",
            "how many entries a list has at most (`maxItems`), which is checked when the form is given",
            "a reward for training",
        ),
    ),
)
