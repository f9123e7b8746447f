"""The dataset card, `README.md`: generated from the data, never typed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import jinja2
import pyarrow as pa
import yaml

from toolscale.dataset.arrow import REJECT_SCHEMA, TASK_SCHEMA
from toolscale.dataset.columns import Row
from toolscale.dataset.figures import DatasetRows, Figures, typical_task
from toolscale.environment import Environment
from toolscale.sandbox import Rows

CELL_LENGTH = 220


def render_card(
    environment: Environment, database: Rows, rows: DatasetRows, figures: Figures, *, seed: int, initial_state: str, versions: dict[str, str]
) -> str:
    """Return the card as Markdown with the YAML header that the Hub and `datasets` read."""
    template = jinja2.Environment(
        loader=jinja2.PackageLoader("toolscale.dataset", "."), undefined=jinja2.StrictUndefined, keep_trailing_newline=True, autoescape=False
    )
    template.filters |= {"cell": _cell, "effect": _effect}
    example = typical_task(rows)
    return template.get_template("card.md.jinja").render(
        header=yaml.safe_dump(_header(environment, rows), sort_keys=False, allow_unicode=True), environment=environment,
        domain=environment.domain, figures=figures, counts=figures.counts, seed=seed, initial_state=initial_state, manifest_versions=versions,
        writing_tools=sum(tool.mutates_state for tool in environment.tools.values()), tables=len(database),
        database_rows=sum(len(table) for table in database.values()), example=example,
        example_changes=json.loads(example["row_changes"]) if example else [],
    )  # fmt: skip


def _header(environment: Environment, rows: DatasetRows) -> dict[str, Any]:
    domain, rejects = environment.domain, "rejects"
    splits = [{"split": split, "path": f"{domain}/{split}-*.parquet"} for split in rows.splits]
    rejected = [{"split": "rejected", "path": f"rejects/{domain}/rejected-*.parquet"}]
    examples = [_split(split, part, TASK_SCHEMA) for split, part in rows.splits.items()]
    return {
        "pretty_name": f"ToolScale {environment.spec.world.title}",
        "language": ["en"],
        "task_categories": ["text-generation"],
        "tags": ["tool-use", "function-calling", "agents", "synthetic", "verified"],
        "size_categories": [_size_category(len(rows.tasks))],
        "configs": [{"config_name": domain, "data_files": splits, "default": True}, {"config_name": rejects, "data_files": rejected}],
        "dataset_info": [
            {"config_name": domain, "features": _features(TASK_SCHEMA), "splits": examples},
            {"config_name": rejects, "features": _features(REJECT_SCHEMA), "splits": [_split("rejected", rows.rejects, REJECT_SCHEMA)]},
        ],
    }


def _split(name: str, rows: Sequence[Row], schema: pa.Schema) -> dict[str, Any]:
    return {"name": name, "num_bytes": pa.Table.from_pylist(list(rows), schema=schema).nbytes, "num_examples": len(rows)}


def _features(fields: pa.Schema | pa.StructType) -> list[dict[str, Any]]:
    return [{"name": field.name, **_feature(field.type)} for field in fields]


def _feature(kind: pa.DataType) -> dict[str, Any]:
    if pa.types.is_struct(kind):
        return {"struct": _features(kind)}
    if pa.types.is_list(kind):
        item = _feature(kind.value_type)
        return {"list": item.get("struct", item.get("dtype"))}
    return {"dtype": "float64" if pa.types.is_floating(kind) else str(kind)}


def _size_category(tasks: int) -> str:
    bounds = {1_000: "n<1K", 10_000: "1K<n<10K", 100_000: "10K<n<100K", 1_000_000: "100K<n<1M"}
    return next((name for bound, name in bounds.items() if tasks < bound), "1M<n<10M")


def _cell(text: str) -> str:
    """Make text fit a cell of a Markdown table."""
    flat = " ".join(text.replace("|", "\\|").replace("`", "'").split())
    return flat if len(flat) <= CELL_LENGTH else flat[: CELL_LENGTH - 1] + "…"


def _effect(change: Row) -> str:
    before, after = change["before"], change["after"]
    if before is None:
        return "new row " + ", ".join(f"{name} = {value!r}" for name, value in after.items() if value is not None)
    if after is None:
        return "deleted"
    return ", ".join(f"{name} {before[name]!r} → {after[name]!r}" for name in after if before[name] != after[name])
