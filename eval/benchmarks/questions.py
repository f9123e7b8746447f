"""Questions with checkable answers: generated ones of the test split, or those of Parquet files."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from eval.benchmark import About, Case, Opened
from eval.grading import grade_by_rules
from eval.ground import open_ground
from eval.records import Settings
from toolscale.errors import UsageError
from toolscale.questions.generate import TEMPLATES
from toolscale.questions.parquet import load_questions
from toolscale.records import Question, RolloutTask
from toolscale.rollout.offering import offer

TASKS = 2_000
"""Of the generated ones, unless another number is wanted: there is no end of them."""

ABOUT = About(
    title="Questions whose answers are a number, a name or a choice",
    size=f"{TASKS:,} generated ones, or as many as the files have",
    licence="ours for the generated ones; that of the files",
    data="nothing to get; or --data FILE.parquet with the columns question and reference_answer",
    judged_by="rules (toolscale/questions/grade.py)",
)


def open_benchmark(settings: Settings, tasks: int | None) -> Opened:
    """Open the questions: words and values of the test split, which training does not have."""
    ground = open_ground(settings, dict.fromkeys(TEMPLATES, 1.0))
    notes: tuple[str, ...] = ()
    if settings.data:
        try:
            found, counts = load_questions([Path(name) for name in settings.data], settings.seed)
            if not found:
                raise UsageError(f"--data: none of {counts.rows} rows can be checked; name files with short answers")
        except BaseException:
            ground.held.close()
            raise
        notes = (f"{counts.kept} of {counts.rows} rows of {', '.join(settings.data)} can be checked",)
        source = ground.source
        offered = [
            offer(source.offering, number, "test", source.seed, question=question)
            for number, question in enumerate(found[:tasks])
        ]
    else:
        offered = [ground.source[number] for number in range(tasks or TASKS)]
    return Opened(
        about=ABOUT,
        cases=[_case(task) for task in offered],
        ground=ground,
        grade=partial(grade_by_rules, ground.bench),
        notes=notes,
    )


def _case(task: RolloutTask) -> Case:
    question = task.question
    assert question is not None, "the mixture has questions only"
    return Case(task, _cluster(question), {"category": question.category})


def _cluster(question: Question) -> str:
    """Generated questions of one template are of one kind; those of a file stand for themselves."""
    made_by, _, _ = question.source.rpartition(", seed ")
    return made_by.removeprefix("toolscale questions, ") if made_by else question.id
