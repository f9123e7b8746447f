"""Questions with checkable answers: made by seed, or read from Parquet (`toolscale.questions.parquet`); and how answers
in words are graded."""

from toolscale.questions.corpus import corpus, write_corpus
from toolscale.questions.generate import (
    NAMES,
    TEMPLATES,
    VOCABULARY,
    answer_key,
    question,
    questions,
    two_step_question,
)
from toolscale.questions.grade import grade_answer

__all__ = [
    "NAMES",
    "TEMPLATES",
    "VOCABULARY",
    "answer_key",
    "corpus",
    "grade_answer",
    "question",
    "questions",
    "two_step_question",
    "write_corpus",
]
