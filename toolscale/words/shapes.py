"""What people say to a domain's desk, by shape: how often each is drawn, what a writer is told of it, and whether a
frame that one wrote says it."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from toolscale.environment.environment import Environment
from toolscale.environment.world import World
from toolscale.errors import UsageError
from toolscale.patterns import regex
from toolscale.records import QUIET, Candidate, Request, Tell, is_evolved
from toolscale.sandbox.base import Rows
from toolscale.tasks.asking import branches, is_owed
from toolscale.tasks.binding import CandidateSource
from toolscale.tasks.dialogue import speaker_of
from toolscale.tasks.form import field_names, form_of
from toolscale.tasks.frames import JOINT, missing, said_lines
from toolscale.tasks.phrase import places_said
from toolscale.tasks.plan import Plan
from toolscale.verify.judge import Judge
from toolscale.verify.subject import Subject

PLAIN_WANTED, EVOLVED_WANTED = 8, 4
"""Frames of a shape."""
OFTEN = 1 / 3000
"""An evolved shape that is drawn less often has no frames of its own."""
CASES = 6
"""On which a frame is tried."""
SHOWN = 4
"""Cases that a writer is shown."""
SEED = 55
"""Of the cases: no dataset is made of them unless somebody asks for this seed."""
DRAWS = 40
"""Numbers of a stream that are tried for cases."""
_COLUMN = regex(r"[a-z_0-9]+\.[a-z_0-9]+")


@dataclass(frozen=True)
class Shape:
    """What somebody says: an intent, and what evolutions made of it."""

    name: str
    intent: str
    evolutions: tuple[str, ...]
    share: float
    """Of the candidates that are drawn."""
    wanted: int
    """Frames that it should have."""
    have: int


@dataclass(frozen=True)
class Brief:
    """All that a writer is told of a shape."""

    shape: str
    title: str
    does: tuple[str, ...]
    """What the desk does for it: its tools in their own words."""
    conditions: tuple[str, ...]
    """On which it does it, as the intent has them: `quote.fee_cents < say.limit_cents`."""
    places: tuple[Mapping[str, str], ...]
    """Of each case, place -> what will stand there."""
    must: tuple[str, ...]
    """Places that have to stand in it."""
    words: tuple[tuple[str, ...], ...]
    """Of each of these, one must stand in it as it is."""
    also: tuple[str, ...]
    """What evolutions add, in words of the domain."""
    asks: tuple[str, ...]
    """What the person wants to be told; nothing if the message asks nothing."""


class Workshop:
    """A domain, opened for writers. Close it after use."""

    def __init__(self, environment: Environment, rows: Rows) -> None:
        self.environment = environment
        self.judge = Judge(environment, rows, audit_share=0, replica=False)
        self._world = World(environment, rows)
        self.source = CandidateSource(environment, self._world, self.judge.catalogue)
        self._cases: dict[str, list[Candidate]] = {}

    def close(self) -> None:
        """End the worlds."""
        self.judge.close()
        self._world.close()

    @cached_property
    def shapes(self) -> dict[str, Shape]:
        """The shapes that should have frames, those of plain intents first."""
        have = Counter({each.shape: 0 for each in self.environment.spec.frames.frames})
        for each in self.environment.spec.frames.frames:
            have[each.shape] += len(each.say)
        chains: dict[str, tuple[str, tuple[str, ...]]] = {}
        drawn, total = Counter[str](), 0
        for number in range(len(self.source.streams) * DRAWS):
            stream = self.source.streams[number % len(self.source.streams)]
            chain = self.source.chain(SEED, number, "mixed")
            total += 1
            lines = said_lines(stream.intent, chain) if chain is not None else None
            if lines is None:
                continue
            name = JOINT.join([stream.intent.id, *lines])
            drawn[name] += 1
            chains.setdefault(name, (stream.intent.id, lines))
        found = {}
        for name, (intent, chain) in chains.items():
            share = drawn[name] / total
            plain = not is_evolved(chain)
            if plain or share > OFTEN:
                wanted = PLAIN_WANTED if plain else EVOLVED_WANTED
                found[name] = Shape(name, intent, chain, share, wanted, have[name])
        return dict(sorted(found.items(), key=lambda item: (is_evolved(item[1].evolutions), item[0])))

    def shape(self, name: str) -> Shape:
        """Return a shape by its name. UsageError if there is none."""
        if name not in self.shapes:
            raise UsageError(f"{self.environment.domain} has no shape {name!r}; `toolscale phrase` lists them")
        return self.shapes[name]

    def lacking(self, names: Sequence[str] = ()) -> list[Shape]:
        """Return the shapes of these names, or all that have too few frames. Those that no case is found for are left
        out. UsageError if there is no shape of a name."""
        wanted = [self.shape(name) for name in names] or [
            each for each in self.shapes.values() if each.have < each.wanted
        ]
        return [each for each in wanted if self.has_cases(each)]

    def brief(self, shape: Shape) -> Brief:
        """Return what a writer is told of a shape. UsageError if no case of it is found."""
        cases = self._cases_of(shape)
        plan = self.source.catalogue.plan(shape.intent, shape.evolutions)
        tools = {call.tool.spec.name: call.tool.spec.description for call in plan.calls() if call.tool.mutates_state}
        subject = self.judge.subject(cases[0])
        language = self.environment.spec.language
        intent = plan.intent
        tells = [told.tell for told in plan.tells]
        names = zip(tells, field_names(tells), strict=True)
        asked = {name: tell for tell, name in names if name and not tell.withheld and not is_owed(intent, tell)}
        quiet = QUIET in shape.evolutions and self.source.catalogue.intents[shape.intent].asks
        fields = [field for field in form_of(plan).fields if field.name in asked and not quiet]
        asks = [f"{field.what}{_of_what(asked[field.name])}" for field in fields]
        speaker = speaker_of(plan, language)
        cues = [(cue,) for role in plan.roles.values() if not role.role.only_said for cue in role.role.cues]
        return Brief(
            shape.name,
            self.source.catalogue.intents[shape.intent].title,
            tuple(f"{name}: {text}" for name, text in tools.items()),
            tuple(step.if_ for step in branches(self.source.catalogue.intents[shape.intent].do)),
            tuple(self._said(plan, case, speaker) for case in cases[:SHOWN]),
            tuple(missing("", plan, speaker)),
            tuple(dict.fromkeys((*cues, *_choices(subject)))),
            tuple(self._also(shape)),
            tuple(asks),
        )

    def faults(self, shape: Shape, say: str) -> list[str]:
        """Return what is wrong with a frame: the places that it lacks, or what the gates find in a case that it is put
        to. Nothing if it says the shape."""
        plan = self.source.catalogue.plan(shape.intent, shape.evolutions)
        speaker = speaker_of(plan, self.environment.spec.language)
        if lacking := missing(say, plan, speaker):
            return [f"it has no place for {', '.join(lacking)}, or the shape has none of that name"]
        found: list[str] = []
        for case in self._cases_of(shape):
            made = self.source.draw_evolved(SEED, case.number, shape.evolutions, frames=(Request(say=say),))
            assert made is not None
            failed = [gate for gate in self.judge.judge(made).verdict.gates if gate.status == "fail"]
            if failed:
                found.append(f"{failed[0].gate}: {failed[0].finding} [{made.request}]")
        return found

    def has_cases(self, shape: Shape) -> bool:
        """Whether some case of a shape passes all gates: of one that has none nobody need write."""
        if shape.name not in self._cases:
            self._cases[shape.name] = list(self._find_cases(shape))
        return bool(self._cases[shape.name])

    def _cases_of(self, shape: Shape) -> list[Candidate]:
        if not self.has_cases(shape):
            raise UsageError(f"{self.environment.domain}: no case of {shape.name} passes all gates")
        return self._cases[shape.name]

    def _find_cases(self, shape: Shape) -> Iterator[Candidate]:
        found = 0
        for turn in range(DRAWS):
            candidate = self.source.draw_evolved(
                SEED, self.source.number(shape.intent, turn), shape.evolutions, frames=()
            )
            if candidate is None:
                continue
            if any(gate.status == "fail" for gate in self.judge.judge(candidate).verdict.gates):
                continue
            yield candidate
            found += 1
            if found == CASES:
                return

    def _said(self, plan: Plan, case: Candidate, speaker: str | None) -> Mapping[str, str]:
        inputs = self.judge.inputs(case)
        return places_said(plan, self.environment, inputs.said, case.say, speaker, random.Random(case.number))

    def _also(self, shape: Shape) -> Iterator[str]:
        language = self.environment.spec.language
        for line in shape.evolutions:
            operator, *arguments = line.split()
            if operator == "constrain":
                quantity = language.quantities[arguments[0]]
                otherwise = "; if not, the same with {" + str(quantity.backup) + "}" if arguments[1:] else ""
                yield f"only if {quantity.text}{otherwise}"
            elif operator == "batch":
                yield "for all of them"


def _of_what(tell: Tell) -> str:
    """Whose fact it is, where another column says so: two results, each by the name of its test."""
    return f" ({{{tell.about}}})" if tell.about and _COLUMN.fullmatch(tell.about) else ""


def _choices(subject: Subject) -> Iterator[tuple[str, ...]]:
    """Yield the words of each choice that a call takes, one of which a message must have."""
    cues = subject.environment.spec.language.enum_cues
    steps = [each.plan for each in subject.recording.calls if each.plan is not None]
    for step in (*steps, *(step for step, _ in subject.recording.forbidden)):
        for expression in step.arguments.values():
            if expression.is_literal and isinstance(expression.literal, str) and expression.literal in cues:
                yield tuple(cues[expression.literal])
