"""Datasets in the formats of other people's programs."""
