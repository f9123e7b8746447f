"""Read SELECTs: sources, scopes, output columns with their origin, keys, order, and what an index could serve."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from sqlglot import exp

from toolscale.records import SchemaSpec
from toolscale.records.schema import TEXT_TYPES
from toolscale.sql.expressions import ExpressionReader
from toolscale.sql.macros import AGGREGATES
from toolscale.sql.rendering import macro_name
from toolscale.sql.report import Report, choices
from toolscale.sql.scopes import UNKNOWN, Info, Names, Place, Query, Scope, Source, table_keys, table_source
from toolscale.sql.uniqueness import Facts, closure, covers


class QueryReader(ExpressionReader):
    """Reads whole SELECTs, nested ones included."""

    def __init__(self, schema: SchemaSpec, names: Names, report: Report):
        super().__init__(schema, names, report)
        self.equalities: set[tuple[str, tuple[str, ...]]] = set()

    def query(self, node: exp.Expr, scope: Scope | None, queries: Mapping[str, Query]) -> Query:
        """Read a SELECT or a UNION ALL of them."""
        queries = self.read_with(node, scope, queries)
        if isinstance(node, exp.Union):
            return self._union(node, scope, queries)
        return self._select(node, scope, queries)

    def read_with(self, node: exp.Expr, scope: Scope | None, queries: Mapping[str, Query]) -> Mapping[str, Query]:
        """Return the WITH queries that the node may read: those around it and its own."""
        found = node.args.get("with_")
        if found is None:
            return queries
        known = dict(queries)
        for cte in found.expressions:
            name = str(cte.args["alias"].this.this)
            if name in self.schema.tables or name in self.names.relations or name in known:
                self.report.add(f"WITH {name} hides another {name}", "choose another name")
            # A WITH query sees no columns of the SELECT around it.
            known[name] = self.query(cte.this, None, dict(known))
            self._name_outputs(known[name], f"WITH {name}")
            if not any(table.name == name for table in node.find_all(exp.Table)):
                self.report.add(f"WITH {name} is never read", "leave it out")
        return known

    def _name_outputs(self, query: Query, where: str) -> None:
        for name in query.names:
            if name is None:
                self.report.add(f"a column of {where} has no name", "name it with AS")
        twice = [name for name in dict.fromkeys(query.names) if name is not None and query.names.count(name) > 1]
        for name in twice:
            self.report.add(f"{where} has two columns {name!r}", "name one of them with AS")

    def _union(self, node: exp.Expr, scope: Scope | None, queries: Mapping[str, Query]) -> Query:
        left = self.query(node.args["this"], scope, queries)
        right = self.query(node.args["expression"], scope, queries)
        if len(left.infos) != len(right.infos):
            self.report.add(
                f"UNION ALL joins {len(left.infos)} columns with {len(right.infos)}", "give both sides the same columns"
            )
        infos = [
            one if one == two else Info(self._united(one, two))
            for one, two in zip(left.infos, right.infos, strict=False)
        ]
        ordered = set()
        order = node.args.get("order")
        for item in order.expressions if order is not None else ():
            name = item.this.name if isinstance(item.this, exp.Column) and not item.this.text("table") else ""
            if name not in left.names:
                self.report.add(
                    f"ORDER BY {self.show(item.this)} of a UNION ALL is no output column",
                    choices(name, [n for n in left.names if n]),
                )
            ordered.add(name)
        limit = node.args.get("limit")
        query = Query(
            left.names,
            infos,
            is_ordered=set(left.names) <= ordered,
            limit=int(str(limit.expression.this)) if limit is not None else None,
        )
        self._check_limit(node, query)
        return query

    def _united(self, one: Info, two: Info) -> Any:
        if one.type and two.type and (one.type in TEXT_TYPES) != (two.type in TEXT_TYPES):
            self.report.add(
                f"UNION ALL mixes {one.type} and {two.type} in one column", "cast one of them: CAST(x AS TEXT)"
            )
        return one.type or two.type

    def _select(self, node: exp.Expr, outer: Scope | None, queries: Mapping[str, Query]) -> Query:
        scope = Scope(
            {}, outer, queries, frozenset(item.alias for item in node.expressions if isinstance(item, exp.Alias))
        )
        self._sources(node, scope)
        names, infos = self._outputs(node, scope)
        for part in ("where", "having"):
            if node.args.get(part) is not None:
                self.condition(node.args[part].this, scope, f"{part.upper()} ")
        groups = node.args["group"].expressions if node.args.get("group") is not None else []
        for item in groups:
            if isinstance(item, exp.Literal):
                self.report.add(f"GROUP BY {item.this} counts columns", "name the column")
            else:
                self.infer(item, scope)
        ordered = self._order(node, scope, names)
        conditions = list(_conditions(node))
        facts = Facts()
        for condition, right in conditions:
            self._learn(condition, scope, facts, right)
        self.note_equalities((condition for condition, _ in conditions), scope)
        self._note_unused(scope)
        query = self._describe(node, scope, names, infos, groups, ordered, facts)
        self._check_limit(node, query)
        return query

    def _sources(self, node: exp.Expr, scope: Scope) -> None:
        for part in filter(None, (node.args.get("from_"), *(node.args.get("joins") or ()))):
            self._add_source(part.this, scope)
            if part.args.get("on") is not None:
                self.condition(part.args["on"], scope, "ON ")

    def _add_source(self, node: exp.Expr, scope: Scope) -> None:
        alias = node.alias_or_name
        if alias in scope.sources:
            self.report.add(f"{alias} stands twice in FROM", f"give each its own name: {alias} AS a")
        scope.sources[alias or f"#{len(scope.sources)}"] = self._source(node, alias, scope)

    def _source(self, node: exp.Expr, alias: str, scope: Scope) -> Source:
        if isinstance(node, exp.Subquery):
            query = self.query(node.this, None, scope.queries)
            if not alias:
                self.report.add(f"{self.show(node)} in FROM has no name", "name it with AS")
            self._name_outputs(query, alias or "a sub-select")
            return _query_source(alias, query)
        name = node.name
        if name in scope.queries:
            return _query_source(alias, scope.queries[name])
        if name in self.names.relations:
            self.relations[name] = None
            columns = {"ord": Info("int"), **self.names.relations[name]}
            return Source(alias, columns, relation=name, keys=(frozenset(("ord",)),))
        if name in self.schema.tables:
            return table_source(alias, name, self.schema)
        known = [*self.schema.tables, *self.names.relations, *scope.queries]
        if name in self.names.values:
            self.report.add(f"unknown table {name!r}", f"{name} is one value: write :{name}")
        else:
            self.report.unknown(f"unknown table {name!r}", name, known)
        return Source(alias, _Anything())

    def _outputs(self, node: exp.Expr, scope: Scope) -> tuple[list[str | None], list[Info]]:
        names: list[str | None] = []
        infos: list[Info] = []
        for item in node.expressions:
            infos.append(UNKNOWN if isinstance(item, exp.Star) else self.infer(item, scope))
            names.append(
                item.alias if isinstance(item, exp.Alias) else item.name if isinstance(item, exp.Column) else None
            )
        return names, infos

    def _order(self, node: exp.Expr, scope: Scope, names: list[str | None]) -> list[exp.Expr]:
        """Read ORDER BY, and return what it orders by, with output names replaced by what they stand for."""
        order = node.args.get("order")
        found = []
        for item in order.expressions if order is not None else ():
            target = item.this
            name = target.name if isinstance(target, exp.Column) and not target.text("table") else None
            if isinstance(
                target.unnest(), (exp.Literal, exp.Null, exp.Boolean, exp.Placeholder, exp.Neg)
            ) and not target.find(exp.Column):
                self.report.add(f"ORDER BY {self.show(target)} is the same for every row", "name the column")
                continue
            if name is not None and name in names:
                output = node.expressions[names.index(name)]
                meant = output.unalias()
                is_column = isinstance(meant, exp.Column) and meant.name == name
                if not is_column and any(name in source.columns for source in scope.sources.values()):
                    self.report.add(
                        f"ORDER BY {name} could mean the output or the column", "give the output another name with AS"
                    )
                found.append(meant)
                continue
            self.infer(target, scope)
            found.append(target)
        return found

    def _learn(self, condition: exp.Expr, scope: Scope, facts: Facts, right: str | None) -> None:
        """Note what an equality says; in the ON of a LEFT JOIN it speaks about the right side alone."""
        if not isinstance(condition, exp.EQ):
            return
        for one, two in ((condition.this, condition.expression), (condition.expression, condition.this)):
            here = self._place(one, scope)
            if here is None or (right is not None and here[0] != right):
                continue
            there, others = self._place(two, scope), self.places(two, scope)
            if there is not None:
                facts.decides.append((there, here))
            elif not others:
                facts.fixed.add(here)

    def _place(self, node: exp.Expr, scope: Scope) -> Place | None:
        while isinstance(node, exp.Paren):
            node = node.this
        found = self.resolved.get(id(node))
        return (found[1].alias, found[2]) if found is not None and found[0] is scope else None

    def _describe(
        self,
        node: exp.Expr,
        scope: Scope,
        names: list[str | None],
        infos: list[Info],
        groups: list[exp.Expr],
        ordered: list[exp.Expr],
        facts: Facts,
    ) -> Query:
        outputs = [item.unalias() for item in node.expressions]
        is_grouped = bool(groups) or any(_has_aggregate(item) for item in outputs)
        if is_grouped:
            self._check_grouped(node, scope, groups, outputs, ordered)
        fixed = closure((), scope.sources, facts)
        limit = node.args.get("limit")
        count = int(str(limit.expression.this)) if limit is not None else None
        is_alone = (
            all(self._place(item, scope) in fixed for item in groups) if is_grouped else covers(fixed, scope.sources)
        )
        places = {place for item in ordered if (place := self._place(item, scope)) is not None}
        known = closure(places, scope.sources, facts)
        texts = {self.key(item) for item in ordered}

        def is_decided(item: exp.Expr) -> bool:
            if self.key(item) in texts:
                return True
            return not is_grouped and item.find(exp.Window) is None and self.places(item, scope) <= known

        decided = (
            all(self.key(item) in texts or self._place(item, scope) in known for item in groups) if groups else False
        )
        is_ordered = (
            is_alone
            or decided
            or (not is_grouped and covers(known, scope.sources))
            or all(is_decided(item) for item in outputs)
        )
        keys = self._keys(node, scope, names, outputs, groups, facts, is_grouped, is_alone)
        return Query(names, infos, keys, is_alone or count == 1, is_ordered, count, is_alone)

    def _keys(
        self,
        node: exp.Expr,
        scope: Scope,
        names: list[str | None],
        outputs: list[exp.Expr],
        groups: list[exp.Expr],
        facts: Facts,
        is_grouped: bool,
        is_alone: bool,
    ) -> tuple[frozenset[str], ...]:
        """Return sets of output columns that tell the rows apart."""
        if is_alone:
            return (frozenset(),)
        texts = {self.key(item): name for name, item in zip(names, outputs, strict=True) if name is not None}
        if is_grouped:
            found = [texts.get(self.key(item)) for item in groups]
            return (frozenset(name for name in found if name),) if all(found) else ()
        keys: list[frozenset[str]] = []
        places = {
            place: name
            for name, item in zip(names, outputs, strict=True)
            if name and (place := self._place(item, scope)) is not None
        }
        candidates = [
            {(source.alias, name) for name in key} for source in scope.sources.values() for key in source.keys
        ]
        for candidate in [*candidates, set(places)]:
            if candidate <= set(places) and covers(closure(candidate, scope.sources, facts), scope.sources):
                keys.append(frozenset(places[place] for place in candidate))
        for name, item in zip(names, outputs, strict=True):
            if name and isinstance(item, exp.Window) and macro_name(item.this) == "row_number":
                parts = [texts.get(self.key(part)) for part in item.args.get("partition_by") or ()]
                if all(parts):
                    keys.append(frozenset((name, *(part for part in parts if part))))
        if node.args.get("distinct") and all(names):
            keys.append(frozenset(name for name in names if name))
        return tuple(keys)

    def _check_grouped(
        self, node: exp.Expr, scope: Scope, groups: list[exp.Expr], outputs: list[exp.Expr], ordered: list[exp.Expr]
    ) -> None:
        texts = {self.key(item) for item in groups}
        having = node.args.get("having")
        for item in [*outputs, *ordered, *([having.this] if having is not None else [])]:
            for column in self._bare_columns(item, texts):
                if (found := self.resolved.get(id(column))) is not None and found[0] is scope:
                    self.report.add(
                        f"column {self.show(column)} is neither grouped nor aggregated",
                        "add it to GROUP BY, or use MIN or MAX",
                    )

    def _bare_columns(self, node: exp.Expr, grouped: set[str]) -> Iterator[exp.Expr]:
        if (not isinstance(node, exp.If) and self.key(node) in grouped) or (
            _is_aggregate(node) and not isinstance(node.parent, exp.Window)
        ):
            return
        if isinstance(node, exp.Column):
            yield node
        elif not isinstance(node, (exp.Select, exp.Union)):
            for child in node.iter_expressions():
                if not isinstance(child, (exp.Identifier, exp.DataType, exp.Order)):
                    yield from self._bare_columns(child, grouped)

    def _check_limit(self, node: exp.Expr, query: Query) -> None:
        if query.limit is not None and not query.is_ordered and not isinstance(node.parent, exp.Exists):
            self.report.add(
                f"LIMIT {query.limit} takes rows of an order that is not fixed",
                "ORDER BY columns that include a unique key",
            )

    def _note_unused(self, scope: Scope) -> None:
        for source in scope.sources.values():
            if source.table is not None and not source.is_used:
                self.reads.add((source.table, "*"))

    def note_equalities(self, conditions: Iterable[exp.Expr], scope: Scope) -> None:
        """Note by which columns each table is looked up: first those compared with values, then those compared with
        other tables."""
        constant: dict[str, set[str]] = {}
        joined: dict[str, set[str]] = {}
        for condition in conditions:
            condition = condition.unnest()
            if isinstance(condition, exp.Or):
                for branch in chained(condition, exp.Or):
                    self.note_equalities(chained(branch, exp.And), scope)
            elif isinstance(condition, exp.EQ):
                for one, two in ((condition.this, condition.expression), (condition.expression, condition.this)):
                    self._note_one(one, self.places(two, scope), scope, constant, joined)
            elif isinstance(condition, exp.In):
                others = {place for item in condition.expressions for place in self.places(item, scope)}
                query = condition.args.get("query")
                self._note_one(
                    condition.this,
                    others | (self.places(query, scope) if query is not None else set()),
                    scope,
                    constant,
                    joined,
                )
        for alias, source in scope.sources.items():
            if source.table is None:
                continue
            order = list(self.schema.tables[source.table].columns)
            first = sorted(constant.get(alias, ()), key=order.index)
            rest = sorted(joined.get(alias, set()) - set(first), key=order.index)
            for columns in (first, first + rest):
                self._add_equality(source.table, tuple(columns))

    def _note_one(
        self,
        node: exp.Expr,
        others: set[Place],
        scope: Scope,
        constant: dict[str, set[str]],
        joined: dict[str, set[str]],
    ) -> None:
        here = self._place(node, scope)
        if here is None or any(alias == here[0] for alias, _ in others):
            return
        (joined if others else constant).setdefault(here[0], set()).add(here[1])

    def _add_equality(self, table: str, columns: tuple[str, ...]) -> None:
        strict, loose = table_keys(self.schema.tables[table])
        if columns and not any(key <= set(columns) for key in (*strict, *loose)):
            self.equalities.add((table, columns))


class _Anything(dict[str, Info]):
    """The columns of a table that does not exist: any, so that one mistake gives one issue."""

    def __contains__(self, name: object) -> bool:
        return True

    def __missing__(self, name: str) -> Info:
        return UNKNOWN


def _query_source(alias: str, query: Query) -> Source:
    columns = {name: info for name, info in zip(query.names, query.infos, strict=True) if name is not None}
    return Source(alias, columns, keys=query.keys)


def chained(node: exp.Expr, kind: type[exp.Connector]) -> Iterator[exp.Expr]:
    """Yield what ANDs or ORs join, parentheses within apart."""
    node = node.unnest()
    if isinstance(node, kind):
        yield from chained(node.this, kind)
        yield from chained(node.expression, kind)
    else:
        yield node


def _conditions(node: exp.Expr) -> Iterator[tuple[exp.Expr, str | None]]:
    """Yield what WHERE and ON join with AND; with the right side of a LEFT JOIN, of which alone its ON speaks."""
    if (where := node.args.get("where")) is not None:
        yield from ((condition, None) for condition in chained(where.this, exp.And))
    for join in node.args.get("joins") or ():
        right = join.this.alias_or_name if join.args.get("side") == "LEFT" else None
        if (on := join.args.get("on")) is not None:
            yield from ((condition, right) for condition in chained(on, exp.And))


def _is_aggregate(node: exp.Expr) -> bool:
    return isinstance(node, exp.Anonymous) and str(node.this).upper() in AGGREGATES


def _has_aggregate(node: exp.Expr) -> bool:
    if isinstance(node, (exp.Select, exp.Union)):
        return False
    if _is_aggregate(node) and not isinstance(node.parent, exp.Window):
        return True
    return any(_has_aggregate(child) for child in node.iter_expressions())
