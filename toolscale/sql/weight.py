"""How large a statement becomes once an engine has written out its WITH parts and we have written out its macros:
bounded before either does it.

An engine may put the text of a WITH part in every place that reads it, and the expression of a column in every place
that names it, so that a dozen short lines stand for millions of nodes. The weight counts the nodes of that, rather too
many than too few.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from toolscale.sql.macros import MACROS
from toolscale.sql.report import Report, shorten

HEAVIEST = 200_000
"""The heaviest statement of finance weighs 33,000."""

DEEPEST = 121
"""Levels of a tree: each is a few frames of Python when it is read."""

_REPEATS = {
    name: max(text.count("\x00") for text in (macro.sqlite(*marks), macro.duckdb(*marks)))
    for name, macro in MACROS.items()
    for marks in [["\x00"] * (macro.signature.count(",") + 1)]
}
"""Macro -> how often arguments stand in its text."""


def check_weight(tree: exp.Expr, text: str, report: Report) -> bool:
    """Report a statement that is nested too deeply or becomes too large, and return whether it is neither."""
    if _depth(tree) > DEEPEST:
        report.add(f"{shorten(text)!r} is nested more than {DEEPEST} levels deep", "split it into several steps")
        return False
    if _weigh(tree, {}) > HEAVIEST:
        problem = "becomes too large where its WITH parts, nested queries and macros are written out"
        report.add(
            f"{shorten(text)!r} {problem}", "compute the inner values in a let step, and read each WITH part once"
        )
        return False
    return True


def _depth(tree: exp.Expr) -> int:
    deepest, left = 0, [(tree, 1)]
    while left:
        node, depth = left.pop()
        deepest = max(deepest, depth)
        left += [(child, depth + 1) for child in node.iter_expressions()]
    return deepest


def _weigh(node: exp.Expr, known: Mapping[str, int]) -> int:
    """Return the weight of a node. `known`: WITH part -> weight. It stops counting where it is too much anyway."""
    named = dict(known)
    if (found := node.args.get("with_")) is not None:
        for part in found.expressions:
            named[part.args["alias"].this.this] = _weigh(part.this, named)
    start, joins = node.args.get("from_"), node.args.get("joins") or []
    sources = [
        named.get(part.this.name, 1) if isinstance(part.this, exp.Table) else _weigh(part.this, named)
        for part in ([start, *joins] if start is not None else [])
    ]
    column = max(sources, default=1)
    total = 1 + sum(sources)
    repeats = _REPEATS.get(str(node.this).lower(), 1) if isinstance(node, exp.Anonymous) else 1
    for name, value in node.args.items():
        if name in ("with_", "from_", "joins") and sources:
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, exp.Expr):
                total += repeats * _weigh(child, named) * (1 if child.find(exp.Column) is None else column)
    total += sum(_weigh(join.args["on"], named) * column for join in joins if join.args.get("on") is not None)
    return min(total, HEAVIEST + 1)
