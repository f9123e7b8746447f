"""`schema.yaml`: the tables of a domain."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from toolscale.records.base import Record

ColumnType = Literal["text", "int", "cents", "bool", "date", "datetime", "time"]
"""`cents`: integer minor units of the currency; `date` is `YYYY-MM-DD` text; `datetime` is `YYYY-MM-DDTHH:MM:SS` text;
`time` is a time of day, `HH:MM` text of 24 hours; `bool` is 0 or 1."""
TEXT_TYPES = frozenset(("text", "date", "datetime", "time"))
"""Types that an engine keeps as text; the others are whole numbers."""


class ColumnSpec(Record):
    """One column."""

    type: ColumnType
    description: str = ""
    pk: bool = False
    """Part of the primary key; several columns with `pk` form it in the order written."""
    fk: str | None = None
    """`table.column` that this column refers to."""
    nullable: bool = False
    values: tuple[str, ...] | None = None
    """The only values allowed."""
    check: str | None = None
    """An SQL condition over the row."""
    unique: bool = False
    unit: Annotated[str, Field(min_length=1, max_length=12)] | None = None
    """What a whole number counts, as it is written behind it: kg, km, °C, %, seats."""
    domain: str | None = None
    """The semantic domain, for columns that hold the same kind of thing without a foreign key between them."""
    volatile: bool = False
    """Not compared between end states (free text written by an agent, say). Never money."""


class TableSpec(Record):
    """One table."""

    description: str = ""
    columns: dict[str, ColumnSpec]
    check: tuple[str, ...] = ()
    """SQL conditions over the row."""
    unique: tuple[tuple[str, ...], ...] = ()
    """Sets of columns that no two rows share."""

    @property
    def key(self) -> tuple[str, ...]:
        """The columns of the primary key, in order."""
        return tuple(name for name, column in self.columns.items() if column.pk)


class SchemaSpec(Record):
    """All tables of a domain, parents before children."""

    tables: dict[str, TableSpec]

    def foreign_key(self, child: str, parent: str) -> tuple[str, str] | None:
        """Return (column of `child`, column of `parent`) of the first foreign key between them, or None."""
        for name, column in self.tables[child].columns.items():
            if column.fk and column.fk.split(".")[0] == parent:
                return name, column.fk.split(".")[1]
        return None
