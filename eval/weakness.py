"""What a policy fails, counted by what its tasks are made of: the file that `synthesize --toward` reads."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

from eval.benchmark import Case
from eval.records import Header, Line
from eval.summary import task_scores
from toolscale.config import GRADING_VERSION
from toolscale.dataset.storage import write_file
from toolscale.errors import UsageError
from toolscale.records import DomainWeakness, Failed, Weakness
from toolscale.rollout.domain import Domain
from toolscale.tasks.toward import render_weakness, values_of

ENVIRONMENT_TASKS = ("heldout", "familiar")
"""Benchmarks of tasks that are made of intents and tools."""
WANTS = f"--weak counts what environment tasks are made of: evaluate on {' or '.join(ENVIRONMENT_TASKS)}"


def weakness_of(
    header: Header, lines: Sequence[Line], cases: Sequence[Case], domains: Mapping[str, Domain]
) -> Weakness:
    """Return what the lines of a policy say of the tasks of `cases`. A task of several samples is failed if fewer than
    half of them are right; one without a grade is counted apart. UsageError if no environment task has one."""
    scores, left_out = {each.task_hash: each.score for each in task_scores(lines)}, 0
    counts: dict[str, dict[str, dict[str, list[bool]]]] = {}
    for hash_, task in {case.hash: case.task.task for case in cases}.items():
        if task is None or hash_ not in scores:
            left_out += 1
            continue
        intents = {intent.id: intent for intent in domains[task.domain].environment.spec.intents.intents}
        domain = counts.setdefault(task.domain, {})
        for name, values in values_of(task, intents).items():
            counted = domain.setdefault(name, defaultdict(list))
            for value in values:
                counted[value].append(scores[hash_] < 0.5)
    if not counts:
        raise UsageError(f"{header.benchmark}: no environment task has a grade; {WANTS}")
    found = {
        domain: DomainWeakness(
            **{
                name: {value: Failed.of(sum(each), len(each)) for value, each in counted.items()}
                for name, counted in fields.items()
            }
        )
        for domain, fields in counts.items()
    }
    return Weakness(
        policy=header.policy,
        benchmark=header.benchmark,
        grading=GRADING_VERSION,
        left_out=left_out,
        domains=found,
    )


def write_weakness(path: Path, weakness: Weakness) -> None:
    """Write the file."""
    write_file(path, render_weakness(weakness))
