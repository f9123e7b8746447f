"""Makers of single values: each kind of `population.yaml` becomes a function of the row so far and its parent."""

from __future__ import annotations

import math
import random
import re
import sqlite3
import unicodedata
from collections.abc import Callable, Mapping
from datetime import date, timedelta
from functools import lru_cache
from itertools import accumulate
from typing import Any

from toolscale.environment.expressions import RowExpression
from toolscale.environment.moments import is_date, is_time
from toolscale.environment.picks import RowPicker
from toolscale.environment.sites import Maker, Row, Site, by_value
from toolscale.patterns import regex
from toolscale.records import population

_PLACEHOLDER = regex(r"\{([A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)?(?:\|[a-z_]*)?)\}")
_TRIES = 100
_CLOCKED = regex(
    r"date|time|year|month|day|century|am_pm|iso8601|past_|future_|profile|credit_card_full|expire|random_|py|json|xml|csv|binary|uuid|image|zip$"
)


def maker(value: population.Value, site: Site) -> Maker:
    """Return the function that makes this value at this site. SpecError if the value cannot work there."""
    return _MAKERS[type(value)](value, site)


def _literally(value: population.Literally, site: Site) -> Maker:
    constant = int(value.value) if isinstance(value.value, bool) else value.value
    return lambda row, parent: constant


def _sequence(value: population.Sequence, site: Site) -> Maker:
    key, counters = (site.table, site.column), site.shop.sequences
    taken = site.shop.taken.setdefault(key, set())

    def make(row: Row, parent: Row) -> str:
        while True:
            counters[key] = counters.get(key, -1) + 1
            made = f"{value.sequence}{value.start + value.step * counters[key]}"
            if made not in taken:
                taken.add(made)
                return made

    return make


@lru_cache(maxsize=8)
def _faker(locale: str) -> Any:
    from faker import Factory  # takes a tenth of a second; who only loads a world makes no rows

    return Factory.create(locale)


def _fake(value: population.Faker, site: Site) -> Maker:
    try:
        generator = _faker(site.shop.world.locale)
    except (AttributeError, ValueError) as error:
        raise site.wrong(
            f"Faker has no locale {site.shop.world.locale!r}", "use one such as en_US in environment.yaml"
        ) from error
    provider, rng = getattr(generator, value.faker, None), site.rng
    if not callable(provider) or value.faker.startswith("_"):
        raise site.wrong(
            f"Faker has no provider {value.faker!r}",
            "use one such as name, first_name, last_name, company, street_address, city",
        )
    if _CLOCKED.search(value.faker):
        raise site.wrong(
            f"the Faker provider {value.faker!r} is not repeatable or depends on the real clock",
            "use date, datetime, int or digits",
        )
    try:
        generator.random = random.Random(0)
        provider(**value.args)
    except Exception as error:  # third-party code with the author's arguments: whatever it says is the author's issue
        raise site.wrong(f"faker {value.faker}({value.args}) fails: {error}", "correct args") from error

    other = site.reader(value.unlike) if value.unlike else None

    def make(row: Row, parent: Row) -> Any:
        taken = other(row, parent) if other else None
        for _ in range(_TRIES):
            generator.random = rng
            made = provider(**value.args)
            made = made if isinstance(made, str | int) else str(made)
            if made != taken:
                return made
        raise site.wrong(
            f"{site.table}: faker {value.faker} gives nothing but {taken!r}, which {value.unlike} holds",
            "use another provider",
        )

    return make


def _choice(value: population.Choice, site: Site) -> Maker:
    options = list(value.choice)
    weights = list(value.choice.values()) if isinstance(value.choice, dict) else [1] * len(options)
    if isinstance(value.choice, dict):
        spec = site.shop.schema.tables[site.table].columns.get(site.column)
        if spec is not None and spec.type in ("int", "cents", "bool"):
            options = [
                int(option) if isinstance(option, str) and re.fullmatch(r"-?\d+", option) else option
                for option in options
            ]
    options = [int(option) if isinstance(option, bool) else option for option in options]
    if not options or min(weights) < 0 or sum(weights) <= 0:
        raise site.wrong("a choice of nothing", "give at least one value with a positive weight")
    cumulative, rng, place = list(accumulate(weights)), site.rng, site.place

    def draw(row: Row, parent: Row) -> Any:
        return options[_pick(cumulative, rng)]

    def draw_distinct(row: Row, parent: Row) -> Any:
        used = site.shop.distinct.setdefault(place, set())
        left = [
            (option, weight) for option, weight in zip(options, weights, strict=True) if option not in used and weight
        ]
        if not left:
            raise site.wrong(
                f"{site.table}: {len(options)} values are too few to be distinct among the rows of one parent",
                "add values or lower count",
            )
        made = left[_pick(list(accumulate(weight for _, weight in left)), rng)][0]
        used.add(made)
        return made

    return draw_distinct if value.distinct else draw


def _pick(cumulative: list[int], rng: random.Random) -> int:
    target = rng.randrange(cumulative[-1])
    low, high = 0, len(cumulative) - 1
    while low < high:
        middle = (low + high) // 2
        if cumulative[middle] > target:
            high = middle
        else:
            low = middle + 1
    return low


def _bounds(low: int, high: int, site: Site) -> None:
    if low > high:
        raise site.wrong(f"[{low}, {high}] is empty", "write the lower bound first")


def _int(value: population.IntRange, site: Site) -> Maker:
    low, high, step, rng = *value.int, value.step, site.rng
    _bounds(low, high, site)
    return lambda row, parent: low + step * rng.randrange((high - low) // step + 1)


def _cents(value: population.CentsRange, site: Site) -> Maker:
    low, high, step, rng = *value.cents, value.step, site.rng
    _bounds(low, high, site)
    first, last = -(-low // step) * step, high // step * step
    if first > last:
        raise site.wrong(f"no multiple of {step} lies in [{low}, {high}]", "widen the bounds or lower step")
    base = first if first > 0 else 1
    span = math.log((last - first + base) / base)

    def make(row: Row, parent: Row) -> int:
        drawn = first - base + base * math.exp(rng.random() * span)
        return min(max(round(drawn / step) * step, first), last)

    return make


def _date(value: population.DateRange, site: Site) -> Maker:
    low, high, rng, today = *value.date, site.rng, date.fromisoformat(site.shop.world.today)
    _bounds(low, high, site)
    start, after, before = (_day(name, site) for name in (value.from_, value.after, value.before))

    def make(row: Row, parent: Row) -> str:
        origin = start(row, parent) if start else today
        first, last = origin + timedelta(days=low), origin + timedelta(days=high)
        first = max(first, after(row, parent)) if after else first
        last = min(last, before(row, parent)) if before else last
        if first > last:
            raise site.wrong(
                f"{site.table}: no day lies between {first} and {last}",
                "widen the offsets, or choose another after or before",
            )
        return (first + timedelta(days=rng.randint(0, (last - first).days))).isoformat()

    return make


def _day(name: str | None, site: Site) -> Callable[[Row, Row], date] | None:
    """Return the function that reads a date of an earlier column, or None if no column is named."""
    if name is None:
        return None
    read = site.reader(name)

    def day(row: Row, parent: Row) -> date:
        found = read(row, parent)
        if not isinstance(found, str) or not is_date(found):
            raise site.wrong(
                f"{site.table}: {name} is {found!r}, not a date YYYY-MM-DD", "name a column that always holds a date"
            )
        return date.fromisoformat(found)

    return day


def _datetime(value: population.DatetimeRange, site: Site) -> Maker:
    low, high, rng, now = *value.datetime, site.rng, site.shop.world.now
    step = (value.step or 0) * 60
    _bounds(low, high, site)
    today = date.fromisoformat(now[:10])

    def make(row: Row, parent: Row) -> str:
        day = (today + timedelta(days=rng.randint(low, high))).isoformat()
        seconds = rng.randrange(86400 // step) * step if step else rng.randint(0, 86399)
        made = f"{day}T{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
        return min(made, now) if high <= 0 else made

    return make


def _time(value: population.TimeRange, site: Site) -> Maker:
    for bound in value.time:
        if not is_time(bound):
            raise site.wrong(f"{bound!r} is not a time of day", "write it as 'HH:MM', from '00:00' to '23:59'")
    low, high = (int(bound[:2]) * 60 + int(bound[3:]) for bound in value.time)
    if low > high:
        remedy = "write the earlier time first; a night is two ranges"
        raise site.wrong(f"[{', '.join(value.time)}] is empty", remedy)
    step, rng = value.step, site.rng

    def make(row: Row, parent: Row) -> str:
        minutes = low + step * rng.randrange((high - low) // step + 1)
        return f"{minutes // 60:02}:{minutes % 60:02}"

    return make


def _parent(value: population.Parent, site: Site) -> Maker:
    if not site.parent:
        raise site.wrong("this batch has no parent", "add per: TABLE")
    return site.reader(f"parent.{value.parent}")


def _digits(value: population.Digits, site: Site) -> Maker:
    used = site.shop.digits.setdefault((site.table, site.column), set())
    rng, width = site.rng, value.digits
    most = width if site.shop.scale == 1 else 18

    def make(row: Row, parent: Row) -> str:
        nonlocal width
        while len(used) >= 10**width * 9 // 10:
            if width == most:
                raise site.wrong(f"{site.table}: {width} digits are too few for this many rows", "use more digits")
            width += 1
        while True:
            made = str(rng.randrange(10**width)).rjust(width, "0")
            if made not in used:
                used.add(made)
                return made

    return make


def _expr(value: population.Expr, site: Site) -> Maker:
    expression = RowExpression(
        value.expr, site.shop.schema, site.own, {"parent": site.parent}, place=f"{site.place}.expr"
    )
    execute, text, clock = site.shop.connection.execute, expression.statement.sqlite, site.shop.clock

    def make(row: Row, parent: Row) -> Any:
        try:
            return execute(text, expression.binds(row, {"parent": parent}, clock)).fetchone()[0]
        except sqlite3.Error as error:
            raise site.wrong(f"{value.expr!r} fails: {error}", "correct the expression") from error

    return make


def _text(value: population.Template, site: Site) -> Maker:
    parts = _PLACEHOLDER.split(value.text)
    readers: list[str | Maker] = [_written(part, site) if position % 2 else part for position, part in enumerate(parts)]
    return lambda row, parent: "".join(part if isinstance(part, str) else part(row, parent) for part in readers)


def _written(part: str, site: Site) -> Maker:
    """Return the function that writes one `{column}` or `{column|manner}` of a text."""
    name, _, manner = part.partition("|")
    read, write = site.reader(name), _MANNERS.get(manner)
    if write is None:
        raise site.wrong(
            f"{{{part}}}: a text is not written as {manner!r}", f"use one of {', '.join(filter(None, _MANNERS))}"
        )

    def make(row: Row, parent: Row) -> str:
        found = read(row, parent)
        return "" if found is None else write(str(found))

    return make


def _handle(text: str) -> str:
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    return ".".join(filter(None, (re.sub(r"[^a-z0-9]", "", word) for word in plain.split())))


def _initial(text: str) -> str:
    return _handle(text)[:1]


_MANNERS: Mapping[str, Callable[[str], str]] = {"": str, "handle": _handle, "initial": _initial}


def _by(value: population.By, site: Site) -> Maker:
    read = site.reader(value.by)
    makers = by_value({case: maker(inner, site.inner(f"cases.{case}")) for case, inner in value.cases.items()})

    def make(row: Row, parent: Row) -> Any:
        found = read(row, parent)
        chosen = makers.get(str(found)) or makers.get("else")
        if chosen is None:
            raise site.wrong(f"{site.table}: {value.by} is {found!r}, which has no case", "add the case, or else")
        return chosen(row, parent)

    return make


def _maybe(value: population.Maybe, site: Site) -> Maker:
    rng, probability, otherwise = site.rng, value.null, maker(value.otherwise, site.inner("otherwise"))
    return lambda row, parent: None if rng.random() < probability else otherwise(row, parent)


def _other(value: population.Other, site: Site) -> Maker:
    rows = [row for row in site.shop.tables.get(site.table, []) if id(row) not in site.changing]
    if not site.changing:
        raise site.wrong("other stands outside of plant", "use it in set of a plant")
    if not rows:
        raise site.wrong(f"no other row of {site.table} is left", "lower count")
    site.need(value.other, site.own, value.other)
    rng = site.rng

    def make(row: Row, parent: Row) -> Any:
        for _ in range(_TRIES):
            made = rows[rng.randrange(len(rows))][value.other]
            if made != parent.get(value.other):
                return made
        raise site.wrong(f"no other row of {site.table} has another {value.other}", "make the rows differ")

    return make


def _ref(value: population.Ref, site: Site) -> Maker:
    return RowPicker(value, site).make


_MAKERS: Mapping[type[Any], Callable[[Any, Site], Maker]] = {
    population.Literally: _literally,
    population.Sequence: _sequence,
    population.Faker: _fake,
    population.Choice: _choice,
    population.IntRange: _int,
    population.CentsRange: _cents,
    population.DateRange: _date,
    population.DatetimeRange: _datetime,
    population.TimeRange: _time,
    population.Parent: _parent,
    population.Ref: _ref,
    population.Digits: _digits,
    population.Expr: _expr,
    population.Template: _text,
    population.By: _by,
    population.Maybe: _maybe,
    population.Other: _other,
}
