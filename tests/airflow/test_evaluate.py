"""An evaluation through Airflow: mapped over benchmarks, and a gate that is red only for worse."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from homes import ROOT, AirflowHome

DAG = "evaluate_orchestrator"


def run_by_hand(home: AirflowHome, conf: dict[str, object]) -> subprocess.CompletedProcess[str]:
    """One run by `airflow dags test`."""
    subprocess.run([ROOT / "scripts" / "airflow-setup"], env=home.environ, check=True)
    return subprocess.run(
        ["airflow", "dags", "test", DAG, "--conf", json.dumps(conf)], env=home.environ, capture_output=True, text=True
    )


def model(folder: Path, verdict: str = "no difference shown") -> str:
    """What stands for a checkpoint; the trial program says this of it when it is compared."""
    folder.mkdir(parents=True)
    (folder / "verdict").write_text(verdict)
    return str(folder)


@pytest.mark.slow("tests/pipeline/test_evaluating.py")
def test_a_checkpoint_is_accepted_and_a_worse_one_after_it_is_not(airflow_home: AirflowHome, tmp_path: Path) -> None:
    folder = Path(airflow_home.data) / "evaluations"
    first = model(tmp_path / "first")
    done = run_by_hand(airflow_home, {"checkpoint": first, "dataset": str(tmp_path), "out": "first"})
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    assert sorted(path.name for path in (folder / "first").glob("[a-z]*")) == [
        "gate.json",
        "heldout",
        "questions",
    ]
    accepted = json.loads((folder / "accepted.json").read_text())
    reports = [str(folder / "first" / name / "report.html") for name in ("heldout", "questions")]
    assert accepted == {"checkpoint": first, "reports": reports}

    done = run_by_hand(airflow_home, {"checkpoint": model(tmp_path / "worse", "worse"), "out": "worse"})
    assert done.returncode != 0 or "RegressionError" in done.stdout + done.stderr
    assert "questions: worse than the accepted checkpoint: -10.0 points" in done.stdout + done.stderr
    assert json.loads((folder / "accepted.json").read_text()) == accepted
