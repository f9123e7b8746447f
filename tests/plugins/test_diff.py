"""What changed from one run to another: which two are compared, what the page says, and what it does with runs that
cannot be compared."""

from __future__ import annotations

import json
import re
import shutil
from html import unescape
from pathlib import Path

import pytest
from scheduled_runs import DAG_ID
from test_pages import pages
from toolscale_ui.data_folder import DataFolder
from toolscale_ui.diff import Diffs

from toolscale.dataset.comparing.comparison import compare_places, outline
from toolscale.pipeline import synthesize

pytestmark = pytest.mark.xdist_group("compared")  # the datasets are made once


def write_run(data: Path, folder: str, day: int, dataset: Path | None, *, domains: tuple[str, ...] = ("mock",)) -> Path:
    """Write a run of a day, by hand if its folder says so, with a dataset or without one."""
    night = f"2026-11-{day:02d}T02:00:00+00:00"
    by_hand = "manual" in folder
    about = {
        "dag_id": DAG_ID,
        "run_id": f"{folder}__{night}",
        "started": night,
        "seed": day,
        "params": {},
        "domains": list(domains),
        "night": None if by_hand else night,
    }
    home = data / "runs" / folder
    home.mkdir(parents=True)
    (home / "run.json").write_text(json.dumps(about))
    if dataset:
        shutil.copytree(dataset, home / "dataset")
    return home / "dataset"


@pytest.fixture(scope="module")
def other_dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Another dataset of the mock domain."""
    out = tmp_path_factory.mktemp("other") / "mock"
    synthesize("mock", out, tasks=4, seed=1, turns="single", answer="message")
    return out


@pytest.fixture
def data(tmp_path: Path, mock_dataset: Path, other_dataset: Path) -> Path:
    """Three nights and a run by hand, with a dataset each, and a run without one; the run by hand made another
    domain."""
    folder = tmp_path / "data"
    write_run(folder, "monday", 16, mock_dataset)
    write_run(folder, "tuesday", 17, other_dataset)
    write_run(folder, "manual", 18, mock_dataset, domains=("finance",))
    write_run(folder, "thursday", 19, mock_dataset)
    write_run(folder, "friday", 20, None)
    return folder


def open_diffs(data: Path) -> Diffs:
    return Diffs(DataFolder(str(data), listing_seconds=0))


def words(page: str) -> str:
    """What a page says, without its tags."""
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", page.replace("<wbr>", ""))).split())


def test_what_the_page_says_is_what_diff_prints(data: Path, mock_dataset: Path, other_dataset: Path) -> None:
    page = pages(data).get("/diff", params={"before": "tuesday", "after": "thursday"}).text
    found = compare_places(other_dataset, mock_dataset)
    domain = found.domains["mock"]
    assert f"{found.before} → {found.after}" in words(page)
    assert f"10 tasks added, 4 removed, 0 changed, 0 unchanged; {outline(found)[0].split('; ')[1]}." in words(page)
    for name, tasks in (*domain.intents.items(), *domain.outcomes.items()):
        assert f"{name} {tasks.added} {tasks.removed} {tasks.changed} {tasks.unchanged}" in words(page)
    for name, figure in (*domain.counts.items(), *domain.gates.items(), *domain.quality.items()):
        assert (
            f"{name} {figure.before:,g} {figure.after:,g} {f'{figure.difference:+,g}' if figure.difference else '='}"
            in words(page)
        )
    assert all(f"<code>{task}</code>" in page for task in (*domain.tasks.added, *domain.tasks.removed))
    assert "rejects?run_id=thursday__2026-11-19T02%3A00%3A00%2B00%3A00&amp;domain=mock&amp;gate=novel" in page


@pytest.mark.parametrize(
    ("before", "after", "compared"),
    [
        ("", "", ("tuesday", "thursday")),
        ("", "manual", ("tuesday", "manual")),
        ("", "tuesday", ("monday", "tuesday")),
        ("", "monday", ("tuesday", "monday")),
        ("thursday", "monday", ("thursday", "monday")),
        ("monday", "monday", ("monday", "monday")),
    ],
)
def test_a_run_is_compared_with_the_one_before_it_of_the_same_domains(
    data: Path, before: str, after: str, compared: tuple[str, str]
) -> None:
    diffs = open_diffs(data)
    assert [choice.folder for choice in diffs.choices()] == ["thursday", "manual", "tuesday", "monday"]
    found = diffs.diff(before, after)
    assert found is not None and (found.before.folder, found.after.folder) == compared


def test_a_comparison_is_made_again_only_when_a_dataset_changed(data: Path, other_dataset: Path) -> None:
    diffs = open_diffs(data)
    first, second = (diffs.diff("monday", "thursday") for _ in range(2))
    assert first is not None and second is not None and first.comparison is second.comparison is not None
    shutil.rmtree(data / "runs/monday/dataset")
    shutil.copytree(other_dataset, data / "runs/monday/dataset")
    third = diffs.diff("monday", "thursday")
    assert third is not None and third.comparison == compare_places(other_dataset, data / "runs/thursday/dataset")


@pytest.mark.parametrize(
    "asked",
    ["before=friday", "after=friday", "after=../monday", "after=monday/../tuesday", "before=%00", "after=nobody"],
)
def test_a_run_without_a_dataset_is_not_there(data: Path, asked: str) -> None:
    found = pages(data).get(f"/diff?{asked}")
    assert found.status_code == 404 and "There is no such dataset" in found.text


def test_a_dataset_that_cannot_be_read_is_told_and_another_can_be_chosen(data: Path) -> None:
    (data / "runs/tuesday/dataset/mock/train-00000-of-00001.parquet").write_bytes(b"PAR1 and no more")
    found = pages(data).get("/diff?before=tuesday&after=thursday")
    assert found.status_code == 200 and "These two cannot be compared. " in words(found.text)
    assert "train-00000-of-00001.parquet" in found.text and '<option value="monday"' in found.text
    (data / "runs/tuesday/dataset/manifest.json").write_text("{")
    assert "These two cannot be compared. " in words(pages(data).get("/diff?before=tuesday&after=thursday").text)


def test_with_less_than_two_datasets_there_is_nothing_to_compare(tmp_path: Path, mock_dataset: Path) -> None:
    write_run(tmp_path / "data", "monday", 16, mock_dataset)
    for folder in (tmp_path / "data", tmp_path / "empty"):
        assert "Nothing to compare yet" in pages(folder).get("/diff").text


def test_names_of_domains_and_runs_are_escaped(data: Path) -> None:
    about = data / "runs/thursday/run.json"
    about.write_text(about.read_text().replace('"mock"', '"<script>alert(1)</script>"'))
    page = pages(data).get("/diff").text
    assert page.count("<script") == 1 and "&lt;script&gt;alert(1)" in page


def test_a_night_leads_to_what_changed(data: Path) -> None:
    assert '<a href="diff?after=thursday">what changed</a>' in pages(data).get("/nights").text
