"""What no row of a dataset shows alone: that the numbers are those that were drawn, and that their outcomes, novelty
and quotas follow from them.

All of it follows from the candidates judged again. The rounds are played once more with them: a task that was left out,
a split that was emptied, a reject that vanished is a number that was drawn and has another outcome here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from toolscale.dataset.checking.integrity import Finding
from toolscale.dataset.columns import Row
from toolscale.dataset.making.outcomes import count_outcomes, outcomes_file
from toolscale.dataset.making.rounds import Rounds
from toolscale.dataset.making.selection import Outcome, apply_novelty, select, weights_of
from toolscale.dataset.manifest import MANIFEST, Recipe
from toolscale.environment.environment import Environment
from toolscale.records import Judged, Part
from toolscale.tasks.binding import streams_of

MOST_TOLD = 5
"""So many false outcomes are told one by one."""


def check_whole(
    environment: Environment,
    part: Part,
    rows: Mapping[int, tuple[str, Row]],
    outcomes: Mapping[int, Outcome],
    judged: Sequence[Judged],
) -> Iterator[Finding]:
    """Yield what does not follow from the candidates that were `judged` again.

    `rows`: number -> place and row of a task or reject. `outcomes`: what the dataset says of every number.
    """
    place = outcomes_file(environment.domain)
    found = {name: part.counts.get(name) for name in ("over_quota", "no_case", "drawn")}
    if found != count_outcomes(outcomes):
        yield Finding(
            MANIFEST, "schema", f"{environment.domain}: it counts {found}; the outcomes make {count_outcomes(outcomes)}"
        )
    if min(part.tasks, part.max_candidates or part.tasks) > len(outcomes):  # each round draws more than are wanted
        yield Finding(
            place, "schema", f"{part.tasks} tasks were asked for and {len(outcomes)} numbers drawn, which are too few"
        )
        return
    if unfit := list(_check_rows(place, rows, outcomes)):
        yield from unfit
        return
    recipe = Recipe(
        environment.domain, part.tasks, part.seed, part.audit, part.inputs, part.evolved, part.turns, part.answer,
        max_candidates=part.max_candidates, toward=part.toward,
    )  # fmt: skip
    drawn = _play(environment, recipe, outcomes, judged)
    if missing := sorted(drawn - outcomes.keys()):
        yield Finding(place, "schema", f"{len(missing)} numbers that were drawn are missing, {missing[0]} first")
    elif strange := sorted(outcomes.keys() - drawn):
        yield Finding(place, "schema", f"{len(strange)} numbers were never drawn, {strange[0]} first")
    else:
        novel = apply_novelty(judged)
        yield from _check_novelty(novel, rows)
        yield from _check_outcomes(environment, part, outcomes, novel)


def _play(
    environment: Environment, recipe: Recipe, outcomes: Mapping[int, Outcome], judged: Sequence[Judged]
) -> set[int]:
    """Return the numbers that the rounds draw, until one that is not among the outcomes is drawn."""
    rounds, known, drawn = Rounds(environment, recipe), {item.candidate.number: item for item in judged}, set[int]()
    while numbers := rounds.draw():
        drawn |= set(numbers)
        if not drawn <= outcomes.keys():
            break
        rounds.add(known[number] for number in numbers if number in known)
    return drawn


def _check_novelty(novel: Sequence[Judged], rows: Mapping[int, tuple[str, Row]]) -> Iterator[Finding]:
    for judged in novel:
        (result,) = [gate for gate in judged.verdict.gates if gate.gate == "novel"]
        if judged.candidate.number in rows:
            place, row = rows[judged.candidate.number]
            if result.model_dump() not in row["verdict"]:
                yield Finding(
                    place, "novel", f"its verdict should say that the gate {result.status}es: {result.finding}"
                )


def _check_outcomes(
    environment: Environment, part: Part, outcomes: Mapping[int, Outcome], novel: Sequence[Judged]
) -> Iterator[Finding]:
    place, no_case = (
        outcomes_file(environment.domain),
        [number for number, outcome in outcomes.items() if outcome == "no_case"],
    )
    weights = weights_of(streams_of(environment), part.evolved, part.toward)
    anew = dict(select(novel, weights, part.tasks, no_case).outcomes)
    false = [number for number in outcomes if outcomes[number] != anew[number]]
    for number in false[:MOST_TOLD]:
        yield Finding(place, "schema", f"{number} is {outcomes[number]}; judged again it is {anew[number]}")
    if len(false) > MOST_TOLD:
        yield Finding(place, "schema", f"{len(false) - MOST_TOLD} more outcomes are not what judging again gives")


def _check_rows(place: str, rows: Mapping[int, tuple[str, Row]], outcomes: Mapping[int, Outcome]) -> Iterator[Finding]:
    """Yield numbers that are told to have a row and have none, or the other way round."""
    for number, outcome in outcomes.items():
        where, row = rows.get(number, ("", None))
        told = None if row is None else "rejected" if "reproduce" in row else "accepted"
        if row is None and outcome in ("accepted", "rejected"):
            yield Finding(place, "schema", f"{number} is {outcome}, and there is no row of it")
        elif row is not None and told != outcome:
            yield Finding(where, "schema", f"candidate {number} is {outcome} in {place}, and this row says {told}")
    for number in sorted(rows.keys() - outcomes.keys()):
        yield Finding(rows[number][0], "schema", f"candidate {number} is not among the numbers of {place}")
