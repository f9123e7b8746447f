"""Invariants: whether they hold on all rows, or on the rows that were written."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from toolscale.environment.environment import Environment
from toolscale.environment.world import World
from toolscale.errors import SandboxLimitError, SpecError, SpecIssue
from toolscale.sandbox.base import Key
from toolscale.sql.compiled import CompiledTool, Statement


class Invariants:
    """The invariants of an environment, ready to be checked in a world."""

    def __init__(self, environment: Environment):
        self.environment = environment
        self._of_one: dict[str, Statement] = {}
        for name, statement in environment.invariants.items():
            key = environment.schema.tables[environment.spec.policy.invariants[name].table].key
            test = " AND ".join(f"{column} = :key_{number}" for number, column in enumerate(key))
            binds = (*statement.binds, *(f"key_{number}" for number in range(len(key))))
            one = {
                engine: f"SELECT * FROM ({text}) WHERE {test}"
                for engine, text in (("sqlite", statement.sqlite), ("duckdb", statement.duckdb))
            }
            self._of_one[name] = replace(statement, sqlite=one["sqlite"], duckdb=one["duckdb"], binds=binds)

    def broken(self, world: World, tables: frozenset[str] | None = None) -> dict[str, str]:
        """Return invariant -> key of the first row that breaks it, of those that read one of `tables`. SpecError if one
        takes too much work."""
        found: dict[str, str] = {}
        for name, statement in self.environment.invariants.items():
            if tables is not None and not tables & {table for table, _ in statement.reads}:
                continue
            try:
                rows = world.sandbox.query(statement, {})
            except SandboxLimitError as error:
                remedy = "compare a column in the sub-select with =, so that an index is made"
                raise SpecError([SpecIssue("rules.yaml", f"invariants.{name}.holds", str(error), remedy)]) from error
            bad = next((row for row in rows if not row[-1]), None)
            if bad is not None:
                found[name] = ", ".join(map(str, bad[:-1]))
        return found

    def check_all(self, world: World, after: str, file: str, tool: CompiledTool | None = None) -> list[SpecIssue]:
        """Return an issue for each invariant that some row breaks; with a tool, of those that it can break by what it
        writes."""
        tables = None if tool is None else frozenset(table for table, _ in tool.writes)
        return [self._issue(name, key, after, file, tool) for name, key in self.broken(world, tables).items()]

    def check_touched(self, world: World, after: str, tool: CompiledTool) -> list[SpecIssue]:
        """Return an issue for each invariant that a row which was written breaks."""
        issues: list[SpecIssue] = []
        for table, key in world.touched():
            issues += [
                self._issue(name, ", ".join(map(str, key)), after, "toolset.yaml", tool)
                for name in self.broken_by(world, table, key)
            ]
        return issues

    def broken_by(self, world: World, table: str, key: Key) -> Iterator[str]:
        """Yield the invariants of a table that its row with this key breaks; a row that is not there breaks none."""
        for name, statement in self._of_one.items():
            if self.environment.spec.policy.invariants[name].table == table:
                rows = world.sandbox.query(statement, {f"key_{number}": part for number, part in enumerate(key)})
                if rows and not rows[0][-1]:
                    yield name

    def _issue(self, name: str, key: str, after: str, file: str, tool: CompiledTool | None) -> SpecIssue:
        table = self.environment.spec.policy.invariants[name].table
        place = f"tools[{tool.spec.name}]" if tool else table
        return SpecIssue(
            file,
            place,
            f"after {after} row {key} of {table} breaks the invariant {name}",
            "correct the writes, or the invariant",
        )
