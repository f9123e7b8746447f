"""Admit an environment: every guard and every success reached, both engines alike, and nothing changed where nothing
may change."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from toolscale.canonical import content_hash, stable_int
from toolscale.environment.admission_file import FILE, read_kept, write_kept
from toolscale.environment.compiling import tool_place
from toolscale.environment.derived_tools import with_lookups
from toolscale.environment.environment import Environment
from toolscale.environment.guards import Arguments, CallMaker
from toolscale.environment.holding import Invariants
from toolscale.environment.kept_tools import KeptTool, ToolKeys, read_tools, versions, write_tools
from toolscale.environment.population import populate
from toolscale.environment.row_graph import RowGraph
from toolscale.environment.scans import small_tables
from toolscale.environment.search import SUCCESS, Found, Made, Probe, guards_of, reached, search, search_after
from toolscale.environment.world import Toolbox, World
from toolscale.errors import SandboxError, SandboxLimitError, SpecError, SpecIssue
from toolscale.records import Admission, AdmissionCall, ToolAdmission, ToolResult, ToolsetSpec
from toolscale.sandbox.base import NetChanges, Rows
from toolscale.sandbox.state import state_hash
from toolscale.sql.audit import audit_tools
from toolscale.sql.compiled import CompiledTool

Progress = Callable[[str, int, int], None]

BOUNDARY_CALLS = 200
_BOUNDARY_ON_BOTH = 20
_SETUPS_PER_TOOL = 3
_FILE = "toolset.yaml"
ANY = -2
"""The target of a call of which nothing is expected."""


@dataclass
class Trial:
    """What the calls of a tool came to."""

    on_both: int = 0
    boundary: int = 0
    reached: set[int] = field(default_factory=set)


@dataclass
class Tried:
    """What the search for calls of a tool came to."""

    found: Found
    successes: tuple[Arguments, ...]
    """Arguments with which it succeeds on the populated rows."""
    after: str = ""
    """The hash of the calls after which more was looked for."""
    is_sound: bool = True


def admit(
    environment: Environment,
    cache: Path | None = None,
    rows: Rows | None = None,
    progress: Progress = lambda act, done, total: None,
) -> Admission:
    """Return what admission found out about the environment. SpecError with every issue if it cannot be admitted.

    With a cache, tools that were tried before and did not change are not called again (`kept_tools`): the admission is
    the same. `rows` are those of seed 0, where the caller has made them.
    """
    audited = audit_tools(
        environment.tools.values(),
        environment.schema,
        small=small_tables(environment.schema, environment.spec.population),
    )
    if audited:
        raise SpecError(replace(issue, place=tool_place(issue.place)) for issue in audited)
    rows = populate(environment, 0) if rows is None else rows
    kept = {} if cache is None else read_tools(cache, environment.domain)
    admitting = _Admitting(environment, rows, kept, progress)
    admitting.run()
    if cache is not None:
        write_tools(cache, environment.domain, admitting.kept)
    return admitting.admission()


def ensure_admitted(
    environment: Environment, cache_dir: Path, progress: Progress = lambda act, done, total: None
) -> Admission:
    """Return the admission of the environment: the one in its folder, one from the cache, or a new one, which goes into
    the cache, as do its tools.

    A kept admission counts only for the same content and the same versions. SpecError if the environment cannot be
    admitted.
    """
    cached = cache_dir / f"{content_hash([environment.hash, versions()])[:32]}.json"
    for path in (environment.folder / FILE, cached):
        kept = read_kept(path)
        if kept is not None and kept.environment_hash == environment.hash and kept.versions == versions():
            return kept
    admission = admit(environment, cache_dir, progress=progress)
    write_kept(cached, admission)
    return admission


class _Admitting:
    def __init__(self, environment: Environment, rows: Rows, kept: Mapping[str, KeptTool], progress: Progress):
        self.environment, self.rows, self.progress = environment, rows, progress
        self.keys = ToolKeys(environment, rows)
        self.graph = RowGraph(environment.schema, rows)
        self.issues: list[SpecIssue] = []
        self.toolbox = Toolbox(environment.tools)
        self.tools = [tool for tool in environment.tools.values() if tool.returns]
        """All tools that an engine runs: `calculate` has no returns."""
        self.kept = {
            tool.spec.name: kept[tool.spec.name]
            for tool in self.tools
            if tool.spec.name in kept and kept[tool.spec.name].key == self.keys.of(tool)
        }
        """Tools that need not be called; once all calls are made, all that have no finding."""
        self.of_cases = {name: Trial() for name in environment.tools}
        self.trials = {name: Trial() for name in environment.tools}

    def run(self) -> None:
        """Make all calls that are needed."""
        with World(self.environment, self.rows, toolbox=self.toolbox) as fast:
            self.invariants = Invariants(self.environment)
            self.issues += self.invariants.check_all(fast, "the populated rows", "population.yaml")
            tried = self._search(fast)
            with World(self.environment, self.rows, "duckdb", toolbox=self.toolbox) as slow:
                for number, case in enumerate(self.environment.spec.cases.calls):
                    self._case(fast, slow, case, f"calls[{number}]")
                self.of_cases, self.trials = self.trials, {name: Trial() for name in self.trials}
                for number, tool in enumerate(self.tools):
                    self.progress("calling tools", number, len(self.tools))
                    self._tool(fast, slow, tool, tried)
        self._unreached()

    def _search(self, fast: World) -> dict[str, Tried]:
        """Look for calls of the tools that are not kept."""
        tried = {tool.spec.name: self._first(fast, tool) for tool in self.tools if tool.spec.name not in self.kept}
        setups = [setup for tool in self.tools if tool.mutates_state for setup in self._setups(tool, tried)]
        for number, tool in enumerate(self.tools):
            self.progress("looking for calls", number, len(self.tools))
            name = tool.spec.name
            own = sorted(setups, key=lambda setup, name=name: setup[0] != name)  # type: ignore[misc]
            after = self.keys.after(own)
            if name in self.kept and self.kept[name].after not in ("", after):
                del self.kept[name]
                tried[name] = self._first(fast, tool)
            if name in tried and tried[name].found.unreached:
                tried[name].after = after
                search_after(fast, tried[name].found, self.graph, own, lambda world, made: world.call(*made).ok)
        return tried

    def _first(self, fast: World, tool: CompiledTool) -> Tried:
        """Look for calls of a tool on the populated rows."""
        try:
            found = search(fast, tool, self.graph)
        except SandboxError as error:
            self._issue(tool, "", str(error), "look it up by a unique key, or bound the work of the statement")
            return Tried(Found(tool), (), is_sound=False)
        successes = found.targets.get(SUCCESS, [])[:_SETUPS_PER_TOOL]
        return Tried(found, tuple(probe.arguments for probe in successes))

    def _setups(self, tool: CompiledTool, tried: Mapping[str, Tried]) -> list[Made]:
        name = tool.spec.name
        return [(name, each) for each in (tried[name] if name in tried else self.kept[name]).successes]

    def _tool(self, fast: World, slow: World, tool: CompiledTool, tried: Mapping[str, Tried]) -> None:
        """Make the calls of a tool on both engines, or take them as kept."""
        name, known = tool.spec.name, len(self.issues)
        if name in self.kept:
            kept = self.kept[name]
            self.trials[name] = Trial(kept.calls, kept.boundary_calls, set(kept.reached))
            return
        for probes in tried[name].found.targets.values():
            for probe in probes:
                self._on_both(fast, slow, tool, probe)
        self._boundary(fast, slow, tool)
        if len(self.issues) == known and tried[name].is_sound:
            trial = self.trials[name]
            self.kept[name] = KeptTool(
                key=self.keys.of(tool),
                after=tried[name].after,
                successes=tried[name].successes,
                reached=tuple(sorted(trial.reached)),
                calls=trial.on_both,
                boundary_calls=trial.boundary,
            )

    def _issue(self, tool: CompiledTool, place: str, problem: str, remedy: str) -> None:
        self.issues.append(SpecIssue(_FILE, f"tools[{tool.spec.name}]{place}", problem, remedy))

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
        self.trials[tool.spec.name].on_both += 1
        self._no_constraint(tool, made, result)
        if probe.target != ANY and (probe.target == SUCCESS) == result.ok:
            self.trials[tool.spec.name].reached.add(probe.target)
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
            self.trials[tool.spec.name].boundary += 1
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
            self.trials[name].reached.add(step)
            self._on_both(fast, slow, tool, Probe(step, dict(arguments), before))

    def _reached(self, fast: World, name: str, arguments: dict[str, Any]) -> int | None:
        tool, complete = fast.prepare(name, arguments)
        return None if tool is None or isinstance(complete, str) or not tool.returns else reached(fast, tool, complete)

    def _unreached(self) -> None:
        """Report guards and successes that no call reached."""
        for tool in self.tools:
            name = tool.spec.name
            for target in (*guards_of(tool), SUCCESS):
                if target in self._all_reached(name):
                    continue
                if target == SUCCESS:
                    self._issue(
                        tool,
                        "",
                        "no generated call succeeds",
                        "correct it, plant rows on which it does, or add a call to cases.yaml",
                    )
                else:
                    error = tool.steps[target].error
                    self._issue(
                        tool,
                        f".steps[{target}]",
                        f"no generated call reaches the guard {error!r}",
                        "plant rows that break it, remove it, or add a call to cases.yaml",
                    )

    def _all_reached(self, name: str) -> set[int]:
        return self.trials[name].reached | self.of_cases[name].reached

    def admission(self) -> Admission:
        """Return the admission. SpecError with every issue if there is any."""
        if self.issues:
            raise SpecError(self.issues)
        tools = {
            tool.spec.name: ToolAdmission(
                mutates_state=tool.mutates_state,
                reads=_named(tool.reads),
                writes=_named(tool.writes),
                consumes={name: _named(tool.consumes[name]) for name in sorted(tool.consumes)},
                produces=_named(tool.produces.values()),
                guards_reached=len(self._all_reached(tool.spec.name) - {SUCCESS}),
                calls=self.trials[tool.spec.name].on_both + self.of_cases[tool.spec.name].on_both,
                boundary_calls=self.trials[tool.spec.name].boundary,
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
