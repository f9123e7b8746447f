"""The Hub's library loads a dataset folder as it is, offline and without this package."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from toolscale.dataset.comparing.combined import combine
from toolscale.dataset.describing.reading import Reading, read_dataset
from toolscale.environment.registry import discover
from toolscale.pipeline import synthesize

LOAD = """
import json, os, sys
from datasets import get_dataset_config_names, load_dataset
found = {}
for folder in sys.argv[1:]:
    configs = {name: load_dataset(folder, name) for name in get_dataset_config_names(folder)}
    found[folder] = {
        name: {split: {"columns": rows.column_names, "rows": len(rows), "domains": sorted(set(rows["domain"]))}
               for split, rows in splits.items()}
        for name, splits in configs.items()
    }
print(json.dumps({"found": found, "toolscale": "toolscale" in sys.modules}))
sys.stdout.flush()
os._exit(0)  # pyarrow's threads now and then abort an interpreter that is ending (apache/arrow issue 45214)
"""
TASKS = [
    "id", "domain", "intent_id", "evolutions", "outcome", "request", "turns", "answer", "scenario", "prompt",
    "tools", "golden_calls", "communicate", "row_changes", "touched", "difficulty", "environment_hash",
    "initial_state_hash", "verdict", "mutants_killed", "provenance", "candidate", "solved",
]  # fmt: skip


def held(reading: Reading) -> dict[str, Any]:
    """What is to be loaded: each config and split that has rows."""
    parts = reading.domains
    groups = {"all": list(parts)} if len(parts) > 1 else {}
    groups |= {domain: [domain] for domain in parts}
    found = {
        name: {
            split: {domain: parts[domain].splits[split] for domain in domains if parts[domain].splits[split]}
            for split in ("train", "test")
        }
        for name, domains in groups.items()
    }
    found["rejects"] = {"rejected": {domain: part.rejects for domain, part in parts.items() if part.rejects}}
    return {
        name: {
            split: {"rows": sum(map(len, rows.values())), "domains": sorted(rows)}
            for split, rows in held.items()
            if rows
        }
        for name, held in found.items()
        if any(held.values())
    }


def test_every_config_loads_however_few_tasks_there_are(mock_dataset: Path, tmp_path: Path) -> None:
    club = shutil.copytree(discover()["mock"], tmp_path / "club")
    folders = {name: tmp_path / name for name in ("1", "8", "both")}
    synthesize(club, folders["1"], tasks=1, workers=1, turns="single", answer="message")
    synthesize("mock", folders["8"], tasks=8, workers=1)
    combine([folders["1"], mock_dataset], folders["both"])
    offline = {**os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path), "HF_DATASETS_DISABLE_PROGRESS_BARS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", LOAD, *map(str, folders.values())],
        env=offline,
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    columns = [
        loaded.pop("columns")
        for configs in told["found"].values()
        for name, splits in configs.items()
        if name != "rejects"
        for loaded in splits.values()
    ]
    for configs in told["found"].values():
        for loaded in configs.get("rejects", {}).values():
            assert "failed" in loaded.pop("columns")
    expected = {name: held(read_dataset(folder)) for name, folder in folders.items()}
    assert {name: told["found"][str(folder)] for name, folder in folders.items()} == expected
    assert all(each == TASKS for each in columns) and not told["toolscale"]
    # What this is about: a split without rows, no rejects at all, a domain without rejects beside one with some.
    assert [*expected["1"]] == ["club"] and len(expected["1"]["club"]) == 1
    assert expected["both"]["rejects"]["rejected"]["domains"] == ["mock"]
