"""What an agent of an environment is told before anybody speaks to it: the same in datasets, rollouts and tests."""

from __future__ import annotations

from datetime import datetime

from toolscale.environment.builtins import FINAL_ANSWER
from toolscale.environment.environment import Environment
from toolscale.language.dates import WEEKDAYS
from toolscale.language.render import full_date
from toolscale.records import Answer, Turns

_SIGNED_IN = (
    "A first line in square brackets comes from the desk, not from the person. [Signed in: ...] says who the person "
    "is: that is certain and needs no further proof. Other people's affairs stay private."
)
_ASK = (
    "The person reads every message of yours. If you need something that was not said, ask for it in a message; "
    "the person answers."
)
_ENDS: dict[Answer, str] = {
    "form": f"When everything is done, call {FINAL_ANSWER}: it ends the conversation.",
    "message": ("A message that asks for nothing ends the conversation; it tells what the person wanted to know."),
}


def system_message(environment: Environment, turns: Turns = "single", answer: Answer = "form") -> str:
    """Return what an agent of this environment is told first: the policy text, the time, and in a dialogue how it
    ends."""
    now = datetime.fromisoformat(environment.spec.world.now)
    weekday, today = WEEKDAYS[now.weekday()].capitalize(), full_date(environment.spec.world.now)
    text = f"{environment.spec.policy_text.strip()}\n\nIt is {weekday}, {today}, {now:%H:%M}."
    text = f"{text} {_SIGNED_IN}"
    return with_dialogue(text, turns, answer)


def with_dialogue(system: str, turns: Turns, answer: Answer) -> str:
    """Return what an agent is told first, and in a dialogue how that goes."""
    return f"{system}\n\n{_ASK} {_ENDS[answer]}" if turns == "dialogue" else system
