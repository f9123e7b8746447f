"""Questions with checkable answers: made by seed, or read from Parquet (`toolscale.questions.parquet`); and how answers
in words are graded."""
