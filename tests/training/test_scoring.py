"""From groups of rollouts to rewards: what is taken from them."""

from __future__ import annotations

from pathlib import Path

from made_rollouts import rollout
from tiny_router import tiny

from toolscale.models.catalogue import load_catalogue
from toolscale.records import Charge, RolloutTask
from toolscale.reward import RewardConfig
from training.evaluate import question_ground
from training.scoring import penalized, score_groups

REFUSED = "may not be used for this task. Go on without it."
ASKED = Charge(turn=0, kind="expert", name="expert-2")
TRIED = Charge(turn=0, kind="expert", name="expert-1", error=f"expert-1 {REFUSED}")
GROUP = [
    rollout(ASKED),
    rollout(ASKED, malformed=1),
    rollout(stop="turns", answer=None),
    rollout(stop="failed", answer=None),
    rollout(TRIED, ASKED),
    rollout(Charge(turn=0, kind="domain", name="pay_bill", error=f"pay_bill {REFUSED}"), ASKED),
]


def test_what_a_rollout_loses_for_what_was_no_use() -> None:
    config = RewardConfig(unusable_penalty=2, unanswered_penalty=0.5)
    rewards = [1.0] * len(GROUP)
    assert penalized(GROUP, rewards, config) == [1, -1, -1.5, -1, 1, 1]
    assert penalized(GROUP, rewards, config, denied=("expert-1", "pay_bill")) == [1, -1, -1.5, -1, -1, 1]
    assert penalized(GROUP, rewards, config, denied=("call_expert",)) == [-1, -1, -1.5, -1, -1, -1]


def test_a_task_that_denies_something_takes_from_whoever_calls_it() -> None:
    settings = tiny()
    task = question_ground(settings, 1, denied_share=1.0).board.tasks[0]
    experts = {spec.name: spec for spec in load_catalogue(Path(settings.data.catalogue)).experts}
    [denied] = task.limits.denied
    call = {"turn": 0, "kind": "expert" if denied in experts_of(task) else "basic", "name": denied}
    group = [rollout(), rollout(Charge.model_validate({**call, "error": f"{denied} {REFUSED}"}))]
    [[without, refused]] = score_groups([task], [group], experts, settings.reward).rewards
    assert refused == without - settings.reward.unusable_penalty < without


def experts_of(task: RolloutTask) -> set[str]:
    return {each.alias for each in task.experts}
