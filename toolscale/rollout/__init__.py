"""Rollouts: one loop for training and evaluation, with a ledger of every token, dollar and second."""

from toolscale.rollout.policy import Message, Policy, Session, Tool, Turn

__all__ = ["Message", "Policy", "Session", "Tool", "Turn"]
