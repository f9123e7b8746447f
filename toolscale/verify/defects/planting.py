"""What a planted defect is, the ground it is planted in, and the court that judges it."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from inspect import cleandoc
from typing import Any, Literal

from toolscale.canonical import content_hash
from toolscale.environment.column_kinds import kind_of_column
from toolscale.environment.environment import Environment
from toolscale.environment.world import World
from toolscale.errors import SpecError, SpecIssue
from toolscale.language.render import render
from toolscale.patterns import regex
from toolscale.records import Candidate, FactKind, Intent, IntentsSpec, PolicySpec
from toolscale.sandbox.base import Rows
from toolscale.tasks.binding import CandidateSource
from toolscale.tasks.check import check_phrasings
from toolscale.tasks.compiler import PlanCompiler
from toolscale.tasks.plan import Plan
from toolscale.tasks.queries import compile_case
from toolscale.tasks.record import Inputs, Recorder, Recording, Rejection, inputs_of
from toolscale.verify.judge import Judge

Level = Literal["request", "case", "plan", "tools", "rows", "recording", "company"]
"""Where a defect sits: in the words; in what the candidate is bound to; in the author's intent; in a tool or engine; in
the database; in what was recorded; in the tasks that came before."""

Alter = Callable[[World, Recording], None]
"""Changes what was recorded, in place, before the gates look at it; the world stands after the recorded calls."""


@dataclass(frozen=True)
class Planted:
    """A candidate with a defect, and what it must be judged with where that is not the environment as it is."""

    candidate: Candidate
    what: str
    """What was done to it, in words."""
    plan: Plan | None = None
    """The plan of a bent intent; the candidate is one of its own."""
    refused: str | None = None
    """What lint or the compiler said of a bent intent: it never came before a judge."""
    environment: Environment | None = None
    rows: Rows | None = None
    alter: Alter | None = None
    before: tuple[Candidate, ...] = ()
    """Candidates that are judged, and remembered as tasks, before this one."""
    audited: Literal["", "process", "engine"] = ""
    """Also replay it in a second process, or on the second engine. The second process reads the folder, so it always
    differs where rows or tools were changed: it is used only where just that is the defect."""


Plant = Callable[["Ground", Candidate, random.Random], Planted | None]
"""Plants a defect in a good candidate; None where it would not be one, or there is no place for it."""


@dataclass(frozen=True)
class Defect:
    """A kind of defect."""

    kind: str
    level: Level
    words: str
    """What is wrong with the task then, in one line."""
    plant: Plant
    open: str = ""
    """Why no gate finds it surely, if that is known. It is planted and counted by itself, and no threshold is about
    it."""


OPEN = {
    "exchanged_values": "both values stand in the request, and nothing reads which of them is for what",
    "condition_turned": (
        "nothing compares the words of a condition with its test; language.yaml gives both in one place"
    ),
    "labels_exchanged": (
        "a label is read by its words; whether its fact is of that row is known only where a later call changes the "
        "cell"
    ),
}
"""Kind -> why no gate finds it surely."""


def words_of(plant: Callable[..., object]) -> str:
    """What a kind of defect does to a task: the first paragraph of the docstring of its function, in one line."""
    return " ".join(cleandoc(plant.__doc__ or "").split("\n\n")[0].split())


class Court(Judge):
    """A judge whose recordings can be altered before its gates look at them, and that takes the plan of a bent
    intent."""

    alter: Alter | None = None
    bent: Plan | None = None

    def plan_of(self, candidate: Candidate) -> Plan:
        """Return the plan of a candidate: the bent plan for the candidate that was made from it."""
        if self.bent is not None and candidate.intent_id == self.bent.intent.id:
            return self.bent
        return super().plan_of(candidate)

    def record(self, plan: Plan, inputs: Inputs) -> Recording:
        """Record, and alter what was recorded."""
        recording = super().record(plan, inputs)
        if self.alter is not None:
            self.alter(self.world, recording)
        return recording


class Ground:
    """The environment as it is: what the defects look at when they decide where to sit. It never asks a judge for a
    verdict."""

    def __init__(self, environment: Environment, rows: Rows) -> None:
        self.environment = environment
        self.rows = rows
        self.world = World(environment, rows)
        """For trying calls, and for drawing cases of bent intents: reset it first."""
        self.source = CandidateSource(environment, World(environment, rows))
        self.recorder = Recorder(self.world, environment.spec.policy.constants)
        self.today = environment.spec.world.today
        self._index: dict[str, dict[tuple[Any, ...], dict[str, Any]]] = {}
        self._faults: dict[tuple[str, tuple[str, ...]], frozenset[tuple[str, str]]] = {}
        self._recorded: tuple[Candidate, Recording] | None = None

    def close(self) -> None:
        """Free the worlds."""
        self.world.close()
        self.source.world.close()

    def plan_of(self, candidate: Candidate) -> Plan:
        """The plan of a good candidate."""
        return self.source.catalogue.plan_of(candidate)

    def table(self, name: str) -> dict[tuple[Any, ...], dict[str, Any]]:
        """The rows of a table by key."""
        if name not in self._index:
            spec = self.environment.schema.tables[name]
            listed = [dict(zip(spec.columns, row, strict=True)) for row in self.rows.get(name, ())]
            self._index[name] = {tuple(row[column] for column in spec.key): row for row in listed}
        return self._index[name]

    def inputs(self, plan: Plan, candidate: Candidate) -> Inputs:
        """What the request says, for a plan whose roles are bound in the candidate."""
        return inputs_of(plan, candidate, lambda table, key: self.table(table).get(key))

    def recording(self, candidate: Candidate) -> Recording:
        """What is recorded for a good candidate. Treat it as read-only."""
        if self._recorded is None or self._recorded[0] is not candidate:
            self._recorded = (candidate, self.record(self.plan_of(candidate), candidate))
        return self._recorded[1]

    def can_record(self, candidate: Candidate) -> bool:
        """Whether a good candidate can be recorded."""
        try:
            self.recording(candidate)
        except Rejection:
            return False
        return True

    def alone(self, candidate: Candidate, environment: Environment | None = None) -> Environment:
        """The environment, or another one, with no intent but that of the candidate: a judge of one candidate need not
        compile the others.

        All that evolutions did to the intent is in it, so it stands there as if it had been written like that.
        """
        return with_only(environment or self.environment, self.plan_of(candidate).intent)

    def faults(self, candidate: Candidate) -> frozenset[tuple[str, str]]:
        """(place, problem) of what lint says of a good evolved intent, read as if an author had written it so: no
        defect planted in it is to blame for these. Empty for a plain intent."""
        if not candidate.evolutions:
            return frozenset()
        name = (candidate.intent_id, candidate.evolutions)
        if name not in self._faults:
            self._faults[name] = frozenset(
                (issue.place, issue.problem) for issue in lint(self.environment, self.plan_of(candidate).intent)
            )
        return self._faults[name]

    def record(self, plan: Plan, candidate: Candidate) -> Recording:
        """Record a candidate with a plan on the rows as they are. Raises Rejection."""
        self.world.reset()
        return self.recorder.record(plan, self.inputs(plan, candidate))


def lint(environment: Environment, intent: Intent) -> list[SpecIssue]:
    """What `toolscale lint` says of an intent of an environment whose rules and words are sound."""
    compiler = PlanCompiler(environment)
    plan = compiler.compile_intent(intent, compiler.compile_rules())
    issues = [*compiler.issues, *check_phrasings(intent, environment)]
    if plan is not None:
        try:
            compile_case(environment, plan)
        except SpecError as error:
            issues += error.issues
    return issues


def with_only(environment: Environment, intent: Intent, policy: PolicySpec | None = None) -> Environment:
    """The environment with no intent but one, and with another policy if one is given."""
    update: dict[str, Any] = {"intents": IntentsSpec.model_construct(intents=(intent,))}
    if policy is not None:
        update["policy"] = policy
    return replace(environment, spec=environment.spec.model_copy(update=update))


@dataclass(frozen=True)
class Spoken:
    """A value of the case where it stands in the request."""

    name: str
    """A slot, or role.column."""
    kind: FactKind
    value: Any
    form: str
    written: str

    def replaced(self, candidate: Candidate, other: str) -> Candidate:
        """The candidate with every occurrence in its request written otherwise."""
        return candidate.model_copy(update={"request": standing(self.written).sub(lambda _: other, candidate.request)})


def standing(words: str) -> re.Pattern[str]:
    """The pattern that finds words as whole words, whatever their case."""
    return regex(rf"(?<!\w){re.escape(words)}(?!\w)", re.IGNORECASE)


_FORMS: Mapping[str, tuple[str, ...]] = {
    "money": ("money", "words", "dollars"),
    "date": ("date", "ordinal", "dmy", "slash", "short", "shortth", "numeric", "near", "day", "nth"),
    "time": ("clock", "clock24", "oclock"),
    "duration": ("duration", "minutes", "hm"),
    "number": ("number",),
    "text": ("text",),
    "digits": ("digits",),
    "id": ("text",),
}


def spoken(ground: Ground, candidate: Candidate) -> list[Spoken]:
    """Every slot and described column of a candidate that stands in its request in one form, in that form.

    Of the roles, those that were looked up: on the path taken nothing hangs on how the others are named.
    """
    plan, chosen = ground.plan_of(candidate), ground.recording(candidate).chosen
    values: list[tuple[str, FactKind, Any, Any]] = [
        (name, slot.kind, candidate.say[name], slot.tense) for name, slot in plan.intent.slots.items()
    ]
    for name, columns in ground.inputs(plan, candidate).said.items():
        role = plan.roles[name]
        if name not in chosen or role.role.only_said:
            continue
        types = ground.environment.schema.tables[role.table].columns
        tense = role.description.tense if role.description else None
        values += [
            (f"{name}.{column}", kind_of_column(column, types[column].type), value, tense)
            for column, value in columns.items()
        ]
    found = []
    for name, kind, value, tense in values:
        forms = {render(value, form, ground.today, tense): form for form in reversed(_FORMS.get(kind, ()))}
        stand = [written for written in forms if standing(written).search(candidate.request)]
        whole = [
            written
            for written in stand
            if not any(written != other and standing(written).search(other) for other in stand)
        ]
        if len(whole) == 1:  # said in two forms, one would stay when the other is changed
            found.append(Spoken(name, kind, value, forms[whole[0]], whole[0]))
    return found


def bend(
    ground: Ground,
    candidate: Candidate,
    intent: Intent,
    what: str,
    *,
    environment: Environment | None = None,
    policy: PolicySpec | None = None,
    enforced: bool = False,
) -> Planted | None:
    """Hand in a bent intent as its author would: lint it, compile it, draw its own case and words with the draw of the
    good candidate.

    None if there is no case for it, or if the good plan does and tells the same for that very case: then nothing is
    wrong with it. With `enforced`, None too if a tool refuses what the good plan does: what a request means is what it
    states and what the tools enforce.
    """
    own = environment is not None
    changed = with_only(environment or ground.environment, intent, policy)
    issues = [issue for issue in lint(changed, intent) if (issue.place, issue.problem) not in ground.faults(candidate)]
    if issues:
        return Planted(candidate, what, refused=f"{issues[0].place}: {issues[0].problem}")
    source = CandidateSource(changed, ground.world)
    ground.world.reset()
    drawn = source.draw(candidate.seed, source.number(intent.id, candidate.number // len(ground.source.streams)))
    plan = source.catalogue.plan(intent.id)
    if drawn is None or (not own and not _differs(ground, drawn, plan, ground.plan_of(candidate), enforced)):
        return None
    return _bent(drawn, plan, what, changed if own else None)


def twist(ground: Ground, candidate: Candidate, intent: Intent, what: str) -> Planted | None:
    """Hand in a bent intent as a slip of an evolution would: compiled as evolved ones are, for the case of the good
    candidate and in its words.

    None if it does and tells the same as the good plan.
    """
    compiler = PlanCompiler(ground.environment)
    plan = compiler.compile_intent(intent, ground.source.catalogue.rules)
    if plan is None:
        return Planted(candidate, what, refused=f"{compiler.issues[0].place}: {compiler.issues[0].problem}")
    kept = {
        "bindings": {name: keys for name, keys in candidate.bindings.items() if name in plan.roles},
        "say": {name: value for name, value in candidate.say.items() if name in intent.slots},
    }
    made = candidate.model_copy(update=kept)
    return _bent(made, plan, what) if _differs(ground, made, plan, ground.plan_of(candidate), enforced=False) else None


def _bent(candidate: Candidate, plan: Plan, what: str, environment: Environment | None = None) -> Planted:
    # Judges keep what they compiled by the id of the intent.
    name = f"{plan.intent.id}~{content_hash(plan.intent.model_dump(mode='json'))[:12]}"
    made = candidate.model_copy(update={"intent_id": name, "evolutions": ()})
    return Planted(
        made, what, plan=replace(plan, intent=plan.intent.model_copy(update={"id": name})), environment=environment
    )


def _differs(ground: Ground, drawn: Candidate, bent: Plan, plan: Plan, enforced: bool) -> bool:
    """Whether the bent plan does or tells another thing than the good one for a case, or only one of them can be
    carried out."""
    if (
        bent.intent.outcome != plan.intent.outcome
        or set(drawn.say) != set(plan.intent.slots)
        or bent.roles.keys() != plan.roles.keys()
    ):
        return True
    outcomes: list[Any] = []
    for each in (bent, plan):
        try:
            made = ground.record(each, drawn)
        except Rejection as rejection:
            if each is plan and enforced and rejection.gate == "replay":
                return False
            outcomes.append(None)
            continue
        calls = [(call.name, call.arguments) for call in made.write_calls]
        outcomes.append((calls, [(fact.kind, fact.value, fact.about, fact.withheld) for fact in made.facts]))
    return outcomes[0] is None or outcomes[0] != outcomes[1]


def pick(rng: random.Random, options: Any) -> Any:
    """Draw one of some options, None of none."""
    listed = list(options)
    return rng.choice(listed) if listed else None


def shuffled(rng: random.Random, options: Any) -> Iterator[Any]:
    """Yield all options in a drawn order."""
    listed = list(options)
    rng.shuffle(listed)
    yield from listed
