"""What the streams of an environment yield: of so many candidates of each, how many are accepted, and what is found
wrong with the others. An intent that is sound on paper may still give no task."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from itertools import islice
from typing import Any, Literal

from toolscale.config import STREAM_CANDIDATES, STREAM_DRAWS
from toolscale.environment.environment import Environment
from toolscale.environment.population import populate
from toolscale.environment.world import World
from toolscale.errors import SpecIssue
from toolscale.language.phrasing import every_choice
from toolscale.patterns import regex
from toolscale.records import Candidate, Intent, Judged
from toolscale.tasks.binding import CandidateSource
from toolscale.verify.judge import Judge
from toolscale.verify.novel import Novelty

FEW = 1 / 3
"""A stream that yields a smaller share is poor."""

HALF = 1 / 2
"""A stream, of what is written or turned into a refusal, that yields a smaller share is weak."""

_SHARED = regex(r"shares \d+ words, [\"'](.+?)[\"'], with candidate")
_WITH = regex(r"shares .* with candidate (\d+)")
_WORDS = regex(r"[^\W_]+(?:['’][^\W_]+)?")
_READ = 200
"""Choices of the text of a role that are read."""

_REMEDY = {
    "turned": "; where a said value breaks the rule, give the rule `draws`, and the slot `from` instead of `sql`"
}
"""What to do about a stream without candidates, beyond what admission says of every intent."""

SHOWN = 3
"""Accepted requests of each stream that are kept to be read."""


@dataclass
class Yield:
    """What became of the first candidates of one stream."""

    stream: str
    """`pay_bill`, `pay_bill+evolved`."""
    intent: str
    kind: Literal["plain", "evolved", "turned"] = "plain"
    judged: int = 0
    accepted: int = 0
    findings: Counter[str] = field(default_factory=Counter)
    """Gate -> how many candidates failed it."""
    examples: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Gate -> the first candidate that failed it: its number, and what the gate found."""

    alike: int = 0
    """Accepted ones that repeat another of the same stream, in words or in what is done: a dataset has no room for
    them."""
    repeated: str = ""
    """What the first of these repeats."""
    repeated_in: str = "requests"
    """Where the words that it repeats stand, of its intent."""
    worded: int = 0
    """Of those that repeat another, the ones that repeat its words."""
    echoes: Counter[str] = field(default_factory=Counter)
    """Another intent -> how many accepted ones share words with one of its."""
    echoed: str = ""
    """What the first of these shares."""
    wanted: int = STREAM_CANDIDATES
    """Candidates that were to be judged."""
    requests: list[str] = field(default_factory=list)
    """Those of the first accepted candidates, to be read."""

    @property
    def share(self) -> float:
        """The share that was accepted, 0 where nothing could be drawn."""
        return self.accepted / self.judged if self.judged else 0.0

    def facts(self) -> dict[str, Any]:
        """Return all of it as JSON takes it."""
        return {**vars(self), "findings": dict(self.findings), "echoes": dict(self.echoes), "share": self.share}

    @property
    def is_barren(self) -> bool:
        """Whether it yields nothing, and should: an intent that can seldom be evolved only gives fewer evolved tasks,
        but one whose evolutions are all rejected is at fault."""
        least = {"plain": 0, "evolved": STREAM_CANDIDATES, "turned": 1}
        return not self.accepted and self.judged >= least[self.kind]

    @property
    def is_poor(self) -> bool:
        """Whether it yields little, and may."""
        return self.share < FEW and not self.is_barren

    @property
    def is_weak(self) -> bool:
        """Whether it yields less than it might if it were written better. Evolutions fail for reasons of their own: of
        these, only those count that yield little of as many as were wanted."""
        if self.is_barren:
            return False
        if self.kind == "evolved":
            return self.judged >= self.wanted and self.share < FEW
        return self.share < HALF or self.judged < self.wanted / 2

    @property
    def is_monotonous(self) -> bool:
        """Whether more than half of what is accepted repeats another: its phrasings need alternatives, or it needs more
        rows."""
        return self.alike > self.accepted / 2

    @property
    def commonest(self) -> str:
        """What is found most often, with an example; empty where nothing is."""
        if not self.findings:
            return "" if self.judged else f"no rows fit it in {STREAM_DRAWS} draws{_REMEDY.get(self.kind, '')}"
        gate, count = self.findings.most_common(1)[0]
        number, finding = self.examples[gate]
        return f"{gate} ({count}), as in candidate {number}: {finding}"

    def take(self, which: str, request: str, failed: Sequence[tuple[str, str]]) -> None:
        """Count a candidate, given the gates that it failed, each with its finding. `which`: its number, and the
        evolutions that made it."""
        self.judged += 1
        self.accepted += not failed
        if not failed and len(self.requests) < SHOWN:
            self.requests.append(request)
        for gate, finding in failed:
            self.findings[gate] += 1
            self.examples.setdefault(gate, (which, finding))

    def repeat(self, number: int, finding: str, place: str = "requests") -> None:
        """Count an accepted candidate that repeats another, with words that stand at a place of its intent."""
        self.alike += 1
        self.worded += " words" in finding
        if not self.repeated or (" words" in finding and " words" not in self.repeated):
            self.repeated, self.repeated_in = f"candidate {number} {finding}", place

    def echo(self, number: int, finding: str, other: str) -> None:
        """Count an accepted candidate that shares words with one of another intent."""
        self.echoes[other] += 1
        self.echoed = self.echoed or f"candidate {number} {finding}"


def measure_yields(
    environment: Environment,
    candidates: int = STREAM_CANDIDATES,
    progress: Callable[[str, int, int], None] = lambda act, done, total: None,
    intents: Collection[str] | None = None,
) -> list[Yield]:
    """Draw and judge the first candidates of every stream under seed 0, on the rows of seed 0. The gate `novel`, which
    compares candidates, compares those of one stream here, and what it finds is counted apart: in a dataset they are
    compared with those of all streams. `intents`: only the streams of these."""
    rows = populate(environment)
    judge = Judge(environment, rows, audit_share=0, replica=False)
    try:
        with World(environment, rows) as world:
            source = CandidateSource(environment, world, catalogue=judge.catalogue)
            found, among = [], Novelty()
            streams = [each for each in source.streams if intents is None or each.intent.id in intents]
            for done, stream in enumerate(streams):
                progress("judging candidates of each stream", done, len(streams))
                item, novelty = Yield(stream.name, stream.intent.id, stream.kind, wanted=candidates), Novelty()
                for number, candidate in _first(source, stream.name, candidates):
                    judged = judge.judge(candidate)
                    failed = [(gate.gate, gate.finding) for gate in judged.verdict.failed]
                    made = ", ".join(candidate.evolutions)
                    item.take(f"{number}{f' ({made})' if made else ''}", candidate.request, failed)
                    if not failed and (result := novelty.check(judged)).status == "fail":
                        item.repeat(number, result.finding, _place_of(result.finding, stream.intent))
                    elif not failed and stream.kind == "plain" and (other := _echoed(source, among, judged)):
                        item.echo(number, *other)
                found.append(item)
    finally:
        judge.close()
    return found


def barren(yields: Sequence[Yield]) -> list[SpecIssue]:
    """Return the streams that yield nothing and should, as issues."""
    return [
        SpecIssue(
            "intents.yaml",
            f"intents[{item.intent}]",
            f"the stream {item.stream} yields nothing, {item.judged} candidates judged: {item.commonest}",
            "correct what is found, or plant the rows that it needs",
        )
        for item in yields
        if item.is_barren
    ]


def poor(yields: Sequence[Yield]) -> list[SpecIssue]:
    """Return the streams that yield little, as issues."""
    return [
        SpecIssue(
            "intents.yaml",
            f"intents[{item.intent}]",
            f"the stream {item.stream} yields {item.accepted} of {item.judged} candidates: {item.commonest}",
            "correct what is found",
        )
        for item in yields
        if item.is_poor and item.kind == "plain"
    ]


def weak(yields: Sequence[Yield]) -> list[SpecIssue]:
    """Return the streams that yield less than they might, as issues: what is barren or poor is told there."""
    return [
        SpecIssue(
            "intents.yaml",
            f"intents[{item.intent}]",
            f"the stream {item.stream} yields {item.accepted} of {item.judged} candidates"
            + (f" where {item.wanted} are wanted" if 0 < item.judged < item.wanted else "")
            + (f": {item.commonest}" if item.commonest else f", drawn in {STREAM_DRAWS} draws"),
            "correct what is found, or plant rows that fit it",
        )
        for item in yields
        if item.is_weak and not (item.is_poor and item.kind == "plain")
    ]


def monotonous(yields: Sequence[Yield]) -> list[SpecIssue]:
    """Return the intents whose accepted candidates mostly repeat one another's words, or share them with those of
    another intent, as issues."""
    found = [
        SpecIssue(
            "intents.yaml",
            f"intents[{item.intent}].{item.repeated_in}",
            f"{item.alike} of {item.accepted} accepted ones are no new task: {item.repeated.split(', where ')[0]}",
            "write five requests or more, in other words and another order, with alternatives inside what repeats"
            if item.repeated_in == "requests"
            else "write the text with alternatives, [in other words|said otherwise], or shorter",
        )
        for item in yields
        if item.is_monotonous and item.kind == "plain" and item.worded >= item.alike / 2
    ]
    for item in yields:
        other, count = item.echoes.most_common(1)[0] if item.echoes else ("", 0)
        if count > (new := item.accepted - item.alike) * FEW:
            told = item.echoed.split(", where ")[0]
            problem = f"{count} of {new} that are new in their stream are worded like {other}: {told}"
            place = f"intents[{item.intent}].requests"
            found.append(SpecIssue("intents.yaml", place, problem, f"say it in other words than intents[{other}] does"))
    return found


def _echoed(source: CandidateSource, among: Novelty, judged: Judged) -> tuple[str, str] | None:
    """Return the words that an accepted candidate shares with one of another intent, and that intent; None if there are
    none."""
    result = among.check(judged)
    shared = _WITH.search(result.finding) if result.status == "fail" else None
    return (result.finding, source.streams[int(shared[1]) % len(source.streams)].intent.id) if shared else None


def _place_of(finding: str, intent: Intent) -> str:
    """Return where in an intent most of the words stand that two requests share: the text of a role, or requests."""
    found = _SHARED.search(finding)
    run = found[1].split() if found else []
    for name, role in intent.roles.items():
        texts = islice(every_choice(role.text or ""), _READ)
        if run and any(_most_shared(run, _WORDS.findall(text.lower())) > len(run) / 2 for text in texts):
            return f"roles.{name}.text"
    return "requests"


def _most_shared(run: Sequence[str], words: Sequence[str]) -> int:
    """Return how many words in a row of a run stand in a row in other words."""
    match = SequenceMatcher(None, run, words, autojunk=False).find_longest_match()
    return match.size


def _first(source: CandidateSource, stream: str, candidates: int) -> Iterator[tuple[int, Candidate]]:
    """Yield the first candidates of a stream, each with its number."""
    found = 0
    for turn in range(max(STREAM_DRAWS, candidates)):
        number = source.number(stream, turn)
        if found == candidates:
            return
        candidate = source.draw(0, number, "single") or source.draw(0, number, "dialogue")
        if candidate is not None:
            found += 1
            yield number, candidate
