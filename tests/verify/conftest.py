"""Fixtures of this folder."""

from courts import court, plant

__all__ = ["court", "plant"]
