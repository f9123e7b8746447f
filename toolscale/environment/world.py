"""A world: the rows of an environment in an engine, that tools can be called on and that can be reset."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from toolscale.environment.builtins import CALCULATE, calculate
from toolscale.environment.environment import Environment
from toolscale.environment.moments import is_date
from toolscale.records import ToolResult, ToolSpec
from toolscale.sandbox.base import Key, Limits, NetChanges, Rows, Sandbox
from toolscale.sandbox.sqlite import SqliteSandbox
from toolscale.sql.compiled import CompiledTool

if TYPE_CHECKING:
    from toolscale.environment.argument_check import ArgumentCheck

Engine = Literal["sqlite", "duckdb"]
Prepared = tuple[CompiledTool, dict[str, Any]] | tuple[None, str]
"""A tool with validated, complete arguments; or None and what is wrong with the call."""

_REMEMBERED = 10_000


class Toolbox:
    """The tools of an environment: turns a call as an agent writes it into one that an engine can run."""

    def __init__(self, tools: Mapping[str, CompiledTool]):
        self.tools = tools
        self._checks: dict[str, ArgumentCheck] = {}
        self._defaults = {name: _defaults(tool.spec) for name, tool in tools.items()}
        self._prepared: dict[tuple[str, str], Prepared] = {}

    def prepare(self, name: str, arguments: Mapping[str, Any]) -> Prepared:
        """Return the tool and its complete arguments (25.0 is 25, defaults filled in), or None and what is wrong."""
        place = (name, repr(arguments))
        found = self._prepared.get(place)
        if found is None:
            found = self._prepare(name, arguments)
            if len(self._prepared) >= _REMEMBERED:
                self._prepared.clear()
            self._prepared[place] = found
        return found

    def _prepare(self, name: str, arguments: Mapping[str, Any]) -> Prepared:
        tool = self.tools.get(name)
        if tool is None:
            return None, f"unknown tool {name!r}"
        if not isinstance(arguments, dict):
            return None, "invalid arguments: not an object"
        given = {key: _whole(value) for key, value in arguments.items()}
        complete = {**self._defaults[name], **given}
        parameters = tool.spec.parameters
        if complete.keys() == parameters.keys() and all(
            _surely_fits(value, parameters[param]) for param, value in given.items()
        ):
            return tool, complete
        problem = self._check(tool).fault(given)
        return (tool, complete) if problem is None else (None, f"invalid arguments: {problem}")

    def _check(self, tool: CompiledTool) -> ArgumentCheck:
        """The check of a tool's arguments, made when plain ones first do not do."""
        from toolscale.environment.argument_check import ArgumentCheck

        name = tool.spec.name
        if name not in self._checks:
            self._checks[name] = ArgumentCheck(tool.spec)
        return self._checks[name]


class World:
    """One episode after another on the same rows. `reset` begins the next one; nothing else is remembered between
    them."""

    def __init__(
        self,
        environment: Environment,
        rows: Rows,
        engine: Engine = "sqlite",
        limits: Limits | None = None,
        toolbox: Toolbox | None = None,
        connection: type[sqlite3.Connection] = sqlite3.Connection,
    ):
        self.environment = environment
        self.toolbox = toolbox or Toolbox(environment.tools)
        self.sandbox = _sandbox(environment, rows, engine, limits or Limits(), connection)
        self.prepare = self.toolbox.prepare
        self.sandbox.begin()

    def reset(self) -> None:
        """Begin a new episode: the rows are as at first."""
        self.sandbox.begin()

    def call(self, name: str, arguments: Mapping[str, Any], *, returns: bool = True) -> ToolResult:
        """Make a call as an agent writes it. An unknown tool or wrong arguments are a result with an error, as is a
        refusal of the tool."""
        tool, prepared = self.toolbox.prepare(name, arguments)
        if tool is None:
            return ToolResult(error=str(prepared))
        return self.call_prepared(tool, prepared, returns=returns)  # type: ignore[arg-type]

    def call_prepared(self, tool: CompiledTool, arguments: Mapping[str, Any], *, returns: bool = True) -> ToolResult:
        """Make a call that `prepare` has let through."""
        if tool.spec.name == CALCULATE:
            value, error = calculate(arguments["expression"])
            return ToolResult(value={"result": value}) if error is None else ToolResult(error=error)
        return self.sandbox.call(tool, arguments, returns=returns)

    def net_changes(self) -> NetChanges:
        """Return how the rows differ from the beginning of the episode."""
        return self.sandbox.net_changes()

    def touched(self) -> list[tuple[str, Key]]:
        """Return (table, key) of each row written in this episode, in order of first touch."""
        return self.sandbox.touched()

    def close(self) -> None:
        """Free the engine."""
        self.sandbox.close()

    def __enter__(self) -> World:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _sandbox(
    environment: Environment, rows: Rows, engine: Engine, limits: Limits, connection: type[sqlite3.Connection]
) -> Sandbox:
    schema, now, equalities = environment.schema, environment.spec.world.now, sorted(environment.equalities)
    if engine == "duckdb":
        # Starts a process and loads the auditor: only where one is wanted.
        from toolscale.sandbox.duckdb import DuckdbSandbox

        return DuckdbSandbox(schema, rows, now=now, equalities=equalities, limits=limits)
    return SqliteSandbox(schema, rows, now=now, equalities=equalities, limits=limits, connection=connection)


def _defaults(spec: ToolSpec) -> dict[str, Any]:
    return {name: schema["default"] for name, schema in spec.parameters.items() if "default" in schema}


def _whole(value: Any) -> Any:
    """Return the value with 25.0 written as 25, inside lists and objects too."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list):
        return [_whole(item) for item in value]
    if isinstance(value, dict):
        return {key: _whole(item) for key, item in value.items()}
    return value


_BOUNDS = frozenset(
    ("type", "description", "default", "enum", "format", "minimum", "maximum", "minLength", "maxLength")
)


def _surely_fits(value: Any, schema: Mapping[str, Any]) -> bool:
    """Whether a value fits a schema so plain that no validator is needed to say so; where this says no, the validator
    decides."""
    kind = schema.get("type")
    if not schema.keys() <= _BOUNDS:
        return False
    if kind == "integer" and type(value) is int:
        return "enum" not in schema and schema.get("minimum", value) <= value <= schema.get("maximum", value)
    if kind == "string" and type(value) is str:
        fits_format = "format" not in schema or (schema["format"] == "date" and is_date(value))
        fits_length = schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", len(value))
        return fits_format and fits_length and value in schema.get("enum", (value,))
    return kind == "boolean" and type(value) is bool and "enum" not in schema
