"""Defects of the plan: an intent bent by its structure, as a slip of its author would. Its own case and words are made
from it as from any other."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from typing import Any

from sqlglot import exp

from toolscale.language.heard import contains_words
from toolscale.records import CallStep, Candidate, EachStep, IfStep, Intent, PlanStep, Role, Slot, Tell
from toolscale.tasks.lookups import root_column
from toolscale.tasks.plan import CallPlan, Plan, RolePlan
from toolscale.verify.defects.planting import OPEN, Defect, Ground, Planted, bend, pick, shuffled, words_of

Bent = tuple[Intent, str] | None


def _changed_steps(steps: tuple[PlanStep, ...], change: Callable[[CallStep], CallStep | None]) -> tuple[PlanStep, ...]:
    """Steps with every call changed, or left out where the change gives None."""
    found: list[PlanStep] = []
    for step in steps:
        if isinstance(step, CallStep):
            made = change(step)
            found += [made] if made is not None else []
        elif isinstance(step, EachStep):
            found.append(step.model_copy(update={"do": _changed_steps(step.do, change)}))
        elif isinstance(step, IfStep):
            found.append(
                step.model_copy(
                    update={"then": _changed_steps(step.then, change), "else_": _changed_steps(step.else_, change)}
                )
            )
        else:
            found.append(step)
    return tuple(found)


def _with_argument(intent: Intent, call: CallPlan, name: str, text: str) -> Intent:
    """The intent with one argument of one call (of each of that name) written otherwise."""

    def change(step: CallStep) -> CallStep:
        same = step.name == call.name and step.tool == call.tool.spec.name
        return step.model_copy(update={"arguments": {**step.arguments, name: text}}) if same else step

    return intent.model_copy(update={"do": _changed_steps(intent.do, change)})


def _with_role(intent: Intent, name: str, **update: Any) -> Intent:
    return intent.model_copy(update={"roles": {**intent.roles, name: intent.roles[name].model_copy(update=update)}})


def _arguments(plan: Plan) -> list[tuple[CallPlan, str, str]]:
    """(call, parameter, text) of every argument of every branch."""
    return [(call, name, expression.source) for call in plan.calls() for name, expression in call.arguments.items()]


def lowest_for_highest(ground: Ground, plan: Plan, rng: random.Random) -> Bent:
    """The superlative of the plan is the opposite of that in the words."""
    role: RolePlan | None = pick(rng, [role for role in plan.roles.values() if role.first])
    if role is None or role.first is None:
        return None
    bare = role.first.removeprefix("-").strip("()").rpartition(".")[2]
    turned = {
        "date": "days_between({}, :today)", "datetime": "minutes_between({}, :now)",
        "time": "minutes_between({}, '00:00')",
    }.get(role.finder.columns.get(bare, ""), "-({})")  # fmt: skip
    other = (turned if not role.first.startswith("-") else "-({})").format(role.first)
    return _with_role(plan.intent, role.name, first=other), f"{role.name} is the first by {other}"


def _types(plan: Plan) -> dict[str, str]:
    """Every `role.column` and `say.slot` that a call may take, with its type."""
    roles = [role for role in plan.roles.values() if not role.role.only_said]
    found = {f"{role.name}.{column}": str(kind) for role in roles for column, kind in role.finder.columns.items()}
    kinds = {"money": "cents", "number": "int", "duration": "int", "digits": "text", "id": "text"}
    return found | {f"say.{name}": kinds.get(slot.kind, slot.kind) for name, slot in plan.intent.slots.items()}


def wrong_slot(ground: Ground, plan: Plan, rng: random.Random) -> Bent:
    """A call takes another value than the one that the request says for it."""
    types = _types(plan)
    for call, name, text in shuffled(
        rng, [place for place in _arguments(plan) if place[2] in types and place[2].startswith("say.")]
    ):
        other = pick(rng, [value for value, kind in types.items() if kind == types[text] and value != text])
        if other is not None:
            return _with_argument(plan.intent, call, name, other), f"{call.name}.{name} is {other} for {text}"
    return None


def exchanged_slots(ground: Ground, plan: Plan, rng: random.Random) -> Bent:
    """Two texts that the request says are exchanged wherever the plan uses them."""
    return _exchanged(plan, rng, texts=True)


def exchanged_values(ground: Ground, plan: Plan, rng: random.Random) -> Bent:
    """Two dates, amounts or numbers that the request says are exchanged wherever the plan uses them."""
    return _exchanged(plan, rng, texts=False)


def _exchanged(plan: Plan, rng: random.Random, *, texts: bool) -> Bent:
    slots = {name: slot for name, slot in plan.intent.slots.items() if (slot.kind == "text") == texts}
    pairs = [(a, b) for a in slots for b in slots if a < b and slots[a].kind == slots[b].kind]
    pair = pick(rng, pairs)
    if pair is None:
        return None
    names = dict(zip(pair, reversed(pair), strict=True))
    text = plan.intent.model_copy(update={"when": ()}).model_dump_json()
    text = re.sub(rf"\bsay\.({'|'.join(pair)})\b", lambda found: f"say.{names[found[1]]}", text)
    return Intent.model_validate_json(text).model_copy(
        update={"when": plan.intent.when}
    ), f"{pair[0]} and {pair[1]} are exchanged"


def swapped_arguments(ground: Ground, plan: Plan, rng: random.Random) -> Bent:
    """Two arguments that are keys of one table are exchanged."""
    tables: dict[tuple[str, str], Any] = {}
    for call, name, _ in _arguments(plan):
        tables[call.name, name] = {
            root_column(ground.environment, column) for column in call.tool.consumes.get(name, ())
        }
    places = _arguments(plan)
    pairs = [
        (one, other)
        for one in places
        for other in places
        if one[0] is other[0]
        and one[1] < other[1]
        and tables[one[0].name, one[1]] & tables[other[0].name, other[1]]
        and one[2] != other[2]
    ]
    pair = pick(rng, pairs)
    if pair is None:
        return None
    (call, one, text), (_, other, second) = pair
    return _with_argument(
        _with_argument(plan.intent, call, one, second), call, other, text
    ), f"{call.name}: {one} and {other} are exchanged"


def wrong_enum(ground: Ground, plan: Plan, rng: random.Random) -> Bent:
    """A call takes another enum value than the words mean."""
    cues = ground.environment.spec.language.enum_cues
    for call, name, _ in shuffled(
        rng, [place for place in _arguments(plan) if place[0].arguments[place[1]].is_literal]
    ):
        mine = call.arguments[name].literal
        others = [value for value in call.tool.spec.parameters[name].get("enum", ()) if value != mine]
        says = [request.say for request in plan.intent.requests]
        apart = [
            value
            for value in others
            if not any(contains_words(say, cue) for say in says for cue in cues.get(value, ()))
        ]
        other = pick(rng, apart)
        if other is not None:
            return _with_argument(
                plan.intent, call, name, exp.convert(other).sql("sqlite")
            ), f"{call.name}.{name} is {other!r} for {mine!r}"
    return None


def unsaid_literal(ground: Ground, plan: Plan, rng: random.Random) -> Bent:
    """A call takes a value that nobody said."""
    place = pick(rng, [place for place in _arguments(plan) if not place[0].arguments[place[1]].is_literal])
    if place is None:
        return None
    call, name, _ = place
    is_number = call.tool.spec.parameters[name].get("type") == "integer"
    value = str(rng.randrange(1, 10_000)) if is_number else f"'{rng.choice('abc')}_{rng.randrange(1000)}'"
    return _with_argument(plan.intent, call, name, value), f"{call.name}.{name} is {value}"


def invisible_column(ground: Ground, plan: Plan, rng: random.Random) -> Bent:
    """A fact is a column that no look-up shows of that row."""
    tells = plan.intent.tell
    role = pick(rng, [role for role in plan.roles.values() if role.role.take == "one" and not role.role.only_said])
    number = pick(rng, [number for number, tell in enumerate(tells) if not tell.withheld])
    if role is None or number is None:
        return None
    columns = {column for table in ground.environment.schema.tables.values() for column in table.columns}
    column = pick(rng, sorted(columns - set(role.finder.columns)))
    if column is None:
        return None
    changed = tells[number].model_copy(update={"is_": f"{role.name}.{column}"})
    return _with_tell(plan.intent, number, changed), f"fact {number + 1} is {role.name}.{column}"


def _with_tell(intent: Intent, number: int, *tells: Tell) -> Intent:
    return intent.model_copy(update={"tell": (*intent.tell[:number], *tells, *intent.tell[number + 1 :])})


def reads_the_database(ground: Ground, plan: Plan, rng: random.Random) -> Bent:
    """An argument or a fact is taken from a table, as if the agent could see it."""
    tables = ground.environment.schema.tables
    table = rng.choice(sorted(tables))
    column = rng.choice(sorted(tables[table].columns))
    text = f"(SELECT {rng.choice(('MIN', 'MAX'))}({column}) FROM {table})"
    places = _arguments(plan)
    told = [number for number, tell in enumerate(plan.intent.tell) if not tell.withheld]
    if told and (not places or rng.random() < 0.5):
        number = rng.choice(told)
        return _with_tell(
            plan.intent, number, plan.intent.tell[number].model_copy(update={"is_": text})
        ), f"fact {number + 1} is {text}"
    if not places:
        return None
    call, name, _ = rng.choice(places)
    return _with_argument(plan.intent, call, name, text), f"{call.name}.{name} is {text}"


def dropped_look_up(ground: Ground, plan: Plan, rng: random.Random) -> Bent:
    """A role or a call whose result the plan uses is left out."""
    texts = plan.intent.model_dump_json(include={"do", "tell"})
    calls = [call.name for call in plan.calls() if re.search(rf"\b{call.name}\.", texts)]
    parents = {role.role.of for role in plan.roles.values()}
    roles = [
        name
        for name, role in plan.roles.items()
        if not role.role.only_said and name not in parents and re.search(rf"\b{name}\.", texts)
    ]
    name = pick(rng, calls + roles)
    if name is None:
        return None
    if name in roles:
        kept = {role: spec for role, spec in plan.intent.roles.items() if role != name}
        return plan.intent.model_copy(update={"roles": kept}), f"the role {name} is left out"
    left = _changed_steps(plan.intent.do, lambda step: None if step.name == name else step)
    return plan.intent.model_copy(update={"do": left}), f"the call {name} is left out"


def unread(ground: Ground, plan: Plan, rng: random.Random) -> Bent:
    """A look-up whose result nothing depends on."""
    roots = {
        (role.table, column): f"{role.name}.{column}"
        for role in plan.roles.values()
        for column in role.key
        if role.role.take == "one" and not role.role.only_said
    }
    options = []
    for name, tool in ground.environment.tools.items():
        required = [param for param, schema in tool.spec.parameters.items() if "default" not in schema]
        if len(required) == 1 and not tool.mutates_state:
            consumed = {root_column(ground.environment, column) for column in tool.consumes.get(required[0], ())}
            options += [
                CallStep(name="seen", tool=name, arguments={required[0]: roots[root]})
                for root in sorted(consumed & roots.keys())
            ]
    step = pick(rng, options)
    return step and (
        plan.intent.model_copy(update={"do": (step, *plan.intent.do)}),
        f"{step.tool} is called for nothing",
    )


def stale_balance(ground: Ground, plan: Plan, rng: random.Random) -> Bent:
    """A fact is told as it was before the call that changes it."""
    options = []
    for number, tell in enumerate(plan.tells):
        if tell.value.direct is None or tell.value.direct[0] in plan.roles or tell.tell.before or tell.tell.withheld:
            continue
        column = tell.value.direct[1]
        written = {place for call in plan.calls() for place in call.tool.writes}
        options += [
            (number, role.name, column)
            for role in plan.roles.values()
            if not role.role.only_said and (role.table, column) in written and column in role.finder.columns
        ]
    option = pick(rng, options)
    if option is None:
        return None
    number, role, column = option
    changed = plan.intent.tell[number].model_copy(update={"is_": f"{role}.{column}"})
    return _with_tell(plan.intent, number, changed), f"fact {number + 1} is {role}.{column}, as it was before"


def unlabelled_fact(ground: Ground, plan: Plan, rng: random.Random) -> Bent:
    """A second fact of the same kind without a label: an answer could exchange them."""
    kinds = {"cents": "money", "date": "date", "time": "time", "int": "number", "text": "text"}
    told = {
        tell.kind
        for tell in plan.intent.tell
        if tell.kind != "bool" and not tell.about and not tell.when and not tell.withheld
    }
    options = [
        (name, kinds[kind])
        for name, kind in _types(plan).items()
        if kinds.get(kind) in told and not name.startswith("say.")
    ]
    option = pick(
        rng, [(name, kind) for name, kind in options if plan.roles[name.partition(".")[0]].role.take == "one"]
    )
    if option is None:
        return None
    tell = Tell.model_validate({"kind": option[1], "is": option[0]})
    return plan.intent.model_copy(update={"tell": (*plan.intent.tell, tell)}), f"{option[0]} is to be told as well"


def contradiction(ground: Ground, plan: Plan, rng: random.Random) -> Bent:
    """A yes and a no are both to be told: no answer can be right."""
    if plan.intent.outcome != "fulfil":
        return None
    both = [Tell.model_validate({"kind": "bool", "is": value}) for value in ("0", "1")]
    rng.shuffle(both)
    kept = [tell for tell in plan.intent.tell if tell.kind != "bool"]
    return plan.intent.model_copy(update={"tell": (*kept, *both)}), "yes and no are to be told"


def yes_or_no(ground: Ground, plan: Plan, rng: random.Random) -> Bent:
    """Nothing is done, and nothing but a yes is told: whoever says yes has solved it."""
    role = pick(rng, [role for role in plan.roles.values() if role.role.take == "one" and not role.role.only_said])
    if plan.intent.outcome != "fulfil" or role is None:
        return None
    tell = Tell.model_validate({"kind": "bool", "is": f"{role.name}.{role.key[0]} = {role.name}.{role.key[0]}"})
    return plan.intent.model_copy(
        update={"do": (), "tell": (tell,), "refused": ()}
    ), f"only a yes about {role.name} is told"


def unsaid_condition(ground: Ground, plan: Plan, rng: random.Random) -> Bent:
    """The plan means one of the rows that the words mean, by a condition that nobody said."""
    return _narrowed(ground, plan, rng, "one")


def narrowed_set(ground: Ground, plan: Plan, rng: random.Random) -> Bent:
    """The plan means fewer rows than the words, by a condition that nobody said."""
    return _narrowed(ground, plan, rng, "all")


def _narrowed(ground: Ground, plan: Plan, rng: random.Random, take: str) -> Bent:
    if plan.intent.outcome == "refuse":
        return None  # nothing is written whichever row is meant, and the same reason is told
    roles = [
        role
        for role in plan.roles.values()
        if role.role.take == take and role.role.of is not None and not role.role.only_said
    ]
    role: RolePlan | None = pick(rng, [role for role in roles if take == "all" or role.first or not role.said] or roles)
    if role is None:
        return None
    named = f"{role.role.where} {role.first} {' '.join(role.said)}"
    columns = [
        column
        for column in role.finder.columns
        if column not in role.key
        and column in ground.environment.schema.tables[role.table].columns
        and not re.search(rf"\b{column}\b", named)
        and not ground.environment.schema.tables[role.table].columns[column].fk
    ]
    column = pick(rng, columns)
    if column is None:
        return None
    value = rng.choice([row[column] for row in ground.table(role.table).values()])
    sign = rng.choice(("<=", ">=") if isinstance(value, int) else ("<=", ">=", "<>"))
    test = f"{role.name}.{column} " + ("IS NULL" if value is None else f"{sign} {exp.convert(value).sql('sqlite')}")
    where = f"({role.role.where}) AND {test}" if role.role.where else test
    return _with_role(plan.intent, role.name, where=where), f"{role.name} only where {test}"


def handed_over(ground: Ground, plan: Plan, rng: random.Random) -> Bent:
    """All there is to do is to hand over to a colleague: whoever hands everything over has solved it."""
    tool = ground.environment.tools.get("transfer_to_human")
    root = next((name for name, role in plan.roles.items() if role.role.of is None), None)
    if tool is None or root is None or not ground.environment.spec.language.openings:
        return None
    key = f"{root}.{plan.roles[root].key[0]}"
    step = {"if": f"{key} = {key}", "then": [{"handed": {"transfer_to_human": {"reason": "say.reason"}}}]}
    roles: dict[str, Role] = {root: plan.intent.roles[root]}
    words = rng.choice(
        (
            "Put me through to a person: {reason}.",
            "I want to speak to somebody: {reason}.",
            "A colleague, please: {reason}.",
        )
    )
    reasons = tuple(tool.spec.parameters["reason"]["enum"])
    bent = Intent.model_validate(
        {
            "id": plan.intent.id,
            "outcome": "transfer",
            "roles": roles,
            "do": [step],
            "requests": [words],
            "slots": {"reason": Slot.model_validate({"kind": "text", "from": reasons})},
        }
    )
    return bent, "all that is left is the handover"


def _defect(bent_by: Callable[[Ground, Plan, random.Random], Bent]) -> Defect:
    enforced = bent_by in (unsaid_condition, narrowed_set)

    def plant(ground: Ground, candidate: Candidate, rng: random.Random) -> Planted | None:
        made = bent_by(ground, ground.plan_of(candidate), rng)
        return bend(ground, candidate, *made, enforced=enforced) if made else None

    return Defect(bent_by.__name__, "plan", words_of(bent_by), plant, OPEN.get(bent_by.__name__, ""))


def lost_slot_phrase(ground: Ground, candidate: Candidate, rng: random.Random) -> Planted | None:
    """A phrasing does not say a value that the user invents."""
    plan = ground.plan_of(candidate)
    slot = pick(rng, plan.intent.slots)
    if slot is None:
        return None
    # The phrasing in which the case is put into words: lint does not look at all of them where a chain of evolutions
    # left its own places in them.
    number = candidate.number // len(ground.source.streams) % len(plan.intent.requests)
    requests = list(plan.intent.requests)
    requests[number] = requests[number].model_copy(
        update={"say": re.sub(rf"\{{{slot}\b[^}}]*\}}", "something", requests[number].say)}
    )
    return bend(
        ground,
        candidate,
        plan.intent.model_copy(update={"requests": tuple(requests)}),
        f"requests[{number}] does not say {slot}",
    )


DEFECTS = (
    *map(_defect, (
        lowest_for_highest, wrong_slot, exchanged_slots, exchanged_values, swapped_arguments, wrong_enum,
        unsaid_literal, invisible_column, reads_the_database, dropped_look_up, unread, stale_balance, unlabelled_fact,
        contradiction, yes_or_no, unsaid_condition, narrowed_set, handed_over,
    )),
    Defect(lost_slot_phrase.__name__, "plan", words_of(lost_slot_phrase), lost_slot_phrase),
)  # fmt: skip
