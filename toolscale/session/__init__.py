"""Tasks played from outside: what a solver may see, calls in the task's own world, one final answer, and only then the
grade."""

from toolscale.session.playable import Playable
from toolscale.session.second_reader import SecondReader, Truth
from toolscale.session.sitting import Sitting, View
from toolscale.session.solutions import BadLine, Graded, grade_solutions

__all__ = ["BadLine", "Graded", "Playable", "SecondReader", "Sitting", "Truth", "View", "grade_solutions"]
