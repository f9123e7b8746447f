"""Every verb that writes a folder, killed before each of its changes on disk: the place holds what was there or what
comes, all of it, and the same command goes on."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.killing import held, kills
from tests.publish.hub_server import serving
from toolscale.cli import main
from toolscale.dataset.places import deliver, settle
from toolscale.dataset.storage import (
    REPLACED,
    put_back_replaced,
    remove_leftovers,
    replace_folder,
    work_folder,
    write_file,
)
from toolscale.environment.registry import discover, find_folder
from toolscale.environment.scaffold import read_tables, write_scaffold
from toolscale.exports.writing import export
from toolscale.pipeline.drafting import drafted_files, put_folder
from toolscale.pipeline.proposing import put_aside
from toolscale.pipeline.remaking import open_made
from toolscale.publish.pulling import pull_dataset

OLD, NEW = ({"a": word, "b/c": word} for word in (b"old", b"new"))


def make(out: Path, files: dict[str, bytes]) -> None:
    """As the verbs do."""
    with work_folder(out, "work") as work:
        remove_leftovers(work / "made")
        for name, content in files.items():
            write_file(work / "made" / name, content)
        replace_folder(work / "made", out, work / REPLACED)


def with_old(tmp_path: Path) -> Callable[[int], Path]:
    def prepare(step: int) -> Path:
        make(tmp_path / str(step) / "out", OLD)
        return tmp_path / str(step)

    return prepare


def test_a_folder_that_is_made_in_a_work_folder(tmp_path: Path) -> None:
    found = []
    for place in kills(with_old(tmp_path), lambda place: make(place / "out", NEW)):
        found.append(held(place / "out"))
        make(place / "out", NEW)
        assert held(place) == {f"out/{name}": content for name, content in NEW.items()}
    assert {} in found and found == sorted(found, key=[OLD, {}, NEW].index) and len(found) > 15


def test_a_folder_that_is_made_out_of_itself(tmp_path: Path) -> None:
    for place in kills(with_old(tmp_path), lambda place: make(place / "out", NEW)):
        put_back_replaced(place / "out", "work")
        assert held(place / "out") in (OLD, NEW)
        make(place / "out", OLD)
        assert held(place) == {f"out/{name}": content for name, content in OLD.items()}


def test_a_folder_that_a_scheduled_task_delivers(tmp_path: Path) -> None:
    def prepare(step: int) -> Path:
        for name, files in (("out", OLD), ("made", NEW)):
            for path, content in files.items():
                write_file(tmp_path / str(step) / name / path, content)
        return tmp_path / str(step)

    for place in kills(prepare, lambda place: deliver(place / "made", place / "out", "a")):
        assert held(settle(place / "out")) in (OLD, NEW)


def test_a_dataset_that_is_made_again_in_its_place(mock_dataset: Path, tmp_path: Path) -> None:
    """As solve and decide leave it when they are killed between two renames."""
    out = Path(shutil.copytree(mock_dataset, tmp_path / "mock"))
    work = tmp_path / ".mock.work"
    write_file(work / "lock", b"")
    out.rename(work / REPLACED)
    assert open_made(out).folder == out and held(out) == held(mock_dataset)


def test_an_export(mock_dataset: Path, tmp_path: Path) -> None:
    (tmp_path / "first").mkdir()
    export(mock_dataset, "trl-sft", tmp_path / "first" / "e", {"orders": "2"})
    export(mock_dataset, "trl-sft", tmp_path / "second")
    old, new = held(tmp_path / "first" / "e"), held(tmp_path / "second")

    def prepare(step: int) -> Path:
        return Path(shutil.copytree(tmp_path / "first", tmp_path / f"killed-{step}"))

    for place in kills(prepare, lambda place: export(mock_dataset, "trl-sft", place / "e"), every=3):
        assert held(place / "e") in (old, {}, new)
        export(mock_dataset, "trl-sft", place / "e")
        assert held(place) == {f"e/{name}": content for name, content in new.items()}


def test_a_pull(few_tasks: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_write")
    whole = held(few_tasks)
    with serving() as (endpoint, _):
        assert main(["publish", str(few_tasks), "me/x", "--push", "--endpoint", endpoint]) == 0

        def pull(place: Path) -> None:
            pull_dataset("me/x", place / "d", endpoint=endpoint)

        def prepare(step: int) -> Path:
            (tmp_path / str(step)).mkdir()
            return tmp_path / str(step)

        pull(prepare(-1))
        released = held(tmp_path / "-1" / "d")
        assert released.keys() >= whole.keys()
        write_file(tmp_path / "-1" / ".d.pull" / "lock", b"")  # as when it was killed just before its end
        pull(tmp_path / "-1")
        assert [path.name for path in (tmp_path / "-1").iterdir()] == ["d"]
        for place in kills(prepare, pull, every=9):
            assert held(place / "d") in ({}, released)
            pull(place)
            assert held(place) == {f"d/{name}": content for name, content in released.items()}


def test_a_domain_that_is_drafted(tmp_path: Path) -> None:
    drafted = find_folder("mock")
    whole = {name: (drafted / name).read_bytes() for name in drafted_files(drafted)}
    for place in kills(lambda step: tmp_path / str(step), lambda place: put_folder(drafted, place / "mock")):
        if not (place / "mock").exists():
            assert not place.exists() or discover(place) == {}
            put_folder(drafted, place / "mock")
        assert held(place) == {f"mock/{name}": content for name, content in whole.items()}


def test_a_domain_that_is_new(tmp_path: Path) -> None:
    tables = read_tables("patron, loan by patron")
    whole = held(write_scaffold("club", tables, tmp_path / "whole"))
    for place in kills(lambda step: tmp_path / str(step), lambda place: write_scaffold("club", tables, place), every=4):
        if not (place / "club").exists():
            assert not place.exists() or discover(place) == {}
            write_scaffold("club", tables, place)
        assert held(place) == {f"club/{name}": content for name, content in whole.items()}


def test_a_proposal_that_goes_aside(tmp_path: Path) -> None:
    def prepare(step: int) -> Path:
        place = tmp_path / str(step)
        shutil.copytree(find_folder("mock"), place / "mock")
        put_aside(place / "mock")
        shutil.copytree(find_folder("mock"), place / "mock")
        return place

    for place in kills(prepare, lambda place: put_aside(place / "mock")):
        if (place / "mock").exists():
            put_aside(place / "mock")
        (aside,) = discover(place).values()
        assert held(aside) == held(find_folder("mock"))
