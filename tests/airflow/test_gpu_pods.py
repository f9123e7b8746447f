"""With the settings of the Helm values, and only with them, tasks of the queue gpu name the pod template with a GPU in
the stored DAG."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import yaml
from homes import ROOT, make_home

VALUES = yaml.safe_load((ROOT / "deploy" / "helm" / "values.yaml").read_text())
STORED = """
import json, sys
sys.path.insert(0, "dags")  # as the DAG processor does
from airflow.dag_processing.dagbag import DagBag
from airflow.serialization.serialized_objects import DagSerialization

bag = DagBag("dags")
assert len(bag.dags) == 5, bag.import_errors
dags = [DagSerialization.from_dict(json.loads(json.dumps(DagSerialization.to_dict(dag)))) for dag in bag.dags.values()]
print(json.dumps({f"{dag.dag_id}.{task.task_id}": task.executor_config for dag in dags\
 for task in dag.tasks if task.executor_config}))
"""


def templates(folder: Path, settings: str | None) -> dict[str, object]:
    """The executor_config of each task that has one."""
    home = make_home(folder)
    if settings is not None:
        (home.folder / "config").mkdir()
        (home.folder / "config" / "airflow_local_settings.py").write_text(settings)
    done = subprocess.run(
        [sys.executable, "-c", STORED], env=home.environ, cwd=home.folder, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_tasks_of_the_queue_gpu_choose_the_pod_with_a_gpu(tmp_path: Path) -> None:
    (mount,) = VALUES["scheduler"]["extraVolumeMounts"]
    template = {"pod_template_file": f"{mount['mountPath']}/gpu-pod.yaml"}
    assert templates(tmp_path / "cluster", VALUES["airflowLocalSettings"]) == {
        "evaluate_orchestrator.evaluate": template,
        "evaluate_orchestrator.regression_gate": template,
        "evaluate_orchestrator.stop": template,
        "train_orchestrator.train": template,
        "train_orchestrator.report": template,
        "train_orchestrator.stop": template,
    }


def test_without_kubernetes_no_task_names_a_pod(tmp_path: Path) -> None:
    assert templates(tmp_path / "one", None) == {}
