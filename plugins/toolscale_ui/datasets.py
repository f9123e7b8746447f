"""What came out of each scheduled run: one dataset a domain, with its counts, gates, tiers and the word of the quality
gate."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import duckdb
from pydantic import ValidationError

from toolscale.records import Manifest
from toolscale_ui.data_folder import DataFile, DataFolder, Listing
from toolscale_ui.gates import place
from toolscale_ui.rejects import DAG_ID
from toolscale_ui.run_file import RunFile, run_of

PAGE_RUNS = 20
"""Runs of one page."""

TIERS = ("easy", "medium", "hard")
PLOT = re.compile(r"(?:[A-Za-z0-9_-]+/)?[A-Za-z0-9_-]+\.png")
"""Images that a card may show; all lie in `plots/`, or one folder deeper."""


@dataclass(frozen=True)
class Quality:
    """What `quality.json` says: whether the dataset passed, and why not."""

    passed: bool
    reasons: Sequence[str]
    figures: Mapping[str, float]
    thresholds: Mapping[str, float]


@dataclass(frozen=True)
class ShownPart:
    """The dataset of one domain, or of the whole run (`domain` is empty)."""

    domain: str
    manifest: Manifest | None
    problem: str
    quality: Quality | None
    tiers: Mapping[str, int] = field(default_factory=dict)

    def count(self, name: str) -> int | None:
        """Return a count of the manifest, or None if it does not have it."""
        value = self.manifest.counts.get(name) if self.manifest else None
        return value if isinstance(value, int) else None

    @property
    def accepted_share(self) -> float | None:
        """The share of judged candidates that no gate failed, quota or not."""
        rejected, candidates = self.count("rejected"), self.count("candidates")
        return None if rejected is None or not candidates else 1 - rejected / candidates

    @property
    def gates(self) -> list[tuple[str, int, float]]:
        """Gate, how many it rejected, and the share of all judged candidates that it did not: only gates that were
        run."""
        if not self.manifest:
            return []
        ran = {
            gate: statuses
            for gate, statuses in self.manifest.gates.items()
            if statuses.get("pass", 0) + statuses.get("fail", 0)
        }
        judged = self.count("candidates") or max((sum(statuses.values()) for statuses in ran.values()), default=1) or 1
        return [
            (gate, ran[gate].get("fail", 0), 1 - ran[gate].get("fail", 0) / judged) for gate in sorted(ran, key=place)
        ]


@dataclass(frozen=True)
class RunDatasets:
    """A run with what came out of it; a run that still works has parts without a manifest."""

    folder: str
    run: RunFile
    parts: Sequence[ShownPart]
    combined: ShownPart | None

    @property
    def finished(self) -> bool:
        """Whether there is a dataset of any domain."""
        return any(part.manifest for part in self.parts)


class Datasets:
    """All runs below a data folder. Threads may share it."""

    def __init__(self, folder: DataFolder):
        self.folder = folder
        self.corrupt: dict[str, str] = {}
        """Path of a `run.json` that cannot be read -> why."""
        self._tiers: dict[DataFile, dict[str, int]] = {}

    def page(self, number: int) -> tuple[list[RunDatasets], int]:
        """Return one page of runs, newest first, and how many runs there are."""
        listing = self.folder.listing()
        found = self.folder.parsed(listing["run"].values(), run_of)
        self.corrupt = {path: run for path, run in found.items() if isinstance(run, str)}
        ours = [
            (path.split("/")[1], run)
            for path, run in found.items()
            if isinstance(run, RunFile) and run.dag_id == DAG_ID
        ]
        ours.sort(key=lambda item: (item[1].started, item[0]), reverse=True)
        shown = ours[(number - 1) * PAGE_RUNS : number * PAGE_RUNS]
        return [self._of(name, run, listing) for name, run in shown], len(ours)

    def card(self, run: str, domain: str) -> tuple[str, str]:
        """Return the run id and the text of a card. KeyError if there is no such dataset: both names are looked up
        before they make a path."""
        return self._known_run(run).run_id, self.folder.read(f"{self._dataset(run, domain)}/README.md").decode(
            errors="replace"
        )

    def plot(self, run: str, domain: str, name: str) -> bytes:
        """Return an image of a card. KeyError if there is no such dataset, or it may not be shown."""
        self._known_run(run)
        if not PLOT.fullmatch(name):
            raise KeyError(name)
        return self.folder.read(f"{self._dataset(run, domain)}/plots/{name}")

    def _known_run(self, folder: str) -> RunFile:
        file = self.folder.listing()["run"][f"runs/{folder}/run.json"]
        run = self.folder.parsed([file], run_of).get(file.path)
        if not isinstance(run, RunFile) or run.dag_id != DAG_ID:
            raise KeyError(folder)
        return run

    def _dataset(self, run: str, domain: str) -> str:
        listing = self.folder.listing()
        home = f"runs/{run}/{domain}" if domain else f"runs/{run}"
        file = listing["manifest" if domain else "combined"][f"{home}/dataset/manifest.json"]
        return file.path.removesuffix("/manifest.json")

    def _of(self, folder: str, run: RunFile, listing: Listing) -> RunDatasets:
        there = {file.parts[2] for file in listing["manifest"].values() if file.parts[1] == folder}
        parts = [self._part(folder, domain, listing) for domain in sorted({*run.domains, *there})]
        combined = listing["combined"].get(f"runs/{folder}/dataset/manifest.json")
        return RunDatasets(folder, run, parts, self._part(folder, "", listing) if combined else None)

    def _part(self, folder: str, domain: str, listing: Listing) -> ShownPart:
        home = f"runs/{folder}/{domain}" if domain else f"runs/{folder}"
        file = listing["manifest" if domain else "combined"].get(f"{home}/dataset/manifest.json")
        judged = listing["quality"].get(f"{home}/quality.json")
        quality = self.folder.parsed([judged], quality_of).get(judged.path) if judged else None
        if file is None:
            return ShownPart(domain, None, "", quality)
        manifest = self.folder.parsed([file], _manifest).get(file.path, "it vanished while it was read")
        if isinstance(manifest, str):
            return ShownPart(domain, None, f"{file.path}: {manifest}", quality)
        tiers = self._tiers_of(file, manifest)
        problem = "" if tiers else f"{home}/dataset: the tasks cannot be counted, a file is missing or corrupt"
        return ShownPart(domain, manifest, problem, quality, tiers)

    def _tiers_of(self, file: DataFile, manifest: Manifest) -> dict[str, int]:
        """Count the tiers of a dataset from its Parquet files, once for each version of its manifest; nothing if they
        cannot be read."""
        if file not in self._tiers:
            home = file.path.removesuffix("/manifest.json")
            shards = [entry.path for entry in manifest.files if entry.path.split("/")[0] in manifest.environment_hash]
            paths = [
                self.folder.location(f"{home}/{path}")
                for path in shards
                if path.endswith(".parquet") and ".." not in path.split("/")
            ]
            if not paths:
                return {}
            with duckdb.connect(
                config={"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"}
            ) as db:
                if not self.folder.local:
                    db.register_filesystem(self.folder.fs)
                try:
                    sql = "SELECT difficulty.tier, count(*) FROM read_parquet(?, hive_partitioning=false) GROUP BY 1"
                    rows = db.execute(sql, [paths]).fetchall()
                except duckdb.Error:
                    return {}
            self._tiers[file] = {tier: dict(rows).get(tier, 0) for tier in TIERS}
        return self._tiers[file]


def quality_of(content: bytes) -> Quality:
    """Return what a `quality.json` says; one that cannot be read did not pass, and has no figures."""
    try:
        about = json.loads(content)
        figures, thresholds = (
            {str(name): float(value) for name, value in about[part].items()} for part in ("figures", "thresholds")
        )
        return Quality(bool(about["passed"]), [str(reason) for reason in about["reasons"]], figures, thresholds)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return Quality(False, ["quality.json cannot be read: clear quality_gate to write it again"], {}, {})


def _manifest(content: bytes) -> Manifest | str:
    try:
        return Manifest.model_validate_json(content)
    except ValidationError as error:
        return f"not a manifest: {error.errors()[0]['msg'].lower()}"
