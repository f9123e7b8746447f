"""Two judges a process, kept between calls: loading an environment costs more than judging a hundred candidates."""

from __future__ import annotations

import atexit
import gc
from dataclasses import dataclass
from pathlib import Path

from toolscale.canonical import content_hash
from toolscale.config import AUDIT_SHARE, Audit
from toolscale.dataset.given import read_given
from toolscale.dataset.world import read_rows, table_hashes
from toolscale.environment.environment import Environment, load_environment
from toolscale.environment.world import World
from toolscale.records import Answer, Candidate, DrawnTurns, Judged
from toolscale.sandbox.base import Rows
from toolscale.tasks.binding import CandidateSource
from toolscale.verify.judge import Judge


@dataclass(frozen=True, slots=True)
class Place:
    """An environment folder with its database, and how to judge there. `state` is a hash of all that the files say:
    equal states are judged alike."""

    folder: Path
    state: str
    audit: Audit
    turns: DrawnTurns = "mixed"
    """Which of the candidates that are drawn are conversations."""
    answer: Answer = "form"
    """How they are answered."""
    given: Path | None = None
    """Where the lines lie that models gave; they are part of `state`."""
    scale: int = 1
    """How many times as many rows the database has as population.yaml says."""

    @classmethod
    def of(
        cls,
        environment: Environment,
        rows: Rows,
        audit: Audit,
        turns: DrawnTurns = "mixed",
        answer: Answer = "form",
        given: Path | None = None,
        scale: int = 1,
    ) -> Place:
        """Return the place where an environment was loaded, with the rows of its database."""
        lines = read_given(given, environment.folder).hash
        state = content_hash([environment.files, table_hashes(rows), *([lines] if lines else [])])
        return cls(environment.folder, state, audit, turns, answer, given, scale)

    def alike(self, other: Place) -> bool:
        """Whether judging gives the same in both places: one folder is a copy of the other, under the same name (which
        is the domain), and both are judged in the same way."""
        return self._judged() == other._judged()

    def _judged(self) -> tuple[str, str, Audit, DrawnTurns, Answer, int]:
        return self.folder.name, self.state, self.audit, self.turns, self.answer, self.scale


class KeptJudge:
    """A judge with the world that it judges in, the source of its candidates, and a world of its own for replays."""

    def __init__(self, place: Place):
        self.place = place
        self.environment: Environment = load_environment(place.folder)
        self.given = read_given(place.given, place.folder)
        self.rows = read_rows(self.environment, place.folder)
        self.world = World(self.environment, self.rows)
        self.source = CandidateSource(self.environment, World(self.environment, self.rows))
        self.judge = Judge(
            self.environment,
            self.rows,
            scale=place.scale,
            audit_share=AUDIT_SHARE[place.audit],
            catalogue=self.source.catalogue,
        )

    def draw(self, seed: int, number: int) -> Candidate | None:
        """Draw candidate `number`; None if the database has no case for it."""
        candidate = self.source.draw(seed, number, self.place.turns, self.place.answer)
        if candidate is None:
            return None
        return self.given.put_on(candidate, self.environment.hash)

    def judged(self, candidate: Candidate) -> Judged:
        """Judge a candidate, with the attempts at it and what was decided about it."""
        return self.judge.judge(candidate, self.given.about(candidate, self.environment.hash))

    def close(self) -> None:
        """End the processes and connections of the judge and the world."""
        self.judge.close()
        self.world.close()


COLLECTED_AT = 100_000
"""New objects after which the garbage collector looks for cycles among them; Python's own figure is 700."""
COLLECTED_AGAIN = 500
"""Such looks after which it looks again at what stayed: nearly all of that is cached on purpose. Python's own figure
is 10."""

MOST_OPEN = 2
"""Judges that a process keeps: that of a folder, and that of the one which it is held against."""

_open: list[KeptJudge] = []
"""The judge that was wanted last stands first."""


def kept_judge_at(place: Place) -> KeptJudge:
    """Return the judge that this process keeps at `place`, or at a copy of it; of too many, the one that was not wanted
    for longest is closed."""
    kept = next((bench for bench in _open if bench.place.alike(place)), None)
    if kept is not None:
        _open.remove(kept)
    else:
        while len(_open) >= MOST_OPEN:
            _open.pop().close()
        kept = KeptJudge(place)
        spare_collector()
    _open.insert(0, kept)
    return kept


def spare_collector() -> None:
    """Keep the garbage collector of this process from looking at what is loaded, and at caches that grow, again and
    again: a tenth of judging. Judging leaves few cycles behind."""
    gc.unfreeze()
    gc.collect()
    gc.freeze()
    gc.set_threshold(COLLECTED_AT, COLLECTED_AGAIN)
    atexit.unregister(gc.unfreeze)
    atexit.register(gc.unfreeze)  # what stays frozen at the end is never freed, and libraries complain of leaks


@atexit.register
def close_kept_judges() -> None:
    """Close the judges that this process keeps."""
    while _open:
        _open.pop().close()
