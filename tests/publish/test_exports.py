"""Exports are published with their dataset, and the Hub reads what they are; they come back and hold, or are named."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import yaml

from tests.publish.command import Command
from tests.publish.hub_server import Hub
from toolscale.cli import main
from toolscale.dataset.describing.reading import read_dataset
from toolscale.dataset.making.folder import list_files
from toolscale.dataset.manifest import MANIFEST, read_manifest, render_manifest
from toolscale.exports.published import check_exports, with_exports
from toolscale.pipeline import synthesize

pytestmark = pytest.mark.xdist_group("published_exports")


@pytest.fixture(scope="module")
def forms(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tasks that are answered by a form, which Harbor can play."""
    out = tmp_path_factory.mktemp("forms") / "mock"
    synthesize("mock", out, tasks=6, seed=0, workers=1, turns="single", fixtures=2)
    return out


@pytest.fixture(scope="module")
def exported(forms: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("exported") / "mock"
    with_exports(forms, ["harbor", "verifiers", "openenv"], out)
    return out


def rehash(folder: Path) -> None:
    """Have the manifest list the files as they are now."""
    manifest = read_manifest(folder).model_copy(update={"files": tuple(list_files(folder))})
    (folder / MANIFEST).write_bytes(render_manifest(manifest))


def test_exports_go_with_their_dataset_in_one_commit_and_come_back(
    forms: Path, toolscale: Command, hub: Hub, tmp_path: Path
) -> None:
    command = ("publish", forms, "me/x", "--with", "harbor,verifiers", "--push")
    status, _, err = toolscale(*command)
    assert (status, err) == (0, "")
    assert len(hub.titles("me/x")) == 2  # that which made the repo, and ours
    assert "already published" in toolscale(*command)[1]
    out = tmp_path / "pulled"
    assert toolscale("pull", "me/x", "--out", out)[0] == 0
    assert main(["verify", str(out), "--workers", "1"]) == 0
    tasks = {row["id"] for row in read_dataset(out).rows.tasks}
    assert {path.parent.name.rpartition("-")[2] for path in (out / "exports" / "harbor").glob("*/task.toml")} == tasks
    assert (out / "exports" / "harbor" / "dataset" / "fixtures" / "mock.jsonl").is_file()
    declared = yaml.safe_load((out / "environment.yaml").read_text())
    assert declared == {
        "spec_version": "hf-env-0.1",
        "environments": [
            {
                "id": "mock",
                "title": read_dataset(out).manifest.domains["mock"] and declared["environments"][0]["title"],
                "config_name": "mock",
                "splits": ["train", "test"],
                "dataset": {"path": "exports/harbor"},
                "reward": "scalar",
                "frameworks": {
                    "harbor": {"path": "exports/harbor", "min_version": ">=0.26.0"},
                    "verifiers": {"path": "exports/verifiers", "min_version": ">=0.4.0"},
                },
            }
        ],
    }
    header = yaml.safe_load((out / "README.md").read_text().split("---")[1])
    assert header["tags"][-3:] == ["rl-environment", "harbor", "verifiers"]


def test_an_export_is_the_same_wherever_it_is_written(exported: Path, tmp_path: Path) -> None:
    with_exports(exported, ["harbor", "verifiers", "openenv"], tmp_path / "again")
    assert (tmp_path / "again" / MANIFEST).read_bytes() == (exported / MANIFEST).read_bytes()
    assert list(check_exports(exported)) == []


@pytest.mark.parametrize(
    "put",
    [
        {"exports/other/x.py": ("", "the file is no part of a dataset")},
        {"environment.yaml": ("spec_version: 1\nlicense: mit\n", "the file is not what follows from the rows")},
        {
            "exports/harbor/image/Containerfile": ("FROM evil\n", "the file is not what follows from the dataset"),
            "exports/harbor/image/requirements.txt": ("evil==1\n", "the file is not what follows from the dataset"),
            "exports/openenv/client.py": (None, "such an export has this file"),
            "exports/openenv/more.py": ("import os\n", "the file is no part of such an export"),
            "exports/verifiers/export.json": (
                '{"options": 3, "tried_with": "verifiers 0.4.0"}',
                "it cannot be written again",
            ),
        },
    ],
    ids=["elsewhere", "the list of exports", "exports"],
)
def test_what_was_put_into_an_export_is_named(
    put: dict[str, tuple[str | None, str]], exported: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = Path(shutil.copytree(exported, tmp_path / "mock"))
    for path, (content, _) in put.items():
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).unlink() if content is None else (folder / path).write_text(content)
    rehash(folder)
    assert main(["verify", str(folder), "--workers", "1"]) == 1
    found = capsys.readouterr().out.splitlines()[:-1]
    for path, (_, problem) in put.items():
        assert any(each.startswith(path.removesuffix("/export.json")) and problem in each for each in found), found


def test_a_host_that_cannot_play_the_tasks_leaves_nothing_behind(
    dataset: Path, toolscale: Command, hub: Hub, tmp_path: Path
) -> None:
    status, told, err = toolscale("publish", dataset, "me/x", "--with", "harbor", "--push")
    assert (status, told, err.count("\n")) == (2, "", 1) and "answered by a message" in err
    assert toolscale("publish", dataset, "me/x", "--with", "elsewhere", "--push")[0] == 2
    assert ("dataset", "me/x") not in hub.repos


def test_a_dataset_that_claims_another_licence_is_refused(
    forms: Path, toolscale: Command, hub: Hub, tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(forms, tmp_path / "mock"))
    card = folder / "README.md"
    card.write_text(card.read_text().replace("license: apache-2.0", "license: mit"))
    rehash(folder)
    status, told, err = toolscale("publish", folder, "me/x", "--push")
    assert (status, told) == (2, "")
    assert err == (f"toolscale: {card} says the licence mit, and manifest.json apache-2.0; make the dataset again\n")
    manifest = json.loads((forms / MANIFEST).read_text())
    manifest["domains"]["mock"]["license"] = "mit"
    folder = Path(shutil.copytree(forms, tmp_path / "other" / "mock"))
    (folder / MANIFEST).write_text(json.dumps(manifest))
    status, told, err = toolscale("publish", folder, "me/x", "--push")
    assert (status, told) == (2, "") and f"{folder / MANIFEST} says that mock has the licence mit" in err
    assert ("dataset", "me/x") not in hub.repos
