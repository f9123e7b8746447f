"""The steps of a tool, run one after another: written once, so that both engines mean the same by them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

from toolscale.canonical import short_id
from toolscale.errors import SandboxError, SandboxLimitError
from toolscale.records import ToolResult
from toolscale.sandbox.arguments import ArgumentError, bind_arguments, rows_json
from toolscale.sandbox.base import ConstraintError, Row
from toolscale.sandbox.messages import Message
from toolscale.sql.compiled import CompiledReturn, CompiledStep, CompiledTool, Statement

CHECK: Final = 0
LET: Final = 1
FORBID: Final = 2
EXEC: Final = 3
NEW_ID: Final = 4
LET_ROWS: Final = 5
VALUE: Final = 6
ROW: Final = 7
ROWS: Final = 8

DONE: Final = ToolResult()
"""The result of a call that succeeds and is not asked for its returns."""
REMEMBERED: Final = 10_000
"""How many ids are kept: the calls after a changed one draw the same ids as in the golden list."""

CODES = {
    "check": CHECK,
    "let": LET,
    "forbid": FORBID,
    "exec": EXEC,
    "new_id": NEW_ID,
    "let_rows": LET_ROWS,
    "value": VALUE,
    "row": ROW,
    "rows": ROWS,
}


class Engine(Protocol):
    """What the interpreter needs of a database."""

    def prepare(self, statement: Statement, *, writes: bool) -> Any:
        """Return what `read` and `write` take. Raises SandboxError if the engine refuses the statement, or a read would
        write."""

    def read(self, prepared: Any, binds: Mapping[str, Any]) -> list[Row]:
        """Run a SELECT."""

    def write(self, prepared: Any, binds: Mapping[str, Any]) -> None:
        """Run one INSERT, UPDATE or DELETE. Raises ConstraintError if the schema forbids it."""

    def protect(self) -> None:
        """Protect the state before the first write of a call; a second time it does nothing."""

    def keep(self) -> None:
        """Stand after a call that succeeded."""

    def restore(self) -> None:
        """Undo what was written since `protect`."""


@dataclass(frozen=True, slots=True)
class Action:
    """A step or a return, ready to run."""

    code: int
    prepared: Any
    name: str
    columns: tuple[str, ...]
    """LET: the flat names that are bound. Otherwise the columns of the SELECT. NEW_ID: the flat names it depends on."""
    message: Message | None
    place: str
    prefix: str = ""


@dataclass(frozen=True, slots=True)
class ToolPlan:
    """All of a tool; it holds the tool, so that the tool's id() stays its own."""

    tool: CompiledTool
    name: str
    steps: tuple[Action, ...]
    returns: tuple[Action, ...]
    is_one_write: bool
    """It writes with its last step alone, which SQLite undoes by itself if it fails."""


Occurrences = dict[tuple[Any, ...], int]


class Interpreter:
    """Runs tools on an engine."""

    def __init__(self, engine: Engine, now: str):
        self._engine = engine
        self._clock = {"now": now, "today": now[:10]}
        self._plans: dict[int, ToolPlan] = {}
        self._drawn: Occurrences = {}
        self._ids: dict[tuple[tuple[Any, ...], int], str] = {}
        self.occurrences: Occurrences = {}
        """(tool, prefix, values) -> how many such ids successful calls of this episode have drawn."""

    def binds(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the flat values that a statement may name. Raises ArgumentError."""
        binds: dict[str, Any] = dict(self._clock)
        bind_arguments(binds, values)
        return binds

    def call(self, tool: CompiledTool, arguments: Mapping[str, Any], *, returns: bool) -> ToolResult:
        """Run a tool. A failing guard or constraint is the result; the state is then what it was before."""
        plan = self._plans.get(id(tool)) or self._plan(tool)
        engine = self._engine
        try:
            binds = self.binds(arguments)
            refusal = self._run_steps(plan, binds, is_safe=plan.is_one_write and not returns)
            if refusal is not None:
                engine.restore()
                return ToolResult.trusted(value=None, error=refusal)
            value = self._read_returns(plan, binds) if returns else None
            engine.keep()
        except ArgumentError as error:
            return ToolResult(error=f"constraint: {error}")
        except ConstraintError as error:
            engine.restore()
            return ToolResult(error=f"constraint: {error}")
        except SandboxLimitError:
            raise  # the sandbox ends the episode
        except SandboxError:
            engine.restore()
            raise
        finally:
            if self._drawn:
                self._drawn = {}
        return ToolResult.trusted(value=value, error=None) if returns else DONE

    def _run_steps(self, plan: ToolPlan, binds: dict[str, Any], *, is_safe: bool) -> str | None:
        """Run all steps; return the error of the guard that fails, or None."""
        read = self._engine.read
        for step in plan.steps:
            code = step.code
            if code == EXEC:
                if not is_safe:
                    self._engine.protect()
                self._engine.write(step.prepared, binds)
                continue
            if code == NEW_ID:
                self._draw_id(plan, step, binds)
                continue
            rows = read(step.prepared, binds)
            if code == LET:
                if len(rows) == 1:
                    binds.update(zip(step.columns, rows[0], strict=True))
                elif rows:
                    raise SandboxError(f"{step.place}: {len(rows)} rows where one is bound; look it up by a unique key")
                elif step.message is not None:
                    return step.message.render(binds)
                else:
                    binds.update(dict.fromkeys(step.columns))
            elif code == CHECK:
                if not rows or not rows[0][0]:
                    return _refuse(step, binds)
            elif code == FORBID:
                if rows:
                    return _refuse(step, {**binds, **dict(zip(step.columns, rows[0], strict=True))})
            else:
                binds[step.name] = rows_json(step.columns, rows)
        if self._drawn:
            self._count_drawn()
        return None

    def _draw_id(self, plan: ToolPlan, step: Action, binds: dict[str, Any]) -> None:
        values = [binds[name] for name in step.columns]
        place = (plan.name, step.prefix, *values)
        drawn = self._drawn.get(place, 0)
        self._drawn[place] = drawn + 1
        number = self.occurrences.get(place, 0) + drawn
        found = self._ids.get((place, number))
        if found is None:
            if len(self._ids) >= REMEMBERED:
                self._ids.clear()
            found = self._ids[place, number] = short_id(step.prefix, plan.name, values, number)
        binds[step.name] = found

    def _count_drawn(self) -> None:
        # A new dict, so that a mark may hold on to the old one.
        self.occurrences = {
            **self.occurrences,
            **{place: self.occurrences.get(place, 0) + count for place, count in self._drawn.items()},
        }

    def _read_returns(self, plan: ToolPlan, binds: dict[str, Any]) -> dict[str, Any]:
        value: dict[str, Any] = {}
        read = self._engine.read
        for part in plan.returns:
            rows = read(part.prepared, binds)
            if part.code == ROWS:
                value[part.name] = [dict(zip(part.columns, row, strict=True)) for row in rows]
            elif len(rows) > 1:
                raise SandboxError(f"{part.place}: {len(rows)} rows where one is returned; look it up by a unique key")
            elif part.code == ROW:
                value[part.name] = dict(zip(part.columns, rows[0], strict=True)) if rows else None
            else:
                value[part.name] = rows[0][0] if rows else None
        return value

    def _plan(self, tool: CompiledTool) -> ToolPlan:
        known = set(self._clock) | set(tool.spec.parameters)
        steps = tuple(_step_action(step, self._engine.prepare, known) for step in tool.steps)
        returns = tuple(_return_action(tool.spec.name, part, self._engine.prepare) for part in tool.returns)
        codes = [step.code for step in steps]
        plan = ToolPlan(tool, tool.spec.name, steps, returns, is_one_write=EXEC not in codes[:-1])
        self._plans[id(tool)] = plan
        return plan


def _refuse(step: Action, values: Mapping[str, Any]) -> str:
    return step.message.render(values) if step.message is not None else f"{step.place} failed"


def _step_action(step: CompiledStep, prepare: Callable[..., Any], known: set[str]) -> Action:
    """Make a step ready, and add to `known` the names that it binds."""
    statement = step.statement
    prepared = prepare(statement, writes=step.kind == "exec") if statement is not None else None
    columns = statement.columns if statement is not None else ()
    if step.kind == "new_id":
        columns = tuple(name.replace(".", "__") for name in step.from_)
    seen = known | set(columns) if step.kind == "forbid" else known
    message = None if step.error is None else Message(step.error, step.place, seen)
    if step.kind == "let":
        columns = tuple(f"{step.name}__{column}" for column in columns)
        known |= set(columns)
    elif step.kind == "new_id" and step.name:
        known.add(step.name)
    return Action(CODES[step.kind], prepared, step.name or "", columns, message, step.place, step.prefix)


def _return_action(tool: str, part: CompiledReturn, prepare: Callable[..., Any]) -> Action:
    prepared = prepare(part.statement, writes=False)
    return Action(CODES[part.mode], prepared, part.name, part.statement.columns, None, f"{tool}.returns.{part.name}")
