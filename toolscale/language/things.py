"""Where the things stand in a message that a rollout was shown, by the names that people give them."""

from __future__ import annotations

from functools import lru_cache

from toolscale.language.clauses import Answer
from toolscale.language.labels import Labels
from toolscale.language.shown import Shown


@lru_cache(maxsize=1024)
def _found(answer: Answer, names: tuple[str, ...]) -> Labels:
    return Labels(answer, names, None)


def things_in(answer: Answer, shown: Shown) -> Labels:
    """Return the names that stand in an answer; found once for all that ask."""
    return _found(answer, shown.sorted_names)
