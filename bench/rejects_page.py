"""`python -m bench.rejects_page`: how long the page "Rejected tasks" takes over 200,000 rejects, and the folder to look
at them in a browser.

python -m bench.rejects_page [--rows 200000] [--files 200] [--out FOLDER]

With --out the folder is made and kept, and nothing is measured: start Airflow with TOOLSCALE_DATA=FOLDER. What is
measured is what the server does, in a process that just began: reading every file for the first time, and the pages
after that.
"""

from __future__ import annotations

import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import click
import pyarrow as pa
import pyarrow.parquet as pq

from toolscale.canonical import canonical_json
from toolscale.dataset.arrow import REJECT_SCHEMA, STAMP_SCHEMA
from toolscale.records import GATES

DAG = "synthesize_dataset"
PLUGINS = Path(__file__).parents[1] / "plugins"
WORDS = (
    "please move what is missing from my savings account before the rent is due "
    "and tell me how much that leaves in both of them"
)
INTENTS = [
    f"{verb}_{thing}"
    for verb in ("pay", "freeze", "dispute", "raise", "cancel")
    for thing in ("bill", "card", "charge", "order", "limit")
]
EVOLUTIONS = (
    "compose pay_bill",
    "constrain cover",
    "obscure card:freest",
    "correct card_2",
    "distract bill",
    "batch bills",
    "refuse limit",
)
FIRST_PAINT = 1.0
"""Seconds until the first page at most, on a server that has read no file yet."""

Row = dict[str, Any]


def reject_row(chance: random.Random, number: int) -> Row:
    """Return a reject of about the size of a real one: some 500 letters of request, four calls with rows, a row
    change."""
    gates = chance.sample(GATES[3:15], chance.choice((1, 1, 1, 2, 3)))
    before = {
        "account_id": f"ac_{chance.randrange(9999)}",
        "available_cents": chance.randrange(900_000),
        "status": "active",
        "kind": "checking",
    }
    change = {
        "table": "accounts",
        "key": [before["account_id"]],
        "before": before,
        "after": before | {"available_cents": chance.randrange(900_000)},
    }
    rows = [
        {"bill_id": f"bl_{chance.randrange(9999)}", "amount_cents": chance.randrange(90_000), "biller": "City Gas"}
        for _ in range(8)
    ]
    call = {
        "name": "list_bills",
        "arguments": canonical_json({"client_id": f"cl_{number}"}),
        "result": canonical_json({"bills": rows}),
    }
    evolutions = chance.sample(EVOLUTIONS, chance.choice((0, 1, 2)))
    return {
        "number": number,
        "domain": "finance",
        "intent_id": chance.choice(INTENTS),
        "evolutions": evolutions,
        "request": " ".join(chance.choices(WORDS.split(), k=90)),
        "failed": [
            {"gate": gate, "finding": f"{chance.randrange(2, 9)} rows fit {chance.choice(WORDS.split())} equally well"}
            for gate in gates
        ],
        "verdict": [
            {"gate": gate, "status": "fail" if gate in gates else "pass", "finding": "no other row fits what is said"}
            for gate in GATES
        ],
        "golden_calls": [call] * 4,
        "expected_row_changes": canonical_json([change]),
        "actual_row_changes": None,
        "survivor": None,
        "environment_hash": f"{number:064x}",
        "candidate": canonical_json({"number": number, "intent_id": "x"}),
        "reproduce": f"toolscale judge finance {number} --seed 0",
    }


def write_rejects(data: Path, rows: int, files: int, *, shards: int = 10) -> None:
    """Write so many rejects as the scheduled pipeline lays them out, `shards` files to a run."""
    chance = random.Random(0)
    each = rows // files
    blocks = [
        pa.Table.from_pylist([reject_row(chance, number) for number in range(each)], schema=REJECT_SCHEMA)
        for _ in range(min(files, 8))
    ]
    for place in range(files):
        run, shard = divmod(place, shards)
        run_id = f"scheduled__2026-{1 + run // 28:02d}-{1 + run % 28:02d}T02:00:00+00:00"
        folder = data / "runs" / f"night-{run:04d}"
        block = blocks[place % len(blocks)].set_column(
            0, "number", pa.array(range(shard * each, (shard + 1) * each), pa.int64())
        )
        labels: Row = {
            "dag_id": DAG,
            "run_id": run_id,
            "task_id": "finance.judge",
            "map_index": shard,
            "shard": f"finance-{shard:03d}",
        }
        for name, value in labels.items():
            block = block.append_column(
                STAMP_SCHEMA.field(name), pa.repeat(pa.scalar(value, STAMP_SCHEMA.field(name).type), each)
            )
        path = folder / "finance" / "rejects" / f"finance-{shard:03d}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(block, path, compression="zstd", row_group_size=1_000)
        started = f"2026-{1 + run // 28:02d}-{1 + run % 28:02d}T02:00:05+00:00"
        about: Row = {
            "dag_id": DAG,
            "run_id": run_id,
            "started": started,
            "logical_date": None,
            "params": {},
            "seed": run,
            "domains": ["finance"],
        }
        (folder / "run.json").write_text(json.dumps(about))


def first_page(data: str) -> tuple[float, float]:
    """Return seconds until the first page and the median of others, in this process, which has read nothing yet. Run it
    as a process of its own."""
    sys.path.insert(0, str(PLUGINS))
    from fastapi.testclient import TestClient
    from toolscale_ui.app import create_app

    client = TestClient(create_app(data, lambda: None, lambda: "bench"))
    times = []
    for query in (
        "",
        "",
        "gate=novel",
        "intent=pay_bill&evolution=compose",
        "sort=intent&order=asc&page=2000",
        "sort=gate&page=4000",
        "page=3",
    ):
        start = time.perf_counter()
        answer = client.get(f"/rejects?{query}")
        times.append(time.perf_counter() - start)
        if answer.status_code != 200 or 'class="row"' not in answer.text:
            raise click.ClickException(f"the page {query!r} shows no rejects: {answer.status_code}")
    return times[0], statistics.median(times[1:])


def measure_pages(rows: int, files: int) -> tuple[float, float]:
    """Return the seconds of `first_page` over a folder of so many rejects."""
    with tempfile.TemporaryDirectory(prefix="toolscale-bench-") as folder:
        write_rejects(Path(folder), rows, files)
        done = subprocess.run(
            [sys.executable, "-m", "bench.rejects_page", "--only", folder], capture_output=True, text=True, check=True
        )
    first, others = json.loads(done.stdout)
    return first, others


@click.command()
@click.option("--rows", default=200_000, show_default=True, help="Rejects.")
@click.option("--files", default=200, show_default=True, help="Files that hold them.")
@click.option("--out", type=click.Path(path_type=Path), help="Make the folder here and measure nothing.")
@click.option("--only", type=click.Path(), hidden=True)
def main(rows: int, files: int, out: Path | None, only: str | None) -> None:
    """Measure the page and exit 1 if its first one takes too long."""
    if only:
        return click.echo(json.dumps(first_page(only)))
    if out:
        write_rejects(out, rows, files)
        return click.echo(f"{out}: {rows:,} rejects in {files} files")
    first, others = measure_pages(rows, files)
    click.echo(
        f"{rows:,} rejects in {files} files: first page {first:.2f} s (at most {FIRST_PAINT:g}), "
        f"others {others:.2f} s (median)"
    )
    sys.exit(1 if first > FIRST_PAINT else 0)


if __name__ == "__main__":
    main()
