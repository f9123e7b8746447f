"""Fixtures of this folder."""

from courts import bank, court, plant

__all__ = ["bank", "court", "plant"]
