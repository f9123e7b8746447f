"""Datasets beside each other: versions, differences, old tasks under the judge of today, several domains in one."""
