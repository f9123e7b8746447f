"""A part of the gate `unambiguous`: a told value that a later call of the same request changes again could mean
either."""

from __future__ import annotations

from toolscale.tasks.plan import TellPlan, calls_of
from toolscale.verify.subject import Subject


def outdated(subject: Subject) -> str | None:
    """Return the fact that was true after its own call and is not at the end, or None. A fact that is to be told as it
    was before the calls does not count."""
    changed = {(table, key): after for (table, key), (_, after) in subject.net.items()}
    for tell in subject.plan.tells:
        found = _row_told(subject, tell)
        if found is None or found[:2] not in changed or tell.tell.before:
            continue
        table, key, column = found
        after, names = changed[table, key], list(subject.environment.schema.tables[table].columns)
        told = [
            fact.value for fact in subject.facts if fact.kind == tell.tell.kind and fact.about == _label(subject, tell)
        ]
        if after is not None and told and after[names.index(column)] not in told:
            return f"{tell.value.source} is told as {told[0]}, and a later call makes it {after[names.index(column)]}"
    return None


def _row_told(subject: Subject, tell: TellPlan) -> tuple[str, tuple[object, ...], str] | None:
    """The cell that a fact shows: the column of a result, in the row of the role that labels it."""
    if tell.value.direct is None or tell.about is None or tell.about.direct is None:
        return None
    step, shown = tell.value.direct
    role = subject.plan.roles.get(tell.about.direct[0])
    call = next((call for call in calls_of(subject.plan.steps) if call.name == step), None)
    if role is None or call is None or role.name not in subject.recording.chosen:
        return None
    for result in call.tool.returns:
        for column, base in zip(result.statement.columns, result.statement.lineage, strict=True):
            if (
                base is not None
                and base[0] == role.table
                and shown in (column, result.name if result.mode == "value" else column)
            ):
                row = subject.recording.chosen[role.name][0]
                return role.table, tuple(row[name] for name in role.key), base[1]
    return None


def _label(subject: Subject, tell: TellPlan) -> str | None:
    assert tell.about is not None and tell.about.direct is not None
    name, column = tell.about.direct
    return str(subject.recording.chosen[name][0][column])
