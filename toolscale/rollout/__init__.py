"""Rollouts: one loop for training and evaluation, with a ledger of every token, dollar and second."""

from toolscale.rollout.actions import GIVE_UP, Action, Outcome, actions, expected_figures, references
from toolscale.rollout.bench import Bench, Setting
from toolscale.rollout.domain import Domain
from toolscale.rollout.endpoint_policy import EndpointPolicy
from toolscale.rollout.grading import regrade
from toolscale.rollout.groups import run_rollouts
from toolscale.rollout.loop import MOST_TURNS, run_rollout
from toolscale.rollout.offering import Offering, TaskSource, offer, rollout_tasks
from toolscale.rollout.policy import Message, Policy, Session, Tool, Turn
from toolscale.rollout.scripted import ScriptedPolicy, expected_utility
from toolscale.rollout.storage import read_rollouts, write_rollouts

__all__ = [
    "GIVE_UP", "MOST_TURNS", "Action", "Bench", "Domain", "EndpointPolicy", "Message", "Offering", "Outcome", "Policy",
    "ScriptedPolicy", "Session", "Setting", "TaskSource", "Tool", "Turn", "actions", "expected_figures",
    "expected_utility", "offer", "read_rollouts", "references", "regrade", "rollout_tasks", "run_rollout",
    "run_rollouts", "write_rollouts",
]  # fmt: skip
