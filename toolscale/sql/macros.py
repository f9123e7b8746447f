"""Functions that both engines share, and macros: what differs between the engines, rendered for each so that they
agree.

Dates and times are text. A macro gives NULL for anything that is not exactly a valid date of the years 1000 to 8999
(`'now'` is none) or a valid time of day (`HH:MM`), and for shifts beyond 300,000 days, 10,000 months or 50,000,000
minutes: within these bounds no engine leaves its range. Case folding touches A-Z alone, because SQLite's does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from toolscale.records import ColumnType

Kind = Literal["date", "datetime", "moment", "int", "text", "any"]
"""What an argument is; `moment`: a datetime or a time of day."""

SCALARS: dict[str, tuple[int, int]] = {
    "COALESCE": (2, 16),
    "NULLIF": (2, 2),
    "ABS": (1, 1),
    "LENGTH": (1, 1),
    "LOWER": (1, 1),
    "UPPER": (1, 1),
    "TRIM": (1, 1),
    "SUBSTR": (2, 3),
    "SUBSTRING": (2, 3),
    "INSTR": (2, 2),
    "REPLACE": (3, 3),
}
"""Function -> least and most arguments."""
AGGREGATES = frozenset(("COUNT", "SUM", "MIN", "MAX"))
RANKINGS = frozenset(("ROW_NUMBER", "RANK", "DENSE_RANK"))

SQLITE_FUNCTIONS = frozenset((
    "count", "sum", "min", "max", "coalesce", "nullif", "abs", "length", "lower", "upper", "trim", "substr", "instr",
    "replace", "row_number", "rank", "dense_rank", "date", "julianday", "strftime", "json_each", "->>",
))  # fmt: skip
"""All that a compiled text calls on SQLite: what an authorizer must allow."""

_BIG = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_SMALL = _BIG.lower()


def lower_duckdb(text: str) -> str:
    """Fold A-Z to small letters, and nothing else."""
    return f"TRANSLATE({text}, '{_BIG}', '{_SMALL}')"


def upper_duckdb(text: str) -> str:
    """Fold a-z to capital letters, and nothing else."""
    return f"TRANSLATE({text}, '{_SMALL}', '{_BIG}')"


@dataclass(frozen=True, slots=True)
class Macro:
    """A function of the subset that neither engine has."""

    signature: str
    kinds: tuple[Kind, ...]
    result: ColumnType | None
    """None: the type of its arguments."""
    sqlite: Callable[..., str]
    duckdb: Callable[..., str]
    is_predicate: bool = False


def _is_date_sqlite(d: str) -> str:
    # The shift by no days makes SQLite count days: without it 2026-02-30 comes back as it is.
    return f"LENGTH({d}) = 10 AND {d} BETWEEN '1000-01-01' AND '8999-12-31' AND DATE({d}, '0 days') = {d}"


def _date_duckdb(d: str) -> str:
    return f"TRY_CAST(CAST({d} AS VARCHAR) AS DATE)"


def _is_date_duckdb(d: str) -> str:
    text = f"CAST({d} AS VARCHAR)"
    return (
        f"LENGTH({text}) = 10 AND {text} BETWEEN '1000-01-01' AND '8999-12-31' "
        f"AND CAST({_date_duckdb(d)} AS VARCHAR) = {text}"
    )


def _add_days_sqlite(d: str, n: str) -> str:
    return f"CASE WHEN {n} BETWEEN -300000 AND 300000 AND {_is_date_sqlite(d)} THEN DATE({d}, {n} || ' days') END"


def _add_days_duckdb(d: str, n: str) -> str:
    return (
        f"CASE WHEN {n} BETWEEN -300000 AND 300000 AND {_is_date_duckdb(d)} "
        f"THEN CAST({_date_duckdb(d)} + CAST({n} AS INTEGER) AS VARCHAR) END"
    )


def _days_between_sqlite(a: str, b: str) -> str:
    # julianday is a half-integer for midnight, so the difference is exact.
    return (
        f"CASE WHEN {_is_date_sqlite(a)} AND {_is_date_sqlite(b)} "
        f"THEN CAST(JULIANDAY({b}) - JULIANDAY({a}) AS INTEGER) END"
    )


def _days_between_duckdb(a: str, b: str) -> str:
    return f"CASE WHEN {_is_date_duckdb(a)} AND {_is_date_duckdb(b)} THEN {_date_duckdb(b)} - {_date_duckdb(a)} END"


def _add_months_sqlite(d: str, n: str) -> str:
    # The same day of the other month, but no later than that month's last day: SQLite's '+1 month' would spill over
    # into the next.
    same_day = f"DATE({d}, 'start of month', {n} || ' months', (CAST(SUBSTR({d}, 9, 2) AS INTEGER) - 1) || ' days')"
    last_day = f"DATE({d}, 'start of month', ({n} + 1) || ' months', '-1 day')"
    return f"CASE WHEN {n} BETWEEN -10000 AND 10000 AND {_is_date_sqlite(d)} THEN MIN({same_day}, {last_day}) END"


def _add_months_duckdb(d: str, n: str) -> str:
    return (
        f"CASE WHEN {n} BETWEEN -10000 AND 10000 AND {_is_date_duckdb(d)} "
        f"THEN CAST(CAST({_date_duckdb(d)} + TO_MONTHS(CAST({n} AS INTEGER)) AS DATE) AS VARCHAR) END"
    )


def _month_of_sqlite(d: str) -> str:
    return f"CASE WHEN {_is_date_sqlite(d)} THEN SUBSTR({d}, 1, 7) END"


def _month_of_duckdb(d: str) -> str:
    return f"CASE WHEN {_is_date_duckdb(d)} THEN SUBSTR(CAST({d} AS VARCHAR), 1, 7) END"


def _is_datetime_sqlite(t: str) -> str:
    return (
        f"LENGTH({t}) = 19 AND {t} BETWEEN '1000-01-01' AND '9' AND STRFTIME('%Y-%m-%dT%H:%M:%S', {t}, '0 days') = {t}"
    )


def _is_datetime_duckdb(t: str) -> str:
    text = f"CAST({t} AS VARCHAR)"
    return (
        f"LENGTH({text}) = 19 AND {text} BETWEEN '1000-01-01' AND '9' "
        f"AND STRFTIME(TRY_CAST({text} AS TIMESTAMP), '%Y-%m-%dT%H:%M:%S') = {text}"
    )


def _part_sqlite(start: int, length: int) -> Callable[[str], str]:
    return lambda t: f"CASE WHEN {_is_datetime_sqlite(t)} THEN SUBSTR({t}, {start}, {length}) END"


def _part_duckdb(start: int, length: int) -> Callable[[str], str]:
    return lambda t: f"CASE WHEN {_is_datetime_duckdb(t)} THEN SUBSTR(CAST({t} AS VARCHAR), {start}, {length}) END"


def _minutes_between_sqlite(a: str, b: str) -> str:
    # Seconds are cut off before the difference is taken, as they are where a time is told. Among texts of five
    # characters only a time of day comes back from %H:%M as it is; 24:00 would.
    both = (
        f"{_is_datetime_sqlite(a)} AND {_is_datetime_sqlite(b)} OR LENGTH({a}) = 5 AND LENGTH({b}) = 5 "
        f"AND {a} < '24' AND {b} < '24' AND STRFTIME('%H:%M', {a}) = {a} AND STRFTIME('%H:%M', {b}) = {b}"
    )
    seconds = f"STRFTIME('%s', SUBSTR({b}, 1, 16)) - STRFTIME('%s', SUBSTR({a}, 1, 16))"
    return f"CASE WHEN {both} THEN CAST(({seconds}) AS INTEGER) / 60 END"


def _minutes_between_duckdb(a: str, b: str) -> str:
    one, two = (f"CAST({t} AS VARCHAR)" for t in (a, b))
    times = " AND ".join(
        f"LENGTH({text}) = 5 AND {text} < '24' AND CAST(TRY_CAST({text} || ':00' AS TIME) AS VARCHAR) = {text} || ':00'"
        for text in (one, two)
    )
    days = (
        f"DATE_DIFF('minute', TRY_CAST({one} AS TIMESTAMP), TRY_CAST({two} AS TIMESTAMP))",
        f"DATE_DIFF('minute', TRY_CAST({one} || ':00' AS TIME), TRY_CAST({two} || ':00' AS TIME))",
    )
    both = f"{_is_datetime_duckdb(a)} AND {_is_datetime_duckdb(b)}"
    return f"CASE WHEN {both} THEN {days[0]} WHEN {times} THEN {days[1]} END"


def _add_minutes_sqlite(t: str, n: str) -> str:
    return (
        f"CASE WHEN {n} BETWEEN -50000000 AND 50000000 AND {_is_datetime_sqlite(t)} "
        f"THEN STRFTIME('%Y-%m-%dT%H:%M:%S', {t}, {n} || ' minutes') END"
    )


def _add_minutes_duckdb(t: str, n: str) -> str:
    moment = f"TRY_CAST(CAST({t} AS VARCHAR) AS TIMESTAMP) + TO_MINUTES(CAST({n} AS INTEGER))"
    return (
        f"CASE WHEN {n} BETWEEN -50000000 AND 50000000 AND {_is_datetime_duckdb(t)} "
        f"THEN REPLACE(CAST({moment} AS VARCHAR), ' ', 'T') END"
    )


def _pct_sqlite(amount: str, bp: str) -> str:
    product = f"{amount} * {bp}"
    return f"(({product} + CASE WHEN {product} < 0 THEN -5000 ELSE 5000 END) / 10000)"


def _pct_duckdb(amount: str, bp: str) -> str:
    product = f"CAST({amount} AS BIGINT) * CAST({bp} AS BIGINT)"
    return f"(({product} + CASE WHEN {product} < 0 THEN -5000 ELSE 5000 END) // 10000)"


def _idiv_duckdb(a: str, b: str) -> str:
    return f"(CAST({a} AS BIGINT) // NULLIF(CAST({b} AS BIGINT), 0))"


def _pick(comparison: str) -> Callable[[str, str], str]:
    # NULL if either is NULL, as SQLite's own two-argument MIN and MAX; DuckDB's LEAST would skip NULLs.
    return lambda a, b: f"CASE WHEN {a} {comparison} {b} THEN {a} WHEN {b} {comparison} {a} THEN {b} END"


MACROS: dict[str, Macro] = {
    "add_days": Macro("add_days(date, n)", ("date", "int"), "date", _add_days_sqlite, _add_days_duckdb),
    "days_between": Macro("days_between(a, b)", ("date", "date"), "int", _days_between_sqlite, _days_between_duckdb),
    "add_months": Macro("add_months(date, n)", ("date", "int"), "date", _add_months_sqlite, _add_months_duckdb),
    "month_of": Macro("month_of(date)", ("date",), "text", _month_of_sqlite, _month_of_duckdb),
    "date_of": Macro("date_of(datetime)", ("datetime",), "date", _part_sqlite(1, 10), _part_duckdb(1, 10)),
    "time_of": Macro("time_of(datetime)", ("datetime",), "time", _part_sqlite(12, 5), _part_duckdb(12, 5)),
    "minutes_between": Macro(
        "minutes_between(a, b)", ("moment", "moment"), "int", _minutes_between_sqlite, _minutes_between_duckdb
    ),
    "add_minutes": Macro(
        "add_minutes(datetime, n)", ("datetime", "int"), "datetime", _add_minutes_sqlite, _add_minutes_duckdb
    ),
    "idiv": Macro("idiv(a, b)", ("int", "int"), None, lambda a, b: f"({a} / NULLIF({b}, 0))", _idiv_duckdb),
    "pct_cents": Macro("pct_cents(amount, bp)", ("int", "int"), "cents", _pct_sqlite, _pct_duckdb),
    "contains_ci": Macro(
        "contains_ci(text, part)",
        ("text", "text"),
        "bool",
        lambda t, p: f"(INSTR(LOWER({t}), LOWER({p})) > 0)",
        lambda t, p: f"(INSTR({lower_duckdb(t)}, {lower_duckdb(p)}) > 0)",
        is_predicate=True,
    ),
    "least_of": Macro("least_of(a, b)", ("any", "any"), None, _pick("<="), _pick("<=")),
    "greatest_of": Macro("greatest_of(a, b)", ("any", "any"), None, _pick(">="), _pick(">=")),
}

_DATES = (
    "use add_days, days_between, add_months, month_of, date_of, time_of, minutes_between or add_minutes, "
    "and :today or :now for the clock"
)
_CHANCE = "the same call must give the same result; ids come from a new_id step"
REMEDIES: dict[str, str] = {
    **dict.fromkeys(
        ("date", "datetime", "time", "julianday", "strftime", "unixepoch", "date_add", "date_diff", "datediff", "now"),
        _DATES,
    ),
    **dict.fromkeys(("random", "randomblob", "uuid", "gen_random_uuid", "hex", "zeroblob"), _CHANCE),
    **dict.fromkeys(
        ("round", "ceil", "ceiling", "floor"), "amounts are whole cents: use pct_cents(amount, bp) or idiv(a, b)"
    ),
    **dict.fromkeys(("avg", "total"), "engines round averages differently: use idiv(SUM(x), COUNT(x))"),
    **dict.fromkeys(("like", "glob", "regexp", "contains", "ilike"), "use contains_ci(text, part)"),
    **dict.fromkeys(("iif", "if"), "use CASE WHEN ... THEN ... ELSE ... END"),
    **dict.fromkeys(("ifnull", "nvl"), "use COALESCE(a, b)"),
    **dict.fromkeys(("concat", "concat_ws", "printf", "format"), "use a || b"),
    **dict.fromkeys(
        ("group_concat", "string_agg", "json_group_array", "json_object", "json_array"),
        "return `rows`; the sandbox assembles them",
    ),
    **dict.fromkeys(
        ("json_each", "json_extract", "json_array_length"), "an array parameter is a relation: SELECT ... FROM its name"
    ),
    "mod": "write a - idiv(a, b) * b",
    "least": "use least_of(a, b)",
    "greatest": "use greatest_of(a, b)",
}
"""What to write instead of a function that the subset does not have."""
