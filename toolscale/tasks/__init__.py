"""Intents, plans, binding, recording: from a seed to candidates."""

from toolscale.tasks.binding import CandidateSource
from toolscale.tasks.record import Recorder, Rejection

__all__ = ["CandidateSource", "Recorder", "Rejection"]
