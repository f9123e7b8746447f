"""A question of yes or no is asked for in a field of its own, and graded."""

from __future__ import annotations

import json

from toolscale.environment.environment import load_environment
from toolscale.environment.population import populate
from toolscale.environment.world import World
from toolscale.tasks.binding import CandidateSource
from toolscale.verify.judge import Judge
from toolscale.verify.verifier import Verifier


def test_whether_a_player_may_play_is_told_rightly_or_scores_0() -> None:
    environment = load_environment("sport")
    rows = populate(environment)
    judge = Judge(environment, rows, audit_share=0, replica=False)
    source = CandidateSource(environment, World(environment, rows))
    verifier, answers = Verifier(judge), set[bool]()
    for turn in range(12):
        candidate = source.draw(0, source.number("who_may_play", turn), answer="form")
        assert candidate is not None
        calls, answer = verifier.golden(candidate)
        filled = json.loads(answer)
        other = json.dumps({**filled, "whether_he_may_play": not filled["whether_he_may_play"]})
        assert verifier.grade(candidate, calls, answer).score == 1
        assert verifier.grade(candidate, calls, other).finding == (
            f"whether_he_may_play is not stated as {json.dumps(filled['whether_he_may_play'])}"
        )
        answers.add(filled["whether_he_may_play"])
    assert answers == {True, False}
    judge.close()
