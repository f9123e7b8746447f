"""Superlatives from the types of columns: what a `language.yaml` with `superlatives` need not describe itself.

    amount_cents    biggest, smallest                my biggest open bill
    fee_cents       highest_fee, lowest_fee          my open loan with the highest fee
    due_on          due_first, due_last              my open loan that is due last
    opened_on       opened_first, opened_last        whichever of my accounts was opened first
    departs_time    departs_earliest, departs_latest the train that departs earliest (also departs_at)
    arrival_time    earliest_arrival, latest_arrival the train with the latest arrival (also arrival_at)
    length_minutes  shortest, longest                my longest appointment
    wait_minutes    shortest_wait, longest_wait      the desk with the shortest wait

They stand after the descriptions that the file has itself, which are the more exact ones. A description of the file
takes the place of a derived one with its name or its order.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from toolscale.environment.complaints import unknown
from toolscale.environment.derived_tools import IDENTITY
from toolscale.errors import SpecIssue
from toolscale.patterns import regex
from toolscale.records import Description, LanguageSpec, SchemaSpec

FILE = "language.yaml"
_PARTICIPLE = regex(r"due|\w+ed|bought|sold|paid|sent|made|given|taken|begun|written|lent|built|chosen|drawn")
_ENDINGS = {"time": "_time", "datetime": "_at"}
_VERB = regex(r"[a-z]+[^s]s")
_WHOLE = ("length", "duration", "total")
"""What has so many minutes is itself short or long."""
_FITTING = (
    "a column of money (_cents), minutes (_minutes) or times (_time), or a day that has a participle (due_on, "
    "opened_on), and is never empty"
)


def with_superlatives(language: LanguageSpec, schema: SchemaSpec) -> tuple[LanguageSpec, list[SpecIssue]]:
    """Return the language with the superlatives that it asks for, and what is wrong with `superlatives`."""
    issues: list[SpecIssue] = []
    if language.superlatives == "auto":
        wanted: Mapping[str, Sequence[str]] = {
            table: list(schema.tables[table].columns) for table in language.describe if table in schema.tables
        }
    else:
        wanted = language.superlatives
        issues += _issues(wanted, schema)
    describe = dict(language.describe)
    for table, columns in wanted.items():
        own = describe.get(table, {})
        if table in schema.tables and IDENTITY not in own:
            orders = {"".join(item.first.split()) for item in own.values() if item.first}
            made = {
                name: item
                for column in columns
                for name, item in _descriptions(language, schema, table, column)
                if name not in own and "".join((item.first or "").split()) not in orders
            }
            describe[table] = {**own, **made}
    return language.model_copy(update={"describe": describe}), issues


def _issues(wanted: Mapping[str, Iterable[str]], schema: SchemaSpec) -> Iterator[SpecIssue]:
    for table, columns in wanted.items():
        place = f"superlatives.{table}"
        if table not in schema.tables:
            yield unknown("table", table, schema.tables, FILE, place, is_key=True)
            continue
        known = schema.tables[table].columns
        for column in columns:
            if column not in known:
                yield unknown(f"column of {table}", column, known, FILE, place)
            elif not _kind(schema, table, column):
                yield SpecIssue(FILE, place, f"{column} makes no superlative", f"name {_FITTING}, or describe it")


def _kind(schema: SchemaSpec, table: str, column: str) -> str:
    """Return `money`, `date`, `clock`, `length`, or nothing where a column makes no superlative. A moment with a
    participle (`created_at`) is no thing to ask by: it says when a row was written."""
    spec = schema.tables[table].columns.get(column)
    if spec is None or spec.nullable:
        return ""
    if spec.type == "cents" and column.endswith("_cents"):
        return "money"
    if spec.type == "int" and column.endswith("_minutes"):
        return "length"
    if spec.type in _ENDINGS and column.endswith(_ENDINGS[spec.type]):
        word = column.removesuffix(_ENDINGS[spec.type])
        return "" if spec.type == "datetime" and _PARTICIPLE.fullmatch(word) else "clock"
    return "date" if spec.type == "date" and _PARTICIPLE.fullmatch(column.removesuffix("_on")) else ""


def _descriptions(
    language: LanguageSpec, schema: SchemaSpec, table: str, column: str
) -> Iterator[tuple[str, Description]]:
    """Yield the superlatives of a column, each with its name."""
    kind, spec = _kind(schema, table, column), schema.tables[table]
    people = {name for name, ways in language.describe.items() if IDENTITY in ways}
    is_own = any(item.fk and item.fk.partition(".")[0] in people for item in spec.columns.values())
    whose, adjective = "my" if is_own else "the", "{adj} " if language.adjectives.get(table) else ""
    one = language.nouns.get(table, table.removesuffix("s").replace("_", " "))
    many = language.plurals.get(table, table.replace("_", " "))
    if kind == "money":
        word = column.removesuffix("_cents")
        for size, first in (("highest", f"-{{r}}.{column}"), ("lowest", f"{{r}}.{column}")):
            if word == "amount":
                short = {"highest": "biggest", "lowest": "smallest"}[size]
                said = f"{whose} {short} {adjective}{one}", f"whichever of {whose} {adjective}{many} is {short}"
                yield short, _description(first, said, short)
            else:
                cue = f"{size} {word.replace('_', ' ')}"
                said = (
                    f"{whose} {adjective}{one} with the {cue}",
                    f"whichever of {whose} {adjective}{many} has the {cue}",
                )
                yield f"{size}_{word}", _description(first, said, cue)
    elif kind == "date":
        word = column.removesuffix("_on")
        verb = "is" if word == "due" else "was"
        for place, first in (("first", f"{{r}}.{column}"), ("last", f"days_between({{r}}.{column}, :today)")):
            cue = f"{word.replace('_', ' ')} {place}"
            said = f"{whose} {adjective}{one} that {verb} {cue}", f"whichever of {whose} {adjective}{many} {verb} {cue}"
            yield f"{word}_{place}", _description(first, said, cue)
    elif kind in ("clock", "length"):
        yield from _of_time(column, kind, spec.columns[column].type, (whose, adjective, one, many))


def _of_time(
    column: str, kind: str, column_type: str, words: tuple[str, str, str, str]
) -> Iterator[tuple[str, Description]]:
    """Yield what is earliest and latest, or shortest and longest. A word in -s is a verb: what departs, what starts."""
    whose, adjective, one, many = words
    start = ":now" if column_type == "datetime" else "'00:00'"
    last = f"-{{r}}.{column}" if kind == "length" else f"minutes_between({{r}}.{column}, {start})"
    word = re.sub(r"_(?:minutes|time|at)\Z", "", column)
    said = word.replace("_", " ")
    sizes = ("shortest", "longest") if kind == "length" else ("earliest", "latest")
    for size, first in zip(sizes, (f"{{r}}.{column}", last), strict=True):
        if kind == "length" and word in _WHOLE:
            texts = f"{whose} {size} {adjective}{one}", f"whichever of {whose} {adjective}{many} is {size}"
            yield size, _description(first, texts, size)
        elif kind == "clock" and _VERB.fullmatch(word):
            cue = f"{said} {size}"
            texts = f"{whose} {adjective}{one} that {cue}", f"whichever of {whose} {adjective}{many} {cue}"
            yield f"{word}_{size}", _description(first, texts, cue)
        else:
            cue = f"{size} {said}"
            texts = f"{whose} {adjective}{one} with the {cue}", f"whichever of {whose} {adjective}{many} has the {cue}"
            yield f"{size}_{word}", _description(first, texts, cue)


def _description(first: str, said: tuple[str, str], cue: str) -> Description:
    return Description(first=first, text=f"[{'|'.join(said)}]", cues=(cue,))
