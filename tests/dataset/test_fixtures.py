"""Solutions of known score that lie in a dataset: all kinds, graded as they say, and found out if they lie."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from toolscale.cli import main
from toolscale.dataset.checking.recheck import verify_dataset
from toolscale.dataset.describing.reading import read_dataset
from toolscale.dataset.fixtures import KINDS, fixtures_file, read_fixtures, sample, sampled
from toolscale.dataset.making.folder import read_contents, seal_dataset
from toolscale.errors import DatasetError
from toolscale.pipeline import synthesize
from toolscale.pipeline.remaking import open_made, remake

FILE = fixtures_file("mock")
TASKS = 6


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small dataset, of all of whose tasks there are fixtures."""
    out = tmp_path_factory.mktemp("fixtures") / "mock"
    synthesize("mock", out, tasks=TASKS, seed=0, workers=1, fixtures=None)
    return out


@pytest.fixture
def dataset(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "mock"))


def reseal(folder: Path, content: bytes | None) -> None:
    """Give the dataset another file of fixtures, or none, and have its card and manifest say what there is."""
    if content is None:
        shutil.rmtree((folder / FILE).parent)
    else:
        (folder / FILE).write_bytes(content)
    seal_dataset(folder, read_contents(read_dataset(folder)))


def findings(folder: Path) -> list[str]:
    return [str(each) for each in verify_dataset(folder, workers=1).findings]


def test_every_task_has_every_kind_and_no_wrong_one_is_to_win(made: Path) -> None:
    fixtures = read_fixtures(made, "mock")
    ids = [row["id"] for row in read_dataset(made).rows.tasks]
    assert sampled(fixtures) == sample(ids, None) and len(ids) == TASKS
    kinds = {task: {each.kind for each in fixtures if each.task == task} for task in ids}
    # Where nothing is left of the other writes, nothing was sprayed.
    assert {frozenset(each | {"sprayed"}) for each in kinds.values()} == {frozenset(KINDS)}
    right = {"golden", "reseeded", "equivalent"}
    assert {each.kind for each in fixtures if each.score} - {"without_tools"} == right
    assert {each.score for each in fixtures if each.kind in right} == {1}
    changes = {row["id"]: row["row_changes"] != "[]" for row in read_dataset(made).rows.tasks}
    told = {each.task: (each.score, bool(each.note)) for each in fixtures if each.kind == "without_tools"}
    assert told == {task: (0, False) if changes[task] else (1, True) for task in ids}
    assert all("no filled form" in each.finding for each in fixtures if each.kind == "malformed")


def test_a_sample_begins_with_a_smaller_one(made: Path) -> None:
    ids = [row["id"] for row in read_dataset(made).rows.tasks]
    assert sample(ids, None)[:3] == sample(reversed(ids), 3)


def test_the_card_shows_how_many_of_each_kind_won(made: Path) -> None:
    fixtures, card = read_fixtures(made, "mock"), (made / "README.md").read_text()
    for kind, what in KINDS.items():
        scores = [each.score for each in fixtures if each.kind == kind]
        assert f"| {kind.replace('_', ' ')}: {what} | {sum(scores)} of {len(scores)} won |\n" in card


def test_what_was_made_holds_and_so_does_what_was_made_before_there_were_fixtures(dataset: Path) -> None:
    assert findings(dataset) == []
    reseal(dataset, None)
    assert findings(dataset) == [] and "## Baselines" not in (dataset / "README.md").read_text()


def test_none_are_written_where_none_are_wanted(tmp_path: Path) -> None:
    assert main(["synthesize", "mock", "--tasks", "2", "--fixtures", "0", "--out", str(tmp_path / "mock")]) == 0
    assert not (tmp_path / "mock" / "fixtures").exists()


def changed(number: int, **values: object) -> Callable[[list[bytes]], None]:
    """Change what a line says."""

    def change(lines: list[bytes]) -> None:
        lines[number] = json.dumps(json.loads(lines[number]) | values).encode()

    return change


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (changed(0, score=0), ["line 1: schema: golden of TASK must score 0 (right); it scores 1 (right)"]),
        (changed(0, answer="{}"), ["line 1: schema: golden of TASK must score 1 (right); it scores 0 (the answer"]),
        (changed(0, kind="platinum"), ["schema: FOLDER/fixtures/mock.jsonl: line 1: kind: input should be"]),
        (lambda lines: lines.pop(), ["schema: the file is not what follows from the tasks"]),
        (lambda lines: lines.__setitem__(0, b"nothing"), ["schema: FOLDER/fixtures/mock.jsonl: line 1: it is not"]),
        (changed(0, task="0" * 32), ["schema: its 7 tasks are not those that a sample of so many has"]),
    ],
)  # fmt: skip
def test_what_lies_is_named(change: Callable[[list[bytes]], None], found: list[str], dataset: Path) -> None:
    lines = (dataset / FILE).read_bytes().splitlines()
    task = json.loads(lines[0])["task"]
    change(lines)
    content = b"\n".join(lines) + b"\n"
    try:
        reseal(dataset, content)
    except DatasetError:  # it cannot even be read: only its hash is told anew
        (dataset / FILE).write_bytes(content)
        rehash(dataset)
    told = [each.replace(task, "TASK").replace(str(dataset), "FOLDER") for each in findings(dataset)]
    assert len(told) == len(found)
    assert all(each.startswith(f"{FILE} {start}" if start.startswith("line") else f"{FILE}: {start}")
               for each, start in zip(told, found, strict=True)), told  # fmt: skip


def rehash(folder: Path) -> None:
    from toolscale.dataset.making.folder import list_files
    from toolscale.dataset.manifest import MANIFEST, read_manifest, render_manifest

    manifest = read_manifest(folder).model_copy(update={"files": tuple(list_files(folder))})
    (folder / MANIFEST).write_bytes(render_manifest(manifest))


def test_a_dataset_that_is_made_again_has_fixtures_of_as_many_tasks(tmp_path: Path) -> None:
    out, again = tmp_path / "mock", tmp_path / "again"
    synthesize("mock", out, tasks=3, seed=0, workers=1, fixtures=1)
    made = open_made(out)
    remake(made, made.given, again)
    assert sampled(read_fixtures(again, "mock")) == sample((task.id for task in made.tasks), 1)
    assert (again / "manifest.json").read_bytes() == (out / "manifest.json").read_bytes()
