"""Files of earlier steps in short: what a model needs of them that builds on them and does not change them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from sqlglot import errors, exp, parse_one

from toolscale.draft.blocks import entries_of
from toolscale.environment.spec_files import read_folder
from toolscale.records import PolicySpec, PopulationSpec, SchemaSpec, ToolsetSpec, ToolSpec
from toolscale.records.population import By, Choice, CountBy, Expr, Maybe, Value
from toolscale.records.schema import ColumnSpec
from toolscale.records.tool import Check, Forbid, Let, Return

SHOWN = 4
"""Values of a choice that are shown."""


def digest_of(folder: Path, file: str) -> str:
    """Return a file of a folder in short; whole, where it does not hold what such a file holds."""
    path = folder / file
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    parts = read_folder(folder).parts
    part = parts.get(file)
    if isinstance(part, PopulationSpec):
        return "\n".join(_rows(part))
    if isinstance(part, SchemaSpec):
        return "\n".join(_tables(part))
    if isinstance(part, ToolsetSpec):
        names = {tool.get("name") for tool in entries_of(folder, file, "tools")}
        return "\n".join(line for tool in part.tools if tool.name in names for line in _tool(tool))
    if isinstance(part, PolicySpec):
        return "\n".join(_rules(part))
    return text


def _tables(schema: SchemaSpec) -> Iterator[str]:
    """Yield a line for each table: `loans: loan_id key, patron_id -> patrons.patron_id, due_on date or null`."""
    for name, table in schema.tables.items():
        columns = ", ".join(f"{column} {_column(column, spec)}" for column, spec in table.columns.items())
        unique = "".join(f"; unique ({', '.join(key)})" for key in table.unique)
        yield f"- {name}: {columns}{unique}"


def _column(name: str, spec: ColumnSpec) -> str:
    kind = "|".join(spec.values) if spec.values else f"-> {spec.fk}" if spec.fk else "key" if spec.pk else spec.type
    more = (" unique" if spec.unique else "") + (" or null" if spec.nullable else "")
    unsaid = set(spec.description.lower().rstrip(".").split()) - {*name.lower().split("_"), *_EMPTY}
    return kind + more + (f" ({spec.description.rstrip('.')})" if len(unsaid) > _FEW else "")


_EMPTY = frozenset(
    re.findall("[a-z]+", "the a an of is it its in on at by to that which whether was day date name what")
)
_FEW = 3
"""Words of a description that its column's name does not have: with no more, the name says it."""


def _tool(tool: ToolSpec) -> Iterator[str]:
    """Yield how a tool is called, when it refuses, and what it gives."""
    parameters = ", ".join(_parameter(name, schema) for name, schema in tool.parameters.items())
    yield f"- {tool.name}({parameters}): {tool.description}"
    tests = [
        step.check if isinstance(step, Check) else step.forbid
        for step in tool.steps
        if isinstance(step, Check | Forbid)
    ]
    for step in tool.steps:
        if isinstance(step, Let) and any(f":{step.let}." in test for test in tests):
            yield f"  {step.let}: {step.sql}"
    if conditions := [step.check for step in tool.steps if isinstance(step, Check)]:
        yield f"  only if {' AND '.join(conditions)}"
    if conditions := [step.forbid for step in tool.steps if isinstance(step, Forbid)]:
        yield f"  not if rows: {'; '.join(conditions)}"
    yield f"  gives {', '.join(_given(name, part) for name, part in tool.returns.items())}"


def _parameter(name: str, schema: Mapping[str, Any]) -> str:
    kind = (
        "|".join(map(str, schema["enum"])) if "enum" in schema else schema.get("format", schema.get("type", "string"))
    )
    return f"{name}{'?' if 'default' in schema else ''}{'' if kind == 'string' else f': {kind}'}"


def _given(name: str, part: Return) -> str:
    if part.mode == "value":
        return f"value `{name}`"
    try:
        read = parse_one(part.sql, read="sqlite")
        columns = ", ".join(read.named_selects) if isinstance(read, exp.Query) else part.sql
    except errors.SqlglotError:
        columns = part.sql
    return f"{'one row' if part.mode == 'row' else 'rows'} `{name}` ({columns})"


def _rules(policy: PolicySpec) -> Iterator[str]:
    """Yield the constants, and what each rule guards, forbids and tells."""
    yield f"- policy: {', '.join(f'{name} = {value}' for name, value in policy.constants.items()) or 'no constants'}"
    for name, rule in policy.rules.items():
        applies = f", where {rule.applies}" if rule.applies else ""
        reads = "".join(f"; {read} = {next(iter(made))}" for read, made in rule.reads.items())
        told = ", ".join(f"{fact.kind} {fact.is_}" for fact in rule.tell if fact.kind != "bool") or "nothing"
        yield f"- {name} (guards {', '.join(rule.guards)}{applies}): breaks {rule.breaks}{reads}; tells {told}"


def _rows(population: PopulationSpec) -> Iterator[str]:
    """Yield how many rows each table gets and what its columns are drawn from, then what is planted."""
    for batch in population.tables:
        count = f"by {batch.count.by}" if isinstance(batch.count, CountBy) else _span(batch.count)
        drawn = ", ".join(f"{name} {_drawn(of)}" for name, of in batch.columns.items())
        yield f"- {batch.table}: {count} rows{f' per row of {batch.per}' if batch.per else ''}: {drawn}"
    for plant in population.plant:
        yield f"- planted: {plant.title} ({plant.count} of {plant.copy_ or plant.change})"


def _drawn(value: Value) -> str:
    """Return what a column is drawn from: `one of 40, distinct: Bella, Max, …`, `date -30 to 60`, `by status`."""
    if isinstance(value, Choice):
        values = [str(each) for each in value.choice]
        more = ", …" if len(values) > SHOWN else ""
        return f"one of {len(values)}{', distinct' if value.distinct else ''}: {', '.join(values[:SHOWN])}{more}"
    if isinstance(value, By):
        return f"by {value.by}"
    if isinstance(value, Maybe):
        return f"null or {_drawn(value.otherwise)}"
    if isinstance(value, Expr):
        return "computed"
    told = value.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    kind, first = next(iter(told.items()))
    return f"{kind} {_span(first)}"


def _span(value: Any) -> str:
    return " to ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
