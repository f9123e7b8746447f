"""Generated calls: arguments drawn from the rows, so that they belong together, come near every limit, or do not exist
at all."""

from __future__ import annotations

import random
from datetime import date, timedelta
from typing import Any

from toolscale.environment.row_graph import Context, RowGraph, tables_of
from toolscale.language.times import DAY, clock_text, minutes_of
from toolscale.sql.compiled import CompiledTool

Arguments = dict[str, Any]
Column = tuple[str, str]

_NOWHERE = "zz_none"
_LARGE = 10**12
_NEAR_DAYS = (0, 1, -1, 2, -2, 5, 7, -7, 14, 30, -30, 60, -60, 120, 366, -366, 900)
_NEAR_MINUTES = (0, 1, -1, 5, -5, 15, -30, 60, -60, 720)
_KINDS = ("cents", "int", "date", "datetime", "time", "text")


class CallMaker:
    """Draws arguments for one tool."""

    def __init__(self, tool: CompiledTool, graph: RowGraph, today: str, rng: random.Random):
        self.tool, self.graph, self.today, self.rng = tool, graph, date.fromisoformat(today), rng
        self._anchors = [table for table in tables_of(tool.consumes) if graph.rows.get(table)]
        self._anchors = self._anchors or sorted({table for table, _ in tool.reads if graph.rows.get(table)})
        self._near = {kind: self._columns_read(kind) for kind in _KINDS}

    def _columns_read(self, kind: str) -> list[Column]:
        tables = self.graph.schema.tables
        return sorted(
            (table, column)
            for table, column in self.tool.reads
            if column != "*" and tables[table].columns[column].type == kind
        )

    def draw(self, boundary: float = 0.0) -> Arguments:
        """Draw all arguments; those of `boundary` share lie at the edge of what the schema allows."""
        context = self._context()
        used: set[Any] = set()
        arguments: Arguments = {}
        for name, schema in self.tool.spec.parameters.items():
            if "default" in schema and self.rng.random() < 0.4:
                continue
            arguments[name] = self._value(name, schema, context, used, boundary)
        return arguments

    def vary(self, arguments: Arguments) -> Arguments:
        """Draw one argument anew (sometimes two), the others stay."""
        changed = dict(arguments)
        context = self._context(arguments)
        names = list(self.tool.spec.parameters)
        for _ in range(1 if self.rng.random() < 0.8 else 2):
            name = names[self.rng.randrange(len(names))]
            used = {value for key, value in changed.items() if key != name and isinstance(value, str | int)}
            changed[name] = self._value(
                name, self.tool.spec.parameters[name], context, used if self.rng.random() < 0.7 else set(), 0.1
            )
        return changed

    def _context(self, arguments: Arguments | None = None) -> Context:
        """Return rows that belong together: around those that the arguments name, or around a random one."""
        for name, value in (arguments or {}).items():
            for table, column in sorted(self.tool.consumes.get(name, frozenset())):
                found = self.graph.where(table, column, value) if isinstance(value, str | int) else []
                if found and self.rng.random() < 0.7:
                    return self.graph.related(table, found[self.rng.randrange(len(found))], self.rng)
        if not self._anchors:
            return {}
        table = self._anchors[self.rng.randrange(len(self._anchors))]
        rows = self.graph.rows[table]
        return self.graph.related(table, rows[self.rng.randrange(len(rows))], self.rng)

    def _value(self, name: str, schema: dict[str, Any], context: Context, used: set[Any], boundary: float) -> Any:
        kind = schema.get("type", "string")
        kinds = [item for item in kind if item != "null"] if isinstance(kind, list) else [kind]
        if isinstance(kind, list) and "null" in kind and self.rng.random() < 0.2:
            return None
        if kinds[0] == "array":
            return self._array(name, schema, context, boundary)
        if kinds[0] == "object":
            return {
                key: self._value(f"{name}.{key}", inner, context, used, boundary)
                for key, inner in schema.get("properties", {}).items()
                if key in schema.get("required", schema["properties"]) or self.rng.random() < 0.7
            }
        made = self._scalar(name, kinds[0], schema, context, used, boundary)
        if isinstance(made, str | int):
            used.add(made)
        return made

    def _array(self, name: str, schema: dict[str, Any], context: Context, boundary: float) -> list[Any]:
        low, high = schema.get("minItems", 0), schema.get("maxItems", 4)
        count = min(max(self.rng.choice((0, 1, 1, 2, 2, 3, 4)), low), max(high, low))
        items = schema.get("items", {"type": "string"})
        used: set[Any] = set()
        made = [self._value(name, items, context, used, boundary) for _ in range(count)]
        if schema.get("uniqueItems"):
            made = [item for position, item in enumerate(made) if item not in made[:position]]
        elif made and self.rng.random() < 0.15:
            made[-1] = made[0]
        return made

    def _scalar(
        self, name: str, kind: str, schema: dict[str, Any], context: Context, used: set[Any], boundary: float
    ) -> Any:
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return schema["enum"][self.rng.randrange(len(schema["enum"]))]
        if kind == "boolean":
            return self.rng.random() < 0.5
        if self.rng.random() < boundary:
            return self._edge(kind, schema)
        drawn = self._from_rows(name, kind, context, used)
        if drawn is not None:
            return drawn
        if kind == "integer":
            return self._integer(schema, context)
        if schema.get("format") in ("date", "date-time"):
            return self._day(schema["format"], context)
        if schema.get("format") == "time":
            return self._time(context)
        return self._text(name, schema, context)

    def _from_rows(self, name: str, kind: str, context: Context, used: set[Any]) -> Any:
        """Draw from a column that the parameter is compared with: the row at hand, a sibling of it, any row, or a value
        that no row has."""
        columns = self._columns(name)
        if not columns or (kind == "integer" and self.rng.random() < 0.3):
            return None
        table, column = columns[self.rng.randrange(len(columns))]
        rows = self.graph.rows.get(table)
        if not rows:
            return None
        chance = self.rng.random()
        row = context.get(table)
        if chance < 0.06 and kind == "string" and self.graph.schema.tables[table].columns[column].type == "text":
            return _NOWHERE
        if row is None or chance < 0.12:
            row = rows[self.rng.randrange(len(rows))]
        value = self.graph.value(table, column, row)
        for _ in range(6):
            if (value not in used and value is not None) and chance < 0.85:
                break
            chance = 0.0
            value = self.graph.value(table, column, self.graph.sibling(table, row, self.rng))
        return value

    def _columns(self, name: str) -> list[Column]:
        base, _, inner = name.partition(".")
        found: set[Column] = set()
        for key in (name, f"{name}.value", inner or name):
            found |= self.tool.consumes.get(key, frozenset())
        if not found and not inner:
            found |= self.tool.consumes.get(base, frozenset())
        return sorted(found)

    def _near_value(self, kinds: tuple[str, ...], context: Context) -> Any:
        """Return the value that some column the tool reads has in the rows at hand, or None."""
        columns = [column for kind in kinds for column in self._near[kind]]
        if not columns:
            return None
        table, column = columns[self.rng.randrange(len(columns))]
        row = context.get(table)
        if row is None or self.rng.random() < 0.2:
            rows = self.graph.rows.get(table)
            row = rows[self.rng.randrange(len(rows))] if rows else None
        return None if row is None else self.graph.value(table, column, row)

    def _integer(self, schema: dict[str, Any], context: Context) -> int:
        low, high = _limits(schema)
        chance = self.rng.random()
        near = self._near_value(("cents", "int"), context) if chance < 0.5 else None
        if near is not None:
            value = near + self.rng.choice((0, 0, 1, -1, -near // 2, near, -near + 1, 100))
        elif chance < 0.9:
            value = max(low, 0) + self.rng.randrange(10 ** self.rng.randrange(1, 8))
        else:
            value = self.rng.choice((low, low + 1, high))
        step = schema.get("multipleOf", 1)
        return int(min(max(value // step * step, low), high))

    def _day(self, form: str, context: Context) -> str:
        base = self.today
        near = self._near_value(("date", "datetime"), context) if self.rng.random() < 0.5 else None
        if near is not None:
            base = date.fromisoformat(near[:10])
        day = (base + timedelta(days=self.rng.choice(_NEAR_DAYS))).isoformat()
        return day if form == "date" else f"{day}T{self.rng.choice(('09:00:00', '12:30:00', '18:00:00'))}"

    def _time(self, context: Context) -> str:
        near = self._near_value(("time",), context) if self.rng.random() < 0.5 else None
        base = minutes_of(near) if near is not None else self.rng.randrange(DAY)
        return clock_text(base + self.rng.choice(_NEAR_MINUTES))

    def _text(self, name: str, schema: dict[str, Any], context: Context) -> str:
        examples = schema.get("examples")
        if examples and self.rng.random() < 0.8:
            return str(examples[self.rng.randrange(len(examples))])
        short = name.rpartition(".")[2]
        same = [
            (table, column) for table, column in self.graph.position if column == short and self.graph.rows.get(table)
        ]
        if same and self.rng.random() < 0.7:
            table, column = same[self.rng.randrange(len(same))]
            row = context.get(table) or self.graph.rows[table][self.rng.randrange(len(self.graph.rows[table]))]
            value = self.graph.value(table, column, row)
            if isinstance(value, str):
                return value
        near = self._near_value(("text",), context) if self.rng.random() < 0.5 else None
        text = near if isinstance(near, str) else self.rng.choice(("a note", "x", "Zoë O'Neil", _NOWHERE))
        return text[: schema.get("maxLength", 200)].ljust(schema.get("minLength", 0), "x")

    def _edge(self, kind: str, schema: dict[str, Any]) -> Any:
        """Return a value at the edge of what the schema allows."""
        if kind == "integer":
            low, high = _limits(schema)
            return self.rng.choice((low, min(low + 1, high), high, max(high - 1, low)))
        if schema.get("format") in ("date", "date-time"):
            day = self.rng.choice(("1900-01-01", "2000-02-29", "2100-12-31", self.today.isoformat()))
            return day if schema["format"] == "date" else f"{day}T23:59:59"
        if schema.get("format") == "time":
            return self.rng.choice(("00:00", "00:01", "12:00", "23:59"))
        longest = min(schema.get("maxLength", 300), 300)
        text = self.rng.choice(("", " ", "'", '"; --', "%", "é漢😀", "0", "a" * longest, "NULL"))
        return text[:longest].ljust(schema.get("minLength", 0), "x")


def _limits(schema: dict[str, Any]) -> tuple[int, int]:
    low = schema.get("minimum", schema.get("exclusiveMinimum", -_LARGE - 1) + 1)
    high = schema.get("maximum", schema.get("exclusiveMaximum", _LARGE + 1) - 1)
    return int(low), int(high)
