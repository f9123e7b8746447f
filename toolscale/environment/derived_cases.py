"""`case: auto` of a rule: what `breaks` says of look-ups, said of the database.

    reads: {loan: {get_loan: {loan_id: call.loan_id}}}
    breaks: loan.renewals >= policy.most_renewals

becomes

    (SELECT loan_row.renewals FROM loans AS loan_row WHERE loan_row.loan_id = call.loan_id) >= policy.most_renewals

That works for reads that are derived look-ups (`lookups` of toolset.yaml): these show rows of one table, by columns.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import sqlglot
from sqlglot import exp

from toolscale.errors import SpecIssue
from toolscale.records import PolicySpec, Rule, ToolSpec

FILE = "rules.yaml"
AUTO = "auto"

Reads = Mapping[str, "_Read"]


@dataclass(frozen=True)
class _Read:
    """A look-up of a rule: the rows of a table in which columns have the values of its arguments."""

    table: str
    columns: tuple[str, ...]
    arguments: Mapping[str, str]
    """Column -> expression."""
    is_relation: bool


def with_cases(policy: PolicySpec, lookups: Mapping[str, ToolSpec]) -> tuple[PolicySpec, list[SpecIssue]]:
    """Return the rules with each `case: auto` written out, and why one cannot be. `lookups`: the derived tools, by
    name."""
    issues: list[SpecIssue] = []
    rules: dict[str, Rule] = {}
    for name, rule in policy.rules.items():
        rules[name] = rule
        if rule.case == AUTO:
            try:
                rules[name] = rule.model_copy(update={"case": case_of(rule, lookups)})
            except _UnclearError as error:
                issues.append(SpecIssue(FILE, f"rules.{name}.case", str(error), "write the case out"))
                rules[name] = rule.model_copy(update={"case": None})
    return policy.model_copy(update={"rules": rules}), issues


class _UnclearError(Exception):
    """A case cannot be derived; the message says why."""


def case_of(rule: Rule, lookups: Mapping[str, ToolSpec]) -> str:
    """Return the case of a rule."""
    reads: dict[str, _Read] = {}
    for name, call in rule.reads.items():
        ((tool, arguments),) = call.items()
        if tool not in lookups:
            raise _UnclearError(f"the case cannot be derived: {tool} is no derived look-up")
        reads[name] = _read(lookups[tool], arguments)
    parts = [_on_rows(text, reads) for text in (rule.applies, rule.breaks) if text is not None]
    return parts[0] if len(parts) == 1 else " AND ".join(f"({part})" for part in parts)


def _read(tool: ToolSpec, arguments: Mapping[str, str]) -> _Read:
    """Read the statement of a derived look-up: one table, and equalities of its columns with parameters."""
    ((_, part),) = tool.returns.items()
    select = sqlglot.parse_one(part.sql, dialect="sqlite")
    table = select.find(exp.Table)
    where = select.args.get("where")
    assert table is not None and where is not None
    columns = {test.expression.name: test.this.name for test in where.find_all(exp.EQ)}
    return _Read(
        table.name,
        tuple(column.name for column in select.expressions),
        {columns[parameter]: expression for parameter, expression in arguments.items()},
        is_relation=part.mode == "rows",
    )


def _on_rows(text: str, reads: Reads) -> str:
    """Return an expression over the database instead of over look-ups."""
    tree = _parsed(text)
    for select in list(tree.find_all(exp.Select)):
        _widen(select, reads)
    return tree.transform(_replacer(reads)).sql(dialect="sqlite", normalize_functions=False)


def _widen(select: exp.Select, reads: Reads) -> None:
    """Put the table of a read in the place of the read, with the condition that the look-up has."""
    for table in list(select.find_all(exp.Table)):
        if table.parent_select is not select or table.name not in reads or table.db:
            continue
        read, alias = reads[table.name], table.alias or table.name
        joins = select.args.get("joins") or []
        if any(join.side for join in joins):
            raise _UnclearError(f"the case cannot be derived: {table.name} is joined by an outer join")
        table.replace(exp.alias_(exp.to_table(read.table), alias, table=True))
        for test in _tests(alias, read, reads):
            select.where(test, copy=False)


def _replacer(reads: Reads) -> Callable[[exp.Expr], exp.Expr]:
    def replace(node: exp.Expr) -> exp.Expr:
        if not isinstance(node, exp.Column) or node.table not in reads or _is_source(node):
            return node
        read, alias = reads[node.table], f"{node.table}_row"
        if read.is_relation:
            raise _UnclearError(
                f"the case cannot be derived: {node.table} means several rows, and {node.sql()} one of them"
            )
        if node.name not in read.columns:
            raise _UnclearError(f"the case cannot be derived: {read.table} has no column {node.name}")
        row = exp.select(exp.column(node.name, table=alias)).from_(
            exp.alias_(exp.to_table(read.table), alias, table=True)
        )
        for test in _tests(alias, read, reads):
            row = row.where(test)
        return exp.paren(row)

    return replace


def _is_source(column: exp.Column) -> bool:
    """Whether a column is of a table that a SELECT around it reads under that name."""
    select = column.parent_select
    while select is not None:
        if any(table.alias_or_name == column.table for table in select.find_all(exp.Table)):
            return True
        select = select.parent_select
    return False


def _tests(alias: str, read: _Read, reads: Reads) -> list[exp.Expr]:
    return [
        exp.EQ(this=exp.column(column, table=alias), expression=_parsed(_on_rows(text, reads)))
        for column, text in read.arguments.items()
    ]


def _parsed(text: str) -> exp.Expr:
    """Read an expression: behind SELECT, where `call` is a name and no statement."""
    try:
        found: list[exp.Expr] = sqlglot.parse_one(f"SELECT {text}", dialect="sqlite").expressions
        (only,) = found
        return only.copy()
    except (sqlglot.errors.SqlglotError, ValueError) as error:
        raise _UnclearError(f"the case cannot be derived: {text!r} cannot be read") from error
