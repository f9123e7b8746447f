"""Which kind of fact a column holds: by its type, and for whole numbers by its name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from toolscale.environment.moments import is_time
from toolscale.records import ColumnType, FactKind, SchemaSpec

_KIND_OF_TYPE: Mapping[ColumnType, FactKind] = {
    "text": "text",
    "int": "number",
    "cents": "money",
    "bool": "bool",
    "date": "date",
    "datetime": "date",
    "time": "time",
}


def kind_of_column(name: str, column_type: ColumnType) -> FactKind:
    """Return the kind of fact that a column holds: whole minutes where the name of an integer ends in `_minutes`. A
    datetime is said by its date; see `values_of_column` for what may be told of it."""
    if column_type == "int" and name.endswith("_minutes"):
        return "duration"
    return _KIND_OF_TYPE[column_type]


def values_of_column(name: str, column_type: ColumnType, value: str | int) -> tuple[tuple[FactKind, str | int], ...]:
    """Return (kind, value) of all facts that a value can be told as: a datetime as its date and as its time of day."""
    if column_type == "datetime":
        return ("date", str(value)[:10]), ("time", str(value)[11:16])
    return ((kind_of_column(name, column_type), value),)


def said_type(column_type: ColumnType) -> ColumnType:
    """Return the type of what a description says of a column: of a datetime its date."""
    return "date" if column_type == "datetime" else column_type


def as_said(column_type: ColumnType, value: Any) -> Any:
    """Return what a description says of a value, of the type that `said_type` gives."""
    return value[:10] if said_type(column_type) != column_type and isinstance(value, str) else value


def typed_value(kind: FactKind, value: Any) -> str | int | None:
    """Return what an expression gave as the value of a fact: of a datetime the date, or the time of day; None for
    nothing, and for a text that is no time."""
    if value is None:
        return None
    if kind in ("money", "number", "duration", "bool", "yes_no"):
        return int(value)
    text = str(value)
    if kind == "time":
        time = text[11:16] if len(text) > len("HH:MM") else text
        return time if is_time(time) else None
    return text[:10] if kind == "date" else text


def unit_of(schema: SchemaSpec, kind: FactKind, source: str) -> str | None:
    """Return the unit of a number that an expression `role.column` or `step.column` takes: that of the integer columns
    of this name."""
    column = source.rpartition(".")[2]
    specs = (table.columns[column] for table in schema.tables.values() if column in table.columns)
    return next((spec.unit for spec in specs if spec.unit and spec.type == "int"), None) if kind == "number" else None
