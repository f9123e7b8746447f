"""What an agent of an environment is told before anybody speaks to it: the same in datasets, rollouts and tests."""

from __future__ import annotations

from datetime import datetime

from toolscale.environment.environment import Environment
from toolscale.records import Interaction

DIALOGUE = (
    "The person reads every message of yours. If you need something that was not said, ask for it in a message; "
    "the person answers. A message that asks for nothing ends the conversation; "
    "it tells what the person wanted to know."
)
"""What an agent is told besides where part of what is needed is told only when asked."""


def system_message(environment: Environment, interaction: Interaction = "single") -> str:
    """Return what an agent of this environment is told first: the policy text, the time, and in a dialogue how it
    ends."""
    now = datetime.fromisoformat(environment.spec.world.now)
    text = f"{environment.spec.policy_text.strip()}\n\nIt is {now:%A}, {now:%B} {now.day}, {now.year}, {now:%H:%M}."
    return with_dialogue(text, interaction)


def with_dialogue(system: str, interaction: Interaction) -> str:
    """Return what an agent is told first, and in a dialogue how that goes."""
    return f"{system}\n\n{DIALOGUE}" if interaction == "dialogue" else system
