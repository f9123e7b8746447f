"""What a domain is about, in words: the first thing that a model drafts, and what all its files follow."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection
from typing import Any, Literal

from pydantic import Field, ValidationError

from toolscale.environment.scaffold import Entity, read_tables
from toolscale.errors import ToolScaleError
from toolscale.records import Record

WISHES = 25
"""Kinds of requests that a domain has at least, unless somebody asks for another number."""

_ID = r"^[a-z][a-z0-9]*(_[a-z0-9]+)*$"


class Subject(Record):
    """One table, in words."""

    table: str = Field(description="its name as in `tables`, one row of it: loan")
    columns: str = Field(description="what is known of one row, in a sentence: dates, amounts in cents, states, names")


class Wish(Record):
    """A kind of request that people make."""

    id: str = Field(pattern=_ID, description="a short name: renew_loan")
    kind: Literal["do", "ask", "refuse", "transfer"] = Field(
        description="do: something is changed; ask: only a question; refuse: the policy forbids it; transfer: the "
        "policy has a person take over"
    )
    wish: str = Field(description="what the person wants, in one sentence, with the detail that makes it decidable")


class Brief(Record):
    """What a domain is about."""

    title: str = Field(max_length=80, description="of the service: Pet insurance")
    description: str = Field(max_length=300, description="one sentence: who is served, with what")
    tables: str = Field(
        max_length=2_000,
        description="the tables in one line, one row of each named, the person who asks first: "
        "patron, title, copy of title, loan of copy by patron",
    )
    subjects: tuple[Subject, ...] = Field(description="each table, in the same order")
    rules: tuple[str, ...] = Field(description="the policy: each rule one sentence with its figures")
    transfer_reasons: dict[str, str] = Field(
        description="why a person takes over: a short code -> what it means in a sentence"
    )
    wishes: tuple[Wish, ...] = Field(description="the kinds of requests")


def least_of(wishes: int) -> dict[str, int]:
    """Return how many wishes of each kind there must be at least, of so many in all."""
    return {"do": wishes // 2, "ask": wishes // 6, "refuse": wishes // 6, "transfer": 1}


def least_rules(wishes: int) -> int:
    """Return how many rules the policy must have at least, for so many wishes."""
    return wishes // 3


def brief_schema() -> dict[str, Any]:
    """Return the JSON Schema of a brief."""
    return Brief.model_json_schema()


def brief_findings(value: Any, wishes: int = WISHES, given: Collection[str] = ()) -> list[str]:
    """Return what is wrong with a brief of so many wishes that fits its schema, a line each. If tables are `given`, it
    must name exactly these."""
    try:
        brief = Brief.model_validate(value)
    except ValidationError as error:
        return [f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in error.errors(include_url=False)][:8]
    found = [f"wishes: {name!r} stands there twice" for name, count in _ids(brief).items() if count > 1]
    kinds = Counter[str](wish.kind for wish in brief.wishes)
    found += [
        f"wishes: {kinds[kind]} of kind {kind!r}; write {least} or more"
        for kind, least in least_of(wishes).items()
        if kinds[kind] < least
    ]
    if len(brief.wishes) < wishes:
        found.append(f"wishes: {len(brief.wishes)}; write {wishes} or more")
    if len(brief.rules) < (rules := least_rules(wishes)):
        found.append(f"rules: {len(brief.rules)}; write {rules} or more")
    if not brief.transfer_reasons:
        found.append("transfer_reasons: none; write one or more")
    found += [f"transfer_reasons: {code!r} is no name" for code in brief.transfer_reasons if not re.match(_ID, code)]
    try:
        entities = read_tables(brief.tables)
    except ToolScaleError as error:
        return [*found, f"tables: {str(error).removeprefix('--tables: ')}"]
    if given and (other := {entity.table for entity in entities} ^ set(given)):
        found.append(f"tables: {', '.join(sorted(other))}: name one row of each of these, no more: {', '.join(given)}")
    named, meant = [subject.table for subject in brief.subjects], [entity.name for entity in entities]
    if named != meant:
        found.append(f"subjects: they are {', '.join(named)}; write one for each of {', '.join(meant)}, in this order")
    return found


def entities_of(brief: Brief) -> list[Entity]:
    """Return the tables of a sound brief; the first is the person who asks."""
    return read_tables(brief.tables)


def _ids(brief: Brief) -> Counter[str]:
    return Counter(wish.id for wish in brief.wishes)
