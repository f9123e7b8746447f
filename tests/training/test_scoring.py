"""From groups of rollouts to rewards: what is taken from them."""

from __future__ import annotations

from toolscale.records import Charge, Rollout, Stop
from toolscale.reward import RewardConfig
from training.scoring import penalized


def rollout(*charges: Charge, stop: Stop = "answered", malformed: int = 0) -> Rollout:
    return Rollout(
        id="r",
        task_id="t",
        category="arithmetic",
        policy="p",
        sample=0,
        messages=(),
        ledger=charges,
        answer="42" if stop == "answered" else None,
        stop=stop,
        malformed=malformed,
        right=True,
        finding="",
    )


REFUSED = "may not be used for this task. Go on without it."
ASKED = Charge(turn=0, kind="expert", name="expert-2")
TRIED = Charge(turn=0, kind="expert", name="expert-1", error=f"expert-1 {REFUSED}")
GROUP = [
    rollout(ASKED),
    rollout(ASKED, malformed=1),
    rollout(stop="turns"),
    rollout(stop="failed"),
    rollout(TRIED, ASKED),
]


def test_what_a_rollout_loses_for_what_was_no_use() -> None:
    config = RewardConfig(unusable_penalty=2, unanswered_penalty=0.5)
    rewards = [1.0] * len(GROUP)
    assert penalized(GROUP, rewards, config) == [1, -1, -1.5, -1, 1]
    assert penalized(GROUP, rewards, config, denied=("expert-1",)) == [1, -1, -1.5, -1, -1]
    assert penalized(GROUP, rewards, config, denied=("call_expert",)) == [-1, -1, -1.5, -1, -1]
