"""The card: the Hub accepts its header, and what it shows runs as it stands."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest
import yaml
from huggingface_hub import DatasetCard

from toolscale.dataset.describing.reading import read_dataset
from toolscale.environment.licenses import HUB_LICENSES

pytestmark = pytest.mark.xdist_group("combined")  # what they read is made once

# The Hub's own lists:
# https://github.com/huggingface/huggingface.js/blob/main/packages/tasks/src/pipelines.ts (text tasks) and
# https://github.com/huggingface/hub-docs/blob/main/datasetcard.md.
TASK_CATEGORIES = {
    "text-classification",
    "token-classification",
    "table-question-answering",
    "question-answering",
    "zero-shot-classification",
    "translation",
    "summarization",
    "feature-extraction",
    "text-generation",
    "fill-mask",
    "sentence-similarity",
    "table-to-text",
    "multiple-choice",
    "text-ranking",
    "text-retrieval",
    "reinforcement-learning",
    "other",
}
SIZES = {
    "n<1K",
    "1K<n<10K",
    "10K<n<100K",
    "100K<n<1M",
    "1M<n<10M",
    "10M<n<100M",
    "100M<n<1B",
    "1B<n<10B",
    "10B<n<100B",
    "100B<n<1T",
    "n>1T",
    "other",
}
CONFIG_NAME = re.compile(r"[^<>:/\\|?*]+")
"""What `datasets` allows."""


@pytest.fixture(params=["mock_dataset", "combined_dataset"])
def dataset(request: pytest.FixtureRequest) -> Path:
    folder: Path = request.getfixturevalue(request.param)
    return folder


def problems(header: dict[str, Any]) -> Iterator[str]:
    """What the Hub would refuse or warn of."""
    licenses = header["license"] if isinstance(header["license"], list) else [header["license"]]
    yield from (f"license {name}" for name in licenses if name not in HUB_LICENSES)
    yield from (f"language {code}" for code in header["language"] if not re.fullmatch(r"[a-z]{2,3}", code))
    yield from (f"task {name}" for name in header["task_categories"] if name not in TASK_CATEGORIES)
    yield from (f"size {name}" for name in header["size_categories"] if name not in SIZES)
    yield from (f"tag {tag!r}" for tag in header["tags"] if not (isinstance(tag, str) and 0 < len(tag) < 100))
    names = [config["config_name"] for config in header["configs"]]
    yield from (f"config {name!r}" for name in names if not CONFIG_NAME.fullmatch(name) or names.count(name) > 1)
    if [config.get("default") for config in header["configs"]].count(True) != 1:
        yield "not one default config"
    if [info["config_name"] for info in header["dataset_info"]] != names:
        yield "dataset_info tells of other configs"
    for config, info in zip(header["configs"], header["dataset_info"], strict=True):
        if [file["split"] for file in config["data_files"]] != [split["name"] for split in info["splits"]]:
            yield f"dataset_info of {config['config_name']} tells of other splits"
        kinds = [{"name", kind} for kind in ("dtype", "struct", "list")]
        yield from (f"feature {feature}" for feature in info["features"] if set(feature) not in kinds)
        yield from (f"split {split}" for split in info["splits"] if set(split) != {"name", "num_bytes", "num_examples"})


def test_the_hub_accepts_the_header(dataset: Path) -> None:
    card = DatasetCard.load(dataset / "README.md")
    header = yaml.safe_load((dataset / "README.md").read_text().split("---\n")[1])
    assert card.data.to_dict() == header
    assert list(problems(header)) == []


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"license": "apache"}, "license apache"),
        ({"language": ["english"]}, "language english"),
        ({"task_categories": ["agents"]}, "task agents"),
        ({"size_categories": ["12"]}, "size 12"),
        ({"tags": [1]}, "tag 1"),
        ({"configs": []}, "not one default config"),
    ],
)
def test_a_header_that_is_wrong_would_be_noticed(mock_dataset: Path, change: dict[str, Any], problem: str) -> None:
    header = yaml.safe_load((mock_dataset / "README.md").read_text().split("---\n")[1])
    if "configs" in change:
        change = {"configs": [config | {"default": False} for config in header["configs"]]}
    assert list(problems(header | change)) == [problem]


def test_every_data_file_belongs_to_one_config_beside_all_and_its_rows_are_counted(dataset: Path) -> None:
    header = DatasetCard.load(dataset / "README.md").data.to_dict()
    reading = read_dataset(dataset)
    counted: dict[str, int] = {}
    for config, info in zip(header["configs"], header["dataset_info"], strict=True):
        for files, split in zip(config["data_files"], info["splits"], strict=True):
            patterns = files["path"] if isinstance(files["path"], list) else [files["path"]]
            entries = [
                entry for entry in reading.manifest.files if any(fnmatch(entry.path, pattern) for pattern in patterns)
            ]
            assert sum(entry.rows or 0 for entry in entries) == split["num_examples"]
            if config["config_name"] != "all":
                counted |= {entry.path: 1 + counted.get(entry.path, 0) for entry in entries}
    shards = [
        entry.path
        for entry in reading.manifest.files
        if entry.path.endswith(".parquet") and not entry.path.startswith("outcomes/") and entry.rows
    ]
    assert counted == dict.fromkeys(shards, 1)


def test_the_licence_is_told(combined_dataset: Path, mock_dataset: Path) -> None:
    assert DatasetCard.load(mock_dataset / "README.md").data.license == "apache-2.0"
    assert DatasetCard.load(combined_dataset / "README.md").data.license == ["apache-2.0", "cc-by-4.0"]
    text = (combined_dataset / "README.md").read_text()
    assert (
        "[apache-2.0](https://huggingface.co/docs/hub/repositories-licenses)" in text
        and "| licence | cc-by-4.0 | apache-2.0 |" in text
    )


def snippets(folder: Path) -> list[str]:
    """The Python code of a card, as a reader would fill it in."""
    text = (folder / "README.md").read_text()
    return [
        re.sub(r"<[a-z ]*folder>", str(folder), code) for code in re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    ]


LEAVE = "\nimport os, sys\nsys.stdout.flush()\nos._exit(0)"
"""Ends a process at once: pyarrow's threads now and then abort an interpreter that is ending (apache/arrow issue
45214)."""


def run(code: str, folder: Path) -> str:
    offline = {**os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": str(folder), "HF_DATASETS_DISABLE_PROGRESS_BARS": "1"}
    offline["PYTHONPATH"] = str(Path(__file__).parents[2])
    done = subprocess.run(
        [sys.executable, "-c", code + LEAVE], env=offline, cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_loading_as_the_card_says_gives_all_rows(dataset: Path, tmp_path: Path) -> None:
    code = (
        snippets(dataset)[0]
        + "\nimport json\nprint(json.dumps([{s: p['id'][:] for s, p in tasks.items()}, rejects['number'][:]]))"
    )
    reading = read_dataset(dataset)
    first = next(iter(reading.domains.values()))
    ids = {split: [row["id"] for row in rows] for split, rows in first.splits.items()}
    assert json.loads(run(code, tmp_path)) == [ids, [row["number"] for row in reading.rows.rejects]]


def test_training_as_the_card_says_grades_the_golden_calls(dataset: Path, tmp_path: Path) -> None:
    code = snippets(dataset)[1]
    seen = (
        "\nassert [result.value for result in results] == [json.loads(call['result']) for call in row['golden_calls']]"
        "\nassert [message['role'] for message in messages] == ['system', 'user'] and tools[0]['type'] == 'function'"
    )
    assert run(code + seen, tmp_path) == "1 right\n"
    assert code.count("calls = [") == 1
    lazy = re.sub(r"^calls = \[.*$", "calls = []", code, flags=re.MULTILINE)
    assert run(lazy, tmp_path).startswith("0 ")
