"""Compile a domain folder: specs parsed, names checked, tools compiled, all issues of all files at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from toolscale.canonical import content_hash
from toolscale.environment.builtins import CALCULATE, calculate_tool, transfer_tool, with_handovers
from toolscale.environment.environment import Environment
from toolscale.environment.population_check import check_population
from toolscale.environment.references import check_references
from toolscale.environment.registry import FILES
from toolscale.environment.spec_files import Folder, dropped_names, read_folder
from toolscale.errors import SpecError, SpecIssue
from toolscale.records import PolicySpec, PopulationSpec, SchemaSpec, ToolsetSpec, ToolSpec, WorldSpec
from toolscale.sandbox.base import Equality
from toolscale.sql.compiled import CompiledTool, Statement
from toolscale.sql.schemas import lint_check
from toolscale.sql.statements import compile_condition
from toolscale.sql.tools import compile_tool

Made = TypeVar("Made")

_GROUND = ("environment.yaml", "schema.yaml", "population.yaml", "toolset.yaml")
"""Files without which nothing runs."""


def compile_folder(path: Path) -> tuple[Environment | None, list[SpecIssue]]:
    """Return the environment of a folder and every issue of every file, as does `inspect_environment`, which keeps
    it."""
    folder = read_folder(path)
    issues = [*folder.issues, *check_references(folder)]
    schema, tools, invariants = _compile(folder, issues)
    unparsed = dropped_names(folder.path, folder) if folder.issues else set()
    issues = [issue for issue in dict.fromkeys(issues) if not any(repr(name) in issue.problem for name in unparsed)]
    if (
        schema is None
        or folder.policy is None
        or set(folder.parts) != set(FILES)
        or any(issue.file in _GROUND for issue in issues)
    ):
        return None, issues
    equalities = frozenset[Equality]().union(
        *(tool.equalities for tool in tools.values()), *(made.equalities for made in invariants.values())
    )
    environment = Environment(
        folder.path.resolve().name,
        folder.path,
        folder.spec(),
        schema,
        tools,
        invariants,
        equalities,
        content_hash(folder.files),
        dict(folder.files),
    )
    return environment, issues


def _compile(
    folder: Folder, issues: list[SpecIssue]
) -> tuple[SchemaSpec | None, dict[str, CompiledTool], dict[str, Statement]]:
    """Compile all SQL of the folder that can be compiled, adding to `issues`."""
    schema, world, toolset = folder.part(SchemaSpec), folder.part(WorldSpec), folder.part(ToolsetSpec)
    tools: dict[str, CompiledTool] = {}
    invariants: dict[str, Statement] = {}
    if schema is None or any(issue.file == "schema.yaml" for issue in issues):
        return None, tools, invariants  # no statement can be judged without tables
    specs: list[ToolSpec] = list(toolset.tools) if toolset else []
    if world is not None:
        schema = with_handovers(schema, world)
        specs += filter(None, [transfer_tool(world)])
    for spec in specs:
        found: list[SpecIssue] = []
        compiled = _collect(partial(compile_tool, spec, schema), found)
        issues += [replace(issue, place=tool_place(issue.place)) for issue in found]
        if compiled is not None:
            tools[spec.name] = compiled
    tools[CALCULATE] = CompiledTool(calculate_tool(), (), (), False, frozenset(), frozenset(), {}, {}, frozenset())
    for text, table, place in _schema_checks(schema):
        issues += lint_check(text, schema, table=table, place=place)
    policy = folder.part(PolicySpec)
    for name, invariant in policy.invariants.items() if policy else ():
        if invariant.table in schema.tables:
            place = f"invariants.{name}.holds"
            made = _collect(
                partial(
                    compile_condition, invariant.holds, schema, table=invariant.table, place=place, file="rules.yaml"
                ),
                issues,
            )
            if made is not None:
                invariants[name] = made
    population = folder.part(PopulationSpec)
    if population is not None and world is not None:
        issues += check_population(schema, world, population)
    return schema, tools, invariants


def tool_place(place: str) -> str:
    """Return a place that begins with the name of a tool as it stands in the file: `tools[NAME].steps[3]`."""
    name, dot, rest = place.partition(".")
    return f"tools[{name}]{dot}{rest}"


def _collect(make: Callable[[], Made], issues: list[SpecIssue]) -> Made | None:
    try:
        return make()
    except SpecError as error:
        issues += error.issues
        return None


def _schema_checks(schema: SchemaSpec) -> Iterator[tuple[str, str, str]]:
    for name, table in schema.tables.items():
        for number, text in enumerate(table.check):
            yield text, name, f"tables.{name}.check[{number}]"
        for column, spec in table.columns.items():
            if spec.check:
                yield spec.check, name, f"tables.{name}.columns.{column}.check"
