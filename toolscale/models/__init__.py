"""Experts: who they are, what they cost, what is said about them, and how they are asked."""
