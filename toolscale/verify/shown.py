"""What the calls of a rollout showed, as the grader of final messages reads it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from toolscale.environment.environment import Environment
from toolscale.environment.moments import is_datetime, is_time
from toolscale.language.deeds import Deeds, Verbs
from toolscale.language.shown import Shown, ShownRow, Value
from toolscale.patterns import regex
from toolscale.records import GoldenCall
from toolscale.sandbox.base import Rows
from toolscale.tasks.plan import Plan, calls_of
from toolscale.tasks.record import Recording

_LAST4 = 4
_KIND_OF_ENDING = {
    "_cents": "money",
    "_minutes": "duration",
    "_on": "date",
    "_at": "date",
    "_by": "date",
    "_time": "time",
}
_FEW = 24
"""A column with so few different words names kinds of things, not single ones."""
_CHOICE = regex(r"\[([^\]]*)\]")


def shown_by(environment: Environment, calls: Sequence[GoldenCall], lexicon: Lexicon) -> Shown:
    """Return what successful calls have shown: every row of their results, and their arguments, with the names of what
    they hang on.

    What somebody does not have (a loan of another kind) is known as a thing from the lexicon.
    """
    names = _Names(lexicon)
    for call in calls:
        for row in _rows_in(call.result):
            names.learn(row)
    rows: list[ShownRow] = []
    counts: set[int] = set()
    for call in calls:
        written = environment.tools[call.name].mutates_state
        hung = names.hung_on(call.arguments)
        rows += [ShownRow(names.of(row) | hung, _values(row), written) for row in _rows_in(call.result)]
        rows.append(ShownRow(hung, _values(call.arguments), written))
        for part in call.result.values() if isinstance(call.result, dict) else ():
            if isinstance(part, list):
                words = Counter(
                    str(word) for row in part if isinstance(row, dict) for word in row.values() if isinstance(word, str)
                )
                counts |= {len(part), *words.values()}
    return Shown(tuple(rows), frozenset(counts), names.sorts, names.by_key())


@dataclass(frozen=True)
class Lexicon:
    """The words of an environment: made once, used for every message."""

    names: Mapping[str, frozenset[str]]
    """What many rows are called (kinds, nicknames) -> the keys of their tables."""
    verbs: Verbs
    keys: Mapping[str, frozenset[str]]
    """Key of a table with one -> the columns of the table."""
    people: frozenset[str]
    """Keys of tables that refer to no other."""
    columns: frozenset[str]
    """Columns of text by which people describe rows."""


def lexicon_of(environment: Environment, rows: Rows) -> Lexicon:
    """Return the words by which the rows of an environment are called, and the calls of its tools."""
    found: dict[str, set[str]] = {}
    tables = environment.schema.tables
    people = frozenset(
        spec.key[0] for spec in tables.values() if not any(column.fk for column in spec.columns.values())
    )
    columns = frozenset(
        column
        for table, ways in environment.spec.language.describe.items()
        for way in ways.values()
        for column in way.cols
        if tables[table].key[0] not in people and tables[table].columns[column].type == "text"
    )
    for table, spec in tables.items():
        if len(spec.key) == 1 and spec.key[0] not in people:
            for place, column in enumerate(spec.columns):
                if column in columns:
                    values = {
                        " ".join(str(row[place]).lower().split()) for row in rows[table] if row[place] is not None
                    }
                    for value in values if len(values) <= _FEW else ():
                        found.setdefault(value, set()).add(spec.key[0])
    common = {noun for table in tables for noun in (table, table.removesuffix("s"))}
    return Lexicon(
        {name: frozenset(sorts) for name, sorts in found.items() if name not in common},
        Verbs(_verbs(environment)),
        {spec.key[0]: frozenset(spec.columns) for spec in tables.values() if len(spec.key) == 1},
        people,
        columns,
    )


def deeds_of(
    environment: Environment,
    calls: Sequence[GoldenCall],
    shown: Shown,
    verbs: Verbs,
    declined: frozenset[str],
    complete: bool,
) -> Deeds:
    """Return what successful calls did; `declined`: tools that were wanted and not called for all that was wanted.

    `complete`: no part was refused either.
    """
    done: dict[str, frozenset[str]] = {}
    for call in calls:
        if environment.tools[call.name].mutates_state:
            said = {" ".join(value.lower().split()) for value in call.arguments.values() if isinstance(value, str)}
            done[call.name] = done.get(call.name, frozenset()) | shown.hung_on(call.arguments) | said
    return Deeds(verbs, done, declined, complete and bool(done) and not declined)


def declined_tools(plan: Plan, recording: Recording) -> frozenset[str]:
    """Return the writing tools that a request wants called and that its plan did not call, or not for all of it."""
    planned = {call.tool.spec.name for call in calls_of(plan.steps) if call.tool.mutates_state}
    golden = {recorded.call.name for recorded in recording.writes}
    return frozenset(
        {step.tool.spec.name for step, _ in recording.forbidden}
        | (planned - golden if all(recording.branches) else planned)
    )


def _verbs(environment: Environment) -> dict[str, tuple[str, ...]]:
    """Return how a call of each writing tool is spoken of: by the words of the language, of its imperative, and of its
    own name."""
    language, found = environment.spec.language, {}
    for name, tool in environment.tools.items():
        if tool.mutates_state:
            asked = _CHOICE.match(language.acts.get(name, ""))
            verbs = [words.split()[0] for words in asked[1].split("|")] if asked else []
            found[name] = tuple(dict.fromkeys([*language.deeds.get(name, ()), *verbs, name.split("_")[0]]))
    return found


class _Names:
    """What rows are called: the texts of a row by which people describe it, and those of the rows that its keys refer
    to."""

    def __init__(self, lexicon: Lexicon) -> None:
        self._keys, self._people, self._columns = lexicon.keys, lexicon.people, lexicon.columns
        self.sorts = dict(lexicon.names)
        """Name -> the keys of the tables of whose rows it is a name."""
        self._own: dict[str, set[str]] = {}
        self._rows: dict[str, Mapping[str, Any]] = {}

    def learn(self, row: Mapping[str, Any]) -> None:
        """Remember what a row calls itself, under its own key: that of the table with which it shares most columns."""
        keys = [column for column in row if column in self._keys]
        if keys:
            own = max(keys, key=lambda column: len(self._keys[column] & row.keys()))
            if own not in self._people:
                texts = set(self._texts(row))
                self._own.setdefault(str(row[own]), set()).update(texts)
                self._rows[str(row[own])] = row
                for text in texts:
                    self.sorts[text] = self.sorts.get(text, frozenset()) | {own}

    def of(self, row: Mapping[str, Any]) -> frozenset[str]:
        """Return the names of a row and of the rows that it refers to. People, to whom everything belongs, are left
        out."""
        return frozenset(self._texts(row)) | self.hung_on(row)

    def by_key(self) -> dict[str, frozenset[str]]:
        """Return key of a row -> its names, and those of the rows that it refers to: a fee is given back to the account
        that it was taken from."""
        return {key: self.of(row) for key, row in self._rows.items()}

    def hung_on(self, row: Mapping[str, Any]) -> frozenset[str]:
        """Return the names of all rows to which the values of a row refer."""
        return frozenset(name for value in row.values() if isinstance(value, str) for name in self._own.get(value, ()))

    def _texts(self, row: Mapping[str, Any]) -> Iterator[str]:
        for column, value in row.items():
            if column in self._columns and isinstance(value, str):
                yield _as_name(value)


@lru_cache(maxsize=16384)
def _as_name(text: str) -> str:
    """Return a text as people's words are compared with it."""
    return " ".join(text.lower().split())


def _rows_in(result: Any) -> Iterator[Mapping[str, Any]]:
    """Yield the result itself without its rows, and every row in it."""
    if isinstance(result, dict):
        flat = {name: value for name, value in result.items() if not isinstance(value, dict | list)}
        if flat:
            yield flat
        for part in result.values():
            for row in part if isinstance(part, list) else [part]:
                if isinstance(row, dict):
                    yield row


def _values(row: Mapping[str, Any]) -> dict[str, Value]:
    """Return the values of a row that a message may state, by column."""
    found: dict[str, Value] = {}
    for column, value in row.items():
        if isinstance(value, str):
            kind = _kind_of(column)
            if kind == "date":
                found[column] = ("date", value[:10])
                if is_datetime(value):
                    found[f"{column} time"] = ("time", value[11:16])
            elif kind == "time" and is_time(value):
                found[column] = ("time", value)
            elif len(value) == _LAST4 and value.isdigit():
                found[column] = ("digits", value)
            else:
                found[column] = ("text", value)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            kind = _kind_of(column)
            found[column] = (kind if kind in ("money", "duration") else "number", int(value))
    return found


@lru_cache(maxsize=4096)
def _kind_of(column: str) -> str | None:
    """What the ending of a column's name says of its values, or None."""
    return next((kind for ending, kind in _KIND_OF_ENDING.items() if column.endswith(ending)), None)
