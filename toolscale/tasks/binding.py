"""Candidates: an interesting case picked on the database by a seed, put into words.

The database is read here and nowhere else on the way to a golden trajectory, and only to choose *which* rows a task is
about. The recorder has to find the same rows again from the request alone (gate `case_agrees`).
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from math import gcd
from typing import Any, Literal

from toolscale.canonical import stable_int
from toolscale.config import TALKED_SHARE
from toolscale.environment.environment import Environment
from toolscale.environment.world import World
from toolscale.records import QUIET, Answer, Candidate, DrawnTurns, Intent, Request, Slot
from toolscale.tasks.catalogue import Catalogue
from toolscale.tasks.channel import context_of, is_signed_in
from toolscale.tasks.dialogue import NOTHING_HELD, Held, held_back, speaker_of
from toolscale.tasks.evolution import Inapplicable, draw_chain, first_lines, is_quiet
from toolscale.tasks.frames import (
    Matter,
    fitting,
    frames_of,
    matters_of,
    renamed,
    renamed_roles,
    shape_of,
    whole_places,
)
from toolscale.tasks.names import Expression, bound_values, relation_key
from toolscale.tasks.phrase import Manner, put_into_words
from toolscale.tasks.plan import Plan
from toolscale.tasks.queries import RoleQuery
from toolscale.tasks.split import partners_of

PROBES = 600
"""How many rows of the root table are tried before a number is given up as having no case."""

ROWS = 40
"""How many rows of one role are tried under one parent."""

CHOICES = 30_000
"""How many rows of all roles together are tried for a number, which takes a third of a second. One candidate in a
thousand would need more. Where a condition on roles without a common parent never holds, there are millions to try."""


WAYS = 4
"""How many ways through a plan are tried for a number."""


@dataclass(frozen=True)
class Case:
    """One bound case: role -> rows of the database, slot -> value."""

    rows: Mapping[str, list[dict[str, Any]]]
    say: Mapping[str, Any]


@dataclass(frozen=True)
class Stream:
    """A row of candidates: of an intent as it is written (`plain`), made harder (`evolved`), or turned into a refusal
    (`turned`)."""

    intent: Intent
    kind: Literal["plain", "evolved", "turned"]
    weight: float = 1.0
    """Its share among the streams of its kind. The intents that one rule can turn into refusals share the weight of
    that rule."""

    @property
    def name(self) -> str:
        """What it is called: `pay_bill`, `pay_bill+evolved`."""
        return self.intent.id if self.kind == "plain" else f"{self.intent.id}+{self.kind}"

    @property
    def outcome(self) -> Literal["fulfil", "refuse", "transfer"]:
        """What comes of its tasks: the same as of the intent, but that what is turned is refused."""
        return "refuse" if self.kind == "turned" else self.intent.outcome


def streams_of(environment: Environment) -> tuple[Stream, ...]:
    """Return the streams of an environment: the plain ones first, in the order of the intents. An intent has an evolved
    or a turned stream only if some evolution can begin a chain of that kind."""
    intents = environment.spec.intents.intents
    named, partners = {intent.id: intent for intent in intents}, partners_of(intents)

    def lines(intent: Intent, *, turned: bool) -> Iterator[str]:
        return first_lines(environment, named, intent, partners[intent.id], turned=turned)

    rules = {intent.id: list(lines(intent, turned=True)) for intent in intents}
    shares = Counter(rule for offered in rules.values() for rule in offered)
    return (
        *(Stream(intent, "plain") for intent in intents),
        *(Stream(intent, "evolved") for intent in intents if any(lines(intent, turned=False))),
        *(
            Stream(intent, "turned", sum(1 / shares[rule] for rule in rules[intent.id]))
            for intent in intents
            if rules[intent.id]
        ),
    )


class CandidateSource:
    """Draws candidates of one environment. Number n is the k-th of stream n mod S, with k = n div S; the draw depends
    on seed and number alone."""

    def __init__(self, environment: Environment, world: World, catalogue: Catalogue | None = None) -> None:
        self.environment = environment
        self.world = world
        self.catalogue = catalogue or Catalogue(environment)
        self.streams = streams_of(environment)
        self._frames = frames_of(environment.spec.frames)
        self._retired = environment.spec.frames.retired
        self._columns = {
            table: {name: column.type for name, column in spec.columns.items()}
            for table, spec in environment.schema.tables.items()
        }
        self._roots: dict[str, list[dict[str, Any]]] = {}
        spec = environment.spec
        self._clock = {"now": spec.world.now, "today": spec.world.today}
        self._partners = partners_of(spec.intents.intents)

    def number(self, stream: str, turn: int = 0) -> int:
        """Return the number of the turn-th candidate of a stream."""
        return turn * len(self.streams) + [stream.name for stream in self.streams].index(stream)

    def draw(self, seed: int, number: int, turns: DrawnTurns = "single", answer: Answer = "form") -> Candidate | None:
        """Return the candidate with this number, or None if no case is found for it. `turns`, `answer`: how the tasks
        of its dataset are worked on."""
        evolutions = self.chain(seed, number, turns)
        return None if evolutions is None else self.draw_evolved(seed, number, evolutions, turns, answer)

    def chain(self, seed: int, number: int, turns: DrawnTurns = "single") -> tuple[str, ...] | None:
        """Return the chain of evolutions of the candidate with this number, or None if none applies."""
        stream = self.streams[number % len(self.streams)]
        if stream.kind == "plain":
            ways: list[tuple[str, ...]] = [(), (QUIET,)] if stream.intent.asks else [()]
            if is_quiet(stream.intent, self._rng("quiet", seed, number)):
                ways.reverse()
            return next((way for way in ways if self._is_asked(stream.intent, way)), None)
        partners, rng = self._partners[stream.intent.id], self._rng("chain", seed, number)
        drawn = draw_chain(
            self.environment,
            self.catalogue.intents,
            stream.intent,
            partners,
            turned=stream.kind == "turned",
            talked=self._is_talked(seed, number, turns),
            rng=rng,
            asked=lambda chain: self._is_asked(stream.intent, chain),
        )
        return drawn if drawn and self._has_words(stream.intent, drawn) else None

    def _is_asked(self, intent: Intent, evolutions: Sequence[str]) -> bool:
        """Whether people come with an intent after a chain of evolutions: the shape of none of its matters is
        retired."""
        return self._retired.isdisjoint(shape for shape, _ in self._shapes(intent, evolutions))

    def _has_words(self, intent: Intent, evolutions: Sequence[str]) -> bool:
        """Whether a row that is called otherwise can be: some frame of the shape has a place for any words for it."""
        for shape, matter in self._shapes(intent, evolutions):
            others = renamed_roles(matter.evolutions)
            if (frames := self._frames.get(shape)) and not any(others <= whole_places(each.say) for each in frames):
                return False
        return True

    def _shapes(self, intent: Intent, evolutions: Sequence[str]) -> Iterator[tuple[str, Matter]]:
        """Yield the shape of each matter of a chain that has one."""
        for matter in matters_of(intent.id, evolutions, lambda lines: intent):
            if matter.intent is not None and (
                shape := shape_of(self.catalogue.intents[matter.intent], matter.evolutions)
            ):
                yield shape, matter

    def draw_evolved(
        self,
        seed: int,
        number: int,
        evolutions: tuple[str, ...],
        turns: DrawnTurns = "single",
        answer: Answer = "form",
        frames: Sequence[Request] | None = None,
    ) -> Candidate | None:
        """Return the candidate with this number for a given chain of evolutions, or None if the chain does not apply or
        no case is found. `frames`: to be taken in the place of the domain's own; with none, a request is composed."""
        intent, turn = self.streams[number % len(self.streams)].intent, number // len(self.streams)
        try:
            plan = self.catalogue.plan(intent.id, evolutions)
            rng = self._rng("candidate", seed, number)
            case = self._case(plan, self._ways(seed, number, evolutions), rng)
            if case is None:
                return None
            manner = self._manner(plan, intent.id, evolutions, seed, number, turns, frames)
        except Inapplicable:
            return None
        # Every stream begins with another phrasing: of a few tasks a stream, not all are to come from the first kind of
        # person.
        phrasing = turn + stable_int("phrasing", seed, self.streams[number % len(self.streams)].name)
        words = put_into_words(plan, self.environment, case.rows, case.say, phrasing, rng, manner)
        said = {name: rows[0] for name, rows in case.rows.items() if rows}
        bindings = {
            role: tuple(tuple(row[column] for column in plan.roles[role].key) for row in rows)
            for role, rows in case.rows.items()
        }
        return Candidate(
            domain=self.environment.domain,
            number=number,
            seed=seed,
            intent_id=intent.id,
            bindings=bindings,
            say=dict(case.say),
            request=words.request,
            skeleton=words.skeleton,
            evolutions=evolutions,
            persona=words.persona,
            turns="dialogue" if manner.talked else "single",
            answer=answer,
            replies=words.replies,
            context=context_of(plan, self.environment, said) if manner.signed_in else "",
            agenda=words.agenda,
        )

    def _ways(self, seed: int, number: int, evolutions: tuple[str, ...]) -> Iterator[tuple[RoleQuery, ...]]:
        """Yield the case queries of each way through a plan, in an order that is drawn."""
        intent_id = self.streams[number % len(self.streams)].intent.id
        ways = list(range(self.catalogue.ways(intent_id, evolutions)))
        self._rng("way", seed, number).shuffle(ways)
        for way in ways[:WAYS]:
            yield self.catalogue.queries(intent_id, evolutions, way)

    def _case(self, plan: Plan, ways: Iterator[tuple[RoleQuery, ...]], rng: random.Random) -> Case | None:
        """Pick a case that goes the first of the ways; that goes the next one where none is found."""
        say = {name: self._slot(slot, rng) for name, slot in plan.intent.slots.items() if slot.sql is None}
        for queries in ways:
            env: dict[str, Any] = {"say": dict(say), "policy": dict(self.environment.spec.policy.constants)}
            case = self._bind(queries, 0, env, {}, rng, iter(range(CHOICES)))
            if case is not None:
                return case
        return None

    def _is_talked(self, seed: int, number: int, turns: DrawnTurns) -> bool:
        """Draw whether the candidate is meant to be a dialogue."""
        share = {"mixed": TALKED_SHARE[self.streams[number % len(self.streams)].kind], "dialogue": 1.0}.get(turns, 0.0)
        return self._rng("dialogue", seed, number).random() < share

    def _manner(
        self,
        plan: Plan,
        intent_id: str,
        evolutions: tuple[str, ...],
        seed: int,
        number: int,
        turns: DrawnTurns,
        frames: Sequence[Request] | None,
    ) -> Manner:
        """Draw how a case is said. Raises Inapplicable for a dialogue about one matter in which nothing can be held
        back, and if there are frames for a matter, and none that calls its rows as the plan does."""
        talked = self._is_talked(seed, number, turns)
        matters = matters_of(intent_id, evolutions, lambda lines: self.catalogue.plan(intent_id, lines).intent)
        language, rng = self.environment.spec.language, self._rng("channel", seed, number)
        speaker = speaker_of(plan, language)
        held = held_back(plan, self.environment, self._rng("held", seed, number)) if talked else NOTHING_HELD
        if frames is None and not all(self._can_say(matter, speaker, held) for matter in matters):
            held = {name: vague for name, vague in held.items() if name not in plan.roles or name == speaker}
        if talked and not held and len(matters) == 1:
            raise Inapplicable("nothing is held back and nothing comes later, and its chain was drawn for a dialogue")
        signed_in = is_signed_in(plan, self.environment, held, rng, talked=talked, alone=len(matters) == 1)
        if signed_in:
            held = {name: vague for name, vague in held.items() if name != speaker}
        if frames is not None:
            return Manner(held, (tuple(frames),) * len(matters), signed_in=signed_in, talked=talked)
        if unsaid := [matter.intent for matter in matters if not self._can_say(matter, speaker, held)]:
            raise Inapplicable(f"no frame of {unsaid[0]} calls its rows so")
        found = [renamed(self._fitting(matter, speaker, held), matter, plan) for matter in matters]
        return Manner(held, tuple(found), signed_in=signed_in, talked=talked)

    def _can_say(self, matter: Matter, speaker: str | None, held: Held) -> bool:
        """Whether a matter can be said: by a frame, or composed where there are none for its shape."""
        return not self._of_shape(matter) or bool(self._fitting(matter, speaker, held))

    def _of_shape(self, matter: Matter) -> tuple[Request, ...]:
        if matter.intent is None:
            return ()
        return self._frames.get(shape_of(self.catalogue.intents[matter.intent], matter.evolutions) or "", ())

    def _fitting(self, matter: Matter, speaker: str | None, held: Held) -> list[Request]:
        """The frames that say a matter, by its own names."""
        frames = self._of_shape(matter)
        if not frames or matter.intent is None:
            return []
        vague = {name.removesuffix(matter.suffix): text for name, text in held.items()}
        return fitting(frames, self.catalogue.plan(matter.intent, matter.evolutions), speaker, vague)

    def _rng(self, purpose: str, seed: int, number: int) -> random.Random:
        """A generator that depends on the seed, the stream and the turn, not on how many streams there are."""
        stream, turn = self.streams[number % len(self.streams)], number // len(self.streams)
        return random.Random(stable_int(purpose, seed, self.environment.domain, stream.name, turn))

    def _slot(self, slot: Slot, rng: random.Random) -> Any:
        value = rng.choice(slot.from_)
        if slot.kind == "date" and isinstance(value, int):
            return (date.fromisoformat(self.environment.spec.world.today) + timedelta(days=value)).isoformat()
        return value

    def _probe(self, query: RoleQuery, rng: random.Random) -> Iterator[dict[str, Any]]:
        """Yield rows of the table of a role without parent in an order that the seed fixes, each at most once."""
        if query.table not in self._roots:
            names = tuple(self._columns[query.table])
            self._roots[query.table] = [
                dict(zip(names, row, strict=True)) for row in self.world.sandbox.dump(query.table)
            ]
        rows = self._roots[query.table]
        if not rows:
            return
        start, step = rng.randrange(len(rows)), rng.randrange(1, len(rows) + 1)
        while gcd(step, len(rows)) != 1:
            step += 1
        for turn in range(min(PROBES, len(rows))):
            yield rows[(start + turn * step) % len(rows)]

    def _bind(
        self,
        queries: Sequence[RoleQuery],
        depth: int,
        env: dict[str, Any],
        rows: dict[str, list[dict[str, Any]]],
        rng: random.Random,
        left: Iterator[int],
    ) -> Case | None:
        """Bind the roles from `depth` on, going back where a condition fails; None if no way, or nothing of `left`, is
        left."""
        if depth == len(queries):
            return Case(dict(rows), dict(env["say"]))
        query = queries[depth]
        for choice in self._choices(query, env, rng):
            if next(left, None) is None:
                return None
            rows[query.name] = choice
            env[query.name] = choice[0]
            env[relation_key(query.name)] = choice
            say = dict(env["say"])
            if self._draw_slots(query, env, rng) and all(self._holds(condition, env) for condition in query.conditions):
                case = self._bind(queries, depth + 1, env, rows, rng, left)
                if case is not None:
                    return case
            env["say"] = say
            del rows[query.name], env[query.name], env[relation_key(query.name)]
        return None

    def _choices(self, query: RoleQuery, env: dict[str, Any], rng: random.Random) -> Iterator[list[dict[str, Any]]]:
        names = tuple(self._columns[query.table])
        if query.root:
            for row in self._probe(query, rng):
                env["root"] = row
                if self.world.sandbox.query(query.statement, bound_values(query.binds, env, self._clock)):
                    yield [row]
            return
        found = self.world.sandbox.query(query.statement, bound_values(query.binds, env, self._clock))
        listed = [dict(zip(names, row, strict=False)) for row in found]
        if not listed:
            return
        if query.take in ("all", "any"):
            yield listed
        elif query.first:
            yield listed[:1]
        else:
            rng.shuffle(listed)
            for row in listed[:ROWS]:
                yield [row]

    def _draw_slots(self, query: RoleQuery, env: dict[str, Any], rng: random.Random) -> bool:
        for name, statement, binds in query.slots:
            values = sorted(
                {
                    row[0]
                    for row in self.world.sandbox.query(statement, bound_values(binds, env, self._clock))
                    if row[0] is not None
                }
            )
            if not values:
                return False
            env["say"] = {**env["say"], name: rng.choice(values)}
        return True

    def _holds(self, condition: Expression, env: Mapping[str, Any]) -> bool:
        if condition.statement is None:
            name, column = condition.direct or ("", "")
            return bool(env[name][column] if condition.direct else condition.literal)
        return bool(
            self.world.sandbox.query(condition.statement, bound_values(condition.binds, env, self._clock))[0][0]
        )
