"""Shards: the share of a round that one task of a scheduler judges.

The plan of a shard is a file, so that a task is told its path and no more. Units are cut before shards are: how many
shards there are changes no file of judged candidates, and so no byte of the dataset.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from toolscale.config import MIN_SHARDS, SHARD_NUMBERS, UNIT_NUMBERS
from toolscale.dataset.arrow import RUN_REJECT_SCHEMA
from toolscale.dataset.columns import Row, reject_row
from toolscale.dataset.parquet import encode_rows
from toolscale.dataset.storage import read_json, write_file
from toolscale.records import Judged


@dataclass(frozen=True, slots=True)
class Shard:
    """Candidates that one task judges, and which task that is."""

    name: str
    """`finance-003`: unique in a run."""
    domain: str
    round: int
    task_id: str
    map_index: int
    numbers: tuple[int, ...]

    def write(self, folder: Path) -> Path:
        """Write the plan of the shard into a folder and return the file."""
        return write_file(folder / f"{self.name}.json", (json.dumps(asdict(self)) + "\n").encode())


def airflow_task(domain: str, name: str) -> str:
    """Return the id in Airflow of a task of a domain. Domains may be called like other tasks, so they have a prefix."""
    return f"domain_{domain}.{name}"


def read_shard_plan(path: Path) -> Shard:
    """Return the shard whose plan is in a file. DatasetError if it is damaged."""
    content = read_json(path, "clear the task that plans the shards of its domain, with all that follows it")
    return Shard(**content | {"numbers": tuple(content["numbers"])})


def cut_shards(
    numbers: Sequence[int], *, domain: str, round_: int, first: int, task_id: str, most: int = SHARD_NUMBERS
) -> list[Shard]:
    """Cut the numbers of a round into shards of whole units, nearly equal ones; the shards of a domain are counted on
    from `first`."""
    units = -(-len(numbers) // UNIT_NUMBERS)
    count = min(units, max(-(-len(numbers) // most), min(MIN_SHARDS, units // 2), 1))
    bounds = [UNIT_NUMBERS * (units * place // count) for place in range(count)] + [len(numbers)] if count else []
    return [
        Shard(
            f"{domain}-{first + place:03d}",
            domain,
            round_,
            task_id,
            place,
            tuple(numbers[bounds[place] : bounds[place + 1]]),
        )
        for place in range(count)
    ]


def write_rejects(
    path: Path, judged: Iterable[tuple[Judged, Shard]], environment_hash: str, run: Mapping[str, Any]
) -> Path:
    """Write rejected candidates, each with the shard that judged it, as rows of RUN_REJECT_SCHEMA; `run` has `dag_id`
    and `run_id`."""
    return write_reject_rows(path, ((reject_row(item, environment_hash), shard) for item, shard in judged), run)


def write_reject_rows(path: Path, rows: Iterable[tuple[Row, Shard]], run: Mapping[str, Any]) -> Path:
    """Write rows of REJECT_SCHEMA, each with the shard that it comes from, as rows of RUN_REJECT_SCHEMA."""
    stamped = [
        row
        | {
            "dag_id": run["dag_id"],
            "run_id": run["run_id"],
            "task_id": shard.task_id,
            "map_index": shard.map_index,
            "shard": shard.name,
        }
        for row, shard in rows
    ]
    return write_file(path, encode_rows(stamped, RUN_REJECT_SCHEMA))
