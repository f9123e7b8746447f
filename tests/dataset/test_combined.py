"""Several domains in one folder: everything of each stays as it is, and everything that holds of one dataset holds of
both."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from hashlib import sha256
from pathlib import Path

import pytest

from toolscale.cli import main
from toolscale.config import ALL, DATASET_FOLDERS, GRADING_VERSION, RUN_FOLDERS
from toolscale.dataset.arrow import TASK_SCHEMA
from toolscale.dataset.checking.recheck import Verification, verify_dataset
from toolscale.dataset.comparing.combined import combine
from toolscale.dataset.describing.environments import EXPORTED
from toolscale.dataset.describing.reading import read_dataset
from toolscale.dataset.given import given_files
from toolscale.dataset.making.folder import list_files
from toolscale.dataset.making.outcomes import read_outcomes
from toolscale.dataset.manifest import MANIFEST, read_manifest, render_manifest
from toolscale.dataset.parquet import read_shard, write_shards
from toolscale.dataset.runs import Run
from toolscale.environment.references import domain_problem
from toolscale.errors import DatasetError, ToolScaleError, UsageError

pytestmark = pytest.mark.xdist_group("combined")  # what they read is made once


def fingerprints(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_one_dataset_stays_what_it_is_byte_for_byte(mock_dataset: Path, tmp_path: Path) -> None:
    assert combine([mock_dataset], tmp_path / "out") == read_manifest(mock_dataset)
    assert fingerprints(tmp_path / "out") == fingerprints(mock_dataset)
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_files_of_each_domain_stay_as_they_are(mock_dataset: Path, kiosk_dataset: Path, combined_dataset: Path) -> None:
    parts = [
        {path: found for path, found in fingerprints(folder).items() if path not in ("README.md", MANIFEST)}
        for folder in (mock_dataset, kiosk_dataset)
    ]
    both = fingerprints(combined_dataset)
    assert {path: found for path, found in both.items() if path not in ("README.md", MANIFEST)} == parts[0] | parts[1]


def test_the_manifest_keeps_what_each_part_said(
    mock_dataset: Path, kiosk_dataset: Path, combined_dataset: Path
) -> None:
    manifest, first, second = (read_manifest(folder) for folder in (combined_dataset, kiosk_dataset, mock_dataset))
    assert (manifest.name, manifest.version, manifest.licenses) == (
        "toolscale-kiosk-mock",
        "1.2",
        ("apache-2.0", "cc-by-4.0"),
    )
    assert manifest.domains == {"kiosk": first.domains["kiosk"], "mock": second.domains["mock"]}
    assert manifest.counts["accepted"] == first.counts["accepted"] + second.counts["accepted"] == 18
    assert {entry.path for entry in manifest.files} == fingerprints(combined_dataset).keys() - {MANIFEST}


def test_neither_the_order_nor_what_was_there_before_shows(
    mock_dataset: Path, kiosk_dataset: Path, combined_dataset: Path, tmp_path: Path
) -> None:
    combine([kiosk_dataset], tmp_path / "out")
    combine([kiosk_dataset, mock_dataset], tmp_path / "out")
    assert fingerprints(tmp_path / "out") == fingerprints(combined_dataset)


def test_a_killed_run_leaves_nothing_half_true(
    mock_dataset: Path, kiosk_dataset: Path, combined_dataset: Path, tmp_path: Path
) -> None:
    out, marker = tmp_path / "out", tmp_path / ".out.work" / "dataset" / "README.md"
    imports = "import sys; from pathlib import Path; from toolscale.dataset.comparing.combined import combine"
    code = f"{imports}; *parts, out = map(Path, sys.argv[1:]); combine(parts, out)"
    for wanted in (marker.parent, marker):
        process = subprocess.Popen([sys.executable, "-c", code, str(mock_dataset), str(kiosk_dataset), str(out)])
        while process.poll() is None and not wanted.exists():
            time.sleep(0.002)
        process.kill()
        process.wait()
        assert not out.exists() or fingerprints(out) == fingerprints(combined_dataset)
    combine([mock_dataset, kiosk_dataset], out)
    assert fingerprints(out) == fingerprints(combined_dataset)
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_combined_folder_holds_and_a_copy_of_it_too(combined_dataset: Path, tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    copy = Path(shutil.copytree(combined_dataset, tmp_path / "copy"))
    reading = read_dataset(combined_dataset)
    rejects, listed = (
        len(reading.rows.rejects),
        sum(len(read_outcomes(combined_dataset, domain)) for domain in ("kiosk", "mock")),
    )
    others = listed - 18 - rejects
    assert verify_dataset(copy, progress=lambda done, total: seen.append((done, total))) == Verification(
        18, rejects, others, ()
    )
    assert seen == sorted(seen) and seen[-1] == (listed, listed)


def test_a_forged_row_of_either_domain_is_named(combined_dataset: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(combined_dataset, tmp_path / "forged"))
    forged = set()
    for domain in ("kiosk", "mock"):
        name = f"{domain}/train-00000-of-00001.parquet"
        rows = read_shard(folder / name, TASK_SCHEMA)
        rows[0]["golden_calls"].pop()
        write_shards(folder / domain, "train", rows, TASK_SCHEMA)
        forged.add((f"{name} row 0 ({rows[0]['id']})", "replay"))
    repair(folder)
    assert {(finding.place, finding.gate) for finding in verify_dataset(folder).findings} == forged


@pytest.mark.slow("tests/dataset/test_combined.py")
def test_a_forged_card_or_manifest_is_named(combined_dataset: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(combined_dataset, tmp_path / "forged"))
    (folder / "README.md").write_text((folder / "README.md").read_text().replace("cc-by-4.0", "mit"))
    repair(folder)
    assert [(finding.place, finding.gate) for finding in verify_dataset(folder).findings] == [("README.md", "schema")]
    manifest = read_manifest(combined_dataset)
    kiosk = manifest.domains["kiosk"].model_copy(update={"license": "mit", "environment_hash": "0" * 64})
    (folder / "README.md").write_bytes((combined_dataset / "README.md").read_bytes())
    (folder / MANIFEST).write_bytes(
        render_manifest(manifest.model_copy(update={"domains": {**manifest.domains, "kiosk": kiosk}}))
    )
    places = {finding.place for finding in verify_dataset(folder).findings}
    assert {"environments/kiosk", "environments/kiosk/environment.yaml"} <= places
    assert not any("mock" in place for place in places)


def test_a_manifest_that_leads_out_of_the_folder_is_refused(mock_dataset: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(mock_dataset, tmp_path / "mock"))
    written = json.loads((folder / MANIFEST).read_text())
    for path in ("../../etc/passwd", "/etc/passwd", "a//b", "a/./b", "a\\b", "a\nb", ""):
        (folder / MANIFEST).write_text(json.dumps(written | {"files": [written["files"][0] | {"path": path}]}))
        with pytest.raises(
            DatasetError, match=r"is not a manifest: files.0.path: value error, .* is not a path inside the folder"
        ):
            read_manifest(folder)
    (folder / MANIFEST).write_text(json.dumps(written | {"domains": {"../mock": written["domains"]["mock"]}}))
    with pytest.raises(DatasetError, match=r"is not a manifest: domains"):
        read_manifest(folder)


def repair(folder: Path) -> None:
    manifest = read_manifest(folder)
    (folder / MANIFEST).write_bytes(render_manifest(manifest.model_copy(update={"files": tuple(list_files(folder))})))


def test_what_cannot_be_combined_is_one_line(mock_dataset: Path, kiosk_dataset: Path, tmp_path: Path) -> None:
    damaged = Path(shutil.copytree(kiosk_dataset, tmp_path / "damaged"))
    (damaged / "README.md").write_text("Hello.")
    lacking = Path(shutil.copytree(kiosk_dataset, tmp_path / "lacking"))
    (lacking / "outcomes" / "kiosk.parquet").unlink()
    again = Path(shutil.copytree(mock_dataset, tmp_path / "again"))
    other = Path(shutil.copytree(kiosk_dataset, tmp_path / "other"))
    written = read_manifest(other)
    graded = written.domains["kiosk"].model_copy(update={"versions": written.versions | {"grading": "1"}})
    (other / MANIFEST).write_bytes(render_manifest(written.model_copy(update={"domains": {"kiosk": graded}})))
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "precious.txt").write_text("mine")
    cases: list[tuple[list[Path], Path, type[ToolScaleError], str]] = [
        ([], tmp_path / "out", UsageError, "no dataset was given to combine"),
        ([mock_dataset, mock_dataset], tmp_path / "out", UsageError, "a dataset was given twice"),
        ([mock_dataset, again], tmp_path / "out", UsageError, f"the domain 'mock' is in {mock_dataset} and in {again}"),
        ([mock_dataset, tmp_path], tmp_path / "out", DatasetError, f"{tmp_path} has no manifest.json"),
        ([mock_dataset, damaged], tmp_path / "out", DatasetError, f"{damaged} is not complete: README.md has changed"),
        (
            [mock_dataset, lacking],
            tmp_path / "out",
            DatasetError,
            f"{lacking} is not complete: outcomes/kiosk.parquet is missing",
        ),
        (
            [mock_dataset, other],
            tmp_path / "out",
            UsageError,
            f"the datasets were graded differently, {mock_dataset} under version {GRADING_VERSION}, {other} under",
        ),
        (
            [mock_dataset, kiosk_dataset],
            kiosk_dataset,
            UsageError,
            f"{kiosk_dataset} is read and cannot be written as well",
        ),
        (
            [mock_dataset],
            tmp_path / "full",
            UsageError,
            f"{tmp_path / 'full'} holds other files and no dataset of ours",
        ),
    ]
    for datasets, out, error, message in cases:
        with pytest.raises(error) as caught:
            combine(datasets, out)
        assert str(caught.value).startswith(message) and "\n" not in str(caught.value)
    assert not (tmp_path / "out").exists()
    assert (tmp_path / "full" / "precious.txt").read_text() == "mine"


def test_show_rejects_and_stats_read_all_domains_or_one(
    combined_dataset: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def printed(*arguments: str) -> object:
        assert main([arguments[0], str(combined_dataset), *arguments[1:], "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    reading = read_dataset(combined_dataset)
    assert printed("show", "--random", "30", "--seed", "1") != printed("show", "--random", "30", "--domain", "mock")
    assert printed("rejects", "--limit", "99") == reading.rows.rejects
    assert printed("rejects", "--limit", "99", "--domain", "kiosk") == reading.domains["kiosk"].rejects
    everything, kiosk = printed("stats"), printed("stats", "--domain", "kiosk")
    assert isinstance(everything, dict) and isinstance(kiosk, dict)
    assert everything["counts"] == reading.manifest.counts
    assert kiosk["counts"] == reading.manifest.domains["kiosk"].counts
    assert main(["stats", str(combined_dataset), "--domain", "bank"]) == 2
    assert capsys.readouterr().err == f"toolscale: {combined_dataset} has no domain 'bank'; it has kiosk, mock\n"
    task = reading.domains["kiosk"].tasks[0]["id"]
    assert main(["show", str(combined_dataset), task]) == 0
    assert task in capsys.readouterr().out


def test_no_domain_is_called_like_a_folder_that_lies_beside_those_of_domains(mock_dataset: Path) -> None:
    files = [*(entry.path for entry in read_manifest(mock_dataset).files), *given_files("mock"), f"{EXPORTED}/harbor"]
    assert {path.partition("/")[0] for path in files if "/" in path} == DATASET_FOLDERS | {"mock"}
    run = Run(Path("data"), "night")
    places = [run.rejects("mock", "mock-000"), run.quality("mock"), run.dataset("mock"), run.dataset()]
    places.append(run.published("me/x"))
    assert {path.relative_to(run.products).parts[0] for path in places} == RUN_FOLDERS | {"mock"}
    assert {name for name in DATASET_FOLDERS | RUN_FOLDERS | {ALL} if domain_problem(name) is None} == set()
