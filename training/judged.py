"""The judge of a run: who reads the final messages that rules cannot grade."""

from __future__ import annotations

import os

from toolscale.models.judging import JudgeSettings, judge_model, judge_settings
from training.config import Config
from training.processes import world_size_wanted


def with_judge(config: Config) -> Config:
    """Return the configuration with the judge that the environment names, where it names none itself. UsageError,
    before anything is made, for a judge that cannot be asked."""
    judge = config.judge or judge_settings(os.environ)
    if judge is not None:
        judge_model(judge)
    return config.model_copy(update={"judge": judge})


def shared(judge: JudgeSettings | None) -> JudgeSettings | None:
    """Return the judge of one of the processes that train together: each has its share of the cap on dollars."""
    if judge is None or judge.max_cost is None:
        return judge
    return judge.model_copy(update={"max_cost": judge.max_cost / world_size_wanted()})
