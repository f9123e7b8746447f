"""What a model would learn from had another verifier admitted the trajectories.

For each task there are the golden trajectory and wrong ones, labelled from their meaning before anybody judges them
(toolscale/verify/weakened.py). The whole verifier lets the golden one through alone. Where a weakened one lets wrong
ones through, one of them is what the task teaches in every second draw: as if half of all attempts were wrong in a way
that it overlooks.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from toolscale.canonical import stable_int
from toolscale.dataset.columns import task_of
from toolscale.environment.world import World
from toolscale.errors import UsageError
from toolscale.exports.golden import golden_messages, opened_domains
from toolscale.records import GoldenCall, Task, ToolCall
from toolscale.verify.judge import Judge
from toolscale.verify.mutants import MutantMaker
from toolscale.verify.subject import Subject
from toolscale.verify.trajectories import Trajectory
from toolscale.verify.weakened import VERIFIERS, WeakenedVerifier, trials
from training.conversations import Conversation


@dataclass(frozen=True)
class LetThrough:
    """What one task teaches. `wrong`: it is not the golden trajectory."""

    conversation: Conversation
    wrong: bool


def verifier_named(name: str) -> WeakenedVerifier:
    """Return the verifier of this name. UsageError if there is none."""
    found = next((each for each in VERIFIERS if each.name == name), None)
    if found is None:
        known = ", ".join(repr(each.name) for each in VERIFIERS)
        raise UsageError(f"there is no verifier {name!r}: give one of {known}")
    return found


def let_through(folder: Path, verifier: WeakenedVerifier, seed: int) -> Iterator[LetThrough]:
    """Yield one trajectory for each task of the training split, in its order. The draw depends on the seed and the task
    alone."""
    for domain in opened_domains(folder):
        maker = MutantMaker(domain.environment, domain.database)
        for row in domain.splits["train"]:
            task = task_of(row)
            subject = domain.judge.subject(task.candidate)
            drawn = _draw(subject, maker, domain.judge, verifier, seed)
            calls = task.golden_calls if drawn is None else _made(task, drawn, domain.world)
            answer = subject.answer if drawn is None or drawn.answer is None else drawn.answer
            told = task.model_copy(update={"golden_calls": calls})
            messages = golden_messages(tuple(row["prompt"]), told, answer)
            yield LetThrough({"messages": messages, "tools": json.loads(row["tools"])}, drawn is not None)


def _draw(
    subject: Subject, maker: MutantMaker, judge: Judge, verifier: WeakenedVerifier, seed: int
) -> Trajectory | None:
    """Draw a trajectory that a verifier accepts: a wrong one, or None for the golden one."""
    accepted = [
        trial.trajectory
        for trial in trials(subject, maker, judge, seed)
        if not trial.right
        and (trial.trajectory.answer is None or subject.candidate.answer == "form")
        and verifier.accepts(trial)
    ]
    number = stable_int("let through", seed, subject.candidate.seed, subject.candidate.number)
    rng = random.Random(number)
    return rng.choice(accepted) if accepted and rng.random() < 0.5 else None


def _made(task: Task, drawn: Trajectory, world: World) -> tuple[GoldenCall, ...]:
    """The calls of a trajectory, with what each returns: a result or an error."""
    world.reset()
    made = [(call, world.call(call.name, call.arguments)) for call in _with_lookups(task, drawn, world)]
    return tuple(
        GoldenCall(
            name=call.name, arguments=call.arguments, result=result.value if result.ok else {"error": result.error}
        )
        for call, result in made
    )


def _with_lookups(task: Task, drawn: Trajectory, world: World) -> list[ToolCall]:
    """The calls of a trajectory among the look-ups of the golden one: its writes take the places of the golden writes,
    and what is left over follows."""
    golden = [ToolCall(name=call.name, arguments=call.arguments) for call in task.golden_calls]
    if drawn.with_reads:
        return list(drawn.calls)
    writes, calls = iter(drawn.calls), list[ToolCall]()
    for call in golden:
        calls += islice(writes, 1) if world.toolbox.tools[call.name].mutates_state else [call]
    return [*calls, *writes]
