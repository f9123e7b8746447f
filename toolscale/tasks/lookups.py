"""Which read tool finds the rows of a role, and what its results look like as rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from toolscale.environment.column_kinds import said_type
from toolscale.environment.environment import Environment
from toolscale.records import ColumnType
from toolscale.sql.compiled import Column, CompiledReturn, CompiledTool


@dataclass(frozen=True)
class Source:
    """Where a required argument of a finder comes from: a column of the role `name` itself as it is said, or of an
    ancestor that was found."""

    name: str
    column: str
    said: bool


@dataclass(frozen=True)
class Finder:
    """A read tool, what it is called with, and which of its results holds the rows of a table."""

    tool: CompiledTool
    arguments: Mapping[str, Source]
    result: CompiledReturn
    columns: Mapping[str, ColumnType]
    """Columns of a found row, under the table's own names where lineage gives one."""
    outputs: Mapping[str, str]
    """Column -> its name in the result."""

    def rows(self, value: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Read the found rows out of a result of the tool."""
        found = value[self.result.name]
        listed = found if self.result.mode == "rows" else [] if found is None else [found]
        return [{column: row[output] for column, output in self.outputs.items()} for row in listed]


def said_condition(role: str, column: str, column_type: ColumnType) -> str:
    """Return the condition that a row is one that a description may mean: for a datetime, one of that day."""
    of_row = f"{role}.{column}"
    return f"{f'date_of({of_row})' if column_type == 'datetime' else of_row} = say_{role}.{column}"


def root_column(environment: Environment, column: Column) -> Column:
    """Follow foreign keys to the column that they all refer to."""
    table, name = column
    seen = {column}
    while (
        table in environment.schema.tables and (spec := environment.schema.tables[table].columns.get(name)) and spec.fk
    ):
        table, name = spec.fk.split(".")
        if (table, name) in seen:
            break
        seen.add((table, name))
    return table, name


def output_type(result: CompiledReturn, position: int) -> ColumnType:
    """The type of an output column; a computed column without lineage is typed by the convention of its name."""
    name, kind = result.statement.columns[position], result.statement.types[position]
    if kind is not None:
        return kind
    return (
        "cents"
        if name.endswith("_cents")
        else "date"
        if name.endswith("_on")
        else "time"
        if name.endswith("_time")
        else "int"
        if name.endswith(("count", "days", "number", "_minutes"))
        else "text"
    )


def finders(environment: Environment, table: str, said: Iterable[str], ancestors: Mapping[str, str]) -> list[Finder]:
    """All ways to find rows of `table` from the columns `said` and from found ancestors (role -> table, nearest first);
    simplest first."""
    key = environment.schema.tables[table].key
    found = []
    for _, tool in sorted(environment.tools.items()):
        if tool.mutates_state:
            continue
        required = [param for param, schema in tool.spec.parameters.items() if "default" not in schema]
        sources = {param: _source(environment, tool, param, table, tuple(said), ancestors) for param in required}
        if any(source is None for source in sources.values()):
            continue
        for result in tool.returns:
            outputs = {
                (base[1] if base is not None and base[0] == table else column): column
                for column, base in zip(result.statement.columns, result.statement.lineage, strict=True)
            }
            bases = {base for base in result.statement.lineage if base is not None}
            if result.mode != "value" and all((table, column) in bases for column in key):
                types = {
                    column: output_type(result, result.statement.columns.index(output))
                    for column, output in outputs.items()
                }
                arguments = {param: source for param, source in sources.items() if source is not None}
                found.append(Finder(tool, arguments, result, types, outputs))
    return sorted(found, key=lambda finder: (len(finder.arguments), len(finder.tool.returns), finder.tool.spec.name))


def _source(
    environment: Environment,
    tool: CompiledTool,
    param: str,
    table: str,
    said: tuple[str, ...],
    ancestors: Mapping[str, str],
) -> Source | None:
    consumed = tool.consumes.get(param, frozenset())
    roots = {root_column(environment, column) for column in consumed}
    for role, parent in ancestors.items():
        for column in environment.schema.tables[parent].key:
            if (parent, column) in roots:
                return Source(role, column, said=False)
    for column in said:
        of_column = environment.schema.tables[table].columns[column].type
        if (table, column) in consumed and said_type(of_column) == of_column:
            return Source("", column, said=True)
    return None


def step_columns(tool: CompiledTool) -> tuple[dict[str, ColumnType], dict[str, ColumnType] | None]:
    """Return (columns of the flat row of a result, columns of its one `rows` part or None)."""
    flat: dict[str, ColumnType] = {}
    listed: list[dict[str, ColumnType]] = []
    for result in tool.returns:
        types = {column: output_type(result, position) for position, column in enumerate(result.statement.columns)}
        if result.mode == "value":
            flat.setdefault(result.name, next(iter(types.values())))
        elif result.mode == "row":
            for column, kind in types.items():
                flat.setdefault(column, kind)
        else:
            listed.append(types)
    return flat, listed[0] if len(listed) == 1 else None


def flatten(tool: CompiledTool, value: Mapping[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]] | None]:
    """Return (the flat row of a result, its one `rows` part or None)."""
    flat: dict[str, Any] = {}
    listed = []
    for result in tool.returns:
        part = value[result.name]
        if result.mode == "value":
            flat.setdefault(result.name, part)
        elif result.mode == "row":
            for column in result.statement.columns:
                flat.setdefault(column, None if part is None else part[column])
        else:
            listed.append(list(part))
    return flat, listed[0] if len(listed) == 1 else None


_TYPE_OF_FORMAT: Mapping[str, ColumnType] = {"date": "date", "time": "time"}


def parameter_types(tool: CompiledTool) -> dict[str, ColumnType]:
    """The column type of each scalar parameter."""
    kinds: dict[str, ColumnType] = {}
    for name, schema in tool.spec.parameters.items():
        if schema.get("type") == "integer":
            kinds[name] = "cents" if name.endswith("_cents") else "int"
        elif schema.get("type") == "boolean":
            kinds[name] = "bool"
        elif schema.get("type") == "string":
            kinds[name] = _TYPE_OF_FORMAT.get(schema.get("format", ""), "text")
    return kinds
