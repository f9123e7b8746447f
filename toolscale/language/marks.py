"""What stands in a text where a value stood."""

MASK = "▢"
"""Stands where a value stood."""
