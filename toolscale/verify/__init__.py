"""Model-free checking: the judge of candidates and the verifier of rollouts."""
