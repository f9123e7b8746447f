"""Whatever is written, the answer is a compiled statement or a SpecError, and what compiles is what both engines
take."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.sql.written import LETS, PARAMS, RELATIONS, SELECTS, VALUES, WRITES
from toolscale.errors import SpecError
from toolscale.records import SchemaSpec
from toolscale.sql.audit import bind_on_duckdb, memory_database, second_opinion
from toolscale.sql.statements import compile_select, compile_write

TEXTS = [*SELECTS, *WRITES]
WORDS = sorted({word for text in TEXTS for word in re.findall(r"\w+|[^\w\s]", text)})


@st.composite
def mangled(draw: st.DrawFn) -> str:
    """A statement in which a few words were dropped, doubled or exchanged."""
    words = re.findall(r"'(?:[^']|'')*'|[:\w.]+|[^\w\s]", draw(st.sampled_from(TEXTS)))
    for _ in range(draw(st.integers(1, 3))):
        place = draw(st.integers(0, len(words) - 1))
        words[place : place + 1] = draw(st.sampled_from([[], [words[place]] * 2, [draw(st.sampled_from(WORDS))]]))
        words = words or ["SELECT"]
    return " ".join(words)


@given(mangled() | st.text(max_size=40) | st.text("SELECT()*,;':.-/ 1aFROM\n", max_size=60))
@settings(max_examples=400, deadline=None)
def test_a_text_compiles_for_both_engines_or_is_refused(bank: SchemaSpec, text: str) -> None:
    compile_text = compile_write if text.lstrip()[:6].upper() in ("UPDATE", "INSERT", "DELETE") else compile_select
    try:
        statement = compile_text(text, bank, params=PARAMS, lets=LETS, relations=RELATIONS)
    except SpecError as error:
        assert all(issue.problem and issue.remedy and "\n" not in str(issue) for issue in error.issues)
        return
    connection = memory_database(bank)
    try:
        opinions = second_opinion([("p", statement)], bank, connection)
        # SQLite leaves out columns of conditions that are constant; such a statement is refused too, but at admission.
        assert [issue for issue in opinions if "we understood" not in issue.problem] == []
    finally:
        connection.close()
    assert bind_on_duckdb([("p", statement)], bank) == []


@given(mangled())
@settings(max_examples=400, deadline=None)
def test_what_compiles_means_the_same_on_both_engines(
    bank: SchemaSpec, on_both: Callable[..., tuple[Any, Any]], text: str
) -> None:
    compile_text = compile_write if text[:6] in ("UPDATE", "INSERT", "DELETE") else compile_select
    try:
        statement = compile_text(text, bank, params=PARAMS, lets=LETS, relations=RELATIONS)
    except SpecError:
        return
    one, two = on_both(statement, VALUES)
    if statement.columns and " ORDER BY " not in text:
        one, two = sorted(one, key=repr), sorted(two, key=repr)
    assert one == two
