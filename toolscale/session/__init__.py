"""Tasks played from outside: what a solver may see, calls in the task's own world, one final answer, and only then the
grade. `Sessions` is for programs, `Sitting` for whoever goes on command by command."""

from toolscale.session.playable import Playable
from toolscale.session.second_reader import SecondReader, Truth
from toolscale.session.sessions import Sessions
from toolscale.session.sitting import Sitting
from toolscale.session.solutions import BadLine, Graded, grade_solutions
from toolscale.session.transcript import View

__all__ = ["BadLine", "Graded", "Playable", "SecondReader", "Sessions", "Sitting", "Truth", "View", "grade_solutions"]
