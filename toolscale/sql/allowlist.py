"""What a syntax tree may hold: nodes with their parts, functions, plain names and whole numbers. Anything not listed is
refused."""

from __future__ import annotations

import re
from collections.abc import Callable
from types import NoneType

from sqlglot import exp

from toolscale.sql.macros import AGGREGATES, MACROS, RANKINGS, REMEDIES, SCALARS
from toolscale.sql.report import Report, choices, shorten

IDENTIFIER = re.compile(r"[a-z_][a-z0-9_]*\Z")
LARGEST_INTEGER = 2**63 - 1

_BINARY = frozenset(("this", "expression"))
_UNARY = frozenset(("this",))
_LIST = frozenset(("expressions",))

NODES: dict[type[exp.Expr], frozenset[str]] = {
    exp.Select: frozenset((
        "expressions", "from_", "joins", "where", "group", "having", "order", "limit", "distinct", "with_",
    )),
    exp.Union: frozenset(("this", "expression", "order", "limit", "with_")),
    exp.With: _LIST, exp.CTE: frozenset(("this", "alias")), exp.TableAlias: _UNARY,
    exp.From: _UNARY, exp.Table: frozenset(("this", "alias")),
    exp.Join: frozenset(("this", "side", "kind", "on")), exp.Subquery: frozenset(("this", "alias")),
    exp.Where: _UNARY, exp.Having: _UNARY, exp.Group: _LIST, exp.Order: _LIST,
    exp.Ordered: frozenset(("this", "desc", "nulls_first")), exp.Limit: frozenset(("expression",)), exp.Distinct: _LIST,
    exp.Column: frozenset(("this", "table")), exp.Identifier: _UNARY, exp.Alias: frozenset(("this", "alias")),
    exp.Literal: frozenset(("this", "is_string")), exp.Null: frozenset(), exp.Boolean: _UNARY,
    exp.Placeholder: _UNARY, exp.Star: frozenset(),
    exp.Paren: _UNARY, exp.Neg: _UNARY, exp.Not: _UNARY, exp.Add: _BINARY, exp.Sub: _BINARY, exp.Mul: _BINARY,
    exp.DPipe: _BINARY | {"safe"},
    exp.EQ: _BINARY, exp.NEQ: _BINARY, exp.GT: _BINARY, exp.GTE: _BINARY, exp.LT: _BINARY, exp.LTE: _BINARY,
    exp.NullSafeEQ: _BINARY, exp.NullSafeNEQ: _BINARY, exp.Is: _BINARY, exp.And: _BINARY, exp.Or: _BINARY,
    exp.In: frozenset(("this", "expressions", "query")), exp.Between: frozenset(("this", "low", "high")),
    exp.Exists: _UNARY, exp.Case: frozenset(("this", "ifs", "default")), exp.If: frozenset(("this", "true")),
    exp.Cast: frozenset(("this", "to")),
    exp.DataType: _UNARY, exp.Anonymous: frozenset(("this", "expressions")),
    exp.Window: frozenset(("this", "partition_by", "order", "over")), exp.Schema: frozenset(("this", "expressions")),
    exp.Tuple: _LIST, exp.Insert: frozenset(("this", "expression", "with_")), exp.Values: _LIST,
    exp.Update: frozenset(("this", "expressions", "where", "with_")), exp.Delete: frozenset(("this", "where", "with_")),
}  # fmt: skip
"""Node -> the parts of it that may be set."""

BANNED: dict[str, tuple[str, str]] = {
    "Div": ("`/` gives other results on other engines", "use idiv(a, b), or pct_cents(amount, bp) for a percentage"),
    "IntDiv": ("`//` is not portable", "use idiv(a, b)"),
    "Mod": ("`%` is not portable", "write a - idiv(a, b) * b"),
    "Like": (
        "LIKE folds case on one engine and not on the other",
        "use contains_ci(text, part), or LOWER(a) = LOWER(b)",
    ),
    "ILike": ("ILIKE is not portable", "use contains_ci(text, part)"),
    "Glob": ("GLOB is not portable", "use contains_ci(text, part)"),
    "RegexpLike": ("REGEXP is not portable", "use contains_ci(text, part)"),
    "Match": ("MATCH is not portable", "use contains_ci(text, part)"),
    "Escape": ("LIKE ... ESCAPE is not portable", "use contains_ci(text, part)"),
    "JSONExtract": ("`->` reads JSON", "an array parameter is a relation: SELECT ... FROM its name"),
    "JSONExtractScalar": ("`->>` reads JSON", "an array parameter is a relation: SELECT ... FROM its name"),
    "CurrentDate": ("CURRENT_DATE reads the real clock", "use :today"),
    "CurrentTime": ("CURRENT_TIME reads the real clock", "use :now"),
    "CurrentTimestamp": ("CURRENT_TIMESTAMP reads the real clock", "use :now"),
    "OnConflict": ("ON CONFLICT writes depend on what is there", "guard with a forbid step, then INSERT or UPDATE"),
    "Returning": ("RETURNING is not in the SQL subset", "read the row with a return"),
    "HexString": ("blobs are not in the SQL subset", "store text or whole numbers"),
    "Filter": ("FILTER (WHERE ...) is not in the SQL subset", "use SUM(CASE WHEN ... THEN ... END)"),
    "WindowSpec": ("window frames are not in the SQL subset", "leave the frame out"),
    "Offset": ("OFFSET is not in the SQL subset", "return the rows, or filter by a key"),
    "Fetch": ("FETCH is not in the SQL subset", "use LIMIT with a constant"),
    "Parameter": ("parameters are not written like this", "write :name, or :let.column"),
}
_PARTS: dict[tuple[str, str], tuple[str, str]] = {
    ("With", "recursive"): ("WITH RECURSIVE may never end", "write the levels out as joins"),
    ("Insert", "alternative"): (
        "INSERT OR ... hides what is written",
        "guard with a forbid step, then INSERT or UPDATE",
    ),
    ("Insert", "conflict"): BANNED["OnConflict"],
    ("Insert", "returning"): BANNED["Returning"],
    ("Update", "returning"): BANNED["Returning"],
    ("Delete", "returning"): BANNED["Returning"],
    ("Update", "from_"): (
        "UPDATE ... FROM is not in the SQL subset",
        "SET column = (SELECT ...) WHERE key IN (SELECT ...)",
    ),
    ("Select", "offset"): BANNED["Offset"],
    ("Union", "distinct"): ("UNION without ALL is not in the SQL subset", "use UNION ALL, or SELECT DISTINCT from it"),
    ("Join", "using"): ("USING is not in the SQL subset", "use ON a.x = b.x"),
    ("Join", "method"): ("NATURAL joins are not in the SQL subset", "use ON a.x = b.x"),
    ("Window", "spec"): BANNED["WindowSpec"],
    ("Table", "db"): ("names of other databases are not in the SQL subset", "name a table of the schema"),
    ("Column", "db"): ("names of other databases are not in the SQL subset", "write table.column"),
    ("Table", "joins"): ("parenthesised joins are not in the SQL subset", "write the joins without parentheses"),
    ("TableAlias", "columns"): (
        "column lists after an alias are not in the SQL subset",
        "name the columns in the SELECT with AS",
    ),
}


def check_nodes(tree: exp.Expr, report: Report) -> None:
    """Report everything in the tree that is not allowed; inside what is refused nothing more is said."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        allowed = NODES.get(type(node))
        if allowed is None:
            _refuse_node(node, report)
            continue
        refused = [
            part
            for part, value in node.args.items()
            if value and part not in allowed and part not in ("nested", "quoted")
        ]
        for part in refused:
            _refuse_part(node, part, report)
        special = _SPECIAL.get(type(node))
        if special and not refused:
            special(node, report)
        waiting += [child for child in node.iter_expressions(reverse=True) if child.arg_key not in refused]


def _refuse_node(node: exp.Expr, report: Report) -> None:
    kind = type(node).__name__
    if isinstance(node, exp.SetOperation):
        report.add(f"{kind.upper()} is not in the SQL subset", "use UNION ALL, EXISTS or NOT EXISTS")
    else:
        problem, remedy = BANNED.get(
            kind,
            (f"{kind} is not in the SQL subset", "write it with joins, sub-selects, CASE, GROUP BY and the macros"),
        )
        report.add(f"{_shown(node)}: {problem}", remedy)


def _refuse_part(node: exp.Expr, part: str, report: Report) -> None:
    kind = type(node).__name__
    default = (f"{part.rstrip('_').replace('_', ' ').upper()} is not in the SQL subset here", "leave it out")
    problem, remedy = _PARTS.get((kind, part), default)
    report.add(f"{_shown(node)}: {problem}", remedy)


def _shown(node: exp.Expr) -> str:
    return repr(shorten(node.sql("sqlite"), 60))


def _check_identifier(node: exp.Expr, report: Report) -> None:
    name = str(node.this)
    if node.args.get("quoted"):
        report.add(f"{name!r} is a quoted name", "names are plain: [a-z_][a-z0-9_]*")
    elif not IDENTIFIER.match(name):
        report.add(f"{name!r} is not a plain name", "write names as [a-z_][a-z0-9_]*")


def _check_literal(node: exp.Expr, report: Report) -> None:
    text = str(node.this)
    if not node.args.get("is_string") and not (text.isascii() and text.isdigit()):
        report.add(f"{text} is not a whole number", "money is whole cents; percentages are basis points for pct_cents")
    elif not node.args.get("is_string") and int(text) > LARGEST_INTEGER:
        report.add(f"{text} does not fit into 64 bits", "use a smaller number")


def _check_function(node: exp.Expr, report: Report) -> None:
    name, count = str(node.this), len(node.expressions)
    upper, lower = name.upper(), name.lower()
    if isinstance(node.parent, exp.Table):
        report.add(f"{lower}(...) is a function in FROM", "read tables of the schema, array parameters or let_rows")
    elif upper in ("MIN", "MAX") and count == 2:
        report.add(
            f"{_shown(node)}: {upper} of two values is not portable",
            f"use {'least_of' if upper == 'MIN' else 'greatest_of'}(a, b)",
        )
    elif upper in RANKINGS:
        if count or not isinstance(node.parent, exp.Window):
            report.add(f"{upper} needs OVER (ORDER BY ...)", f"write {upper}() OVER (PARTITION BY ... ORDER BY ...)")
    elif upper in AGGREGATES:
        if count != 1 or (isinstance(node.expressions[0], exp.Star) and upper != "COUNT"):
            report.add(f"{_shown(node)}: {upper} takes one value", f"write {upper}(column)")
    elif isinstance(node.parent, exp.Window):
        report.add(f"{name} cannot be used with OVER", f"use {', '.join(sorted(RANKINGS | AGGREGATES))}")
    elif upper in SCALARS:
        least, most = SCALARS[upper]
        if not least <= count <= most:
            wanted = least if least == most else f"{least} to {most}"
            report.add(f"{_shown(node)}: {upper} takes {wanted} values, not {count}", "correct the call")
    elif lower in MACROS:
        if count != len(MACROS[lower].kinds):
            report.add(f"{_shown(node)} has {count} values", f"write {MACROS[lower].signature}")
    else:
        remedy = REMEDIES.get(lower) or f"{choices(lower, [*MACROS, *SCALARS.keys()], 'macros and functions are')}"
        report.add(f"function {name} is not in the SQL subset", remedy)


def _check_cast(node: exp.Expr, report: Report) -> None:
    to = node.args["to"].this
    if to not in (exp.DType.TEXT, exp.DType.INT, exp.DType.BIGINT, exp.DType.VARCHAR):
        report.add(
            f"{_shown(node)}: CAST AS {node.args['to'].sql('sqlite')} is not portable",
            "cast to TEXT or INTEGER; REAL is never used",
        )


def _check_limit(node: exp.Expr, report: Report) -> None:
    count = node.args.get("expression")
    if not isinstance(count, exp.Literal) or count.is_string:
        report.add(f"LIMIT {count.sql('sqlite') if count else ''} is not a constant", "write LIMIT with a whole number")


def _check_in(node: exp.Expr, report: Report) -> None:
    if not node.expressions and node.args.get("query") is None:
        report.add("IN () has no values", "list at least one value, or read a relation: IN (SELECT value FROM ...)")


def _check_join(node: exp.Expr, report: Report) -> None:
    side, kind = node.args.get("side"), node.args.get("kind")
    if side not in (None, "", "LEFT") or kind not in (None, "", "INNER", "CROSS", "OUTER"):
        report.add(
            f"{' '.join(filter(None, (side, kind)))} JOIN is not in the SQL subset",
            "use JOIN ... ON, LEFT JOIN ... ON or CROSS JOIN",
        )
    elif kind != "CROSS" and node.args.get("on") is None:
        report.add(f"{_shown(node)} has no ON", "say how the rows belong together: ON a.x = b.x")


def _check_if(node: exp.Expr, report: Report) -> None:
    if not isinstance(node.parent, exp.Case):
        report.add(f"{_shown(node)}: IF is not portable", "use CASE WHEN ... THEN ... ELSE ... END")


def _check_star(node: exp.Expr, report: Report) -> None:
    parent = node.parent
    if not isinstance(parent, exp.Anonymous) or str(parent.this).upper() != "COUNT":
        report.add("* hides which columns are read", "name the columns (SELECT 1 inside EXISTS)")


def _check_alias(node: exp.Expr, report: Report) -> None:
    if not isinstance(node.parent, exp.Select):
        report.add(f"{_shown(node)}: AS stands inside an expression", "name whole columns of a SELECT only")


def _check_tuple(node: exp.Expr, report: Report) -> None:
    if not isinstance(node.parent, exp.Values):
        report.add(f"{_shown(node)} compares several columns at once", "write a.x = b.x AND a.y = b.y")


def _check_select(node: exp.Expr, report: Report) -> None:
    if not isinstance(node.parent, (NoneType, exp.Subquery, exp.Exists, exp.CTE, exp.Union, exp.Insert, exp.In)):
        report.add(f"{_shown(node)} stands where a value is wanted", "put the SELECT into parentheses of its own")
    if node.args.get("having") is not None and node.args.get("group") is None:
        report.add(f"{_shown(node)} has HAVING without GROUP BY", "use WHERE, or group")
    if node.args.get("joins") and node.args.get("from_") is None:
        report.add(f"{_shown(node)} has a JOIN without FROM", "write FROM before JOIN")
    if not node.expressions:
        report.add(f"{_shown(node)} selects nothing", "name the columns after SELECT")


def _check_values(node: exp.Expr, report: Report) -> None:
    if not isinstance(node.parent, exp.Insert):
        report.add("VALUES may stand in INSERT only", "use SELECT ... UNION ALL SELECT ...")


def _check_union(node: exp.Expr, report: Report) -> None:
    if node.args.get("distinct"):
        return
    if not all(isinstance(side, (exp.Select, exp.Union)) for side in (node.args["this"], node.args["expression"])):
        report.add("a side of UNION ALL stands in parentheses", "write SELECT ... UNION ALL SELECT ... ORDER BY ...")


def _check_distinct(node: exp.Expr, report: Report) -> None:
    parent = node.parent
    if isinstance(parent, exp.Anonymous) and (str(parent.this).upper() != "COUNT" or len(node.expressions) != 1):
        report.add(f"{_shown(parent)}: DISTINCT may stand in COUNT of one value only", "write COUNT(DISTINCT column)")


def _check_is(node: exp.Expr, report: Report) -> None:
    if not isinstance(node.args["expression"], exp.Null):
        report.add(f"{_shown(node)}: IS compares with NULL only", "use =, or IS NOT DISTINCT FROM")


def _check_placeholder(node: exp.Expr, report: Report) -> None:
    if not node.this or not IDENTIFIER.match(str(node.this)):
        report.add(f":{node.this or '?'} is not a plain name", "write :name, or :let.column, in small letters")
    elif node.arg_key == "alias" or isinstance(node.parent, (exp.Column, exp.Schema, exp.Table, exp.TableAlias)):
        report.add(f":{node.this} is a value, not a name", "write the name without a colon")


_SPECIAL: dict[type[exp.Expr], Callable[[exp.Expr, Report], None]] = {
    exp.Identifier: _check_identifier,
    exp.Literal: _check_literal,
    exp.Anonymous: _check_function,
    exp.Cast: _check_cast,
    exp.Limit: _check_limit,
    exp.In: _check_in,
    exp.Join: _check_join,
    exp.If: _check_if,
    exp.Star: _check_star,
    exp.Tuple: _check_tuple,
    exp.Values: _check_values,
    exp.Union: _check_union,
    exp.Distinct: _check_distinct,
    exp.Is: _check_is,
    exp.Placeholder: _check_placeholder,
    exp.Alias: _check_alias,
    exp.Select: _check_select,
}
