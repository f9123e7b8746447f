"""A second domain beside the mock one, and both in one folder."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from toolscale.dataset.comparing.combined import combine
from toolscale.environment.registry import discover
from toolscale.pipeline import synthesize


@pytest.fixture(scope="session")
def kiosk_dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Eight tasks of the domain `kiosk`: the mock one under another name, version and licence."""
    domain = tmp_path_factory.mktemp("domains") / "kiosk"
    shutil.copytree(discover()["mock"], domain, ignore=shutil.ignore_patterns("admission.json"))
    path = domain / "environment.yaml"
    path.write_text(
        path.read_text()
        .replace('version: "1"', 'version: "1.2"')
        .replace("apache-2.0", "cc-by-4.0")
        .replace("Branch library", "Kiosk")
    )
    out = tmp_path_factory.mktemp("datasets") / "kiosk"
    synthesize(domain, out, tasks=8, seed=0, turns="single", answer="message")
    return out


@pytest.fixture(scope="session")
def combined_dataset(mock_dataset: Path, kiosk_dataset: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Both domains in one folder. Read it; copy it before changing it."""
    out = tmp_path_factory.mktemp("datasets") / "both"
    combine([mock_dataset, kiosk_dataset], out)
    return out
