"""From a domain to a dataset: the same inputs give the same bytes, whoever works and whatever happens on the way."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from hashlib import sha256
from pathlib import Path

import pytest

from toolscale.cli import main
from toolscale.dataset.describing.reading import read_dataset
from toolscale.dataset.making.staging import check_place
from toolscale.dataset.making.units import Unit, judge_unit
from toolscale.dataset.manifest import Recipe, read_manifest
from toolscale.errors import StorageError, UsageError
from toolscale.pipeline import build_environment, judge_enough, synthesize
from toolscale.pipeline.stages import place_of


def fingerprints(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_the_folder_is_complete_and_its_manifest_knows_every_file(mock_dataset: Path) -> None:
    manifest = read_manifest(mock_dataset)
    found = fingerprints(mock_dataset)
    del found["manifest.json"]
    assert {entry.path: entry.sha256 for entry in manifest.files} == found
    assert {
        "README.md",
        "mock/train-00000-of-00001.parquet",
        "mock/test-00000-of-00001.parquet",
        "fixtures/mock.jsonl",
        "rejects/mock/rejected-00000-of-00001.parquet",
        "environments/mock/database.sqlite",
        "environments/mock/tools.json",
        "environments/mock/toolset.yaml",
        "environments/mock/policy.md",
        "environments/mock/admission.json",
    } <= found.keys()
    assert [path.name for path in mock_dataset.parent.iterdir() if path.name.startswith(".mock")] == []


def test_tasks_are_spread_over_intents_and_no_test_intent_is_trained_on(mock_dataset: Path) -> None:
    reading = read_dataset(mock_dataset)
    assert sum(len(part) for part in reading.rows.splits.values()) == 10
    train, test = ({row["intent_id"] for row in reading.rows.splits[split]} for split in ("train", "test"))
    assert train and test and not train & test


def test_two_workers_and_another_folder_give_the_same_bytes(mock_dataset: Path, tmp_path: Path) -> None:
    synthesize("mock", tmp_path / "elsewhere", tasks=10, seed=0, workers=2, turns="single", answer="message")
    assert fingerprints(tmp_path / "elsewhere") == fingerprints(mock_dataset)


@pytest.mark.slow("tests/test_pipeline.py")
def test_another_seed_gives_other_tasks_on_the_same_database(mock_dataset: Path, tmp_path: Path) -> None:
    other = synthesize("mock", tmp_path / "mock", tasks=6, seed=1, turns="single", answer="message")
    ours, theirs = (
        {row["id"] for row in read_dataset(folder).rows.tasks} for folder in (mock_dataset, tmp_path / "mock")
    )
    assert ours != theirs
    assert other.domains["mock"].tables == read_manifest(mock_dataset).domains["mock"].tables


def test_a_finished_dataset_is_left_as_it_is(mock_dataset: Path) -> None:
    before = (mock_dataset / "manifest.json").stat().st_mtime_ns
    assert synthesize("mock", mock_dataset, tasks=10, seed=0, turns="single", answer="message") == read_manifest(
        mock_dataset
    )
    assert (mock_dataset / "manifest.json").stat().st_mtime_ns == before


@pytest.mark.slow("tests/test_pipeline.py")
def test_a_damaged_dataset_is_made_again(mock_dataset: Path, tmp_path: Path) -> None:
    synthesize("mock", tmp_path / "mock", tasks=10, seed=0, turns="single", answer="message")
    (tmp_path / "mock" / "README.md").unlink()
    synthesize("mock", tmp_path / "mock", tasks=10, seed=0, turns="single", answer="message")
    assert fingerprints(tmp_path / "mock") == fingerprints(mock_dataset)


@pytest.mark.slow("tests/test_runs.py")
def test_a_killed_run_leaves_nothing_half_true_and_the_next_one_completes_it(
    mock_dataset: Path, tmp_path: Path
) -> None:
    out = tmp_path / "mock"
    command = [
        sys.executable,
        "-m",
        "toolscale",
        "synthesize",
        "mock",
        "--tasks",
        "10",
        "--turns",
        "single",
        "--answer",
        "message",
        "--out",
        str(out),
        "--workers",
        "2",
    ]
    rng = random.Random(7)
    for _ in range(6):
        process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        )
        time.sleep(rng.uniform(0.5, 4))
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        assert not out.exists() or fingerprints(out) == fingerprints(mock_dataset)
    subprocess.run(command, check=True, capture_output=True)
    assert fingerprints(out) == fingerprints(mock_dataset)
    assert [path.name for path in tmp_path.iterdir()] == ["mock"]


def test_judging_a_unit_again_redoes_nothing(tmp_path: Path) -> None:
    world = build_environment("mock", tmp_path / "world" / "mock", tmp_path / "cache")
    unit = Unit(place_of(world, Recipe("mock", tasks=8)), 0, tuple(range(8)), tmp_path / "judged")
    path = judge_unit(unit)
    head, *lines = path.read_text().splitlines()
    assert json.loads(head)["numbers"] == 8
    assert len(lines) == 8 - len(json.loads(head)["no_case"])
    before = path.stat().st_mtime_ns
    assert judge_unit(unit).stat().st_mtime_ns == before


def test_a_run_that_goes_on_draws_the_rounds_that_the_first_one_drew(tmp_path: Path) -> None:
    world = build_environment("mock", tmp_path / "world" / "mock", tmp_path / "cache")

    recipe = Recipe("mock", tasks=30, seed=0, audit="sample", inputs="")

    def judge() -> list[Path]:
        return judge_enough(
            world, tmp_path / "judged", recipe=recipe, workers=1, progress=lambda act, done, total: None
        )

    first = judge()
    assert len({path.name[:8] for path in first}) > 2
    first[0].unlink()
    assert judge() == first


def test_unknown_domains_are_told_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"unknown domain 'mok'; known domains: .*mock"):
        synthesize("mok", tmp_path / "mok", tasks=1, turns="single", answer="message")


def test_a_folder_with_other_files_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "precious.txt").write_text("mine")
    with pytest.raises(UsageError, match="holds other files and no dataset"):
        synthesize("mock", tmp_path, tasks=1, turns="single", answer="message")
    with pytest.raises(UsageError, match="is a file"):
        synthesize("mock", tmp_path / "precious.txt", tasks=1, turns="single", answer="message")


def test_a_dataset_whose_manifest_a_crash_has_emptied_is_made_again(mock_dataset: Path, tmp_path: Path) -> None:
    out = Path(shutil.copytree(mock_dataset, tmp_path / "mock"))
    (out / "manifest.json").write_bytes(b"")
    check_place(out)
    (out / "environments" / "mock" / "database.sqlite").unlink()
    with pytest.raises(UsageError, match="holds other files and no dataset of ours"):
        check_place(out)


@pytest.mark.parametrize("letters", [250, 300])
@pytest.mark.parametrize(
    "words",
    [
        ["synthesize", "mock", "--tasks", "1", "--out"],
        ["export", "DATASET", "--to", "trl-sft", "--out"],
        ["play", "DATASET", "--session"],
        ["new", "--tables", "patron, loan by patron", "--in", "HERE"],
        ["solve", "DATASET", "--out"],
        ["quarantine"],
        ["show"],
        ["admit"],
    ],
)
def test_a_name_that_is_too_long_is_one_clear_line(
    words: list[str],
    letters: int,
    mock_dataset: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TOOLSCALE_MODEL", "nobody-asks-it")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    places = {"DATASET": str(mock_dataset), "HERE": str(tmp_path)}
    assert main([*(places.get(word, word) for word in words), "a" * letters]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_cannot_be_written_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(
        StorageError,
        match=r"^cannot make the folder .*not a directory; free space or choose a place that can be written$",
    ):
        synthesize("mock", tmp_path / "file" / "mock", tasks=1, turns="single", answer="message")


def test_a_disk_that_is_full_is_one_clear_line(tmp_path: Path) -> None:
    code = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000)); "
        "from toolscale.cli import main; sys.exit(main())"
    )
    arguments = ["synthesize", "mock", "--tasks", "10", "--workers", "1", "--out", str(tmp_path / "mock")]
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert (
        done.stderr.splitlines()
        == [line for line in done.stderr.splitlines() if line.startswith("toolscale: cannot write ")][:1]
    )
    assert not (tmp_path / "mock").exists()
