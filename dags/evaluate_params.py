"""What a run of `evaluate_orchestrator` may be given."""

from __future__ import annotations

from airflow.sdk import Param

BENCHMARKS = ["heldout", "questions", "unseen", "preferences"]

PARAMS = {
    "checkpoint": Param(
        None,
        type=["null", "string"],
        description="Path or URL of a model. Empty: the one that triggered this run.",
    ),
    "dataset": Param(
        None,
        type=["null", "string"],
        description="Path or URL of the dataset whose held-out tasks are played. Empty: the one of the training.",
    ),
    "benchmarks": Param(
        ["heldout", "questions"],
        type="array",
        items={"type": "string", "enum": BENCHMARKS},
        examples=BENCHMARKS,
        description="Without a dataset heldout is left out.",
    ),
    "tasks": Param(
        None, type=["null", "integer"], minimum=1, maximum=1_000_000, description="Of each benchmark. Empty: all."
    ),
    "out": Param(
        None,
        type=["null", "string"],
        pattern="^[A-Za-z0-9][A-Za-z0-9._-]{0,119}$",
        description="Name of the folder that is written, in evaluations/ of the data. Empty: one of this run's own.",
    ),
}
