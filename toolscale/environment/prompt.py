"""What an agent of an environment is told before anybody speaks to it: the same in datasets, rollouts and tests."""

from __future__ import annotations

from datetime import datetime

from toolscale.environment.environment import Environment


def system_message(environment: Environment) -> str:
    """Return what an agent of this environment is told first: the policy text and the time."""
    now = datetime.fromisoformat(environment.spec.world.now)
    return f"{environment.spec.policy_text.strip()}\n\nIt is {now:%A}, {now:%B} {now.day}, {now.year}, {now:%H:%M}."
