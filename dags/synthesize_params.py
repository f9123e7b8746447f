"""What a run of the DAG synthesize_dataset can be told."""

from __future__ import annotations

from airflow.sdk import Param
from limit_params import limit_params
from toolscale_house import domains

DOMAINS = domains()

PARAMS = {
    "domains": Param(
        ["finance"] if "finance" in DOMAINS else DOMAINS[:1],  # another one would take the DAG away
        type="array",
        items={"type": "string", "enum": DOMAINS},
        examples=DOMAINS,
        minItems=1,
        uniqueItems=True,
        description="Each becomes a config of the dataset.",
    ),
    "tasks": Param(396, type="integer", minimum=1, maximum=1_000_000, description="Tasks wanted of each domain."),
    "seed": Param(
        None,
        type=["null", "integer"],
        minimum=0,
        maximum=2**31 - 1,
        description="Empty: the night's own; 0 in a run by hand.",
    ),
    "evolved": Param(
        None,
        type=["null", "number"],
        minimum=0,
        maximum=1,
        description="Share of tasks that are evolved. Empty: two thirds.",
    ),
    "turns": Param(
        "mixed",
        type="string",
        enum=["mixed", "single", "dialogue"],
        description="single: all is said at once. dialogue: part is told only when asked. "
        "mixed: about 4 in 10 are dialogues.",
    ),
    "answer": Param(
        "form",
        type="string",
        enum=["form", "message"],
        description="form: typed fields answer. message: words, which rules cannot judge for certain.",
    ),
    "attempts": Param(
        0,
        type="integer",
        minimum=0,
        maximum=64,
        description="Times that the model of the connection toolscale_model tries each task. 0: no model is asked.",
    ),
    **limit_params(budget=None),
    "max_candidates": Param(
        None,
        type=["null", "integer"],
        minimum=1,
        description="Candidates that are drawn at most for each domain. Empty: no limit.",
    ),
    "publish": Param(
        None,
        type=["null", "string"],
        enum=[None, "ask", "auto", "never"],
        description="Empty: ask a person; never in a backfill.",
    ),
    "repo": Param(
        None,
        type=["null", "string"],
        description="Repository on the Hub, owner/name. "
        "Empty: the one of TOOLSCALE_REPO at night, none for a run by hand.",
    ),
}
