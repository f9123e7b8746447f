"""What a run of `publish_dataset` may be given."""

from __future__ import annotations

from airflow.sdk import Param

PARAMS = {
    "dataset": Param(
        None, type=["null", "string"], description="Path or URL of a dataset. Empty: the one that triggered this run."
    ),
    "repo": Param(
        None,
        type=["null", "string"],
        description="Repository on the Hub, owner/name. Empty: the one of TOOLSCALE_REPO.",
    ),
    "publish": Param("ask", type="string", enum=["ask", "auto"], description="Of a dataset that is given here."),
}
