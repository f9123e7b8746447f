"""Intents, plans, binding, recording: from a seed to candidates."""
