"""Old runs go, on disk as on object stores; what was published, is needed, is being made or is not ours stays, whatever
is killed."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import quote_plus

import pytest
from upath import UPath

from tests.killing import in_a_fork, killed_at
from tests.publish.hub_server import Hub, serving
from tests.test_runs import contents, order
from toolscale.cli import main
from toolscale.dataset.places import files_in, open_place
from toolscale.dataset.runs import Run, open_run, run_of
from toolscale.dataset.storage import file_hash, write_file
from toolscale.errors import UsageError
from toolscale.pipeline.holds import HELD, hold, release
from toolscale.pipeline.pruning import NEWEST, PrunedRun, keep_told, prune_runs
from toolscale.pipeline.published import note_published, was_published
from toolscale.pipeline.publishing import inspect_dataset, push_dataset
from toolscale.pipeline.training import prepare_training, stop_orchestrator

NOW = datetime(2026, 12, 1, tzinfo=UTC)
FILES = (
    "dataset/manifest.json",
    "dataset/mock/train.parquet",
    "mock/dataset/manifest.json",
    "mock/rejects/mock-000.parquet",
    "mock/quality.json",
)
PUSHED = {
    "repo": "me/x",
    "url": "https://example.org/datasets/me/x",
    "tag": "v1.0.0-00000000",
    "commit": "0" * 40,
    "sha256": "0" * 64,
}


def made(root: str | Path, day: int, dataset: Path | None = None) -> Run:
    """A complete run of a day: of a dataset, or of files that only look like one."""
    run = open_run(str(root), order(run_id=f"scheduled__{day}", started=f"2026-11-{day:02d}T02:00:00+00:00"))
    for path in FILES if dataset is None else ():
        write_file(run.products / path, b"x" * 100)
    for path in files_in(dataset) if dataset else ():
        write_file(run.dataset() / path, (dataset / path).read_bytes())
    return run


def left(root: str | Path) -> set[str]:
    """The runs of which anything is left, but for what is being removed."""
    return {path.split("/")[1] for path in files_in(open_place(root)) if path.startswith("runs/")}


def fates(runs: list[PrunedRun]) -> dict[str, str]:
    return {run.run_id.removeprefix("scheduled__"): run.kept for run in runs}


@pytest.fixture(params=["disk", "memory", "s3"])
def root(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """An empty place for runs: of each kind."""
    url = "memory://data" if request.param == "memory" else str(tmp_path / "data")
    if request.param == "s3":
        url = f"{request.getfixturevalue('s3')}/prune"
    yield url
    place = open_place(url)
    if isinstance(place, UPath) and place.exists():
        place.fs.rm(place.path, recursive=True)


def test_the_newest_stay_and_the_others_go(root: str) -> None:
    runs = {day: made(root, day) for day in (3, 1, 4, 2)}
    size = sum((runs[1].products / path).stat().st_size for path in files_in(runs[1].products))
    assert prune_runs(root, 2, dry_run=True, now=NOW) == (
        found := [
            PrunedRun(runs[4].name, "scheduled__4", 0, NEWEST),
            PrunedRun(runs[3].name, "scheduled__3", 0, NEWEST),
            PrunedRun(runs[2].name, "scheduled__2", size, ""),
            PrunedRun(runs[1].name, "scheduled__1", size, ""),
        ]
    )
    assert left(root) == {run.name for run in runs.values()}
    assert prune_runs(root, 2, now=NOW) == found
    assert left(root) == {runs[4].name, runs[3].name}
    assert prune_runs(root, 2, now=NOW) == found[:2]
    assert not [path for path in open_place(root).rglob("*") if path.is_file() and ".removed" in path.parts]


def test_what_was_published_is_made_or_is_needed_stays(root: str) -> None:
    runs = {day: made(root, day) for day in range(1, 8)}
    note_published(runs[1].dataset("mock"), PUSHED)
    hold(str(runs[2].dataset("mock")), "training-mine", timedelta(hours=2), NOW - timedelta(hours=1))
    hold(str(runs[3].dataset()), "publishing", timedelta(hours=1), NOW - timedelta(hours=1))
    write_file(runs[4].products / f"x{HELD}", b"{")
    write_file(runs[5].scratch / "plan" / "mock-000.json", b"{}")
    (runs[6].dataset() / "manifest.json").unlink()
    kept = {
        "7": NEWEST,
        "6": "it is not complete",
        "5": "it is not complete",
        "4": "it is held for x",
        "3": "",
        "2": "it is held for training-mine",
        "1": "it was published",
    }
    assert fates(prune_runs(root, 1, now=NOW)) == kept
    assert left(root) == {run.name for day, run in runs.items() if day != 3}
    release(str(runs[2].dataset("mock")), "training-mine")
    assert fates(prune_runs(root, 1, now=NOW))["2"] == ""


def test_runs_that_are_not_complete_do_not_count_as_the_newest(root: str) -> None:
    runs = {day: made(root, day) for day in (1, 2, 3)}
    (runs[3].dataset() / "manifest.json").unlink()
    assert fates(prune_runs(root, 1, now=NOW)) == {"3": "it is not complete", "2": NEWEST, "1": ""}


def test_what_is_no_run_of_ours_stays(root: str) -> None:
    run, place = made(root, 2), open_place(root)
    texts = {
        "runs/notes/thesis.txt": "mine",
        "runs/renamed/run.json": json.dumps(json.loads((run.products / "run.json").read_text())),
        "runs/other/run.json": "{",
        "runs/list/run.json": "[]",
        "runs/deep/run.json": "[" * 100_000,
        "training/mine/done.json": "{}",
        "runs/renamed/dataset/manifest.json": "{}",
        "runs/readme.txt": "mine",
        ".removed/thesis.txt": "mine",
        "runs/mine-00000000/thesis.txt": "mine",
    }
    for path, text in texts.items():
        write_file(place / path, text.encode())
    if "://" in root:
        write_file(place / ".removed" / "mine-00000000", b"which I moved there")
    made(root, 3)
    assert fates(prune_runs(root, 1, now=NOW)) == {"3": NEWEST, "2": ""}
    assert {path: (place / path).read_text() for path in texts} == texts


def test_a_link_to_a_run_elsewhere_is_not_followed(tmp_path: Path) -> None:
    theirs = made(tmp_path / "theirs", 1)
    made(tmp_path / "data", 2)
    (tmp_path / "data" / "runs" / theirs.name).symlink_to(theirs.products)
    before = contents(theirs.products)
    assert fates(prune_runs(str(tmp_path / "data"), 1, now=NOW)) == {"2": NEWEST}
    assert contents(theirs.products) == before and (tmp_path / "data" / "runs" / theirs.name).is_symlink()


def test_killed_at_any_moment_a_run_is_whole_or_gone_and_the_next_call_ends_it(tmp_path: Path) -> None:
    steps = 0
    while True:
        root = tmp_path / str(steps)
        old, new = made(root, 1), made(root, 2)
        before = contents(old.products)
        killed = killed_at(steps, lambda root=root: prune_runs(str(root), 1, now=NOW))
        assert not old.products.exists() or contents(old.products) == before
        prune_runs(str(root), 1, now=NOW)
        assert left(root) == {new.name} and list((root / ".removed").iterdir()) == []
        if not killed:
            break
        steps += 1
    assert steps > len(FILES), "a folder is made, the run is renamed, and its files and folders are deleted one by one"


@pytest.mark.parametrize(
    "gone",
    [(), ("run.json",), ("run.json", "dataset/manifest.json", "mock/rejects/mock-000.parquet"), ("run.json", *FILES)],
)
def test_what_was_half_removed_from_a_store_goes_with_the_next_call(s3: str, gone: tuple[str, ...]) -> None:
    root = f"{s3}/half"
    old, new = made(root, 1), made(root, 2)
    note = write_file(old.root / ".removed" / old.name, file_hash(old.products / "run.json").encode())
    for path in gone:
        (old.products / path).unlink()
    prune_runs(root, 1, now=NOW)
    assert left(root) == {new.name} and not note.exists()


def test_a_run_that_was_ordered_again_meanwhile_is_another_one(s3: str) -> None:
    root = f"{s3}/again"
    run = made(root, 1)
    note = write_file(run.root / ".removed" / run.name, b"0" * 64)
    assert fates(prune_runs(root, 1, now=NOW)) == {"1": NEWEST}
    assert left(root) == {run.name} and not note.exists()


def test_several_at_once_remove_each_run_once(tmp_path: Path) -> None:
    names = {made(tmp_path / "data", day).name for day in range(1, 20)}

    def prune(number: int) -> None:
        gone = [run.name for run in prune_runs(str(tmp_path / "data"), 1, now=NOW) if not run.kept]
        (tmp_path / str(number)).write_text(json.dumps(gone))

    children = [in_a_fork(lambda number=number: prune(number)) for number in range(4)]
    assert [os.waitpid(child, 0)[1] for child in children] == [0] * 4
    gone = [name for number in range(4) for name in json.loads((tmp_path / str(number)).read_text())]
    assert len(gone) == len(set(gone)) == 18 and set(gone) | left(tmp_path / "data") == names


def test_two_at_once_are_in_nobodys_way_on_a_store(s3: str) -> None:
    root = f"{s3}/both"
    newest = [made(root, day) for day in range(1, 6)][-1]
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda _: prune_runs(root, 1, now=NOW), range(2)))
    assert left(root) == {newest.name}


def test_a_push_is_noted_and_the_runs_that_are_inspected_or_trained_on_are_held(
    mock_dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = made(tmp_path / "data", 1, mock_dataset)
    dataset = str(run.dataset())
    inspected = inspect_dataset(dataset, "me/x", "ask")
    assert (run.products / f"publishing{HELD}").exists() and not was_published(run)
    with serving() as (url, _):
        monkeypatch.setenv("HF_ENDPOINT", url)
        monkeypatch.setenv("HF_TOKEN", "hf_write")
        pushed = push_dataset(dataset, "me/x", inspected["sha256"], "2026-11-01T02:00:00+00:00")
    record = {name: pushed[name] for name in ("repo", "url", "tag", "commit", "sha256")} | {"dataset": "dataset"}
    assert json.loads(run.published("me/x").read_bytes()) == record and was_published(run)
    assert not (run.products / f"publishing{HELD}").exists()
    prepared = prepare_training(
        str(tmp_path / "data"), "r", {"config": "tiny_cpu", "dataset": dataset, "steps": None, "out": "mine"}
    )
    assert (run.products / f"training-mine{HELD}").exists()
    stop_orchestrator(prepared, tmp_path)
    assert not list(run.products.glob(f"*{HELD}"))


def test_a_push_from_the_command_line_is_noted_too(
    mock_dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = made(tmp_path / "data", 1, mock_dataset)
    beside = Path(shutil.copytree(mock_dataset, tmp_path / "data" / "mine"))
    elsewhere = Path(shutil.copytree(mock_dataset, tmp_path / "elsewhere" / "mock"))
    server: tuple[str, Hub]
    with serving() as server:
        monkeypatch.setenv("HF_TOKEN", "hf_write")
        for number, dataset in enumerate((run.dataset(), beside, elsewhere)):
            assert main(["publish", str(dataset), f"me/x{number}", "--endpoint", server[0]]) == 0
            assert was_published(run) == (number > 0)
            assert main(["publish", str(dataset), f"me/x{number}", "--endpoint", server[0], "--push"]) == 0
    assert [json.loads(path.read_bytes())["repo"] for path in (run.products / "published").iterdir()] == ["me/x0"]
    assert sorted(path.name for path in (tmp_path / "data").iterdir()) == ["mine", "runs"]
    assert [path.name for path in (tmp_path / "elsewhere").iterdir()] == ["mock"]


def test_a_record_that_cannot_be_read_still_says_that_there_was_a_push(root: str) -> None:
    run = made(root, 1)
    made(root, 2)
    write_file(run.published("me/x"), b"{")
    assert fates(prune_runs(root, 1, now=NOW)) == {"2": NEWEST, "1": "it was published"}


def test_whoever_approves_sees_what_changed_since_the_dataset_before(mock_dataset: Path, tmp_path: Path) -> None:
    first, second, third = (made(tmp_path / "data", day, mock_dataset) for day in (1, 2, 3))
    assert "Since" not in inspect_dataset(str(first.dataset()), "me/x", "ask")["body"]
    told = (
        "\n\n* mock: 0 tasks added, 0 removed, 0 changed, 10 unchanged; environment as before\n\n"
        "Approving pushes one commit"
    )
    assert (
        f", made before by the run `{second.name}`:{told}"
        in inspect_dataset(str(third.dataset()), "me/x", "ask")["body"]
    )
    pages = "https://airflow.example/toolscale"
    links = (
        f"\n\n[Everything that changed]({pages}/diff?before={second.name}&after={third.name})\n\n"
        f"Look at its [card]({pages}/card?run={third.name}) "
        f"and its [rejected tasks]({pages}/rejects?run_id={quote_plus(third.order().run_id)}).\n\nApproving"
    )
    assert links in inspect_dataset(str(third.dataset()), "me/x", "ask", pages=pages)["body"]
    note_published(first.dataset(), PUSHED)
    assert (
        f", published before by the run `{first.name}`:{told}"
        in inspect_dataset(str(third.dataset()), "me/x", "ask")["body"]
    )
    (first.dataset() / "manifest.json").write_text("{")
    body = inspect_dataset(str(third.dataset()), "me/x", "ask")["body"]
    assert "\n\nIt could not be compared with a dataset before it: " in body and "| mock | 10 of 10 |" in body


def test_a_dataset_knows_its_run(tmp_path: Path, mock_dataset: Path) -> None:
    run = made(tmp_path / "data", 1)
    assert run_of(run.dataset()) == run_of(run.dataset("mock")) == run
    assert run_of(mock_dataset) is None and run_of(tmp_path / "data") is None and run_of(run.products) is None


def test_prune_prints_what_goes_and_how_much(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "data"
    first, second, third = (made(root, day) for day in (1, 2, 3))
    note_published(second.dataset(), PUSHED)
    size = sum((first.products / path).stat().st_size for path in files_in(first.products))
    for option, said in (("--dry-run", "would go"), (None, "removed")):
        assert main(["prune", str(root), "--keep", "1", *([option] if option else [])]) == 0
        assert capsys.readouterr().out == (
            f"stays     it was published: {second.name}\n{said:<10}{size / 1e3:,.1f} kB: {first.name}\n"
            f"{root}: 1 runs {said} ({size / 1e3:,.1f} kB), 2 stay\n"
        )
    monkeypatch.setenv("TOOLSCALE_KEEP", "2")
    assert main(["prune", str(root), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "data": str(root),
        "keep": 2,
        "dry_run": False,
        "bytes": 0,
        "runs": [
            {"name": run.name, "run_id": f"scheduled__{day}", "bytes": 0, "kept": NEWEST}
            for day, run in ((3, third), (2, second))
        ],
    }


def test_without_a_number_nothing_is_removed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = {made(tmp_path / "data", day).name for day in (1, 2)}
    for told, line in (
        ("", "toolscale: --keep is missing, and TOOLSCALE_KEEP is not set; say how many of the newest runs stay\n"),
        (
            "0",
            "toolscale: TOOLSCALE_KEEP is '0'; give the number of runs to keep, at least 1, or nothing to keep all\n",
        ),
        (
            "all",
            "toolscale: TOOLSCALE_KEEP is 'all'; give the number of runs to keep, at least 1, or nothing to keep all\n",
        ),
    ):
        monkeypatch.setenv("TOOLSCALE_KEEP", told)
        assert main(["prune", str(tmp_path / "data")]) == 2
        assert capsys.readouterr() == ("", line)
    monkeypatch.setenv("TOOLSCALE_KEEP", " 14 ")
    assert keep_told() == 14
    with pytest.raises(UsageError, match="--keep is 0; at least 1 run stays"):
        prune_runs(str(tmp_path / "data"), 0)
    assert left(tmp_path / "data") == runs


def test_a_place_that_holds_no_runs_is_one_line(
    mock_dataset: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "runs").write_text("a file")
    for place in (mock_dataset, tmp_path, tmp_path / "nowhere", "memory://nowhere"):
        assert main(["prune", str(place), "--keep", "1"]) == 2
        assert capsys.readouterr() == (
            "",
            f"toolscale: {place} holds no folder `runs`; give the place that TOOLSCALE_DATA names\n",
        )
