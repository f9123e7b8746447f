"""Evaluation: any policy on any benchmark through the one rollout loop, and what the numbers say. This package imports
`toolscale` and `training`, and is never imported by them."""
