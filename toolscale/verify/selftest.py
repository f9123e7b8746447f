"""The judge on trial: defects are planted in good candidates before they are judged, and it is counted which gates find
them.

Candidates are drawn as those of a dataset are: forms, some of them dialogues. A kind is tried on them in an order that
the seed draws, until it was planted as often as was asked for.
Candidates in which it would be no defect (there is no place for it, or what it changes comes to the same) are counted
as not applicable; the judge has no say in that.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from toolscale.canonical import stable_int
from toolscale.config import EVOLVED_SHARE, SELFTEST_GOOD, SELFTEST_KIND, SELFTEST_REJECTED
from toolscale.environment.environment import Environment
from toolscale.errors import UsageError
from toolscale.records import Candidate, Judged
from toolscale.sandbox.base import Rows
from toolscale.verify.defects import DEFECTS, Court, Defect, Ground, Planted
from toolscale.verify.novel import Novelty

LINT = "lint"
"""Stands among the gates for what never came before the judge: the bent intent was refused when it was compiled."""

RIGHTLY = frozenset(("unambiguous", "case_agrees", "novel"))
"""Gates that reject candidates of a natural draw with reason: a client with two bills of one company, a task that was
there before."""

COLLIDED = RIGHTLY | {"replay", "not_leaked", "necessary", "mutants_killed", "equivalents_accepted"}
"""The same for evolved candidates: one matter takes the money that another needs, undoes it, or says by chance what
another must tell."""

SEVERAL = COLLIDED | {"lawful", "schema", "grounded"}
"""The same where there are several matters or rows: one permits or forbids what another asks (a player is released, and
then the squad has room for the one who was to be refused), both come to be about the same, or in a dialogue one
question is heard as asking for a thing of each."""

MOST_COLLIDED = 0.15
"""The share of evolved candidates that may be rejected because their matters collide. Each costs a draw; a larger share
shows a judge that is too strict."""

TURNS = 40
"""Candidates of each stream among which those of a kind are drawn, if so many are needed."""

DOUBTED = 4
"""A kind that misses its threshold is planted so many times as often before it counts as missed: ten defects are too
few to tell whether nine tenths of a kind are found."""

PATIENCE = 6
"""Candidates of each stream that are tried in vain before a kind is taken to have no place in the environment."""

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Outcome:
    """What became of one candidate: its number, what was done to it, and gate -> finding of the gates that rejected
    it."""

    number: int
    what: str
    findings: dict[str, str]
    several: bool = False
    """Whether the candidate, an evolved one, has several matters, or does the same to several rows."""

    @property
    def collides(self) -> frozenset[str]:
        """The gates that reject it with reason if it has no defect."""
        return SEVERAL if self.several else COLLIDED if "+" in self.what else RIGHTLY


@dataclass(frozen=True)
class KindRow:
    """What became of the candidates of one kind."""

    kind: str
    level: str
    words: str
    open: str
    """Why no threshold is about the kind; empty if one is."""
    not_applicable: int
    """Candidates that were passed over: the kind has no place in them, or would be no defect."""
    outcomes: tuple[Outcome, ...]

    @property
    def planted(self) -> int:
        """How many candidates with the defect were judged."""
        return len(self.outcomes)

    @property
    def rejected(self) -> int:
        """How many of them some gate rejected."""
        return sum(bool(outcome.findings) for outcome in self.outcomes)

    @property
    def share(self) -> float | None:
        """The share rejected; None if the kind was not planted."""
        return self.rejected / self.planted if self.planted else None

    @property
    def gates(self) -> dict[str, int]:
        """Gate -> how many it rejected, most first; a candidate counts for every gate that rejected it."""
        return dict(Counter(gate for outcome in self.outcomes for gate in outcome.findings).most_common())

    @property
    def alone(self) -> dict[str, int]:
        """Gate -> how many it alone rejected."""
        return dict(
            Counter(
                next(iter(outcome.findings)) for outcome in self.outcomes if len(outcome.findings) == 1
            ).most_common()
        )


@dataclass(frozen=True)
class SelfTest:
    """The judge of one environment, judged."""

    domain: str
    seed: int
    kinds: tuple[KindRow, ...]
    good: int
    """Good candidates judged: those of the draw in which defects were planted, as they were."""
    evolved: int
    """Those of them that are evolved, or turned into refusals."""
    good_rejected: tuple[Outcome, ...]
    """Those of them that were rejected; `what` is their stream."""

    @property
    def wrongly(self) -> tuple[Outcome, ...]:
        """The good candidates that were rejected by a gate which has no reason to."""
        return tuple(outcome for outcome in self.good_rejected if not outcome.findings.keys() <= outcome.collides)

    @property
    def collided(self) -> tuple[Outcome, ...]:
        """The evolved ones that were rejected because their matters collide."""
        return tuple(
            outcome
            for outcome in self.good_rejected
            if "+" in outcome.what and RIGHTLY < outcome.findings.keys() | RIGHTLY <= outcome.collides
        )

    @property
    def planted(self) -> int:
        """Defects planted, over all kinds that a threshold is about."""
        return sum(row.planted for row in self.kinds if not row.open)

    @property
    def rejected(self) -> int:
        """Those of them that were rejected."""
        return sum(row.rejected for row in self.kinds if not row.open)

    def without(self, gate: str) -> SelfTest:
        """The same self-test by a judge whose `gate` lets everything pass. Where the gate ended the recording early, no
        other gate was asked, so the candidate passes."""

        def spared(outcome: Outcome) -> Outcome:
            return replace(
                outcome, findings={name: finding for name, finding in outcome.findings.items() if name != gate}
            )

        kinds = tuple(replace(row, outcomes=tuple(map(spared, row.outcomes))) for row in self.kinds)
        good = tuple(left for outcome in self.good_rejected if (left := spared(outcome)).findings)
        return replace(self, kinds=kinds, good_rejected=good)

    def missed(self) -> Iterator[str]:
        """Yield each threshold that was missed, in one line."""
        if not self.planted:
            yield "no defect could be planted"
            return
        if self.rejected < SELFTEST_REJECTED * self.planted:
            yield f"{self.rejected} of {self.planted} planted defects were rejected, fewer than {SELFTEST_REJECTED:.0%}"
        for row in self.kinds:
            if not row.open and row.rejected < SELFTEST_KIND * row.planted:
                yield (
                    f"{row.rejected} of {row.planted} defects of the kind {row.kind} were rejected, "
                    f"fewer than {SELFTEST_KIND:.0%}"
                )
        if len(self.wrongly) > SELFTEST_GOOD * self.good:
            yield f"{len(self.wrongly)} of {self.good} good candidates were rejected, more than {SELFTEST_GOOD:.0%}"
        if len(self.collided) > MOST_COLLIDED * self.evolved:
            yield (
                f"{len(self.collided)} of {self.evolved} good evolved candidates were rejected for a collision, "
                f"more than {MOST_COLLIDED:.0%}"
            )


def run_selftest(
    environment: Environment,
    rows: Rows,
    *,
    per_kind: int = 10,
    seed: int = 0,
    kinds: Sequence[str] = (),
    progress: Progress | None = None,
) -> SelfTest:
    """Plant `per_kind` defects of each kind (all of them by default) and judge them. The draw depends on the seed and
    the environment alone.

    UsageError for a kind that there is not.
    """
    unknown = [kind for kind in kinds if kind not in DEFECTS]
    if unknown:
        raise UsageError(f"there is no defect of the kind {unknown[0]!r}; the kinds are {', '.join(DEFECTS)}")
    chosen = [DEFECTS[kind] for kind in dict.fromkeys(kinds)] or list(DEFECTS.values())
    trial = _Trial(environment, rows, seed)
    try:
        found = []
        for number, defect in enumerate(chosen):
            if progress is not None:
                progress(defect.kind.replace("_", " "), number, len(chosen))
            found.append(trial.kind(defect, per_kind))
    finally:
        trial.close()
    plain = sum(trial.is_plain(number) for number in trial.good)
    return SelfTest(
        environment.domain, seed, tuple(found), len(trial.good), len(trial.good) - plain, tuple(trial.good_rejected)
    )


class _Trial:
    """One run: the good candidates, the judge of the environment as it is, and judges of what was changed."""

    def __init__(self, environment: Environment, rows: Rows, seed: int) -> None:
        self.seed = seed
        self.ground = Ground(environment, rows)
        self.court = Court(environment, rows, audit_share=0, catalogue=self.ground.source.catalogue)
        self.good: dict[int, bool] = {}
        """Number -> whether the candidate, as it was drawn, was accepted."""
        self.good_rejected: list[Outcome] = []
        self._drawn: dict[int, Candidate | None] = {}
        self._novelty = Novelty()

    def close(self) -> None:
        """End the judge and the worlds."""
        self.court.close()
        self.ground.close()

    def kind(self, defect: Defect, per_kind: int) -> KindRow:
        """Plant a kind of defect and judge it."""
        rng = random.Random(stable_int("selftest", self.seed, self.ground.environment.domain, defect.kind))
        streams = len(self.ground.source.streams)
        outcomes: list[Outcome] = []
        passed = vain = 0
        wanted = per_kind
        for number in self._numbers(rng):
            if len(outcomes) == per_kind and not defect.open and not _rejects_enough(outcomes):
                wanted = DOUBTED * per_kind
            if len(outcomes) == wanted or vain == PATIENCE * streams:
                break
            candidate = self._draw(number)
            if candidate is None:
                continue
            # Planting is tried first: where there is no place for the defect, the candidate need not be judged.
            planted = (
                defect.plant(self.ground, candidate, rng)
                if self.good.get(number, True) and self._is_recorded(candidate)
                else None
            )
            if planted is None:
                passed, vain = passed + 1, vain + 1
            elif self._is_good(number, candidate):
                vain = 0
                outcomes.append(Outcome(number, planted.what, self._findings(planted)))
        return KindRow(defect.kind, defect.level, defect.words, defect.open, passed, tuple(outcomes))

    def is_plain(self, number: int) -> bool:
        """Whether a number is that of a candidate of an intent as it is written."""
        streams = self.ground.source.streams
        return streams[number % len(streams)].kind == "plain"

    def _numbers(self, rng: random.Random) -> list[int]:
        """TURNS numbers of each stream in a drawn order, in which plain ones and others come up in their share."""
        streams = self.ground.source.streams
        weights = {True: 0.0, False: 0.0}
        for stream in streams:
            weights[stream.kind == "plain"] += stream.weight
        drawn = {}
        for number in range(TURNS * len(streams)):
            plain = self.is_plain(number)
            share = (
                (1 - EVOLVED_SHARE if plain else EVOLVED_SHARE) * streams[number % len(streams)].weight / weights[plain]
            )
            drawn[number] = rng.random() ** (1 / share)
        return sorted(drawn, key=lambda number: (-drawn[number], number))

    def _draw(self, number: int) -> Candidate | None:
        if number not in self._drawn:
            self._drawn[number] = self.ground.source.draw(self.seed, number, "mixed")
        return self._drawn[number]

    def _is_recorded(self, candidate: Candidate) -> bool:
        """Whether the candidate can be recorded at all; if not, it is among the good ones that were rejected."""
        if candidate.number not in self.good and not self.ground.can_record(candidate):
            self._is_good(candidate.number, candidate)
        return self.good.get(candidate.number, True)

    def _is_good(self, number: int, candidate: Candidate) -> bool:
        if number not in self.good:
            judged = self.court.judge(candidate)
            self.good[number] = judged.verdict.accepted
            findings = _failed(judged, self._novelty)
            if findings:
                several = any(line.startswith(("compose ", "batch ")) for line in candidate.evolutions)
                self.good_rejected.append(Outcome(number, candidate.stream, findings, several))
        return self.good[number]

    def _findings(self, planted: Planted) -> dict[str, str]:
        """Judge a candidate with a defect; return gate -> finding of the gates that reject it."""
        if planted.refused is not None:
            return {LINT: planted.refused}
        own = planted.environment is not None or planted.rows is not None
        court = self._own_court(planted) if own else self.court
        if planted.plan is not None:
            court.bent = planted.plan
        novelty = Novelty()
        try:
            for before in planted.before:
                novelty.check(court.judge(before))
            court.alter = planted.alter
            candidate = planted.candidate.model_copy(update={"evolutions": ()}) if own else planted.candidate
            return _failed(court.judge(candidate), novelty)
        finally:
            court.alter = None
            court.bent = None
            if own:
                court.close()

    def _own_court(self, planted: Planted) -> Court:
        """A judge of a changed environment or of changed rows; of the intents it knows the one that is judged."""
        environment = (
            self.ground.alone(planted.candidate, planted.environment) if planted.plan is None else planted.environment
        )
        rows = self.ground.rows if planted.rows is None else planted.rows
        shares = 1.0 if planted.audited == "engine" else 0.0
        assert environment is not None, "a plan of its own comes with its environment, or is judged in the common one"
        return Court(environment, rows, audit_share=shares, replica=planted.audited == "process")


def _rejects_enough(outcomes: Sequence[Outcome]) -> bool:
    return sum(bool(outcome.findings) for outcome in outcomes) >= SELFTEST_KIND * len(outcomes)


def _failed(judged: Judged, novelty: Novelty) -> dict[str, str]:
    novel = novelty.check(judged)
    return {gate.gate: gate.finding for gate in (*judged.verdict.failed, novel) if gate.status == "fail"}
