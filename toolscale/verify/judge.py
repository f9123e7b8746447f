"""The judge: records a candidate and runs every gate on it. It needs no model, and it keeps all findings."""

from __future__ import annotations

import dataclasses
import random
import sqlite3
from collections.abc import Iterable
from functools import cached_property, lru_cache
from itertools import islice
from typing import Any

from toolscale.canonical import canonical_json, stable_int
from toolscale.environment.environment import Environment
from toolscale.environment.world import World
from toolscale.language.heard import Heard
from toolscale.records import GATES, Candidate, GateResult, Judged, RowChange, Status, Verdict
from toolscale.sandbox.base import Rows, to_row_changes
from toolscale.sandbox.state import state_hash as hash_of
from toolscale.tasks.catalogue import Catalogue
from toolscale.tasks.evolution import Inapplicable
from toolscale.tasks.form import form_of
from toolscale.tasks.plan import Plan
from toolscale.tasks.record import Inputs, Recorder, Recording, Rejection, inputs_of
from toolscale.verify.accepted import accepted_task
from toolscale.verify.ambiguity import Ambiguity
from toolscale.verify.brief import Brief
from toolscale.verify.deeds import done_of
from toolscale.verify.equivalents import equivalents, exchanged, idle_agents, superfluous, without_some
from toolscale.verify.grounded import disagreement, leaked, ungrounded
from toolscale.verify.laws import Laws
from toolscale.verify.mutants import MutantMaker
from toolscale.verify.outdated import outdated
from toolscale.verify.referents import Scene, unclear_referent
from toolscale.verify.replica import Replica, fingerprint, replayed
from toolscale.verify.solvable import UNTRIED, Trial, Tried, try_out
from toolscale.verify.states import EndStates
from toolscale.verify.subject import Subject
from toolscale.verify.trajectories import Trajectory

LEAST_MUTANTS = 5
AIM = 14
"""Extra writes are added until so many mutants were killed, or MOST_EXTRAS were tried."""
MOST_EXTRAS = 80


_OTHER_FACTS = "the plan, recorded again, tells other facts"


class Judge:
    """Judges candidates of one environment. Open once per process; close ends its helper processes."""

    def __init__(
        self,
        environment: Environment,
        rows: Rows,
        *,
        seed: int = 0,
        scale: int = 1,
        audit_share: float = 0.05,
        replica: bool = True,
        states: type[EndStates] = EndStates,
        catalogue: Catalogue | None = None,
        connection: type[sqlite3.Connection] = sqlite3.Connection,
    ) -> None:
        self.environment = environment
        self.world, self._connection = World(environment, rows, connection=connection), connection
        self.catalogue = catalogue or Catalogue(environment)
        self.recorder = Recorder(self.world, environment.spec.policy.constants)
        self.states = states(self.world)
        self._laws = Laws(environment, self.catalogue.rules)
        self._audit_share = audit_share
        self._auditor: World | None = None
        self.rows = rows
        self._replica = Replica(environment.folder, seed, scale) if replica else None
        self.initial_state_hash = hash_of(environment.schema, rows)
        self._index: dict[str, dict[tuple[Any, ...], dict[str, Any]]] = {}

    def close(self) -> None:
        """End the worlds and the helper processes."""
        if self._replica is not None:
            self._replica.close()
        for world in (self.world, vars(self).get("reader"), self._auditor):
            if world is not None:
                world.close()

    @cached_property
    def reader(self) -> World:
        """A second world, in which rows are looked up: who only grades needs none."""
        return World(self.environment, self.rows, connection=self._connection)

    @cached_property
    def _ambiguity(self) -> Ambiguity:
        return Ambiguity(self.environment, self.reader)

    @cached_property
    def _mutants(self) -> MutantMaker:
        return MutantMaker(self.environment, self.rows)

    def inputs(self, candidate: Candidate) -> Inputs:
        """What the request of a candidate says: its slots, and the described columns of the rows it is about. Rejection
        if those are not there."""
        return inputs_of(self.plan_of(candidate), candidate, self.row)

    def plan_of(self, candidate: Candidate) -> Plan:
        """Return the plan of a candidate. Rejection if the environment has none for it."""
        if candidate.intent_id not in self.catalogue.intents:
            raise Rejection("schema", f"the environment has no intent {candidate.intent_id!r}")
        try:
            plan = self.catalogue.plan_of(candidate)
        except (KeyError, Inapplicable) as error:
            chain = " + ".join([candidate.intent_id, *candidate.evolutions])
            raise Rejection("schema", f"the environment has no intent {chain!r}: {error}") from error
        if set(candidate.say) != set(plan.intent.slots):
            slots = ", ".join(sorted(candidate.say)) or "none"
            raise Rejection("schema", f"the environment has no intent {candidate.intent_id!r} with the slots {slots}")
        return plan

    def row(self, table: str, key: tuple[Any, ...]) -> dict[str, Any] | None:
        """Return a row of the populated database, or None."""
        if table not in self._index:
            spec = self.environment.schema.tables[table]
            names = list(spec.columns)
            places = [names.index(column) for column in spec.key]
            self._index[table] = {
                tuple(row[p] for p in places): dict(zip(names, row, strict=True)) for row in self.rows[table]
            }
        return self._index[table].get(key)

    def judge(self, candidate: Candidate, tried: Tried = UNTRIED) -> Judged:
        """Record the candidate, run every gate, and return the verdict with all findings."""
        try:
            return self._try(self.subject(candidate), tried)
        except Rejection as rejection:
            return self._unrecorded(candidate, rejection)

    def subject(self, candidate: Candidate) -> Subject:
        """Record a candidate for grading rollouts of it. Raises Rejection if it cannot be recorded."""
        plan = self.plan_of(candidate)
        inputs = self.inputs(candidate)
        self.states.forget()
        self.world.reset()
        return self._subject(plan, candidate, inputs, self.record(plan, inputs))

    def record(self, plan: Plan, inputs: Inputs) -> Recording:
        """Run a plan on the world of the judge. What this returns is what the gates look at: a self-test alters it
        here."""
        return self.recorder.record(plan, inputs)

    def _unrecorded(self, candidate: Candidate, rejection: Rejection) -> Judged:
        results = [
            GateResult(
                gate=gate,
                status="fail" if gate == rejection.gate else "not_run",
                finding=rejection.finding if gate == rejection.gate else "",
            )
            for gate in GATES
        ]
        return Judged(candidate=candidate, verdict=Verdict(gates=tuple(results)))

    def _subject(self, plan: Plan, candidate: Candidate, inputs: Inputs, recording: Recording) -> Subject:
        net, touched = self.world.net_changes(), tuple(self.world.touched())
        brief = Brief(
            self.environment,
            Heard(candidate.heard, self.environment.spec.world.today),
            tuple(recording.facts),
            [recorded.call for recorded in recording.calls],
            form_of(plan),
            done_of(plan, recording),
            recording.standing,
        )
        subject = Subject(
            self.environment,
            plan,
            candidate,
            inputs,
            recording,
            self.states,
            net=net,
            touched=touched,
            golden=self.states.of(recording.write_calls),
            accepted=set(),
            filled=brief.say(recording.facts),
            brief=brief,
            broken_on_the_way=lambda calls: self._laws.broken_on_the_way(calls, self.recorder),
        )
        subject.accepted.add(subject.golden.changes)
        subject.ways.append(recording.write_calls)
        self._accept_interchangeable(subject)
        subject.ways += [self.states.writes(calls) for calls in candidate.added]
        subject.accepted |= (added := {self.states.of(self.states.writes(calls)).changes for calls in candidate.added})
        subject.added |= added
        return subject

    def _accept_interchangeable(self, subject: Subject) -> None:
        """Add the end state of every other row of a `take: any` role to the accepted set."""
        for name, rows in subject.recording.interchangeable.items():
            key = subject.plan.roles[name].key
            for row in rows[1:]:
                self.world.reset()
                try:
                    other = self.recorder.record(
                        subject.plan,
                        dataclasses.replace(subject.inputs, forced={name: [{column: row[column] for column in key}]}),
                    )
                except Rejection:
                    continue
                subject.accepted.add(self.states.of(other.write_calls).changes)
                subject.ways.append(other.write_calls)

    def _try(self, subject: Subject, tried: Tried) -> Judged:
        findings: dict[str, tuple[Status, str]] = {}
        details: dict[str, Any] = {}

        def gate(name: str, finding: str | None, passed: str) -> None:
            findings[name] = ("pass", passed) if finding is None else ("fail", finding)

        asked = self._ask_replica(subject)
        gate("schema", self._schema_finding(subject), "records and arguments validate")
        gate("replay", self._replay_finding(subject), f"{len(subject.recording.calls)} calls give the recorded results")
        gate("case_agrees", disagreement(subject), "the agent found the rows of the case")
        findings["engines_agree"] = self._engines_agree(subject)
        gate("grounded", ungrounded(subject), "every said value reads back as itself")
        stale = outdated(subject) or self._unclear(subject)
        reading = None if stale else self._ambiguity.find(subject, self.recorder)
        gate("unambiguous", stale or (reading.finding if reading else None), "no other row fits what is said")
        rule, invariant = self._laws.broken(subject, self.recorder)
        rule = rule or self._laws.allowed(subject, self.recorder)
        gate(
            "lawful",
            rule,
            "the forbidden path would break the rule" if subject.recording.forbidden else "no rule is broken",
        )
        gate("integrity", invariant, "invariants hold after every call")
        rng = random.Random(stable_int("mutants", subject.candidate.seed, subject.candidate.number))
        mutants, lazy_ones = self._mutants.make(subject, self.recorder, rng), list(idle_agents(subject))
        rests, other_orders = without_some(subject), exchanged(subject)
        subject.run_ahead([*mutants, *lazy_ones], [*rests.values(), *other_orders])
        gate("necessary", superfluous(subject, rests), "no golden write can be left out")
        gate("not_leaked", leaked(subject), "what must be told is not in the request")
        idle = self._first_scoring(subject, lazy_ones)
        lazy = f"an agent that does not do the task scores 1: {idle.describe()}" if idle else None
        gate("idle_fails", lazy, "lazy agents score 0")
        killed, accepted = self._mutate(subject, mutants, list(equivalents(subject, other_orders)), rng, gate, details)
        if not details and reading is not None and reading.calls is not None:
            details |= self._told_of(Trajectory(operator="other_reading", label="open", calls=reading.calls))
        findings["deterministic"] = self._deterministic(subject, asked)
        findings["novel"] = ("not_run", "decided when the dataset is assembled")
        trial = self._try_out(subject, tried, details)
        findings["solvable"] = trial.status, trial.finding
        results = tuple(_result(name, *findings[name]) for name in GATES)
        verdict = Verdict(gates=results, mutants_killed=killed, equivalents_accepted=accepted)
        actual = details.pop("row_changes", None)
        return Judged(
            candidate=subject.candidate,
            verdict=verdict,
            task=accepted_task(subject, verdict, self.initial_state_hash, trial.solved),
            actual_row_changes=actual,
            details=details,
        )

    def _try_out(self, subject: Subject, tried: Tried, details: dict[str, Any]) -> Trial:
        trial = try_out(subject, tried)
        if not details and trial.agreed is not None:
            details |= self._told_of(trial.agreed)
        return trial

    def _unclear(self, subject: Subject) -> str | None:
        scene = Scene(subject.heard, subject.candidate.bindings, subject.plan, subject.inputs.said, subject.writes)
        return unclear_referent(scene, self.environment.spec.language.referents)

    def _first_scoring(self, subject: Subject, trajectories: Iterable[Trajectory]) -> Trajectory | None:
        return next((t for t in trajectories if subject.score(t)), None)

    def _schema_finding(self, subject: Subject) -> str | None:
        for recorded in subject.recording.calls:
            _, problem = self.world.prepare(recorded.call.name, recorded.call.arguments)
            if isinstance(problem, str):
                return f"{recorded.call.name}: {problem}"
        if not subject.recording.writes and all(fact.kind in ("bool", "yes_no") for fact in subject.told):
            rule = subject.plan.intent.rule
            remedy = f": let the rule {rule} tell a figure, a date or a name besides" if rule else ""
            return f"nothing changes and nothing but a yes or no is told{remedy}"
        told = [(fact.kind, fact.value, fact.about) for fact in subject.told]
        if len(set(told)) < len(told):
            return "the same fact is to be told twice"
        pairs = [(fact.kind, fact.value) for fact in subject.told if fact.about is None]
        if len(set(pairs)) < len(pairs):
            return "two facts of one kind and value cannot be told apart"
        labels = [(fact.kind, fact.about) for fact in subject.told if fact.about is not None]
        if len(set(labels)) < len(labels):
            return "two facts of one kind about the same cannot be told apart"
        return None

    def _replay_finding(self, subject: Subject) -> str | None:
        """Replay strictly from a fresh reset: every result must be the recorded one, and the row changes too.

        The plan is recorded again: calls and facts are what it says, not merely something that can be replayed. That is
        a replay too; only where it makes other calls, or they give something else, are the recorded ones made once
        more."""
        self.world.reset()
        again = self.recorder.record(subject.plan, subject.inputs)
        recorded_before = [(each.as_made, each.call.result) for each in subject.recording.calls]
        if [(each.as_made, each.call.result) for each in again.calls] == recorded_before:
            if self.world.net_changes() != subject.net:
                return "the row changes differ from those recorded"
            return None if again.facts == subject.recording.facts else _OTHER_FACTS
        return self._strict_finding(subject) or self._other_than(subject, again)

    def _strict_finding(self, subject: Subject) -> str | None:
        self.world.reset()
        for position, recorded in enumerate(subject.recording.calls):
            result = self.world.call(recorded.call.name, recorded.call.arguments)
            if result.error is not None:
                return f"call {position + 1}, {recorded.call.name}, fails: {result.error}"
            if result.value != recorded.call.result:
                return f"call {position + 1}, {recorded.call.name}, gives another result than recorded"
        return None if self.world.net_changes() == subject.net else "the row changes differ from those recorded"

    def _other_than(self, subject: Subject, again: Recording) -> str | None:
        if [recorded.as_made for recorded in again.calls] != [recorded.as_made for recorded in subject.recording.calls]:
            return "the plan, recorded again, makes other calls"
        return None if again.facts == subject.recording.facts else _OTHER_FACTS

    def _ask_replica(self, subject: Subject) -> int:
        """Let the other process replay while this one judges."""
        return (
            self._replica.ask([recorded.call for recorded in subject.recording.calls])
            if self._replica is not None
            else 0
        )

    def _deterministic(self, subject: Subject, asked: int) -> tuple[Status, str]:
        if self._replica is None:
            return "not_run", "no second process was asked for"
        if self._replica.answer(asked) == self._fingerprint(subject):
            return (
                "pass",
                "another process in another time zone, with another hash seed, on rows populated anew, gives the same",
            )
        return "fail", "another process gives other results or row changes"

    def _fingerprint(self, subject: Subject) -> str:
        return fingerprint([recorded.call.result for recorded in subject.recording.calls], subject.net)

    def _engines_agree(self, subject: Subject) -> tuple[Status, str]:
        if not self._is_audited(subject.candidate):
            return "attested", "every tool was compared on both engines at admission; this task was not drawn"
        if self._auditor is None:
            self._auditor = World(self.environment, self.rows, engine="duckdb")
        calls = [(recorded.call.name, recorded.call.arguments) for recorded in subject.recording.calls]
        if replayed(self._auditor, calls) == self._fingerprint(subject):
            return "pass", "DuckDB gives the same results and row changes"
        return "fail", "DuckDB gives other results or row changes than SQLite"

    def _is_audited(self, candidate: Candidate) -> bool:
        """Whether the sample of the auditor has a candidate: it depends on the candidate alone."""
        if not self._audit_share:
            return False
        draw = stable_int("audit", canonical_json(candidate.model_dump(mode="json"))) % 10_000
        return draw < self._audit_share * 10_000

    def _mutate(
        self,
        subject: Subject,
        mutants: list[Trajectory],
        right: list[Trajectory],
        rng: random.Random,
        gate: Any,
        details: dict[str, Any],
    ) -> tuple[int, int]:
        """Score mutants, extra writes besides, and equivalents; return how many were killed and how many accepted."""
        killed, survivor = 0, None
        extras = islice(self._mutants.extras(subject, rng), MOST_EXTRAS)
        subject.run_ahead(right)
        while mutants:
            for mutant in mutants:
                if subject.score(mutant) == 0:
                    killed += 1
                elif mutant.label == "wrong" and subject.end_state(mutant).changes not in subject.added:
                    survivor = survivor or mutant
                else:
                    right.append(mutant)
            mutants = list(islice(extras, max(AIM - killed, 0)))  # so many are needed at least
            subject.run_ahead(mutants)
        finding = survivor and f"a wrong trajectory scores 1: {survivor.describe()}"
        if finding is None and killed < LEAST_MUTANTS:
            finding = f"only {killed} live mutants; at least {LEAST_MUTANTS} are needed"
        gate("mutants_killed", finding, f"{killed} of {killed} wrong trajectories score 0")
        refused = next((t for t in right if subject.score(t) == 0), None)
        gate(
            "equivalents_accepted",
            refused and f"a right trajectory scores 0: {self._why_refused(subject, refused)}",
            f"{len(right)} right trajectories score 1",
        )
        decisive = survivor or refused
        if decisive is not None:
            details |= self._told_of(decisive)
        return killed, len(right)

    def _told_of(self, decisive: Trajectory) -> dict[str, Any]:
        """What a verdict says of the trajectory that decided it."""
        calls = [call.model_dump() for call in decisive.calls]
        return {
            "operator": decisive.operator,
            "calls": calls,
            "answer": decisive.answer,
            "row_changes": self._changes_of(decisive),
        }

    def _why_refused(self, subject: Subject, trajectory: Trajectory) -> str:
        return f"{trajectory.describe()} ({subject.form_finding(subject.form_of(trajectory)) or 'other end state'})"

    def _changes_of(self, trajectory: Trajectory) -> tuple[RowChange, ...]:
        self.world.reset()
        for call in trajectory.calls:
            self.world.call(call.name, call.arguments, returns=False)
        return to_row_changes(self.environment.schema, self.world.net_changes())


@lru_cache(maxsize=4096)
def _result(gate: str, status: Status, finding: str) -> GateResult:
    """What a gate found, one record for all that found the same. Nothing is checked: the values are our own."""
    return GateResult.trusted(gate=gate, status=status, finding=finding)
