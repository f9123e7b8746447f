"""The dataset card, `README.md`: generated from the data, never typed."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import jinja2
import pyarrow as pa
import yaml

from toolscale.config import ALL, EXPORTS, MOST_NAMED
from toolscale.dataset.arrow import REJECT_SCHEMA, TASK_SCHEMA
from toolscale.dataset.columns import Row
from toolscale.dataset.describing.environments import TAG as RL_ENVIRONMENT
from toolscale.dataset.describing.environments import exported_formats, frameworks_of
from toolscale.dataset.describing.figures import SPLITS, DatasetRows, Figures, typical_task, without_task
from toolscale.dataset.describing.shortfall import why_short
from toolscale.dataset.describing.variety import Entropy, distinct_2, entropy
from toolscale.dataset.fixtures import KINDS
from toolscale.dataset.given import Given
from toolscale.dataset.manifest import tag_of
from toolscale.environment.builtins import BUILT_IN
from toolscale.environment.environment import Environment
from toolscale.records import Fixture, Manifest, Part
from toolscale.records.dollars import dollars_of
from toolscale.sandbox.base import Rows

CELL_LENGTH = 220
TAGS = ("tool-use", "function-calling", "agents", "synthetic", "verified")


@dataclass(frozen=True)
class Contents:
    """One domain of a dataset, with all that the card says of it."""

    part: Part
    environment: Environment
    database: Rows
    rows: DatasetRows
    figures: Figures
    given: Given
    fixtures: tuple[Fixture, ...] = ()

    @property
    def domain(self) -> str:
        """Its name."""
        return self.environment.domain

    @property
    def title(self) -> str:
        """What it is called in a heading."""
        return self.environment.spec.world.title

    @property
    def without_task(self) -> list[str]:
        """Its intents that have no task, each with the reason."""
        return without_task(self.environment, self.figures.counts)

    @property
    def uncalled(self) -> list[str]:
        """Its tools that no task calls, the built-in ones aside."""
        return [name for name in self.environment.tools if name not in self.figures.tools and name not in BUILT_IN]

    @property
    def sequences(self) -> Entropy:
        """How the tasks are spread over sequences of tool names."""
        return entropy(tuple(call["name"] for call in row["golden_calls"]) for row in self.rows.tasks)

    @property
    def distinct_2(self) -> float:
        """How varied the words of the requests are."""
        return distinct_2(row["request"] for row in self.rows.tasks)

    @property
    def models(self) -> dict[str, list[str]]:
        """`attempts` and `readings` -> the models that gave them."""
        return {
            "attempts": sorted({attempt.model for attempt in self.given.tries}),
            "readings": sorted({line.model for group in self.given.readings.values() for line in group}),
        }

    @property
    def solved(self) -> dict[str, int]:
        """How often the tasks were solved that models tried -> how many there are."""
        found = [row["solved"] for row in self.rows.tasks if row["solved"]]
        each = sum(solved["right"] == solved["tries"] for solved in found)
        some = sum(0 < solved["right"] < solved["tries"] for solved in found)
        return {"each time": each, "not each time": some, "not for certain": len(found) - each - some}

    @property
    def proposed(self) -> dict[str, Any] | None:
        """What a model proposed: `intents` of `all`, `tasks` of them, by which `models`, and what it took (`replies`,
        and `usd` where it is known of all). None if it proposed nothing."""
        spec = self.environment.spec
        intents = [intent for intent in spec.intents.intents if intent.proposed_by]
        if not intents:
            return None
        totals = [origin.total for origin in spec.world.proposed]
        return {
            "intents": len(intents),
            "all": len(spec.intents.intents),
            "tasks": sum('"proposed_by":' in row["provenance"]["versions"] for row in self.rows.tasks),
            "models": sorted({intent.proposed_by for intent in intents}),
            "replies": sum(total.replies for total in totals),
            "usd": dollars_of(total.usd for total in totals) if totals else None,
        }

    @property
    def proofs(self) -> dict[str, dict[str, int]]:
        """Kind of fixture -> how many there are, and how many of them score 1."""
        kinds = dict.fromkeys(fixture.kind for fixture in self.fixtures)
        scores = {kind: [fixture.score for fixture in self.fixtures if fixture.kind == kind] for kind in kinds}
        return {kind: {"tried": len(each), "won": sum(each)} for kind, each in scores.items()}

    @property
    def short(self) -> str:
        """Why there are fewer tasks than were asked for; empty if there are as many."""
        return why_short(self.part)

    @property
    def drawn_towards(self) -> dict[str, float]:
        """The streams that were drawn more often than others, and how often beside 1, most often first."""
        ordered = sorted((self.part.toward or {}).items(), key=lambda item: (-item[1], item[0]))
        return {stream: weight for stream, weight in ordered if weight > 1}

    @property
    def dollars(self) -> dict[str, Any] | None:
        """What models cost for this dataset, rejected and failed work too: `parts`, their `usd` together, `each` for
        an accepted task, `verified` tasks, which a model has solved, and `proved` for one of those. None where none was
        asked, or a price is not known."""
        drafted, proposed = self.environment.spec.world.drafted, self.proposed
        parts = {
            "its environment": drafted.total.usd if drafted else 0.0,
            "proposed intents": proposed["usd"] if proposed and proposed["replies"] else 0.0,
            "attempts": self.given.dollars["attempts"],
            "tries that came to nothing": self.given.dollars["losses"],
            "a judge": self.given.dollars["readings"],
        }
        total, verified = dollars_of(parts.values()), self.solved["each time"] + self.solved["not each time"]
        if not total:
            return None
        return {
            "parts": {name: usd for name, usd in parts.items() if usd},
            "usd": total,
            "each": total / max(len(self.rows.tasks), 1),
            "verified": verified,
            "proved": total / verified if verified else None,
        }

    @property
    def example(self) -> Row | None:
        """The task that is shown."""
        return typical_task(self.rows)


def render_card(contents: Sequence[Contents], manifest: Manifest) -> bytes:
    """Return the card as Markdown with the YAML header that the Hub and `datasets` read.

    Of the manifest it takes what changed since the version before, and the tag; what else it says is counted anew.
    """
    configs = _configs(contents)
    header = yaml.safe_dump(_header(contents, configs, frameworks_of(manifest)), sort_keys=False, allow_unicode=True)
    text = _template().render(
        header=header,
        parts=contents,
        loaded={config.name: list(config.splits) for config in configs},
        release=manifest.release,
        tag=tag_of(manifest),
        sum=sum,
        exports=EXPORTS,
        kinds=KINDS,
        exported=exported_formats(manifest),
    )
    return text.encode()


@cache
def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("toolscale.dataset.describing", "."),
        undefined=jinja2.StrictUndefined,
        keep_trailing_newline=True,
        autoescape=False,
    )
    environment.filters |= {"cell": _cell, "effect": _effect, "from_json": json.loads}
    return environment.get_template("card.md.jinja")


def _header(contents: Sequence[Contents], configs: Sequence[_Config], frameworks: Sequence[str]) -> dict[str, Any]:
    licenses = sorted({part.part.license for part in contents})
    tasks = sum(len(part.rows.tasks) for part in contents)
    titles = [part.title for part in contents]
    return {
        "pretty_name": f"ToolScale {', '.join(titles) if len(titles) <= MOST_NAMED else f'{len(titles)} domains'}",
        "license": licenses if len(licenses) > 1 else licenses[0],
        "language": ["en"],
        "task_categories": ["text-generation"],
        "tags": [*TAGS, *([RL_ENVIRONMENT, *frameworks] if frameworks else [])],
        "size_categories": [_size_category(tasks)],
        "configs": [config.files(is_default=number == 0) for number, config in enumerate(configs)],
        "dataset_info": [config.info() for config in configs],
    }


@dataclass(frozen=True)
class _Config:
    """What is loaded by one name."""

    name: str
    schema: pa.Schema
    splits: Mapping[str, Mapping[str, Sequence[Row]]]
    """Split -> paths of its files -> their rows. Only those with rows: `datasets` refuses a config with others."""

    def files(self, *, is_default: bool) -> dict[str, Any]:
        """Return what the header says of its files."""
        files = [
            {"split": split, "path": [*paths] if len(paths) > 1 else next(iter(paths))}
            for split, paths in self.splits.items()
        ]
        return {"config_name": self.name, "data_files": files} | ({"default": True} if is_default else {})

    def info(self) -> dict[str, Any]:
        """Return what the header says of its rows."""
        splits = [
            _split(split, [row for rows in paths.values() for row in rows], self.schema)
            for split, paths in self.splits.items()
        ]
        return {"config_name": self.name, "features": _features(self.schema), "splits": splits}


def _configs(contents: Sequence[Contents]) -> list[_Config]:
    """Return the configs that have rows: all domains if there are several, each domain, the rejects."""
    groups = {ALL: list(contents)} if len(contents) > 1 else {}
    groups |= {part.domain: [part] for part in contents}
    found = list[_Config]()
    for name, parts in groups.items():
        splits = {
            split: {f"{part.domain}/{split}-*.parquet": rows for part in parts if (rows := part.rows.splits[split])}
            for split in SPLITS
        }
        found.append(_Config(name, TASK_SCHEMA, {split: paths for split, paths in splits.items() if paths}))
    rejected = {
        f"rejects/{part.domain}/rejected-*.parquet": part.rows.rejects for part in contents if part.rows.rejects
    }
    found.append(_Config("rejects", REJECT_SCHEMA, {"rejected": rejected} if rejected else {}))
    return [config for config in found if config.splits]


def _split(name: str, rows: Sequence[Row], schema: pa.Schema) -> dict[str, Any]:
    return {
        "name": name,
        "num_bytes": pa.Table.from_pylist(list(rows), schema=schema).nbytes,
        "num_examples": len(rows),
    }


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
