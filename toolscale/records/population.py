"""`population.yaml`: how the rows of a domain are made from a seed."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, Discriminator, Field, Tag

from toolscale.records.base import Record

Scalar = str | int | bool | None


class Literally(Record):
    """Always the same value."""

    value: Scalar


class Sequence(Record):
    """`prefix` and a number that grows by `step` with each row of the table."""

    sequence: str
    start: int = 1001
    step: int = 1


class Faker(Record):
    """A provider of the Faker library in the environment's locale, by name: `name`, `street_address`, `company`."""

    faker: str
    args: dict[str, Any] = Field(default_factory=dict)
    unlike: str | None = None
    """Never what this earlier column of the row holds, or `parent.COLUMN`: a brother has another given name than the
    client."""


class Choice(Record):
    """One of the values, weighted if given as a mapping; `distinct` draws without replacement among the rows of one
    parent."""

    choice: tuple[Scalar, ...] | dict[str, int]
    distinct: bool = False


class IntRange(Record):
    """A whole number between the two bounds, both included, on a grid of `step`."""

    int: tuple[int, int]
    step: Annotated[int, Field(ge=1)] = 1  # type: ignore[valid-type]


class CentsRange(Record):
    """An amount in cents between the bounds, log-uniform (many small, few large), rounded to a multiple of `step`
    cents."""

    cents: tuple[int, int]
    step: Annotated[int, Field(ge=1)] = 1


class DateRange(Record):
    """A date between the two offsets, in days from the environment's clock (negative: in the past).

    `from`, `after` and `before` name an earlier column of this row, or `parent.COLUMN`, that holds a date.
    """

    date: tuple[int, int]
    from_: str | None = Field(default=None, alias="from")
    """Count the offsets from this date instead of the clock."""
    after: str | None = None
    """Never earlier than this date."""
    before: str | None = None
    """Never later than this date."""


class DatetimeRange(Record):
    """A moment of a day between the two offsets, in days from the environment's clock; with a `step`, at whole
    multiples of so many minutes after midnight."""

    datetime: tuple[int, int]
    step: Annotated[int, Field(ge=1, le=1440)] | None = None


class TimeRange(Record):
    """A time of day between the two (`HH:MM`, both included), at multiples of `step` minutes after the first."""

    time: tuple[str, str]
    step: Annotated[int, Field(ge=1, le=1440)] = 1


class Parent(Record):
    """The value of this column of the parent row (helper columns that begin with `_` included)."""

    parent: str


class Ref(Record):
    """The primary key of a random row of another table (one that was made before) for which every pair of `match` is
    equal (their column: our column) and `where` holds; NULL when there is none and `optional`."""

    ref: str
    match: dict[str, str] = Field(default_factory=dict)
    where: str | None = None
    optional: bool = False
    distinct: bool = False
    """Draw without replacement over the whole table."""


class Digits(Record):
    """So many random decimal digits, as text; unique within the table. At a scale above 1 there are more of them once
    nine tenths of the numbers are used."""

    digits: Annotated[int, Field(ge=1, le=18)]


class Expr(Record):
    """An SQL expression (of the tools' subset) over earlier columns of this row; `parent.COLUMN` and `:now`, `:today`
    may be used.

    Inside a SELECT, which reads the tables made so far, a column of this row is written `:column`.
    """

    expr: str


class Template(Record):
    """Text with `{column}` of earlier columns of this row, or `parent.COLUMN`.

    `{column|handle}` writes it as in an e-mail address (`Ann O'Neil` is `ann.oneil`), `{column|initial}` its first
    letter in lower case.
    """

    text: str


class By(Record):
    """A value chosen by an earlier column of this row, or by `parent.COLUMN`; `mother | sister` is a case for both,
    `else` takes the rest.

    So a given name follows a gender: `{by: _gender, cases: {female: {faker: first_name_female}, male: {faker:
    first_name_male}}}`.
    """

    by: str
    cases: dict[str, Value]


class Maybe(Record):
    """NULL with this probability (0 to 1), otherwise the value."""

    null: Annotated[float, Field(ge=0, le=1)]
    otherwise: Value


class Other(Record):
    """The value of this column in another row of the same table, not among those being changed (homonyms). Only in
    `plant`."""

    other: str


KINDS: dict[str, type[Record]] = {
    "value": Literally,
    "sequence": Sequence,
    "faker": Faker,
    "choice": Choice,
    "int": IntRange,
    "cents": CentsRange,
    "date": DateRange,
    "datetime": DatetimeRange,
    "time": TimeRange,
    "parent": Parent,
    "ref": Ref,
    "digits": Digits,
    "expr": Expr,
    "text": Template,
    "by": By,
    "null": Maybe,
    "other": Other,
}


def _kind(value: Any) -> str | None:
    keys = value if isinstance(value, dict) else type(value).model_fields if isinstance(value, Record) else ()
    return next((kind for kind in KINDS if kind in keys), None)


Value = Annotated[
    Annotated[Literally, Tag("value")]
    | Annotated[Sequence, Tag("sequence")]
    | Annotated[Faker, Tag("faker")]
    | Annotated[Choice, Tag("choice")]
    | Annotated[IntRange, Tag("int")]
    | Annotated[CentsRange, Tag("cents")]
    | Annotated[DateRange, Tag("date")]
    | Annotated[DatetimeRange, Tag("datetime")]
    | Annotated[TimeRange, Tag("time")]
    | Annotated[Parent, Tag("parent")]
    | Annotated[Ref, Tag("ref")]
    | Annotated[Digits, Tag("digits")]
    | Annotated[Expr, Tag("expr")]
    | Annotated[Template, Tag("text")]
    | Annotated[By, Tag("by")]
    | Annotated[Maybe, Tag("null")]
    | Annotated[Other, Tag("other")],
    Discriminator(
        _kind,
        custom_error_type="value_kind",
        custom_error_message=f"not a kind of value; use one of {', '.join(KINDS)}",
    ),
]


def _ascending(count: tuple[int, int]) -> tuple[int, int]:
    if count[0] > count[1]:
        raise ValueError(f"the least, {count[0]}, is above the most, {count[1]}")
    return count


Number = Annotated[int, Field(ge=0, le=1_000_000)]
Count = Number | Annotated[tuple[Number, Number], AfterValidator(_ascending)]
"""A number of rows, or the least and the most."""


class CountBy(Record):
    """A number of rows chosen by a column of the parent row; `car | boat` is a case for both, `else` takes the rest."""

    by: str
    cases: dict[str, Count]


class TableRows(Record):
    """One batch of rows of one table."""

    table: str
    per: str | None = None
    """Make `count` rows for each row of this table (made before)."""
    where: str | None = None
    """Only for parents for which this SQL condition over the parent's columns holds."""
    count: Count | CountBy
    columns: dict[str, Value]
    """Every column of the table, in the order in which they are made; names that begin with `_` are helpers and are not
    stored."""


class Plant(Record):
    """A scenario put into the rows on purpose: rows copied (`copy`) or changed (`change`) so that a task has something
    to find, or to confuse."""

    title: str
    copy_: str | None = Field(default=None, alias="copy")
    """The table of which rows are copied, with `set` applied to the copy."""
    change: str | None = None
    """The table of which rows are changed in place."""
    where: str | None = None
    """SQL condition for the rows taken."""
    count: Number
    """How many rows, drawn by the seed; an error if there are fewer."""
    set: dict[str, Value]


class PopulationSpec(Record):
    """The whole recipe: tables in order, then `plant`, then `derive`."""

    seed: int
    """Added to the seed of the run, so that two domains differ."""
    tables: tuple[TableRows, ...]
    plant: tuple[Plant, ...] = ()
    derive: tuple[str, ...] = ()
    """INSERT, UPDATE and DELETE statements run last, in order: balances from postings, statuses from dates. `:now` and
    `:today` may be used."""
