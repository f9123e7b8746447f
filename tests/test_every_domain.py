"""`toolscale synthesize all`: every domain in a process of its own, and one folder with all of them."""

from __future__ import annotations

import json
import multiprocessing
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from toolscale.dataset.describing.reading import read_dataset
from toolscale.dataset.manifest import read_manifest
from toolscale.environment.registry import discover
from toolscale.environment.scaffold import read_tables, write_scaffold
from toolscale.errors import ToolScaleError, UsageError
from toolscale.pipeline import synthesize
from toolscale.pipeline.every_domain import Made, Order, every_domain, synthesize_every, tasks_of

LOAD = """
import json, os, sys
from datasets import load_dataset
tasks = load_dataset(sys.argv[1], "all")
print(json.dumps(sorted(domain for rows in tasks.values() for domain in rows["domain"])))
sys.stdout.flush()
os._exit(0)  # pyarrow's threads now and then abort an interpreter that is ending (apache/arrow issue 45214)
"""


@pytest.fixture
def shelves(tmp_path: Path) -> Path:
    """Two domains, `archive` and `library`."""
    root = tmp_path / "environments"
    for name in ("archive", "library"):
        shutil.copytree(discover()["mock"], root / name)
    return root


def make_all(root: Path, out: Path, processes: int = 2) -> tuple[Made, list[str]]:
    told: list[str] = []
    orders = [Order(folder, out.parent / domain, tasks=6) for domain, folder in discover(root).items()]

    def report(domain: str, act: str, done: int, total: int) -> None:
        told.append(f"{domain}: {act}")

    return synthesize_every(orders, out, processes=processes, report=report), told


def test_all_domains_are_made_side_by_side_and_put_together(shelves: Path, tmp_path: Path) -> None:
    out = tmp_path / "made" / "all"
    made, told = make_all(shelves, out)
    assert made.failures == {}
    assert made.manifest == read_manifest(out)
    assert sorted(read_dataset(out).domains) == ["archive", "library"]
    assert {"archive: made", "library: made", "archive: judging candidates"} <= set(told)


@pytest.mark.slow("tests/test_every_domain.py")
def test_a_domain_is_the_same_whether_it_is_made_alone_or_with_others(shelves: Path, tmp_path: Path) -> None:
    make_all(shelves, tmp_path / "made" / "all")
    alone = synthesize(shelves / "library", tmp_path / "alone", tasks=6)
    assert read_manifest(tmp_path / "made" / "library").files == alone.files


@pytest.mark.slow("tests/test_every_domain.py")
def test_datasets_reads_all_domains_as_one_config(shelves: Path, tmp_path: Path) -> None:
    out = tmp_path / "made" / "all"
    make_all(shelves, out)
    offline = {**os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path), "HF_DATASETS_DISABLE_PROGRESS_BARS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", LOAD, str(out)], env=offline, cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout) == ["archive"] * 6 + ["library"] * 6


def test_a_helper_that_is_killed_is_told_as_such(shelves: Path, tmp_path: Path) -> None:
    """As by a kernel that is out of memory: the process that relays what the others report."""
    orders = [Order(folder, tmp_path / domain, tasks=6) for domain, folder in discover(shelves).items()]

    def report(domain: str, act: str, done: int, total: int) -> None:
        for helper in multiprocessing.active_children():
            if helper.name.startswith("SyncManager"):
                helper.kill()

    with pytest.raises(ToolScaleError, match="a worker process was killed"):
        synthesize_every(orders, tmp_path / "all", processes=2, report=report)


@pytest.mark.parametrize("processes", [pytest.param(1, marks=pytest.mark.slow("tests/test_every_domain.py")), 2])
def test_a_broken_domain_is_named_and_the_others_are_made(shelves: Path, tmp_path: Path, processes: int) -> None:
    (shelves / "archive" / "schema.yaml").write_text("tables: 3\n")
    out = tmp_path / "made" / "all"
    made, told = make_all(shelves, out, processes)
    assert made.manifest is None
    assert list(made.failures) == ["archive"]
    assert made.failures["archive"].startswith("schema.yaml: tables: ")
    assert sorted(path.name for path in out.parent.iterdir() if path.name[0] != ".") == ["library"]
    assert read_manifest(out.parent / "library").counts["accepted"] == 6
    assert "archive: failed" in told


def test_all_domains_means_those_that_are_no_examples() -> None:
    assert "mock" in discover()
    assert "mock" not in every_domain()
    assert "finance" in every_domain()


def test_a_domain_says_how_many_tasks_its_dataset_has(shelves: Path) -> None:
    path = shelves / "library" / "environment.yaml"
    path.write_text(path.read_text() + "tasks: 247\n")
    assert (tasks_of(shelves / "library"), tasks_of(shelves / "archive")) == (247, 396)


def test_no_domain_is_called_all(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="'all' cannot name a domain"):
        write_scaffold("all", read_tables("member, loan by member"), tmp_path)
