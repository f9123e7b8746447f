"""From synthesis to evaluation through the real scheduler: nobody starts more than the first DAG."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from homes import ROOT

from bench.chain import CHAIN, REPO, house, run_chain

pytestmark = [pytest.mark.xdist_group("servers"), pytest.mark.slow("tests/pipeline/test_evaluating.py")]


def two_steps(folder: Path) -> Path:
    """The repository's training, whose tiny configuration ends after two steps."""
    (folder / "configs").mkdir(parents=True)
    for path in (ROOT / "training").iterdir():
        if path.name != "configs":
            (folder / path.name).symlink_to(path)
    config = yaml.safe_load((ROOT / "training" / "configs" / "tiny_cpu.yaml").read_text(encoding="utf-8"))
    (folder / "configs" / "tiny_cpu.yaml").write_text(
        yaml.safe_dump({**config, "steps": 2, "must_learn": False}), encoding="utf-8"
    )
    return folder


def test_a_night_ends_in_an_evaluated_orchestrator(tmp_path: Path) -> None:
    with house(tmp_path / "home", two_steps(tmp_path / "training")) as (live, hub):
        made, published, trained, evaluated = run_chain(live, ["mock"], 12)
    assert [run.dag_id for run in (made, published, trained, evaluated)] == list(CHAIN)
    assert published.told["repo"] == REPO and "mock/train-00000-of-00001.parquet" in hub.files(REPO)
    assert trained.told["dataset"] == published.told["dataset"] == made.told["dataset"]
    assert evaluated.told["checkpoint"] == trained.told["checkpoint"]
    reports = [Path(report) for report in evaluated.told["reports"]]
    assert [path.parent.name for path in reports] == ["heldout", "questions"]
    assert all("golden" in path.read_text(encoding="utf-8") for path in reports)
