"""The Hub's library loads a dataset folder as it is, offline and without this package."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from toolscale.dataset.describing.reading import read_dataset

LOAD = """
import json, os, sys
from datasets import load_dataset
tasks, rejects = load_dataset(sys.argv[1], "mock"), load_dataset(sys.argv[1], "rejects")
print(json.dumps({
    "columns": tasks["train"].column_names,
    "ids": {split: part["id"][:] for split, part in tasks.items()},
    "rejects": len(rejects["rejected"]),
    "toolscale": "toolscale" in sys.modules,
}))
sys.stdout.flush()
os._exit(0)  # pyarrow's threads now and then abort an interpreter that is ending (apache/arrow issue 45214)
"""


def test_both_splits_load_with_the_columns_of_the_format(mock_dataset: Path, tmp_path: Path) -> None:
    offline = {**os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path), "HF_DATASETS_DISABLE_PROGRESS_BARS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", LOAD, str(mock_dataset)],
        env=offline,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    reading = read_dataset(mock_dataset)
    assert json.loads(done.stdout) == {
        "columns": [
            "id", "domain", "intent_id", "evolutions", "outcome", "request", "turns", "answer", "scenario", "prompt",
            "tools", "golden_calls", "communicate", "row_changes", "touched", "difficulty", "environment_hash",
            "initial_state_hash", "verdict", "mutants_killed", "provenance", "candidate", "solved",
        ],
        "ids": {split: [row["id"] for row in rows] for split, rows in reading.rows.splits.items()},
        "rejects": len(reading.rows.rejects),
        "toolscale": False,
    }  # fmt: skip
