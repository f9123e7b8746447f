"""Versions: what identifies one, what it says changed, and what becomes of tasks that were graded otherwise."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.dataset.test_combined import fingerprints, repair
from toolscale.config import GRADING_VERSION
from toolscale.dataset.arrow import TASK_SCHEMA
from toolscale.dataset.checking.changes import CHANGES, check_changes, read_changes
from toolscale.dataset.checking.integrity import Finding
from toolscale.dataset.checking.recheck import verify_dataset
from toolscale.dataset.columns import Row
from toolscale.dataset.comparing.combined import combine
from toolscale.dataset.comparing.versions import content_id, release, tag_of
from toolscale.dataset.describing.reading import read_dataset
from toolscale.dataset.manifest import MANIFEST, read_manifest, render_manifest
from toolscale.dataset.parquet import read_shard, write_shards
from toolscale.errors import DatasetError
from toolscale.pipeline import synthesize
from toolscale.records import ChangedTask, DomainChanges, Regraded, Release

pytestmark = pytest.mark.xdist_group("combined")  # what they read is made once

TRAIN = "mock/train-00000-of-00001.parquet"


@pytest.fixture(scope="session")
def first(mock_dataset: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The first published version of the mock dataset."""
    out = tmp_path_factory.mktemp("releases") / "first"
    release(mock_dataset, None, out)
    return out


@pytest.fixture(scope="session")
def other_seed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("datasets") / "mock"
    synthesize("mock", out, tasks=6, seed=1, turns="single", answer="message")
    return out


@pytest.fixture(scope="session")
def second(first: Path, other_seed: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A version of other tasks after the first."""
    out = tmp_path_factory.mktemp("versions") / "second"
    release(other_seed, first, out)
    return out


def altered(folder: Path, out: Path, change: Callable[[list[Row]], None], *, grading: str | None = None) -> Path:
    """Return a copy of a mock dataset whose train rows were changed, with a manifest that fits, and that claims a
    grading version."""
    shutil.copytree(folder, out)
    rows = read_shard(out / TRAIN, TASK_SCHEMA)
    change(rows)
    write_shards(out / "mock", "train", rows, TASK_SCHEMA)
    repair(out)
    if grading is not None:
        manifest = read_manifest(out)
        part = manifest.domains["mock"]
        part = part.model_copy(update={"versions": part.versions | {"grading": grading}})
        (out / MANIFEST).write_bytes(render_manifest(manifest.model_copy(update={"domains": {"mock": part}})))
    return out


def text_of(folder: Path) -> str:
    return (folder / "README.md").read_text()


def test_a_tag_names_the_version_of_the_environment_and_of_the_data(
    mock_dataset: Path, combined_dataset: Path, first: Path
) -> None:
    manifest = read_manifest(mock_dataset)
    assert tag_of(manifest) == f"v1.0.0-{content_id(manifest)[:8]}"
    assert tag_of(read_manifest(combined_dataset)) == f"v1.2.0-{content_id(read_manifest(combined_dataset))[:8]}"
    assert content_id(read_manifest(first)) == content_id(manifest), "card, manifest and changes.json are not data"


def test_other_rows_have_another_tag(mock_dataset: Path, tmp_path: Path) -> None:
    manifest = read_manifest(
        altered(mock_dataset, tmp_path / "altered", lambda rows: rows[0].update(request="Something else."))
    )
    assert tag_of(manifest) != tag_of(read_manifest(mock_dataset))


def test_a_first_version_says_so_and_holds(mock_dataset: Path, first: Path) -> None:
    manifest = read_manifest(first)
    assert manifest.release == Release(previous=None, grading=str(GRADING_VERSION), previous_grading=None, domains={})
    assert f"`{tag_of(manifest)}` is the first published version." in text_of(first)
    assert verify_dataset(first).findings == ()
    kept = fingerprints(mock_dataset).keys() - {"README.md", MANIFEST}
    assert {path: fingerprints(first)[path] for path in kept} == {
        path: fingerprints(mock_dataset)[path] for path in kept
    }


def test_the_same_data_again_are_the_same_version(mock_dataset: Path, first: Path, tmp_path: Path) -> None:
    assert release(mock_dataset, first, tmp_path / "again") == read_manifest(first)
    assert fingerprints(tmp_path / "again") == fingerprints(first)


def test_another_seed_adds_and_removes_tasks(first: Path, other_seed: Path, second: Path, tmp_path: Path) -> None:
    manifest = read_manifest(second)
    old, new = ({row["id"] for row in read_dataset(folder).rows.tasks} for folder in (first, other_seed))
    changes = read_changes(second)
    assert (changes.tag, changes.previous) == (tag_of(manifest), tag_of(read_manifest(first)))
    found = changes.domains["mock"]
    assert (found.added, found.removed, found.changed) == (tuple(sorted(new - old)), tuple(sorted(old - new)), ())
    assert manifest.release is not None and manifest.release.domains["mock"] == DomainChanges(
        status="kept",
        environment=False,
        tools=False,
        policy=False,
        database=False,
        files=(),
        added=len(new - old),
        removed=len(old - new),
        changed=0,
        unchanged=len(old & new),
        columns={},
    )
    assert f"| mock | {len(new - old)} | {len(old - new)} | 0 | {len(old & new)} | as before |" in text_of(second)
    assert verify_dataset(second).findings == ()
    assert release(other_seed, first, tmp_path / "elsewhere") == manifest
    assert fingerprints(tmp_path / "elsewhere") == fingerprints(second)


def test_a_task_of_the_same_candidate_has_changed_in_named_columns(mock_dataset: Path, tmp_path: Path) -> None:
    def change(rows: list[Row]) -> None:
        rows[0].update(id="0" * 32, request="It was asked otherwise.")
        rows[1].update(mutants_killed=1)
        del rows[2]

    previous = altered(mock_dataset, tmp_path / "previous", change)
    manifest = release(mock_dataset, previous, tmp_path / "next")
    rows = read_shard(mock_dataset / TRAIN, TASK_SCHEMA)
    found = read_changes(tmp_path / "next").domains["mock"]
    assert set(found.changed) == {
        ChangedTask(id=rows[0]["id"], was="0" * 32, columns=("id", "request")),
        ChangedTask(id=rows[1]["id"], was=rows[1]["id"], columns=("mutants_killed",)),
    }
    assert (found.added, found.removed, found.unchanged) == ((rows[2]["id"],), (), 7)
    assert manifest.release is not None
    assert manifest.release.domains["mock"].columns == {"id": 1, "mutants_killed": 1, "request": 1}
    assert "in mock it differs in id 1, mutants_killed 1, request 1." in text_of(tmp_path / "next")
    assert verify_dataset(tmp_path / "next").findings == ()


@pytest.mark.slow("tests/dataset/test_versions.py")
def test_domains_that_come_and_go_and_an_environment_that_changed_are_told(
    mock_dataset: Path, kiosk_dataset: Path, combined_dataset: Path, tmp_path: Path
) -> None:
    release(kiosk_dataset, None, tmp_path / "kiosk")
    came = release(combined_dataset, tmp_path / "kiosk", tmp_path / "both")
    assert came.release is not None
    assert {
        domain: (change.status, change.added, change.unchanged) for domain, change in came.release.domains.items()
    } == {
        "kiosk": ("kept", 0, 8),
        "mock": ("new", 10, 0),
    }
    assert verify_dataset(tmp_path / "both").findings == ()
    went = release(mock_dataset, tmp_path / "both", tmp_path / "mock")
    assert went.release is not None
    assert {
        domain: (change.status, change.removed, change.unchanged) for domain, change in went.release.domains.items()
    } == {
        "kiosk": ("gone", 8, 0),
        "mock": ("kept", 0, 10),
    }
    assert verify_dataset(tmp_path / "mock").findings == ()


@pytest.mark.slow("tests/dataset/test_versions.py")
def test_a_changed_policy_and_tool_are_told(mock_dataset: Path, tmp_path: Path) -> None:
    domain = tmp_path / "domains" / "mock"
    shutil.copytree(
        mock_dataset / "environments" / "mock",
        domain,
        ignore=shutil.ignore_patterns("admission.json", "database.sqlite", "tools.json"),
    )
    (domain / "policy.md").write_text((domain / "policy.md").read_text() + "\nBe brief.\n")
    (domain / "toolset.yaml").write_text(
        (domain / "toolset.yaml").read_text().replace("description: Find", "description: Look for", 1)
    )
    synthesize(domain, tmp_path / "new", tasks=10, seed=0, turns="single", answer="message")
    manifest = release(tmp_path / "new", mock_dataset, tmp_path / "next")
    assert manifest.release is not None
    change = manifest.release.domains["mock"]
    assert (change.environment, change.tools, change.policy, change.database) == (True, True, True, False)
    assert change.files == ("policy.md", "toolset.yaml")
    assert (change.changed, change.columns["prompt"], change.columns["tools"]) == (10, 10, 10)
    assert "| changed: policy.md, toolset.yaml |" in text_of(tmp_path / "next")
    assert "Tools: changed in mock. Policy: changed in mock." in text_of(tmp_path / "next")


def test_tasks_that_were_graded_otherwise_are_judged_again(mock_dataset: Path, tmp_path: Path) -> None:
    def change(rows: list[Row]) -> None:
        rows[0]["golden_calls"].pop()
        rows[1]["communicate"] = []
        rows[2]["candidate"] = "{}"
        rows[3]["mutants_killed"] = 1  # what a judge counted is no part of the task

    previous = altered(mock_dataset, tmp_path / "previous", change, grading="1")
    rows = read_shard(mock_dataset / TRAIN, TASK_SCHEMA)
    assert rows[1]["communicate"]
    manifest = release(mock_dataset, previous, tmp_path / "next")
    changes = read_changes(tmp_path / "next")
    assert (changes.previous_grading, changes.grading) == ("1", str(GRADING_VERSION))
    found = changes.domains["mock"].regraded
    assert found is not None
    assert {task.id: set(task.gates) for task in found.failed} == {
        rows[0]["id"]: {"replay"},
        rows[1]["id"]: {"grounded"},
    }
    assert [(task.id, task.reason[:10]) for task in found.unjudged] == [(rows[2]["id"], "candidate.")]
    assert len(found.passed) == 7 and rows[3]["id"] in found.passed
    assert manifest.release is not None
    assert manifest.release.domains["mock"].regraded == Regraded(
        tasks=10, passed=7, failed=2, gates={"grounded": 1, "replay": 1}, unjudged=1
    )
    text = text_of(tmp_path / "next")
    told = f"**Grading has changed** (version 1 before, {GRADING_VERSION} now): scores on this version and on"
    assert told in text and "are not comparable" in text
    assert "| mock | 10 | 7 | 2 | 1 | grounded 1, replay 1 |" in text
    assert verify_dataset(tmp_path / "next").findings == ()


def test_what_an_earlier_version_says_of_itself_cannot_speak_in_the_card(
    mock_dataset: Path, other_seed: Path, tmp_path: Path
) -> None:
    previous = altered(mock_dataset, tmp_path / "previous", lambda rows: None, grading="1) <script>")
    path = previous / "environments" / "mock" / "admission.json"
    admission = json.loads(path.read_text())
    path.write_text(json.dumps(admission | {"files": admission["files"] | {"<script>": "0", "policy.md": "0"}}))
    repair(previous)
    release(other_seed, previous, tmp_path / "next")
    assert "<script>" not in text_of(tmp_path / "next")
    assert f"(version unknown before, {GRADING_VERSION} now)" in text_of(tmp_path / "next")
    assert read_changes(tmp_path / "next").domains["mock"].files == ("policy.md",)


def test_an_environment_that_cannot_be_used_today_is_a_reason_for_every_task(
    mock_dataset: Path, other_seed: Path, tmp_path: Path
) -> None:
    previous = altered(mock_dataset, tmp_path / "previous", lambda rows: None, grading="1")
    path = previous / "environments" / "mock" / "toolset.yaml"
    path.write_text(path.read_text().replace("SELECT", "SELEKT", 1))
    repair(previous)
    release(other_seed, previous, tmp_path / "next")
    found = read_changes(tmp_path / "next").domains["mock"].regraded
    assert found is not None and (found.passed, found.failed) == ((), ())
    assert {task.id for task in found.unjudged} == {row["id"] for row in read_dataset(mock_dataset).rows.tasks}
    assert {re.sub(r"toolset.yaml.*", "…", task.reason) for task in found.unjudged} == {
        "its environment cannot be used today: …"
    }


@pytest.mark.parametrize(
    ("change", "finding"),
    [
        (lambda changes: changes.update(tag="v9.9.9-00000000"), "the tag is v9.9.9-00000000; the files make it"),
        (lambda changes: changes.update(previous="v0.0.1-00000000"), "the manifest counts other changes"),
        (
            lambda changes: changes["domains"]["mock"]["added"].__setitem__(0, "0" * 32),
            f"mock: task {'0' * 32} is said to be added or changed",
        ),
        (lambda changes: changes["domains"]["mock"]["added"].pop(), "mock: "),
        (
            lambda changes: changes["domains"]["mock"]["removed"].append(changes["domains"]["mock"]["added"][0]),
            "mock: task ",
        ),
        (lambda changes: changes["domains"].clear(), "it says nothing of mock"),
        (lambda changes: changes.update(more=1), f"{CHANGES} does not say what changed"),
    ],
)
def test_forged_changes_are_named(
    second: Path, tmp_path: Path, change: Callable[[dict[str, object]], None], finding: str
) -> None:
    folder = Path(shutil.copytree(second, tmp_path / "second"))
    changes = json.loads((folder / CHANGES).read_text())
    change(changes)
    (folder / CHANGES).write_text(json.dumps(changes))
    repair(folder)
    ids = {domain: {row["id"] for row in rows.tasks} for domain, rows in read_dataset(folder).domains.items()}
    findings = list(check_changes(folder, read_manifest(folder), ids))
    assert {(item.place, item.gate) for item in findings} == {(CHANGES, "schema")}
    assert any(finding in item.finding for item in findings)


def test_forged_changes_are_found_by_verify(second: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(second, tmp_path / "second"))
    changes = json.loads((folder / CHANGES).read_text())
    (folder / CHANGES).write_text(json.dumps(changes | {"previous": "v0.0.1-00000000"}))
    repair(folder)
    said = "the manifest counts other changes"
    assert verify_dataset(folder).findings == (Finding(CHANGES, "schema", said),)


def test_changes_and_manifest_belong_together(first: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(first, tmp_path / "copy"))
    (folder / CHANGES).unlink()
    repair(folder)
    assert [(finding.place, finding.gate) for finding in verify_dataset(folder).findings] == [(CHANGES, "schema")]


def test_a_file_that_the_manifest_does_not_name_is_no_part_of_a_version(
    mock_dataset: Path, first: Path, tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(mock_dataset, tmp_path / "pulled"))
    shutil.copy(folder / TRAIN, folder / "mock" / "train-00001-of-00001.parquet")
    (folder / ".cache").mkdir()
    (folder / ".cache" / "notes").write_text("")
    release(folder, None, tmp_path / "out")
    assert fingerprints(tmp_path / "out") == fingerprints(first)


def test_a_version_can_be_released_and_combined_again(
    first: Path, kiosk_dataset: Path, combined_dataset: Path, tmp_path: Path
) -> None:
    release(first, None, tmp_path / "again")
    assert fingerprints(tmp_path / "again") == fingerprints(first)
    combine([first, kiosk_dataset], tmp_path / "both")
    assert fingerprints(tmp_path / "both") == fingerprints(combined_dataset)


def test_what_cannot_be_released_is_one_line(mock_dataset: Path, first: Path, tmp_path: Path) -> None:
    older = altered(mock_dataset, tmp_path / "older", lambda rows: None, grading="1")
    damaged = Path(shutil.copytree(first, tmp_path / "damaged"))
    (damaged / TRAIN).write_bytes(b"PAR1")
    for folder, previous, message in (
        (older, None, f"{older} was graded under version 1, this is version {GRADING_VERSION}; make the dataset again"),
        (mock_dataset, damaged, f"{damaged} is not complete: {TRAIN} has changed; make the dataset, or pull it, again"),
        (
            tmp_path,
            None,
            f"{tmp_path} has no manifest.json: it is no dataset, or was never finished; "
            "make it with `toolscale synthesize`",
        ),
    ):
        with pytest.raises(DatasetError) as caught:
            release(folder, previous, tmp_path / "out")
        assert str(caught.value) == message
    assert not (tmp_path / "out").exists()
