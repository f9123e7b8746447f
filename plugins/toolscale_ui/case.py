"""One rejected candidate, ready to be read: calls with results, what failed, and which cells came out otherwise than
they should."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import TypeAdapter, ValidationError

from toolscale.dataset.describing.cells import Plain, Shown, cell_text, change_kind, laid_out
from toolscale.records import RowChange

Row = dict[str, Any]

NO_ROW = "no row"
_CHANGES = TypeAdapter(tuple[RowChange, ...])


@dataclass(frozen=True)
class Call:
    """A call as an agent makes it, with what came back; a trajectory that was only graded has no results."""

    name: str
    arguments: Sequence[tuple[str, str]]
    result: Shown | None
    error: str = ""


@dataclass(frozen=True)
class Cell:
    """A column of a row: before, as expected, and as the deciding trajectory left it."""

    name: str
    before: str
    expected: str
    actual: str
    changed: bool
    """Somebody changed it."""
    differs: bool
    """Expected and actual are not the same."""


@dataclass(frozen=True)
class RowComparison:
    """A row that somebody changed."""

    table: str
    key: str
    expected: str
    """What should become of it: new row, row changed, row deleted, not touched."""
    actual: str
    cells: Sequence[Cell]
    there: bool
    """Whether the row was there before."""

    @property
    def differs(self) -> bool:
        """Whether expected and actual are not the same."""
        return any(cell.differs for cell in self.cells)


@dataclass(frozen=True)
class Survivor:
    """The trajectory that decided against the candidate."""

    title: str
    what: str
    operator: str
    calls: Sequence[Call]
    answer: str


@dataclass(frozen=True)
class Case:
    """All of a page."""

    calls: Sequence[Call]
    survivor: Survivor | None
    rows: Sequence[RowComparison]
    compared: bool
    """Whether there are actual row changes to compare with."""
    unreadable: Sequence[str]
    """Columns that do not hold what they should."""
    held: Sequence[str]
    """Of a dialogue: what the person tells only when asked."""


def case_of(row: Row) -> Case:
    """Return what a row of rejects says. Its cells are not trusted: one that does not hold what it should is named
    instead."""
    unreadable: list[str] = []
    changes: dict[str, tuple[RowChange, ...] | None] = {}
    for name in ("expected_row_changes", "actual_row_changes"):
        try:
            changes[name] = _CHANGES.validate_json(row[name]) if row[name] else None
        except (ValidationError, RecursionError):
            changes[name] = None
            unreadable.append(name)
    survivor = None
    if row["survivor"]:
        survivor = _survivor(_parsed(row["survivor"]), {failed["gate"] for failed in row["failed"]})
        unreadable += [] if survivor else ["survivor"]
    expected, actual = changes["expected_row_changes"], changes["actual_row_changes"]
    return Case(
        calls=[_call(call) for call in row["golden_calls"]],
        survivor=survivor,
        rows=compare(expected or (), expected or () if actual is None else actual),
        compared=actual is not None,
        unreadable=unreadable,
        held=_held(_parsed(row["candidate"])),
    )


def _held(candidate: Any) -> list[str]:
    replies = candidate.get("replies", ()) if isinstance(candidate, dict) else ()
    items = replies if isinstance(replies, list | tuple) else ()
    return [str(each.get("says", "")) for each in items if isinstance(each, dict) and each.get("held") is True]


def compare(expected: Sequence[RowChange], actual: Sequence[RowChange]) -> list[RowComparison]:
    """Return every row that either side changed, cell by cell: those first in which the sides differ, each in the order
    of the expected ones."""
    left, right = ({(change.table, change.key): change for change in side} for side in (expected, actual))
    rows = [_compared(left.get(key), right.get(key)) for key in dict.fromkeys([*left, *right])]
    return sorted(rows, key=lambda row: not row.differs)


def _compared(expected: RowChange | None, actual: RowChange | None) -> RowComparison:
    change = expected or actual
    assert change is not None, "one side changed the row"
    before = change.before
    afters = [side.after if side else before for side in (expected, actual)]
    names = dict.fromkeys(name for row in (before, *afters) for name in row or {})
    cells = []
    for name in names:
        was, should, did = (_cell(row, name) for row in (before, *afters))
        values = [row.get(name) if row else None for row in afters]
        differs = (afters[0] is None) != (afters[1] is None) or values[0] != values[1]
        cells.append(Cell(name, was, should, did, changed=len({was, should, did}) > 1, differs=differs))
    should_be, is_now = (change_kind(side.before, side.after) if side else "not touched" for side in (expected, actual))
    return RowComparison(
        change.table, ", ".join(str(part) for part in change.key), should_be, is_now, cells, before is not None
    )


def _cell(row: Mapping[str, Any] | None, name: str) -> str:
    return NO_ROW if row is None else cell_text(name, row.get(name))


def _call(call: Row) -> Call:
    arguments, result = _parsed(call["arguments"]), _parsed(call["result"])
    failed = isinstance(result, dict) and result.keys() == {"error"}
    return Call(
        str(call["name"]),
        _arguments(arguments),
        None if failed else result if isinstance(result, Plain) else laid_out(result),
        str(result["error"]) if failed else "",
    )


def _arguments(arguments: Any) -> list[tuple[str, str]]:
    if isinstance(arguments, Plain):
        return [("", arguments.text)]
    if not isinstance(arguments, dict):
        return [("", json.dumps(arguments, ensure_ascii=False))]
    return [
        (name, cell_text(name, value) if name.endswith("_cents") else json.dumps(value, ensure_ascii=False))
        for name, value in arguments.items()
    ]


def _survivor(value: Any, failed: set[str]) -> Survivor | None:
    calls = value.get("calls") if isinstance(value, dict) else None
    if not isinstance(calls, list) or not all(isinstance(call, dict) for call in calls):
        return None
    title, what = "Deciding trajectory", "the trajectory that decided"
    if value.get("operator") == "other_reading":
        title, what = "Other reading", "what an agent does that takes the request for the other row"
    elif value.get("operator") == "agreed":
        title, what = "Solvers' trajectory", "what the first of those wrote that agree"
    elif "mutants_killed" in failed:
        title, what = "Surviving mutant", "a wrong trajectory that scored 1"
    elif "equivalents_accepted" in failed:
        title, what = "Rejected equivalent", "a right trajectory that scored 0"
    made = [Call(str(call.get("name")), _arguments(call.get("arguments", {})), None) for call in calls]
    return Survivor(title, what, str(value.get("operator") or ""), made, str(value.get("answer") or ""))


def _parsed(text: Any) -> Any:
    """Return what JSON says; text that is no JSON is shown as it is."""
    try:
        return json.loads(text)
    except (ValueError, TypeError, RecursionError):
        return Plain(str(text))
