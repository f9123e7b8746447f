"""Cards of datasets."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from scheduled_runs import DAG_ID, write_run
from toolscale_ui.card import Cards, rendered_card
from toolscale_ui.data_folder import DataFolder


@pytest.fixture
def finished(data: Path, mock_dataset: Path) -> Path:
    """Tuesday's run made a dataset of the mock domain."""
    shutil.copytree(mock_dataset, data / "runs/tuesday/mock/dataset")
    return data


def open_cards(data: Path) -> Cards:
    return Cards(DataFolder(str(data), listing_seconds=0))


def test_the_runs_of_another_dag_are_not_ours(finished: Path, mock_dataset: Path) -> None:
    write_run(finished, "other", "theirs", "2027-01-01T00:00:00+00:00", dag_id="secret_dag")
    shutil.copytree(mock_dataset, finished / "runs/other/mock/dataset")
    found = open_cards(finished)
    with pytest.raises(KeyError):
        found.card("other", "mock")


def test_a_card_is_rendered_without_its_header(finished: Path) -> None:
    run_id, text = open_cards(finished).card("tuesday", "mock")
    page = rendered_card(text)
    assert run_id.startswith("manual__")
    assert "pretty_name" not in page
    assert "<h1>" in page and "<td>schema</td>" in page and "style=" not in page


@pytest.mark.parametrize(
    ("run", "domain"),
    [("tuesday", ".."), ("tuesday", "mock/dataset/.."), ("../runs/tuesday", "mock"), ("", ""), ("monday", "finance")],
)
def test_a_card_is_one_of_a_dataset_or_nothing(finished: Path, run: str, domain: str) -> None:
    with pytest.raises(KeyError):
        open_cards(finished).card(run, domain)


def test_a_card_with_markup_of_its_own_stays_text() -> None:
    images = "![x](https://example.org/a.png) ![y](plots/../a.png) [z](javascript:alert(1))"
    text = f"# <script>alert(1)</script>\n\n{images}\n\n<img src=x onerror=alert(1)>\n"
    page = rendered_card(text)
    assert "<script" not in page and "<img" not in page and "href" not in page and "&lt;script&gt;" in page


def test_the_name_of_the_dag_is_the_one_that_is_authorized() -> None:
    from toolscale_ui.rejects import DAG_ID as SHOWN

    assert SHOWN == DAG_ID
