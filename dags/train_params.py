"""What a run of `train_orchestrator` may be given."""

from __future__ import annotations

from airflow.sdk import Param
from toolscale_house import configs

PARAMS = {
    "config": Param("tiny_cpu", type="string", enum=configs(), description="A file in training/configs."),
    "dataset": Param(
        None,
        type=["null", "string"],
        description="Path or URL of a dataset. Empty: the one that triggered this run, or none.",
    ),
    "steps": Param(
        None, type=["null", "integer"], minimum=1, maximum=1_000_000, description="Empty: as many as the config says."
    ),
    "out": Param(
        None,
        type=["null", "string"],
        pattern="^[A-Za-z0-9][A-Za-z0-9._-]{0,119}$",
        description="Name of the folder that is written, in training/ of the data. Empty: one of this run's own.",
    ),
}
