"""Requests in the words of a model.

`assignment` says what a model is told of a candidate: the values and cues that its plan says, the request of the
template, who speaks, and manners of writing. It sees neither calls nor answers. `writing` asks for the requests and
shows the model once what is wrong with them; what is wrong is decided by rules alone (`verify.wording`). `choosing`
takes the one that is least like the template.
"""

from toolscale.words.assignment import MANNERS, Assignment, Manner, assignment_of
from toolscale.words.choosing import strangeness
from toolscale.words.writing import STAGE, Written, write_requests

__all__ = [
    "MANNERS",
    "STAGE",
    "Assignment",
    "Manner",
    "Written",
    "assignment_of",
    "strangeness",
    "write_requests",
]
