"""Compile a domain folder into an Environment: specs parsed, names checked, tools compiled, all issues of all files at
once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from threading import Lock
from typing import TypeVar

from toolscale.canonical import content_hash
from toolscale.environment.builtins import CALCULATE, calculate_tool, transfer_tool, with_handovers
from toolscale.environment.registry import FILES, POLICY_TEXT, Folder, dropped_names, find_folder, read_folder
from toolscale.environment.population import Rows, make_rows
from toolscale.environment.population_check import check_population
from toolscale.environment.references import check_references
from toolscale.errors import SpecError, SpecIssue
from toolscale.records import EnvironmentSpec, PolicySpec, PopulationSpec, SchemaSpec, ToolsetSpec, ToolSpec, WorldSpec
from toolscale.sandbox import Equality
from toolscale.sql import compile_condition, compile_tool
from toolscale.sql.compiled import CompiledTool, Statement
from toolscale.text_files import read_text


Made = TypeVar("Made")

_GROUND = ("environment.yaml", "schema.yaml", "population.yaml", "toolset.yaml")
"""Files without which nothing runs."""

MOST_KEPT = 4
_KEPT: dict[tuple[str | None, ...], Environment] = {}
"""Folder name and texts -> what they compile to."""
_KEEPING = Lock()


@dataclass(frozen=True)
class Environment:
    """A domain, compiled. Rows are made by `populate`, and a `World` runs its tools."""

    domain: str
    folder: Path
    spec: EnvironmentSpec
    schema: SchemaSpec
    """The tables of the domain, and `handovers` if the domain names reasons for them."""
    tools: Mapping[str, CompiledTool]
    """All tools by name, the built-in ones last."""
    invariants: Mapping[str, Statement]
    """Invariant -> a SELECT of the key of each row and `holds`."""
    equalities: frozenset[Equality]
    """(table, columns) that some tool or invariant looks up by equality."""
    hash: str
    """The hash of the parsed content of all files."""
    files: Mapping[str, str]
    """File name -> hash of its parsed content."""

    def __repr__(self) -> str:
        return f"Environment({self.domain!r}, {len(self.tools)} tools, {self.hash[:12]})"


def load_environment(domain: str | Path) -> Environment:
    """Return the environment of a folder, or of a known domain by name.

    UsageError if there is no such domain; SpecError with every issue of every file if it is not well-formed.
    """
    environment, issues = inspect_environment(domain)
    if issues or environment is None:
        raise SpecError(issues)
    return environment


def inspect_environment(domain: str | Path) -> tuple[Environment | None, list[SpecIssue]]:
    """Return the environment of a folder and every issue of every file, so that more can be found out in spite of them.

    `sound_part` leaves out what an issue is about. It is None if a file cannot be read at all, or if there is anything
    wrong with tables or tools. What was compiled a moment ago is not compiled again: a verification, a judgement and a
    world of one domain follow each other.
    """
    path = find_folder(domain)
    texts = _texts(path)
    kept = _KEPT.get(texts)
    if kept is not None:
        return replace(kept, folder=path), []
    environment, issues = _inspect(path)
    if environment is not None and not issues and texts == _texts(path):
        with _KEEPING:
            _KEPT[texts] = environment
            while len(_KEPT) > MOST_KEPT:
                del _KEPT[next(iter(_KEPT))]
    return environment, issues


def _texts(path: Path) -> tuple[str | None, ...]:
    """The name of a folder and all that is written in it, to the letter: of a mapping the order counts too."""
    return path.resolve().name, *(read_text(path / name, name)[0] for name in (*FILES, POLICY_TEXT))


def _inspect(path: Path) -> tuple[Environment | None, list[SpecIssue]]:
    folder = read_folder(path)
    issues = [*folder.issues, *check_references(folder)]
    schema, tools, invariants = _compile(folder, issues)
    unparsed = dropped_names(folder.path, folder) if folder.issues else set()
    issues = [issue for issue in dict.fromkeys(issues) if not any(repr(name) in issue.problem for name in unparsed)]
    if (
        schema is None
        or folder.policy_text is None
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


def sound_part(environment: Environment, issues: Iterable[SpecIssue]) -> Environment:
    """Return the environment without the rules, intents and words of evolutions that an issue is about, and what uses
    such a rule or description."""
    places = {f"{issue.file}: {issue.place}" for issue in issues}

    def faulty(place: str) -> bool:
        return any(other == place or other.startswith((f"{place}.", f"{place}[")) for other in places)

    spec = environment.spec
    rules = {name: rule for name, rule in spec.policy.rules.items() if not faulty(f"rules.yaml: rules.{name}")}
    intents = tuple(
        intent
        for intent in spec.intents.intents
        if not faulty(f"intents.yaml: intents[{intent.id}]")
        and all(rule is None or rule in rules for rule in (intent.rule, *(part.rule for part in intent.refused)))
        and not any(
            role.by is not None and faulty(f"language.yaml: describe.{role.is_}.{role.by}")
            for role in intent.roles.values()
        )
    )
    words = {
        "personas": {
            name: persona.model_copy(
                update={
                    "forms": {
                        kind: forms
                        for kind, forms in persona.forms.items()
                        if not faulty(f"language.yaml: personas.{name}.forms.{kind}")
                    }
                }
            )
            for name, persona in spec.language.personas.items()
        },
        "quantities": {
            name: words
            for name, words in spec.language.quantities.items()
            if not faulty(f"language.yaml: quantities.{name}")
        },
        "private": {
            name: words for name, words in spec.language.private.items() if not faulty(f"language.yaml: private.{name}")
        },
    }
    sound = {
        "policy": spec.policy.model_copy(update={"rules": rules}),
        "intents": spec.intents.model_copy(update={"intents": intents}),
        "language": spec.language.model_copy(update=words),
    }
    return replace(environment, spec=spec.model_copy(update=sound))


def populate(environment: Environment, seed: int = 0, scale: int = 1) -> Rows:
    """Return the rows of the environment: only its spec, the seed and the scale matter. SpecError if they do not fit
    the schema."""
    spec = environment.spec
    return make_rows(environment.schema, spec.world, spec.population, seed=seed, scale=scale)


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
        _collect(partial(compile_condition, text, schema, table=table, place=place, file="schema.yaml"), issues)
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
