"""Rollouts: one loop for training and evaluation, with a ledger of every token, dollar and second."""
