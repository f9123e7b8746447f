"""Stands where `training` stands in a checkout, in the homes of tests."""
