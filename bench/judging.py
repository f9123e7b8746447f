"""What drawing and judging a candidate takes. One process is up to 15 % faster or slower than the next for all of its
life, with the same code: so a rate is the mean of several processes.

python -m bench.judging DOMAIN SCALE CANDIDATES KIND      one process's figures, as JSON
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from statistics import fmean

from bench.floor import Floor
from bench.reference import LARGE, slowness
from toolscale.dataset.making.judging import spare_collector
from toolscale.environment.environment import Environment, load_environment
from toolscale.environment.population import populate
from toolscale.environment.world import World
from toolscale.records import Candidate, Judged
from toolscale.tasks.binding import CandidateSource
from toolscale.verify.judge import Judge

PROCESSES = 5
"""Processes of which the mean is taken."""
BLOCK = 5
"""Candidates that are judged between two looks at how slow the machine is: it changes within a tenth of a second."""
WARM_UP = 480
"""Candidates judged before the measured ones. Evolved plans go on meeting statements that nobody has compiled yet for
some hundreds of candidates; a dataset has thousands."""


def draw(
    source: CandidateSource, seed: int, count: int, kind: str = "plain", warm_up: int = 1
) -> tuple[list[Candidate], float]:
    """Return so many candidates of the streams of a kind, and the seconds that drawing one took, without the first ones
    that `warm_up` says."""
    streams = [stream.name for stream in source.streams if stream.kind == kind]
    found: list[Candidate] = []
    start = time.process_time()
    for place in range(4 * count):
        candidate = source.draw(seed, source.number(streams[place % len(streams)], place // len(streams)))
        if candidate is None:
            continue
        found.append(candidate)
        if len(found) == count:
            break
        if len(found) == warm_up:
            start = time.process_time()
    return found, (time.process_time() - start) / max(len(found) - warm_up, 1)


def judge_all(judge: Judge, candidates: list[Candidate]) -> tuple[list[Judged], float, float]:
    """Judge candidates in blocks; return the verdicts, the mean seconds of the processor for one candidate, and how
    slow the machine was meanwhile."""
    judged, busy, scaled = [], 0.0, 0.0
    before = slowness(LARGE, times=1)
    for begin in range(0, len(candidates), BLOCK):
        block = candidates[begin : begin + BLOCK]
        start = time.process_time()
        judged += [judge.judge(candidate) for candidate in block]
        spent, after = time.process_time() - start, slowness(LARGE, times=1)
        busy, scaled = busy + spent, scaled + spent / ((before + after) / 2)
        before = after
    return judged, busy / len(candidates), busy / scaled


@dataclass(frozen=True)
class Taken:
    """What one candidate took on one core, without the sampled auditor, in seconds of the processor. Other programs on
    the machine do not lengthen them."""

    drawing: float
    judging: float
    """The mean. Each candidate is judged for the first time, so that the caches of the language hold none of its
    texts."""
    slowness: float
    """Of the machine meanwhile, measured around each block: see bench/reference.py."""

    @property
    def rate(self) -> float:
        """Candidates drawn and judged in a second of one core."""
        return 1 / (self.drawing + self.judging)

    @property
    def promised(self) -> float:
        """The same on the machine of the promises: two that were not measured at one time are compared by it."""
        return self.rate * self.slowness

    def ratio(self, floor: Floor) -> float:
        """Return the CPU time of judging divided by the CPU time of the floor, each by how slow the machine was."""
        return self.judging / self.slowness / (floor.seconds / floor.slowness)


@dataclass(frozen=True)
class Timed:
    """Candidates that were judged, after others that had the statements compiled and prepared."""

    candidates: list[Candidate]
    judged: list[Judged]
    taken: Taken


def time_judge(environment: Environment, scale: int, count: int, kind: str = "plain") -> Timed:
    """Draw and judge so many candidates in this process."""
    rows = populate(environment, 0, scale)
    source = CandidateSource(environment, World(environment, rows))
    spare_collector()  # as whatever makes a dataset does; else a full collection may fall into the drawing
    candidates, drawing = draw(source, 1, WARM_UP + count, kind, WARM_UP)
    # One catalogue of plans for whoever draws and whoever judges, as wherever a dataset is made.
    judge = Judge(environment, rows, seed=0, scale=scale, audit_share=0, catalogue=source.catalogue)
    spare_collector()
    try:
        judge_all(judge, candidates[:WARM_UP])
        judged, seconds, slow = judge_all(judge, candidates[WARM_UP:])
    finally:
        judge.close()
    return Timed(candidates[WARM_UP:], judged, Taken(drawing, seconds, slow))


def time_processes(domain: str, scale: int, count: int, kind: str = "plain", processes: int = PROCESSES) -> Taken:
    """Return the mean of what a candidate takes in several processes, one after the other, each scaled by how slow the
    machine was for it."""
    command = [sys.executable, "-m", "bench.judging", domain, str(scale), str(count), kind]
    runs = [
        Taken(**json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout))
        for _ in range(processes)
    ]
    slow = fmean(run.slowness for run in runs)
    return Taken(
        drawing=fmean(run.drawing / run.slowness for run in runs) * slow,
        judging=fmean(run.judging / run.slowness for run in runs) * slow,
        slowness=slow,
    )


def main(domain: str, scale: str, count: str, kind: str) -> None:
    """Print the figures of this process."""
    print(json.dumps(asdict(time_judge(load_environment(domain), int(scale), int(count), kind).taken)))


if __name__ == "__main__":
    main(*sys.argv[1:])
