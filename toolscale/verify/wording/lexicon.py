"""The words of an environment, made once: what many of its rows are called, and the verbs for its tools."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from toolscale.environment.environment import Environment
from toolscale.patterns import regex
from toolscale.sandbox.base import Rows

_FEW = 24
"""A column with so few different words names kinds of things, not single ones."""
_CHOICE = regex(r"\[([^\]]*)\]")


@dataclass(frozen=True)
class Lexicon:
    """The words of an environment."""

    names: Mapping[str, frozenset[str]]
    """What many rows are called (kinds, nicknames) -> the keys of their tables."""
    verbs: Mapping[str, tuple[str, ...]]
    """Writing tool -> base forms of the verbs for it, of one word or several (`block for good`)."""


def lexicon_of(environment: Environment, rows: Rows) -> Lexicon:
    """Return the words by which the rows of an environment are called, and the calls of its tools."""
    tables, found = environment.schema.tables, dict[str, set[str]]()
    people = {spec.key[0] for spec in tables.values() if not any(column.fk for column in spec.columns.values())}
    columns = {
        column
        for table, ways in environment.spec.language.describe.items()
        for way in ways.values()
        for column in way.cols
        if tables[table].key[0] not in people and tables[table].columns[column].type == "text"
    }
    for table, spec in tables.items():
        if len(spec.key) != 1 or spec.key[0] in people:
            continue
        for place, column in enumerate(spec.columns):
            if column in columns:
                values = {" ".join(str(row[place]).lower().split()) for row in rows[table] if row[place] is not None}
                for value in values if len(values) <= _FEW else ():
                    found.setdefault(value, set()).add(spec.key[0])
    common = {noun for table in tables for noun in (table, table.removesuffix("s"))}
    names = {name: frozenset(sorts) for name, sorts in found.items() if name not in common}
    return Lexicon(names, _verbs(environment))


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
