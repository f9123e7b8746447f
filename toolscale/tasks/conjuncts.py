"""The conditions of a role one by one, written in one way, so that those of `language.yaml` and `rules.yaml` can be
compared with them."""

from __future__ import annotations

from functools import lru_cache

from sqlglot import exp
from sqlglot.generators.sqlite import SQLiteGenerator

from toolscale.tasks.names import parse_expression

_ALL = "all_rows__"


class _AsWritten(SQLiteGenerator):
    """Writes `x IS NOT NULL` and `x NOT IN (…)` as people do, where sqlglot puts the NOT in front."""

    def not_sql(self, expression: exp.Not) -> str:
        test = expression.this
        left = self.sql(test, "this")
        if isinstance(test, exp.Is):
            return f"{left} IS NOT {self.sql(test, 'expression')}"
        if isinstance(test, exp.In | exp.Between | exp.Like | exp.Glob):
            return f"{left} NOT{self.sql(test).removeprefix(left)}"
        return str(super().not_sql(expression))


@lru_cache(maxsize=8192)
def conjuncts(text: str, file: str = "", place: str = "") -> tuple[str, ...]:
    """Split a predicate at its top-level ANDs. `{all}`, the rows that a role is chosen from, may stand in it for a
    relation."""
    node: exp.Expr = parse_expression(text.replace("{all}", _ALL), file, place)
    found: list[str] = []

    def walk(part: exp.Expr) -> None:
        if isinstance(part, exp.And):
            walk(part.left)
            walk(part.right)
        elif isinstance(part, exp.Paren) and isinstance(part.this, exp.And):
            walk(part.this)
        else:
            found.append(_AsWritten(dialect="sqlite").generate(part).replace(_ALL, "{all}"))

    walk(node)
    return tuple(found)
