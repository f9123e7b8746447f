"""Where the things stand in a message that a rollout was shown, by the names that people give them."""

from __future__ import annotations

from toolscale.language.clauses import Answer
from toolscale.language.labels import Labels, names_in
from toolscale.language.shown import Shown

MOST = 64
"""Messages of which it is kept where the things stand, for each rollout."""


def things_in(answer: Answer, shown: Shown) -> Labels:
    """Return the names that stand in an answer; found once for all that ask."""
    kept = shown.found_in
    if (found := kept.get(id(answer))) is None:
        if len(kept) >= MOST:
            kept.clear()
        found = kept[id(answer)] = names_in(answer, shown.forms)  # it holds the answer, so that its id() stays its own
    return found
