"""Stands for `eval` in tests of what runs around an evaluation."""
