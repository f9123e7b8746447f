"""Trajectories that other programs recorded, graded as those programs grade, and kept as lines like all others."""
