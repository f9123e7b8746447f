"""Defects of the database: twins, ties and homonyms beside the row that is meant; rows that break an invariant, or that
the spec does not make."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from typing import Any

from toolscale.environment.holding import Invariants
from toolscale.environment.rows import fault
from toolscale.environment.world import World
from toolscale.records import Candidate
from toolscale.sandbox.base import Rows
from toolscale.tasks.plan import RolePlan
from toolscale.verify.defects.planting import Defect, Ground, Planted, pick, shuffled, words_of

Row = dict[str, Any]


def with_row(ground: Ground, table: str, row: Row) -> Rows:
    """The rows of the environment and one more, or one changed: that with the same key."""
    spec = ground.environment.schema.tables[table]
    places = [list(spec.columns).index(column) for column in spec.key]
    key = [row[column] for column in spec.key]
    kept = [other for other in ground.rows[table] if [other[place] for place in places] != key]
    return {
        **ground.rows,
        table: sorted(
            [*kept, tuple(row[column] for column in spec.columns)], key=lambda made: [made[place] for place in places]
        ),
    }


def _twin(ground: Ground, candidate: Candidate, role: RolePlan, rng: random.Random) -> Row | None:
    """A copy of the row of a role under a new key; a column that the plan does not look at may be that of another row.

    None where the role is told by its key (`card.card_id = dispute.card_id`): a row with another key is no twin then.
    None too where the schema lets no twin in: it would have a value that is unique, or the new key does not fit its
    column (a day).
    """
    if len(role.key) != 1 or re.search(rf"\b{role.name}\.{role.key[0]}\b", role.role.where or ""):
        return None
    row = dict(ground.recording(candidate).chosen[role.name][0])
    if (row[role.key[0]],) not in ground.table(role.table):  # a call of the plan has made it
        return None
    whole = dict(ground.table(role.table)[(row[role.key[0]],)])
    key = whole[role.key[0]]
    whole[role.key[0]] = (
        max(made[0] for made in ground.table(role.table)) + 1
        if isinstance(key, int)
        else f"{key}{rng.randrange(10, 100)}"
    )
    if fault(whole[role.key[0]], ground.environment.schema.tables[role.table].columns[role.key[0]]) is not None:
        return None
    column = pick(rng, _idle_columns(ground, candidate, role))
    if column is not None and rng.random() < 0.5:
        whole[column] = rng.choice([other[column] for other in ground.table(role.table).values()])
    return whole if _is_unique(ground, role.table, whole) else None


def _is_unique(ground: Ground, table: str, row: Row, *, is_changed: bool = False) -> bool:
    """Whether no other row has the same values as this one where the schema wants them to be unique. `is_changed`: it
    takes the place of the row with its key."""
    spec = ground.environment.schema.tables[table]
    keys = [*((name,) for name, column in spec.columns.items() if column.unique), *spec.unique]
    keys += [] if is_changed else [spec.key]
    own = tuple(row[column] for column in spec.key)
    others = [other for key, other in ground.table(table).items() if not is_changed or tuple(key) != own]
    return not any(
        all(row[column] is not None and row[column] == other[column] for column in key)
        for key in keys
        for other in others
    )


def _idle_columns(ground: Ground, candidate: Candidate, role: RolePlan) -> list[str]:
    """Columns of the table of a role that no text of the intent names, that nothing said, and that refer to nothing."""
    intent = ground.plan_of(candidate).intent
    texts = intent.model_dump_json(exclude={"requests"}) + " ".join((role.first or "", *role.said, *role.role.same))
    spec = ground.environment.schema.tables[role.table]
    return [
        name
        for name, column in spec.columns.items()
        if name not in spec.key
        and not column.fk
        and not re.search(rf"\b{name}\b", texts)
        and not any(re.search(rf"\b{name}\b", check) for check in (*spec.check, column.check or ""))
    ]


def _beside(ground: Ground, candidate: Candidate, rng: random.Random, roles: list[RolePlan]) -> Planted | None:
    role = pick(rng, roles)
    twin = _twin(ground, candidate, role, rng) if role else None
    if role is None or twin is None:
        return None
    return Planted(
        candidate, f"{role.table} has {twin[role.key[0]]} too, for {role.name}", rows=with_row(ground, role.table, twin)
    )


def _roles(ground: Ground, candidate: Candidate) -> Iterator[RolePlan]:
    """The roles that mean one row and were looked up on the path taken."""
    chosen = ground.recording(candidate).chosen
    yield from (
        role for name, role in ground.plan_of(candidate).roles.items() if name in chosen and role.role.take == "one"
    )


def homonym(ground: Ground, candidate: Candidate, rng: random.Random) -> Planted | None:
    """Somebody else has all that the request says of the person."""
    return _beside(
        ground, candidate, rng, [role for role in _roles(ground, candidate) if role.role.of is None and role.said]
    )


def planted_twin(ground: Ground, candidate: Candidate, rng: random.Random) -> Planted | None:
    """Another row under the same parent fits all that is said."""
    return _beside(
        ground,
        candidate,
        rng,
        [role for role in _roles(ground, candidate) if role.role.of is not None and not role.first],
    )


def tie(ground: Ground, candidate: Candidate, rng: random.Random) -> Planted | None:
    """Two rows are first in the order of a superlative."""
    return _beside(ground, candidate, rng, [role for role in _roles(ground, candidate) if role.first])


def vanished_row(ground: Ground, candidate: Candidate, rng: random.Random) -> Planted | None:
    """The row that the case is about is gone from the database."""
    schema, plan = ground.environment.schema, ground.plan_of(candidate)
    for role in shuffled(
        rng,
        [
            role
            for name, role in plan.roles.items()
            if role.role.take == "one" and name in ground.recording(candidate).chosen
        ],
    ):
        (key, *_) = candidate.bindings[role.name]
        names = list(schema.tables[role.table].columns)
        fks = [
            (t, list(spec.columns).index(c))
            for t, spec in schema.tables.items()
            for c, column in spec.columns.items()
            if column.fk and column.fk.split(".")[0] == role.table
        ]
        if any(row[place] in key for table, place in fks for row in ground.rows.get(table, ())):
            continue
        places = [names.index(column) for column in role.key]
        left = [row for row in ground.rows[role.table] if tuple(row[place] for place in places) != tuple(key)]
        return Planted(candidate, f"{role.table} has no {key}", rows={**ground.rows, role.table: left})
    return None


def broken_invariant(ground: Ground, candidate: Candidate, rng: random.Random) -> Planted | None:
    """A row that the golden calls write breaks an invariant of the policy, and still does afterwards."""
    ground.record(ground.plan_of(candidate), candidate)
    governed = {spec.table for spec in ground.environment.spec.policy.invariants.values()}
    touched = [
        (table, key) for table, key in ground.world.touched() if table in governed and tuple(key) in ground.table(table)
    ]
    calls = ground.recording(candidate).write_calls
    trials = 0
    for table, key in shuffled(rng, touched):
        row = ground.table(table)[tuple(key)]
        for column in shuffled(rng, [name for name in row if name not in ground.environment.schema.tables[table].key]):
            value = _other_value(ground, table, row, column, rng)
            if value is None or trials == 4:
                continue
            trials += 1
            rows = with_row(ground, table, {**row, column: value})
            if breaks(ground, rows, calls):
                return Planted(candidate, f"{column} of {table} {key} is {value!r} for {row[column]!r}", rows=rows)
    return None


def _other_value(ground: Ground, table: str, row: Row, column: str, rng: random.Random) -> Any:
    """Another value of a column, from another row where it is a word or a day; one that the schema lets through, or
    None."""
    spec = ground.environment.schema.tables[table].columns[column]
    if spec.fk:
        return None
    if isinstance(row[column], int):
        value: Any = row[column] + rng.choice((-1, 1)) * rng.randrange(1, 50_000)
    else:
        value = pick(
            rng,
            sorted(
                {other[column] for other in ground.table(table).values() if other[column] not in (None, row[column])}
            ),
        )
    if value is None or fault(value, spec) is not None or spec.check:
        return None
    return value if _is_unique(ground, table, {**row, column: value}, is_changed=True) else None


def breaks(ground: Ground, rows: Rows, calls: Any, environment: Any = None) -> bool:
    """Whether the golden writes succeed on other rows, or with other tools, and leave a row that breaks an
    invariant."""
    environment = environment or ground.environment
    with World(environment, rows) as world:
        invariants = Invariants(environment)
        if any(world.call(call.name, call.arguments).error for call in calls):
            return False
        return any(True for table, key in world.touched() for _ in invariants.broken_by(world, table, key))


def unreproducible_row(ground: Ground, candidate: Candidate, rng: random.Random) -> Planted | None:
    """A row that the agent sees is not the one that the spec and its seed make; nothing of the task depends on what
    differs."""
    plan, recording = ground.plan_of(candidate), ground.recording(candidate)
    for role in shuffled(rng, [plan.roles[name] for name in recording.observed]):
        for seen in shuffled(rng, recording.observed[role.name]):
            row = ground.table(role.table).get(tuple(seen[column] for column in role.key))
            if row is None:
                continue  # the task itself has made it
            for column in shuffled(rng, _idle_columns(ground, candidate, role)):
                value = _other_value(ground, role.table, row, column, rng) if column in role.finder.columns else None
                if value is not None and _stays(
                    ground, candidate, with_row(ground, role.table, {**row, column: value})
                ):
                    rows = with_row(ground, role.table, {**row, column: value})
                    return Planted(
                        candidate,
                        f"{column} of {role.table} {row[role.key[0]]} is {value!r}",
                        rows=rows,
                        audited="process",
                    )
    return None


def _stays(ground: Ground, candidate: Candidate, rows: Rows) -> bool:
    """Whether the golden calls all succeed on other rows, and show something else."""
    calls = ground.recording(candidate).calls
    with World(ground.environment, rows) as world:
        results = [world.call(made.call.name, made.call.arguments) for made in calls]
    return all(result.error is None for result in results) and any(
        result.value != made.call.result for result, made in zip(results, calls, strict=True)
    )


DEFECTS = tuple(
    Defect(plant.__name__, "rows", words_of(plant), plant)
    for plant in (homonym, planted_twin, tie, vanished_row, broken_invariant, unreproducible_row)
)
