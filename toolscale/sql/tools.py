"""Compile a tool: its parameters, its steps in order, its returns; find everything wrong with it at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from toolscale.errors import SpecError
from toolscale.records import Check, Exec, Forbid, Let, LetRows, NewId, Return, SchemaSpec, Step, ToolSpec
from toolscale.sql.compiled import Column, CompiledReturn, CompiledStep, CompiledTool, Statement
from toolscale.sql.parameters import check_name, read_parameters
from toolscale.sql.report import Report, choices
from toolscale.sql.scopes import Info, Names, Query
from toolscale.sql.statements import CLOCK, Compiled, read_condition, read_select, read_write
from toolscale.sql.templates import check_template

ONE_ROW = (
    "look it up by a unique key (declare it `unique` in schema.yaml if it is one), "
    "or aggregate with MIN, MAX, SUM or COUNT"
)
ORDER = "ORDER BY columns that include a unique key"
_KIND = {Let: "let", LetRows: "let_rows", Check: "check", Forbid: "forbid", NewId: "new_id", Exec: "exec"}


def compile_tool(tool: ToolSpec, schema: SchemaSpec, file: str = "toolset.yaml") -> CompiledTool:
    """Compile a tool. Raises SpecError with everything that is wrong with it."""
    report = Report(file, tool.name)
    compiled = _ToolCompiler(tool, schema, report).compile()
    if report.issues:
        raise SpecError(report.issues)
    return compiled


@dataclass(slots=True)
class _Bound:
    """What a step bound, and whether anything needed it."""

    place: str
    what: str
    flats: tuple[str, ...]
    is_used: bool = False


@dataclass(slots=True)
class _ToolCompiler:
    tool: ToolSpec
    schema: SchemaSpec
    report: Report
    values: dict[str, Info] = field(default_factory=dict)
    relations: dict[str, dict[str, Info]] = field(default_factory=dict)
    bound: dict[str, _Bound] = field(default_factory=dict)
    unordered: dict[str, str] = field(default_factory=dict)
    """let_rows without an order -> its place."""
    used: set[str] = field(default_factory=set)
    is_partly_unread: bool = False
    """Whether a statement does not compile: what it uses is not known."""
    first_write: str | None = None
    statements: list[Statement] = field(default_factory=list)

    def compile(self) -> CompiledTool:
        check_name(self.tool.name, "tool", self.report, self.tool.name)
        scalars, self.relations = read_parameters(self.tool.parameters, self.report)
        self.values = {**CLOCK, **scalars}
        for name in self.relations:
            if name in self.schema.tables:
                self.report.add(
                    f"parameter {name!r} hides the table {name}",
                    "choose another name",
                    place=f"{self.tool.name}.parameters.{name}",
                )
        steps = tuple(self._steps())
        returns = tuple(self._returns())
        self._check_unused()
        return CompiledTool(
            spec=self.tool,
            steps=steps,
            returns=returns,
            mutates_state=any(step.kind == "exec" for step in steps),
            reads=frozenset[Column]().union(*(statement.reads for statement in self.statements)),
            writes=frozenset[Column]().union(*(statement.writes for statement in self.statements)),
            consumes=self._consumes(),
            produces=dict(_produces(returns)),
            equalities=frozenset[tuple[str, tuple[str, ...]]]().union(
                *(statement.equalities for statement in self.statements)
            ),
        )

    def _names(self) -> Names:
        return Names(dict(self.values), dict(self.relations))

    def _steps(self) -> Iterator[CompiledStep]:
        for number, step in enumerate(self.tool.steps):
            place = f"{self.tool.name}.steps[{number}]"
            kind = _KIND[type(step)]
            is_guard = isinstance(step, (Check, Forbid)) or (isinstance(step, Let) and step.error is not None)
            if is_guard and self.first_write is not None:
                problem = f"the {kind} can fail after {self.first_write} has written"
                self.report.add(problem, "put every guard before the first exec", place=place)
            compiled = self._step(step, place)
            if isinstance(step, Exec) and self.first_write is None:
                self.first_write = f"steps[{number}]"
            if compiled is not None:
                yield compiled

    def _step(self, step: Step, place: str) -> CompiledStep | None:
        if isinstance(step, NewId):
            return self._new_id(step, place)
        if isinstance(step, Exec):
            compiled = self._keep(
                read_write(step.exec, self.schema, self._names(), self._at(f"{place}.exec", step.exec))
            )
            return CompiledStep("exec", place, None, compiled.statement, None) if compiled else None
        if isinstance(step, Check):
            compiled = self._keep(
                read_condition(step.check, self.schema, self._names(), self._at(f"{place}.check", step.check))
            )
            self._template(step.error, (), place)
            return CompiledStep("check", place, None, compiled.statement, step.error) if compiled else None
        if isinstance(step, Forbid):
            return self._forbid(step, place)
        report = self._at(f"{place}.sql", step.sql)
        compiled = self._keep(read_select(step.sql, self.schema, self._names(), report))
        if isinstance(step, LetRows):
            self._bind_rows(step, compiled, place)
            return CompiledStep("let_rows", place, step.let_rows, compiled.statement, None) if compiled else None
        if step.error is not None:
            self._template(step.error, (), place)
        if compiled is not None and compiled.query is not None:
            self._want_one_row(compiled.query, report)
        self._bind_row(step, compiled, place)
        return CompiledStep("let", place, step.let, compiled.statement, step.error) if compiled else None

    def _at(self, place: str, text: str) -> Report:
        # One report a text, all keeping their issues in one list.
        report = Report(self.report.file, place)
        report.text = text
        report.issues = self.report.issues
        return report

    def _keep(self, compiled: Compiled | None) -> Compiled | None:
        """Note what a statement uses."""
        self.is_partly_unread = self.is_partly_unread or compiled is None
        if compiled is None:
            return None
        self.statements.append(compiled.statement)
        self.used |= set(compiled.statement.binds)
        for name in compiled.uses_ord & set(self.unordered):
            self.report.add(
                f"{name}.ord is read, but the order of {name} is not fixed", ORDER, place=self.unordered[name]
            )
        return compiled

    def _forbid(self, step: Forbid, place: str) -> CompiledStep | None:
        report = self._at(f"{place}.forbid", step.forbid)
        compiled = self._keep(read_select(step.forbid, self.schema, self._names(), report))
        if compiled is None or compiled.query is None:
            return None
        columns = compiled.statement.columns
        self._check_outputs(compiled.query, report)
        names = self._template(step.error, columns, place)
        if set(names) & set(columns) and not (compiled.query.is_single or compiled.query.is_ordered):
            report.add("the error shows columns of a row, but which row comes first is not fixed", ORDER)
        return CompiledStep("forbid", place, None, compiled.statement, step.error)

    def _template(self, text: str, columns: tuple[str, ...], place: str) -> tuple[str, ...]:
        known = dict.fromkeys([*columns, *self.values])
        return check_template(text, list(known), [*self.relations], self.report, f"{place}.error")

    def _new_id(self, step: NewId, place: str) -> CompiledStep:
        self._check_new(step.new_id, "new_id", place)
        if not step.from_:
            self.report.add(
                "new_id is made from nothing",
                "list the parameters that make the call what it is",
                place=f"{place}.from",
            )
        flats = tuple(name.replace(".", "__") for name in step.from_)
        for name, flat in zip(step.from_, flats, strict=True):
            if flat not in self.values and name not in self.relations:
                known = [item.replace("__", ".", 1) for item in (*self.values, *self.relations)]
                self.report.add(
                    f"new_id is made from {name!r}, which is unknown here", choices(name, known), place=f"{place}.from"
                )
        self.used |= set(flats)
        self.values[step.new_id] = Info("text")
        self.bound[step.new_id] = _Bound(place, "new_id", (step.new_id,))
        return CompiledStep("new_id", place, step.new_id, None, None, step.prefix, step.from_)

    def _check_new(self, name: str, what: str, place: str) -> None:
        check_name(name, what, self.report, place, is_relation=what == "let_rows")
        if name in self.bound or name in self.tool.parameters:
            self.report.add(f"{name!r} is bound already", "choose another name", place=place)
        elif what == "let_rows" and name in self.schema.tables:
            self.report.add(f"{name!r} hides the table {name}", "choose another name", place=place)

    def _bind_row(self, step: Let, compiled: Compiled | None, place: str) -> None:
        self._check_new(step.let, "let", place)
        flats = []
        for name, info in _columns(compiled):
            self.values[f"{step.let}__{name}"] = info
            flats.append(f"{step.let}__{name}")
        self.bound[step.let] = _Bound(place, "let", tuple(flats), is_used=step.error is not None or compiled is None)

    def _bind_rows(self, step: LetRows, compiled: Compiled | None, place: str) -> None:
        self._check_new(step.let_rows, "let_rows", place)
        self.relations[step.let_rows] = dict(_columns(compiled))
        self.bound[step.let_rows] = _Bound(place, "let_rows", (step.let_rows,), is_used=compiled is None)
        if compiled is not None and compiled.query is not None:
            self._check_outputs(compiled.query, self._at(f"{place}.sql", step.sql))
            if "ord" in compiled.statement.columns:
                self.report.add(
                    "a column of let_rows is called ord",
                    "name it otherwise: ord is the place of the row",
                    place=f"{place}.sql",
                )
            if not compiled.query.is_ordered:
                self.unordered[step.let_rows] = f"{place}.sql"

    def _check_outputs(self, query: Query, report: Report) -> None:
        for number, name in enumerate(query.names, 1):
            if name is None:
                report.add(f"output column {number} has no name", "name it with AS")
            elif query.names.count(name) > 1:
                report.add(f"two output columns are called {name}", "name one of them with AS")

    def _want_one_row(self, query: Query, report: Report) -> None:
        if not query.is_single:
            report.add("the SELECT may give several rows where one is bound", ONE_ROW)
        elif query.limit == 1 and not query.is_single_without_limit:
            report.add("LIMIT 1 hides the other rows that fit", f"{ONE_ROW}, or return all of them as rows")
        self._check_outputs(query, report)

    def _returns(self) -> Iterator[CompiledReturn]:
        if not self.tool.returns:
            self.report.add(
                "the tool returns nothing", "return at least what it changed", place=f"{self.tool.name}.returns"
            )
        for name, part in self.tool.returns.items():
            place = f"{self.tool.name}.returns.{name}"
            check_name(name, "return", self.report, place)
            if sum(getattr(part, mode) is not None for mode in ("value", "row", "rows")) != 1:
                self.report.add("a return has exactly one of value, row and rows", "keep one", place=place)
                continue
            compiled = self._return(part, place)
            if compiled is not None:
                mode = part.mode
                assert mode in ("value", "row", "rows")
                yield CompiledReturn(name, mode, compiled.statement)  # type: ignore[arg-type]

    def _return(self, part: Return, place: str) -> Compiled | None:
        report = self._at(f"{place}.{part.mode}", part.sql)
        compiled = self._keep(read_select(part.sql, self.schema, self._names(), report))
        if compiled is None or compiled.query is None:
            return None
        query = compiled.query
        if part.mode != "rows":
            if part.mode == "value" and len(query.infos) != 1:
                report.add(f"a value has one column, not {len(query.infos)}", "select one column, or return a row")
            if part.mode == "value":
                query = replace(query, names=["value"])
            self._want_one_row(query, report)
            return compiled
        self._check_outputs(query, report)
        if query.limit == 1 and not query.is_single_without_limit:
            report.add("LIMIT 1 hides the other rows that fit", "return all of them")
        elif not query.is_ordered and query.limit is None:
            report.add(
                "the order of the rows is not fixed", "ORDER BY columns that include a unique key of what is read"
            )
        return compiled

    def _check_unused(self) -> None:
        """What a faulty statement uses is not known: then nothing is said of the parameters and results."""
        if self.is_partly_unread:
            return
        for name in self.tool.parameters:
            if name not in self.used:
                place = f"{self.tool.name}.parameters.{name}"
                self.report.add(
                    f"parameter {name!r} is never used", "use it in a step or a return, or remove it", place=place
                )
        for name, bound in self.bound.items():
            if not bound.is_used and not set(bound.flats) & self.used:
                self.report.add(
                    f"{bound.what} {name!r} is never used",
                    "use it in a later step or a return, or remove it",
                    place=bound.place,
                )

    def _consumes(self) -> dict[str, frozenset[Column]]:
        found: dict[str, set[Column]] = {}
        for statement in self.statements:
            for parameter, column in statement.consumes:
                found.setdefault(parameter, set()).add(column)
        return {parameter: frozenset(found[parameter]) for parameter in sorted(found)}


def _columns(compiled: Compiled | None) -> Iterator[tuple[str, Info]]:
    if compiled is not None and compiled.query is not None:
        for name, info in zip(compiled.query.names, compiled.query.infos, strict=True):
            if name is not None:
                yield name, info


def _produces(returns: tuple[CompiledReturn, ...]) -> Iterator[tuple[str, Column]]:
    for part in returns:
        for name, base in zip(part.statement.columns, part.statement.lineage, strict=True):
            if base is not None:
                yield (part.name if part.mode == "value" else f"{part.name}.{name}"), base
