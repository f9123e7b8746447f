"""Solutions whose final messages rules cannot grade, as a judge decides them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from toolscale.models.judging import JudgeSettings
from toolscale.records import Grade, Solution
from toolscale.rollout.message_judge import decide_all, open_judge
from toolscale.session.playable import Playable


@dataclass(frozen=True)
class Decided:
    """The grades in their order, and how many messages the judge gave no verdict on, with the last reason."""

    grades: list[Grade]
    lost: int = 0
    last: str = ""


def decide_solutions(
    playable: Playable, graded: Sequence[tuple[Solution, Grade]], settings: JudgeSettings | None
) -> Decided:
    """Return the grades of solutions with those that are undecided as a judge decides them; without a judge as they
    are. UsageError if the judge cannot be asked."""
    places = [place for place, (_, grade) in enumerate(graded) if grade.undecided]
    grades = [grade for _, grade in graded]
    if settings is None or not places:
        return Decided(grades)
    cases = []
    for place in places:
        solution, grade = graded[place]
        task = playable.task(solution.task)
        cases.append((playable.domain(task).message_case(task, solution.calls, solution.answer), grade))

    async def decided() -> Decided:
        async with open_judge(settings) as judge:
            assert judge is not None, "it is named"
            for place, grade in zip(places, await decide_all(judge, cases), strict=True):
                grades[place] = grade
            return Decided(grades, judge.lost, judge.last)

    return asyncio.run(decided())
