"""What a column holds, by the type that a database declares: each word of its name counts, not how the name begins."""

from __future__ import annotations

import re
from typing import Literal

Kind = Literal["whole", "decimal", "real", "money", "bool", "date", "moment", "time", "text", "any"]
"""`moment`: a day with a time. `any`: the values say what it is."""

_WORDS: dict[Kind, str] = {
    "whole": "int integer tinyint smallint mediumint bigint int1 int2 int3 int4 int8 int16 int32 int64 int128 hugeint "
    "uhugeint utinyint usmallint uint uinteger ubigint serial bigserial smallserial serial2 serial4 serial8 counter "
    "year",
    "decimal": "decimal dec numeric number fixed",
    "real": "real float double float4 float8 single",
    "money": "money smallmoney currency",
    "bool": "bool boolean",
    "date": "date",
    "moment": "datetime datetime2 smalldatetime datetimeoffset timestamp timestamptz timestamp_s timestamp_ms "
    "timestamp_us timestamp_ns timestamp_tz",
    "time": "time timetz time_ns",
    "text": "text char varchar character nchar nvarchar varchar2 nvarchar2 bpchar clob ntext tinytext mediumtext "
    "longtext longvarchar varyingcharacter string uuid guid uniqueidentifier citext name enum set inet cidr macaddr",
}
_KINDS: dict[str, Kind] = {word: kind for kind, words in _WORDS.items() for word in words.split()}
_OTHERS = (
    "blob tinyblob mediumblob longblob bytea binary varbinary image raw json jsonb bit varbit bitstring array list "
    "struct row map union variant object interval geometry geography point polygon linestring line lseg box path "
    "circle xml hstore vector halfvec sparsevec tsvector tsquery rowversion"
)
_NO_VALUES = frozenset(_OTHERS.split())
"""Of types whose values no column here can hold."""


def kind_of(declared: str, unknown: Kind | None = None) -> Kind | None:
    """Return what a column of a declared type holds (`NUMERIC(10, 2)`, `unsigned big int`): None for bytes, lists,
    objects and the like; `unknown` for a type that has no word of those known here."""
    if "[" in declared or declared.rstrip().upper().endswith(" ARRAY"):
        return None
    for word in re.findall(r"[a-z][a-z0-9_]*", declared.partition("(")[0].lower()):
        if word in _NO_VALUES:
            return None
        if word in _KINDS:
            return _KINDS[word]
    return unknown


def has_cents(declared: str) -> bool:
    """Return whether numbers of a type have two decimals: `DECIMAL(10,2)`."""
    return re.search(r"\(\s*\d+\s*,\s*2\s*\)", declared) is not None


def labels_of(declared: str) -> tuple[str, ...]:
    """Return the values of a type `ENUM('open', 'it''s')`; none of another."""
    if not declared.upper().startswith("ENUM("):
        return ()
    return tuple(label.replace("''", "'") for label in re.findall(r"'((?:[^']|'')*)'", declared))
