"""Alarms look at the last steps, stop or warn as the configuration says, and warn once."""

from __future__ import annotations

from typing import Any

import pytest

from toolscale.errors import TrainingError
from training.alarms import Alarms
from training.config import AlarmSettings

FINE: dict[str, Any] = {
    "groups_kept": 3,
    "reward_std": 0.2,
    "turns": 10,
    "cut": 0,
    "calls": {"gpt-5": 5, "python": 5},
    "offered": 3.0,
}


def look(settings: AlarmSettings, *steps: dict[str, Any]) -> list[str]:
    """What is warned of over the steps."""
    alarms = Alarms(settings)
    return [warning for number, step in enumerate(steps) for warning in alarms.look({"step": number, **FINE, **step})]


def test_a_run_that_is_well_raises_no_alarm() -> None:
    assert look(AlarmSettings(window=2, flat_reward="stop", long_turns="stop", one_tool="stop"), *[{}] * 5) == []


@pytest.mark.parametrize(
    ("name", "step", "told"),
    [
        ("no_groups", {"groups_kept": 0}, "no group of rollouts passed the filters in 2 steps"),
        ("flat_reward", {"reward_std": 0.0}, "all rollouts of 2 steps have the same reward"),
        ("long_turns", {"cut": 6}, "60% of the turns of 2 steps were cut at rollout.max_new_tokens"),
        ("one_tool", {"calls": {"gpt-5": 99, "python": 1}}, "99% of the calls of 2 steps went to gpt-5"),
        ("one_tool", {"calls": {"gpt-5": 9}}, "100% of the calls of 2 steps went to gpt-5"),
    ],
)
def test_each_alarm_stops_or_warns_once_or_is_off(name: str, step: dict[str, Any], told: str) -> None:
    off: Any = dict.fromkeys(("no_groups", "flat_reward", "long_turns", "one_tool"), "off")
    with pytest.raises(TrainingError, match=f"alarm {name} at step 2: {told}"):
        look(AlarmSettings(window=2, **off | {name: "stop"}), {}, step, step)
    [warning] = look(AlarmSettings(window=2, **off | {name: "warn"}), step, step, step)
    assert warning.startswith(f"alarm {name} at step 1: {told}")
    assert len(look(AlarmSettings(window=2, **off | {name: "warn"}), step, step, {}, {}, step, step)) == 2
    assert look(AlarmSettings(window=2, **off), step, step, step) == []


def test_one_tool_is_no_alarm_where_nothing_else_is_offered() -> None:
    assert look(AlarmSettings(window=1, one_tool="stop"), {"calls": {"gpt-5": 9}, "offered": 1.0}) == []
