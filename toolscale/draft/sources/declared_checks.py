"""Checks that a database declares: those that list the texts of a column become its values, the others are told."""

from __future__ import annotations

import logging

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from toolscale.draft.sources.reflection import FoundTable
from toolscale.text_files import printable

_WRAPPINGS = (exp.Paren, exp.Cast)


def _parsed(sql: str, dialect: str) -> exp.Expr | None:
    """Return the tree of a statement or expression; None of one that cannot be parsed. Nothing is printed."""
    logging.getLogger("sqlglot").setLevel(logging.CRITICAL)
    try:
        return sqlglot.parse_one(sql, read=dialect)
    except (SqlglotError, RecursionError):
        return None


def settle_checks(table: FoundTable, checks: list[str], dialect: str) -> None:
    """Give columns the labels that checks list (`state IN ('open', 'closed')`), and note each check that is not kept
    so: what may never be is for the author of a domain to say."""
    for check in checks:
        tree = _parsed(check, dialect)
        name, labels = _listed(tree) if tree is not None else ("", ())
        column = table.column(name) if name else None
        if column is not None and column.kind in ("text", "any") and labels and not column.labels:
            column.labels = labels
        else:
            told = tree.unnest().sql(dialect) if tree is not None else check
            table.notes.append(f"{table.name}: the check {printable(told, 120)} is not kept")


def _listed(tree: exp.Expr) -> tuple[str, tuple[str, ...]]:
    """Return the column of which a check lists the texts, and these; PostgreSQL writes `= ANY (ARRAY[…])`."""
    tree = _bare(tree)
    column = _bare(tree.this) if isinstance(tree, exp.In | exp.EQ) else None
    if not isinstance(column, exp.Column):
        return "", ()
    if isinstance(tree, exp.In):
        values = [_bare(value) for value in tree.expressions]
    elif isinstance(tree.expression, exp.Any) and isinstance(array := _bare(tree.expression.this), exp.Array):
        values = [_bare(value) for value in array.expressions]
    else:
        return "", ()
    texts = tuple(value.this for value in values if isinstance(value, exp.Literal) and value.is_string)
    return column.name, texts if len(texts) == len(values) else ()


def _bare(tree: exp.Expr) -> exp.Expr:
    while isinstance(tree, _WRAPPINGS):
        tree = tree.this
    return tree
