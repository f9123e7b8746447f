"""Model-free checking: the judge of candidates and the verifier of rollouts."""

from toolscale.verify.judge import JUDGE_VERSION, Judge
from toolscale.verify.verifier import Verifier

__all__ = ["JUDGE_VERSION", "Judge", "Verifier"]
