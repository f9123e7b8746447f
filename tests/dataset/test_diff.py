"""Two datasets compared: tasks, failed gates, figures and environments, as a record, as JSON and on a screen."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from upath import UPath

from tests.dataset.test_recheck import TRAIN, repair
from toolscale.cli import main
from toolscale.dataset.arrow import REJECT_SCHEMA, TASK_SCHEMA
from toolscale.dataset.columns import Row
from toolscale.dataset.comparing.comparison import compare_places, outline
from toolscale.dataset.manifest import MANIFEST, read_manifest, render_manifest, tag_of
from toolscale.dataset.parquet import read_shard, write_shards
from toolscale.dataset.places import files_in
from toolscale.errors import DatasetError, UsageError
from toolscale.records import ChangedTask, ComparedFigure, ComparedTasks, DomainChanges

REJECTED = "rejects/mock/rejected-00000-of-00001.parquet"


def altered(
    folder: Path,
    out: Path,
    tasks: Callable[[list[Row]], None],
    rejects: Callable[[list[Row]], None] = lambda rows: None,
) -> Path:
    """A copy of a mock dataset whose rows were changed, with a manifest that fits."""
    shutil.copytree(folder, out)
    for path, schema, change in ((TRAIN, TASK_SCHEMA, tasks), (REJECTED, REJECT_SCHEMA, rejects)):
        rows = read_shard(out / path, schema)
        change(rows)
        name = Path(path)
        write_shards(out / name.parent, name.name.partition("-")[0], rows, schema)
    repair(out)
    return out


def same(value: float) -> ComparedFigure:
    return ComparedFigure(before=value, after=value, difference=0)


@pytest.fixture
def before(mock_dataset: Path, tmp_path: Path) -> Path:
    """The dataset as it might have been: a task asked otherwise, one that is gone since, one that is not there yet;
    another reject."""

    def tasks(rows: list[Row]) -> None:
        rows[0].update(id="0" * 32, request="It was asked otherwise.")
        rows[1].update(id="1" * 32, provenance=rows[1]["provenance"] | {"candidate": 999_999})
        del rows[2]

    return altered(mock_dataset, tmp_path / "before", tasks, lambda rows: rows[0].update(verdict=[]))


def test_what_became_of_the_tasks_is_told_by_domain_intent_and_outcome(mock_dataset: Path, before: Path) -> None:
    rows = read_shard(mock_dataset / TRAIN, TASK_SCHEMA)
    comparison = compare_places(before, mock_dataset)
    found = comparison.domains["mock"]
    assert (comparison.before, comparison.after) == (tag_of(read_manifest(before)), tag_of(read_manifest(mock_dataset)))
    assert found.changes == DomainChanges(
        status="kept",
        environment=False,
        tools=False,
        policy=False,
        database=False,
        files=(),
        added=2,
        removed=1,
        changed=1,
        unchanged=7,
        columns={"id": 1, "request": 1},
    )
    assert (found.tasks.added, found.tasks.removed) == (tuple(sorted((rows[1]["id"], rows[2]["id"]))), ("1" * 32,))
    assert found.tasks.changed == (ChangedTask(id=rows[0]["id"], was="0" * 32, columns=("id", "request")),)
    for groups, column in ((found.intents, "intent_id"), (found.outcomes, "outcome")):
        assert (
            sum(group.added for group in groups.values()) == 2
            and sum(group.unchanged for group in groups.values()) == 7
        )
        assert groups[rows[0][column]].changed == 1 and groups[rows[1][column]].removed == 1


def test_failed_gates_and_figures_are_counted_before_and_after(mock_dataset: Path, before: Path) -> None:
    found = compare_places(before, mock_dataset).domains["mock"]
    rejected = len(read_shard(mock_dataset / REJECTED, REJECT_SCHEMA))
    assert found.counts == {
        "asked": same(10),
        "accepted": ComparedFigure(before=9, after=10, difference=1),
        "rejected": same(rejected),
    }
    assert found.gates == {"novel": ComparedFigure(before=rejected - 1, after=rejected, difference=1)}
    assert found.quality["found_share"] == ComparedFigure(before=0.9, after=1, difference=0.1)
    assert found.quality["kill_rate"] == same(1)


def test_a_dataset_does_not_differ_from_itself(mock_dataset: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = compare_places(mock_dataset, mock_dataset).domains["mock"]
    assert set(found.intents.values()) == {ComparedTasks(unchanged=group.unchanged) for group in found.intents.values()}
    assert {
        figure.difference for figures in (found.counts, found.gates, found.quality) for figure in figures.values()
    } == {0}
    assert outline(compare_places(mock_dataset, mock_dataset)) == [
        "mock: 0 tasks added, 0 removed, 0 changed, 10 unchanged; environment as before"
    ]
    assert main(["diff", str(mock_dataset), str(mock_dataset)]) == 0
    shown = capsys.readouterr().out
    assert (
        "tasks: 0 added, 0 removed, 0 changed, 10 unchanged" in shown
        and "environment as before" in shown
        and "outcomes as before" in shown
    )


def test_domains_that_come_and_go_have_figures_on_one_side_only(
    mock_dataset: Path, kiosk_dataset: Path, combined_dataset: Path
) -> None:
    came = compare_places(kiosk_dataset, combined_dataset)
    assert {domain: found.changes.status for domain, found in came.domains.items()} == {"kiosk": "kept", "mock": "new"}
    assert came.domains["mock"].counts["accepted"] == ComparedFigure(before=None, after=10, difference=None)
    went = compare_places(combined_dataset, mock_dataset)
    assert went.domains["kiosk"].counts["accepted"] == ComparedFigure(before=8, after=None, difference=None)
    assert outline(went) == [
        "kiosk: 0 tasks added, 8 removed, 0 changed, 0 unchanged; the domain is gone",
        "mock: 0 tasks added, 0 removed, 0 changed, 10 unchanged; environment as before",
    ]


def test_what_changed_in_the_environment_is_named(mock_dataset: Path, tmp_path: Path) -> None:
    other = Path(shutil.copytree(mock_dataset, tmp_path / "other"))
    path = other / "environments" / "mock" / "admission.json"
    admission = json.loads(path.read_text())
    path.write_text(json.dumps(admission | {"files": admission["files"] | {"toolset.yaml": "0" * 64}}))
    manifest = read_manifest(other)
    part = manifest.domains["mock"]
    part = part.model_copy(
        update={"tables": part.tables | {"loans": "0" * 64}, "versions": part.versions | {"grading": "1"}}
    )
    (other / MANIFEST).write_bytes(render_manifest(manifest.model_copy(update={"domains": {"mock": part}})))
    comparison = compare_places(other, mock_dataset)
    changes = comparison.domains["mock"].changes
    assert (changes.tools, changes.policy, changes.database, changes.files) == (True, False, True, ("toolset.yaml",))
    assert outline(comparison) == [
        "mock: 0 tasks added, 0 removed, 0 changed, 10 unchanged; environment changed: tools, database (toolset.yaml)",
        f"graded under version {comparison.grading_after}, before under 1: figures are not comparable",
    ]


@pytest.fixture
def store() -> Iterator[UPath]:
    """An object store in memory, empty."""
    place = UPath("memory://compared")
    yield place
    place.fs.rm(place.path, recursive=True)


def test_a_dataset_behind_a_url_is_compared_as_one_on_disk(
    mock_dataset: Path, before: Path, store: UPath, capsys: pytest.CaptureFixture[str]
) -> None:
    for path in files_in(before):
        (store / "mock" / path).write_bytes((before / path).read_bytes())
    assert main(["diff", f"{store}/mock", str(mock_dataset), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == compare_places(before, mock_dataset).model_dump(mode="json")
    with pytest.raises(
        DatasetError,
        match=r"^memory://compared/none has no manifest.json: it is no dataset, or was never finished; give the URL",
    ):
        compare_places(mock_dataset, f"{store}/none")
    with pytest.raises(UsageError, match=r"^nothing://x cannot be opened: "):
        compare_places(mock_dataset, "nothing://x")


def test_what_cannot_be_compared_is_one_line(
    mock_dataset: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    damaged = Path(shutil.copytree(mock_dataset, tmp_path / "damaged"))
    (damaged / TRAIN).write_bytes((damaged / TRAIN).read_bytes()[:-40])
    (tmp_path / "empty").mkdir()
    for arguments, told in (
        ([tmp_path / "empty", mock_dataset], f"toolscale: {tmp_path}/empty has no manifest.json"),
        ([mock_dataset, damaged], f"toolscale: {damaged / TRAIN}: not a readable Parquet file"),
        ([mock_dataset], "toolscale: Missing argument 'B'"),
    ):
        assert main(["diff", *map(str, arguments)]) == 2
        out, err = capsys.readouterr()
        assert out == "" and err.startswith(told) and err.count("\n") == 1


def test_survivors_that_are_no_json_are_named(mock_dataset: Path, tmp_path: Path) -> None:
    spoiled = altered(
        mock_dataset, tmp_path / "spoiled", lambda rows: None, lambda rows: rows[0].update(survivor="[" * 9)
    )
    with pytest.raises(
        DatasetError,
        match=r"spoiled: mock: the rows cannot be counted: JSONDecodeError: [^\n]*; `toolscale verify` names them$",
    ):
        compare_places(mock_dataset, spoiled)


def test_nothing_that_a_terminal_obeys_is_printed(
    mock_dataset: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    evil = altered(
        mock_dataset, tmp_path / "evil", lambda rows: rows[0].update(intent_id="\x1b]0;owned\x07[red]x", id="\x1b[2J")
    )
    for options in ([], ["--json"]):
        assert main(["diff", str(mock_dataset), str(evil), *options]) == 0
        out = capsys.readouterr().out
        assert "owned" in out and out.replace("\n", "").isprintable()
