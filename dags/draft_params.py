"""What a run of `draft_domain` may be given."""

from __future__ import annotations

from airflow.sdk import Param
from limit_params import limit_params

PARAMS = {
    "name": Param("", type="string", description="What the domain is about, in one to five words: pet insurance"),
    "source": Param(
        None,
        type=["null", "string"],
        description="Path on the worker: a SQLite or DuckDB file, an OpenAPI document, an MCP server's list of tools.",
    ),
    "connection": Param(
        None, type=["null", "string"], description="Or the id of a connection to a database. No row leaves it."
    ),
    "only": Param(
        None, type=["null", "array"], description="Tables or operations of the source that are taken. Empty: all."
    ),
    "policy": Param(None, type=["null", "string"], description="Path on the worker of a policy that there is."),
    **limit_params(budget=5.0),
    "intents": Param(25, type="integer", minimum=6, maximum=60, description="Kinds of requests that are wanted."),
    "rounds": Param(6, type="integer", minimum=1, maximum=20, description="Replies that a step may take."),
    "phrase": Param(True, type="boolean", description="Whether the model writes whole first messages in the end."),
}
