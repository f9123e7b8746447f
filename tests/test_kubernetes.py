"""The files of deploy/helm: plain manifests hold against the schemas of Kubernetes, the values name keys that the chart
has, and both fit each other.

The chart is on no package index. Its keys that we use are written down here, as version 1.22.0 has them; `helm` checks
them all (docs/use/kubernetes.md).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

ROOT = Path(__file__).parents[1]
HELM = ROOT / "deploy" / "helm"
VALUES = yaml.safe_load((HELM / "values.yaml").read_text())
POD = yaml.safe_load((HELM / "gpu-pod.yaml").read_text())
CLAIM = yaml.safe_load((HELM / "training-volume.yaml").read_text())
KUBERNETES = ("1.31", "1.34", "1.37")
GUIDE = (ROOT / "docs" / "use" / "kubernetes.md").read_text()

CHART = "1.22.0"
KEYS = set(
    re.findall(
        r"\S+",
        """
    executor airflowVersion airflowHome uid gid airflowLocalSettings env secret extraConfigMaps
    fernetKeySecretName jwtSecretName apiSecretKeySecretName
    images.airflow.repository images.airflow.tag images.airflow.pullPolicy data.metadataSecretName
    config.core config.api config.logging config.scheduler config.workers config.dag_processor\
 config.kubernetes_executor
    scheduler.logGroomerSidecar.enabled scheduler.extraVolumes scheduler.extraVolumeMounts\
 triggerer.logGroomerSidecar.enabled
    dagProcessor.logGroomerSidecar.args workers.kubernetes.resources workers.kubernetes.env
    migrateDatabaseJob.args migrateDatabaseJob.env migrateDatabaseJob.extraVolumes\
 migrateDatabaseJob.extraVolumeMounts createUserJob.enabled
    databaseCleanup.enabled databaseCleanup.schedule databaseCleanup.retentionDays databaseCleanup.skipArchive
    statsd.enabled statsd.extraMappings postgresql.enabled redis.enabled
    """,
    )
)
"""What the chart knows, and we set. Below these keys the chart takes what Kubernetes or Airflow takes."""
SECRETS = {
    "toolscale-database": {"connection"},
    "toolscale-fernet": {"fernet-key"},
    "toolscale-jwt": {"jwt-secret"},
    "toolscale-api": {"api-secret-key"},
    "toolscale-storage": {"access-key-id", "secret-access-key"},
    "toolscale-hub": {"token"},
}
"""The Secrets that have to be there, with the keys that are read: of the first four the chart says which."""


def keys(values: Any, path: str = "") -> Iterator[str]:
    """The keys of values, as deep as KEYS goes."""
    if path in KEYS or not isinstance(values, dict):
        yield path
        return
    for name, value in values.items():
        yield from keys(value, f"{path}.{name}".lstrip("."))


def secrets_of(node: Any) -> Iterator[tuple[str, str]]:
    """Every Secret that a file reads by `secretKeyRef`, with its key."""
    if isinstance(node, dict):
        if reference := node.get("secretKeyRef"):
            yield reference["name"], reference["key"]
        for value in node.values():
            yield from secrets_of(value)
    elif isinstance(node, list):
        for value in node:
            yield from secrets_of(value)


@pytest.mark.parametrize("version", KUBERNETES)
@pytest.mark.parametrize("name", ["gpu-pod.yaml", "training-volume.yaml"])
def test_a_manifest_holds_against_the_schema_of_kubernetes(name: str, version: str) -> None:
    kubernetes_validate.validate(yaml.safe_load((HELM / name).read_text()), version, strict=True)


@pytest.mark.parametrize("version", KUBERNETES)
def test_the_schema_would_find_a_key_that_is_wrong(version: str) -> None:
    with pytest.raises(kubernetes_validate.ValidationError, match="tolerate"):
        kubernetes_validate.validate({**POD, "spec": {**POD["spec"], "tolerate": []}}, version, strict=True)


def test_the_values_name_keys_that_the_chart_has() -> None:
    assert sorted(keys(VALUES)) == sorted(KEYS)
    assert f"version {CHART}" in (HELM / "values.yaml").read_text() and f"--version {CHART}" in GUIDE


def test_airflow_is_the_one_of_the_constraints() -> None:
    assert f"apache-airflow=={VALUES['airflowVersion']}\n" in (ROOT / "constraints.txt").read_text()


def test_the_settings_of_airflow_cfg_are_said_again() -> None:
    """The chart's airflow.cfg takes the place of ours. What is left out there is about one machine, or is the chart's
    own affair."""
    text = (ROOT / "airflow.cfg").read_text()
    sections = re.findall(r"^\[(\w+)\]\n(.*?)(?=^\[|\Z)", text, re.MULTILINE | re.DOTALL)
    ours = {section: dict(re.findall(r"^(\w+) = (.*)$", lines, re.MULTILINE)) for section, lines in sections}
    said = {
        section: {
            name: str(VALUES["config"][section][name]) for name in settings if name in VALUES["config"].get(section, {})
        }
        for section, settings in ours.items()
    }
    same = {
        "load_examples": "False",
        "plugins_folder": "/opt/airflow/plugins",
        "dags_are_paused_at_creation": "False",
        "parallelism": "32",
        "dagbag_import_timeout": "120",
    }
    assert said == {
        **{name: {} for name in ("database", "logging", "api_auth")},
        "core": same,
        "api": {"base_url": "https://airflow.example.com"},
        **{name: ours[name] for name in ("scheduler", "workers", "dag_processor")},
    }


def test_every_secret_is_named_and_none_is_told() -> None:
    read: dict[str, set[str]] = {
        VALUES["data"]["metadataSecretName"]: {"connection"},
        VALUES["fernetKeySecretName"]: {"fernet-key"},
        VALUES["jwtSecretName"]: {"jwt-secret"},
        VALUES["apiSecretKeySecretName"]: {"api-secret-key"},
    }
    for name, key in [
        *secrets_of(VALUES),
        *secrets_of(POD),
        *((entry["secretName"], entry["secretKey"]) for entry in VALUES["secret"]),
    ]:
        read.setdefault(name, set()).add(key)
    assert read == SECRETS
    told = [entry["name"] for entry in [*VALUES["env"], *POD["spec"]["containers"][0]["env"]] if "value" in entry]
    assert not [name for name in told if re.search("SECRET|TOKEN|PASS|KEY|CONN", name)]


def test_the_guide_makes_every_secret_with_its_keys() -> None:
    made = re.findall(r"create secret generic (\S+) ((?:--from-literal=\S+ ?(?:\"[^\"]*\")?\s*\\?\s*)+)", GUIDE)
    assert {name: set(re.findall(r"--from-literal=([\w-]+)=", keys)) for name, keys in made} == SECRETS


def test_pools_are_those_of_the_repository_with_more_slots() -> None:
    ours = json.loads((ROOT / "pools.json").read_text())
    theirs = json.loads(VALUES["extraConfigMaps"]["toolscale-pools"]["data"].partition("|\n")[2])
    assert {name: {**pool, "slots": 0} for name, pool in theirs.items()} == {
        name: {**pool, "slots": 0} for name, pool in ours.items()
    }
    assert all(theirs[name]["slots"] >= ours[name]["slots"] for name in ours)


def test_a_pod_with_a_gpu_asks_for_one_and_goes_where_they_are() -> None:
    container = POD["spec"]["containers"][0]
    assert (container["name"], container["resources"]["limits"]["nvidia.com/gpu"]) == ("base", "1")
    assert POD["spec"]["tolerations"] == [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}]


def test_a_pod_with_a_gpu_works_as_the_others_do() -> None:
    container = POD["spec"]["containers"][0]
    environ = {entry["name"]: entry.get("value") for entry in container["env"]}
    shared = {"AIRFLOW_HOME": VALUES["airflowHome"], "AIRFLOW__CORE__EXECUTOR": VALUES["executor"]} | {
        entry["name"]: entry["value"] for entry in VALUES["env"]
    }
    assert {name: environ[name] for name in shared} == shared
    assert {entry["envName"] for entry in VALUES["secret"]} <= environ.keys()
    assert POD["spec"]["securityContext"]["runAsUser"] == VALUES["uid"]
    assert (
        container["image"]
        == f"{VALUES['images']['airflow']['repository']}-training:{VALUES['images']['airflow']['tag']}"
    )
    # Whatever stood here would take the place of the image of the pod.
    assert VALUES["config"]["kubernetes_executor"] == {"worker_container_repository": "", "worker_container_tag": ""}


def test_trainings_work_on_a_disk_that_all_pods_share() -> None:
    volumes = {volume["name"]: volume for volume in POD["spec"]["volumes"]}
    mounts = {mount["name"]: mount["mountPath"] for mount in POD["spec"]["containers"][0]["volumeMounts"]}
    assert volumes["training"]["persistentVolumeClaim"] == {"claimName": CLAIM["metadata"]["name"]}
    assert mounts["training"] == f"{VALUES['airflowHome']}/var/training"
    assert CLAIM["spec"]["accessModes"] == ["ReadWriteMany"]
