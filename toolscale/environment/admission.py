"""Admit an environment: every guard and every success reached, both engines alike, and nothing changed where nothing
may change."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from importlib.metadata import version
from typing import Any

from toolscale.canonical import CANONICAL_VERSION, stable_int
from toolscale.environment.derived_tools import with_lookups
from toolscale.environment.environment import Environment, populate, tool_place
from toolscale.environment.guards import CallMaker
from toolscale.environment.holding import Invariants
from toolscale.environment.population import Rows
from toolscale.environment.row_graph import RowGraph
from toolscale.environment.scans import small_tables
from toolscale.environment.search import SUCCESS, Found, Made, Probe, guards_of, reached, search, search_after
from toolscale.environment.world import Toolbox, World
from toolscale.errors import SandboxError, SandboxLimitError, SpecError, SpecIssue
from toolscale.records import Admission, AdmissionCall, ToolAdmission, ToolResult, ToolsetSpec
from toolscale.sandbox import NetChanges, state_hash
from toolscale.sql import audit_tools
from toolscale.sql.compiled import CompiledTool

BOUNDARY_CALLS = 200
_BOUNDARY_ON_BOTH = 20
_SETUPS_PER_TOOL = 3
_FILE = "toolset.yaml"
ANY = -2
"""The target of a call of which nothing is expected."""


@dataclass
class Count:
    """How many calls of a tool were made."""

    on_both: int = 0
    boundary: int = 0


def admit(environment: Environment) -> Admission:
    """Return what admission found out about the environment. SpecError with every issue if it cannot be admitted."""
    audited = audit_tools(
        environment.tools.values(),
        environment.schema,
        small=small_tables(environment.schema, environment.spec.population),
    )
    if audited:
        raise SpecError(replace(issue, place=tool_place(issue.place)) for issue in audited)
    rows = populate(environment, 0)
    return _Admitting(environment, rows).run()


def versions() -> dict[str, str]:
    """Return the versions that an admission depends on."""
    return {"canonical": str(CANONICAL_VERSION), **{name: version(name) for name in ("duckdb", "faker", "sqlglot")}}


class _Admitting:
    def __init__(self, environment: Environment, rows: Rows):
        self.environment, self.rows = environment, rows
        self.graph = RowGraph(environment.schema, rows)
        self.issues: list[SpecIssue] = []
        self.toolbox = Toolbox(environment.tools)
        self.tools = [tool for tool in environment.tools.values() if tool.returns]
        """All tools that an engine runs: `calculate` has no returns."""
        self.counts = {name: Count() for name in environment.tools}
        self.reached: dict[str, set[int]] = {name: set() for name in environment.tools}

    def run(self) -> Admission:
        """Make all calls and return the admission."""
        with World(self.environment, self.rows, toolbox=self.toolbox) as fast:
            self.invariants = Invariants(self.environment)
            self.issues += self.invariants.check_all(fast, "the populated rows", "population.yaml")
            found = self._search(fast)
            with World(self.environment, self.rows, "duckdb", toolbox=self.toolbox) as slow:
                for number, case in enumerate(self.environment.spec.cases.calls):
                    self._case(fast, slow, case, f"calls[{number}]")
                for tool in self.tools:
                    self._probes(fast, slow, found[tool.spec.name])
                    self._boundary(fast, slow, tool)
        self._unreached()
        if self.issues:
            raise SpecError(self.issues)
        return self._admission()

    def _search(self, fast: World) -> dict[str, Found]:
        found: dict[str, Found] = {}
        for tool in self.tools:
            try:
                found[tool.spec.name] = search(fast, tool, self.graph)
            except SandboxError as error:
                self._issue(tool, "", str(error), "look it up by a unique key, or bound the work of the statement")
                found[tool.spec.name] = Found(tool)
        setups: list[Made] = [
            (name, probe.arguments)
            for name, item in found.items()
            if item.tool.mutates_state
            for probe in item.targets.get(SUCCESS, [])[:_SETUPS_PER_TOOL]
        ]
        for item in found.values():
            own = sorted(setups, key=lambda setup, name=item.tool.spec.name: setup[0] != name)  # type: ignore[misc]
            search_after(fast, item, self.graph, own, lambda world, made: world.call(*made).ok)
        return found

    def _issue(self, tool: CompiledTool, place: str, problem: str, remedy: str) -> None:
        self.issues.append(SpecIssue(_FILE, f"tools[{tool.spec.name}]{place}", problem, remedy))

    def _probes(self, fast: World, slow: World, found: Found) -> None:
        """Run the probes of a tool on both engines."""
        for probes in found.targets.values():
            for probe in probes:
                self._on_both(fast, slow, found.tool, probe)

    def _on_both(self, fast: World, slow: World, tool: CompiledTool, probe: Probe) -> None:
        made = (tool.spec.name, probe.arguments)
        outcomes = []
        for world in (fast, slow):
            world.reset()
            for call in probe.before:
                world.call(*call)
            before = world.net_changes() if probe.before else {}
            try:
                result = world.call(*made)
            except SandboxError as error:
                self._issue(
                    tool,
                    "",
                    f"{_shown(made)} breaks an engine: {error}",
                    "make the statement return one row, or bound its work",
                )
                return
            outcomes.append((result, world.net_changes()))
            self._unchanged(tool, made, result, before, outcomes[-1][1])
        (result, changes), (other, other_changes) = outcomes
        self.counts[tool.spec.name].on_both += 1
        self._no_constraint(tool, made, result)
        if probe.target != ANY and (probe.target == SUCCESS) == result.ok:
            self.reached[tool.spec.name].add(probe.target)
        if result != other:
            self._issue(
                tool,
                "",
                f"{_shown(made)} gives {_brief(result)} on SQLite and {_brief(other)} on DuckDB",
                "write the statement so that both agree",
            )
        elif changes != other_changes:
            self._issue(
                tool,
                "",
                f"{_shown(made)} changes other rows on SQLite than on DuckDB",
                "write the statement so that both agree",
            )
        if result.ok and tool.mutates_state:
            self.issues += self.invariants.check_all(fast, _shown(made), _FILE, tool)

    def _unchanged(
        self, tool: CompiledTool, made: Made, result: ToolResult, before: NetChanges, after: NetChanges
    ) -> None:
        if before == after:
            return
        if not result.ok:
            self._issue(tool, "", f"{_shown(made)} fails and changes rows", "put all guards before the first exec")
        elif not tool.mutates_state:
            self._issue(tool, "", f"{_shown(made)} reads and changes rows", "a tool without exec changes nothing")

    def _no_constraint(self, tool: CompiledTool, made: Made, result: ToolResult) -> None:
        if result.error is not None and result.error.startswith("constraint:"):
            self._issue(
                tool,
                "",
                f"{_shown(made)} breaks a {result.error}",
                "add a guard that refuses the call before it writes",
            )

    def _boundary(self, fast: World, slow: World, tool: CompiledTool) -> None:
        """Make calls at the edge of what the parameters allow: all on SQLite, some on both engines."""
        rng = random.Random(stable_int("boundary", tool.spec.name))
        maker = CallMaker(tool, self.graph, self.environment.spec.world.today, rng)
        known = len(self.issues)
        for number in range(BOUNDARY_CALLS if tool.spec.parameters else 1):
            arguments = maker.draw(boundary=0.5 if number % 2 else 0.15)
            made = (tool.spec.name, arguments)
            self.counts[tool.spec.name].boundary += 1
            if number < _BOUNDARY_ON_BOTH:
                self._on_both(fast, slow, tool, Probe(ANY, arguments))
            else:
                fast.reset()
                try:
                    result = fast.call(*made)
                except SandboxLimitError as error:
                    self._issue(tool, "", f"{_shown(made)} is stopped: {error}", "bound the work of the statement")
                    return
                except SandboxError as error:
                    self._issue(
                        tool, "", f"{_shown(made)} breaks an engine: {error}", "make the statement return one row"
                    )
                    return
                self._unchanged(tool, made, result, {}, fast.net_changes())
                self._no_constraint(tool, made, result)
                if result.ok and tool.mutates_state:
                    self.issues += self.invariants.check_touched(fast, _shown(made), tool)
            if len(self.issues) > known:
                return  # one issue of this kind says enough

    def _case(self, fast: World, slow: World, case: AdmissionCall, place: str) -> None:
        """Make the calls of a case on both engines."""
        before = tuple((name, dict(arguments)) for call in case.before for name, arguments in call.items())
        ((name, arguments),) = case.call.items()
        for world in (fast, slow):
            world.reset()
            for made in before:
                result = world.call(*made)
                if not result.ok:
                    self.issues.append(
                        SpecIssue(
                            "cases.yaml", f"{place}.before", f"{_shown(made)} fails: {result.error}", "correct the call"
                        )
                    )
                    return
        step = self._reached(fast, name, arguments)
        result = fast.call(name, arguments)
        if result.error != case.error:
            problem = f"{_shown((name, arguments))} gives {_brief(result)}, the case says {case.error or 'success'!r}"
            self.issues.append(SpecIssue("cases.yaml", place, problem, "correct the case or the tool"))
            return
        tool = self.environment.tools[name]
        if step is not None:
            self.reached[name].add(step)
            self._on_both(fast, slow, tool, Probe(step, dict(arguments), before))

    def _reached(self, fast: World, name: str, arguments: dict[str, Any]) -> int | None:
        tool, complete = fast.prepare(name, arguments)
        return None if tool is None or isinstance(complete, str) or not tool.returns else reached(fast, tool, complete)

    def _unreached(self) -> None:
        """Report guards and successes that no call reached."""
        for tool in self.tools:
            name = tool.spec.name
            for target in (*guards_of(tool), SUCCESS):
                if target in self.reached[name]:
                    continue
                if target == SUCCESS:
                    self._issue(
                        tool,
                        "",
                        "no generated call succeeds",
                        "plant rows on which it does, or add a call to cases.yaml",
                    )
                else:
                    error = tool.steps[target].error
                    self._issue(
                        tool,
                        f".steps[{target}]",
                        f"no generated call reaches the guard {error!r}",
                        "plant rows that break it, add a call to cases.yaml, or remove it",
                    )

    def _admission(self) -> Admission:
        tools = {
            tool.spec.name: ToolAdmission(
                mutates_state=tool.mutates_state,
                reads=_named(tool.reads),
                writes=_named(tool.writes),
                consumes={name: _named(tool.consumes[name]) for name in sorted(tool.consumes)},
                produces=_named(tool.produces.values()),
                guards_reached=len(self.reached[tool.spec.name] - {SUCCESS}),
                calls=self.counts[tool.spec.name].on_both,
                boundary_calls=self.counts[tool.spec.name].boundary,
            )
            for tool in self.environment.tools.values()
        }
        environment, derived = self.environment, self._derived()
        return Admission(
            environment_hash=environment.hash,
            files=dict(environment.files),
            initial_state_hash=state_hash(environment.schema, self.rows),
            tools=tools,
            versions=versions(),
            details={"lookups": derived} if derived else {},
        )

    def _derived(self) -> dict[str, Any]:
        """The tools that no file declares, as they were derived."""
        spec = self.environment.spec
        bare = ToolsetSpec(lookups=spec.toolset.lookups, tools=())
        derived = with_lookups(bare, spec.schema_, spec.language)[0].tools
        return {
            tool.name: tool.model_dump(mode="json", exclude_defaults=True)
            for tool in derived
            if tool in spec.toolset.tools
        }


def _named(columns: Any) -> tuple[str, ...]:
    return tuple(sorted({f"{table}.{column}" for table, column in columns}))


def _shown(made: Made) -> str:
    arguments = ", ".join(f"{name}={value!r}" for name, value in made[1].items())
    return f"{made[0]}({arguments if len(arguments) <= 160 else arguments[:157] + '...'})"


def _brief(result: ToolResult) -> str:
    text = f"the error {result.error!r}" if result.error is not None else repr(result.value)
    return text if len(text) <= 200 else text[:197] + "..."
