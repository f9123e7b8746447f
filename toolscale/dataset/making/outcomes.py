"""`outcomes/<domain>.parquet`: every number that was drawn, and what became of it, so that nothing can be left out of a
dataset unseen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

from toolscale.dataset.arrow import OUTCOME_SCHEMA
from toolscale.dataset.columns import Row
from toolscale.dataset.making.selection import OUTCOMES, Outcome, Selection
from toolscale.dataset.parquet import encode_rows, read_shard
from toolscale.dataset.storage import write_file
from toolscale.errors import DatasetError


def outcomes_file(domain: str) -> str:
    """Return the path of the file inside a dataset."""
    return f"outcomes/{domain}.parquet"


def outcome_rows(outcomes: Iterable[tuple[int, Outcome]]) -> list[Row]:
    """Return the rows of the file."""
    return [{"number": number, "outcome": outcome} for number, outcome in outcomes]


def write_outcomes(folder: Path, domain: str, selection: Selection) -> Path:
    """Write what became of the numbers of a domain."""
    return write_file(folder / outcomes_file(domain), encode_rows(outcome_rows(selection.outcomes), OUTCOME_SCHEMA))


def read_outcomes(folder: Path, domain: str) -> dict[int, Outcome]:
    """Return number -> what became of it, ascending. DatasetError if the file does not say that."""
    path = folder / outcomes_file(domain)
    rows = read_shard(path, OUTCOME_SCHEMA)
    found = {int(row["number"]): row["outcome"] for row in rows}
    if list(found) != sorted(found) or len(found) != len(rows) or any(number < 0 for number in found):
        raise DatasetError(f"{path}: the numbers do not ascend from 0 on; make the dataset, or pull it, again")
    if unknown := sorted(set(found.values()) - set(OUTCOMES)):
        raise DatasetError(
            f"{path}: {unknown[0]!r} is no outcome, which are {', '.join(OUTCOMES)}; "
            "make the dataset, or pull it, again"
        )
    return found


def count_outcomes(outcomes: Mapping[int, Outcome]) -> dict[str, int]:
    """Return what a manifest counts of the outcomes that leave no row: those over quota before the last task, the
    numbers without a case, and all numbers that were drawn."""
    last = max((number for number, outcome in outcomes.items() if outcome == "accepted"), default=-1)
    over = sum(outcome == "over_quota" and number < last for number, outcome in outcomes.items())
    return {"over_quota": over, "no_case": Counter(outcomes.values())["no_case"], "drawn": len(outcomes)}


def numbers_of(outcomes: Mapping[int, Outcome], wanted: Iterable[Outcome]) -> list[int]:
    """Return the numbers with one of these outcomes, ascending."""
    kinds = set(wanted)
    return [number for number, outcome in outcomes.items() if outcome in kinds]
