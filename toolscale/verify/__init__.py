"""Model-free checking: the judge of candidates and the verifier of rollouts."""

from toolscale.verify.judge import Judge
from toolscale.verify.graded import grade_subject
from toolscale.verify.verifier import Verifier

__all__ = ["Judge", "Verifier", "grade_subject"]
