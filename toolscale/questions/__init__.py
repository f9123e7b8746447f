"""Questions with checkable answers: made by seed, or read from Parquet; and how answers in words are graded."""

from toolscale.questions.corpus import corpus, write_corpus
from toolscale.questions.generate import NAMES, TEMPLATES, VOCABULARY, answer_key, question, questions

__all__ = [
    "NAMES", "TEMPLATES", "VOCABULARY", "answer_key", "corpus", "question", "questions", "write_corpus",
]  # fmt: skip
