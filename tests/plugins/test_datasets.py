"""What came out of runs: counts, gates, tiers, the word of the quality gate, cards and plots."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from scheduled_runs import DAG_ID, write_run
from toolscale_ui.card import rendered_card
from toolscale_ui.data_folder import DataFolder
from toolscale_ui.datasets import Datasets, Quality

from toolscale.dataset.describing.figures import count_figures
from toolscale.dataset.describing.reading import read_dataset


@pytest.fixture
def finished(data: Path, mock_dataset: Path) -> Path:
    """Tuesday's run made a dataset of the mock domain."""
    shutil.copytree(mock_dataset, data / "runs/tuesday/mock/dataset")
    (data / "runs/tuesday/mock/quality.json").write_text(
        json.dumps(
            {
                "passed": False,
                "figures": {"accepted": 0.5},
                "thresholds": {"accepted": 0.9},
                "reasons": ["too few were accepted: 50 %"],
            }
        )
    )
    return data


def open_datasets(data: Path) -> Datasets:
    return Datasets(DataFolder(str(data), listing_seconds=0))


def test_runs_are_listed_newest_first_with_what_came_out_of_each_domain(finished: Path, mock_dataset: Path) -> None:
    (tuesday, monday), total = open_datasets(finished).page(1)
    assert total == 2
    assert (monday.folder, monday.finished, [part.domain for part in monday.parts]) == ("monday", False, ["finance"])
    assert (tuesday.run.seed, tuesday.run.params, [part.domain for part in tuesday.parts]) == (
        7,
        {"tasks": 12},
        ["finance", "mock"],
    )
    reading = read_dataset(mock_dataset)
    counts = reading.manifest.counts
    figures = count_figures(
        reading.rows, asked=10, over_quota=counts["over_quota"], no_case=counts["no_case"], drawn=counts["drawn"]
    )
    part = tuesday.parts[1]
    assert part.quality == Quality(False, ["too few were accepted: 50 %"], {"accepted": 0.5}, {"accepted": 0.9})
    assert {name: part.count(name) for name in ("asked", "accepted", "candidates", "nothing")} == {
        "asked": 10,
        "accepted": 10,
        "candidates": counts["candidates"],
        "nothing": None,
    }
    assert part.tiers == figures.tiers
    assert {gate: share for gate, _, share in part.gates} == pytest.approx(figures.pass_rates)
    assert part.accepted_share == pytest.approx(1 - counts["rejected"] / counts["candidates"])


def test_what_cannot_be_read_is_named(finished: Path) -> None:
    (finished / "runs/monday/run.json").write_text("{")
    (finished / "runs/tuesday/mock/quality.json").write_text("[]")
    manifest = finished / "runs/tuesday/mock/dataset/manifest.json"
    manifest.write_text(manifest.read_text().replace('"counts"', '"count"'))
    found = open_datasets(finished)
    (tuesday,), _ = found.page(1)
    assert found.corrupt == {"runs/monday/run.json": "not the JSON of a run"}
    assert tuesday.parts[1].problem == "runs/tuesday/mock/dataset/manifest.json: not a manifest: field required"
    assert tuesday.parts[1].quality is not None and not tuesday.parts[1].quality.passed


def test_a_dataset_with_a_corrupt_file_is_listed_all_the_same(finished: Path) -> None:
    (finished / "runs/tuesday/mock/dataset/mock/train-00000-of-00001.parquet").write_bytes(b"PAR1")
    (tuesday, _), _ = open_datasets(finished).page(1)
    part = tuesday.parts[1]
    assert (part.count("accepted"), part.tiers) == (10, {})
    assert part.problem == "runs/tuesday/mock/dataset: the tasks cannot be counted, a file is missing or corrupt"


def test_the_runs_of_another_dag_are_not_ours(finished: Path, mock_dataset: Path) -> None:
    write_run(finished, "other", "theirs", "2027-01-01T00:00:00+00:00", dag_id="secret_dag")
    shutil.copytree(mock_dataset, finished / "runs/other/mock/dataset")
    found = open_datasets(finished)
    assert [item.folder for item in found.page(1)[0]] == ["tuesday", "monday"]
    with pytest.raises(KeyError):
        found.card("other", "mock")
    with pytest.raises(KeyError):
        found.plot("other", "mock", "gates.png")


def test_a_card_is_rendered_without_its_header_and_with_its_plots(finished: Path, mock_dataset: Path) -> None:
    run_id, text = open_datasets(finished).card("tuesday", "mock")
    page = rendered_card(text, "tuesday", "mock")
    assert run_id.startswith("manual__")
    assert "pretty_name" not in page
    assert "<h1>" in page and "<td>schema</td>" in page and "style=" not in page
    assert '<img src="plot?run=tuesday&amp;domain=mock&amp;name=mock/gates.png"' in page
    assert (
        open_datasets(finished).plot("tuesday", "mock", "mock/gates.png")
        == (mock_dataset / "plots/mock/gates.png").read_bytes()
    )


@pytest.mark.parametrize(
    ("run", "domain", "name"),
    [
        ("tuesday", "mock", "../manifest.json"),
        ("tuesday", "mock", "../gates.png"),
        ("tuesday", "mock", "/mock/gates.png"),
        ("tuesday", "mock", "..%2f.png"),
        ("tuesday", "..", "gates.png"),
        ("tuesday", "mock/dataset/..", "gates.png"),
        ("../runs/tuesday", "mock", "gates.png"),
        ("", "", "gates.png"),
        ("monday", "finance", "gates.png"),
        ("tuesday", "mock", "a\n.png"),
    ],
)
def test_a_plot_is_one_of_a_dataset_or_nothing(finished: Path, run: str, domain: str, name: str) -> None:
    with pytest.raises(KeyError):
        open_datasets(finished).plot(run, domain, name)


def test_a_card_with_markup_of_its_own_stays_text() -> None:
    images = "![x](https://example.org/a.png) ![y](plots/../a.png) [z](javascript:alert(1))"
    text = f"# <script>alert(1)</script>\n\n{images}\n\n<img src=x onerror=alert(1)>\n"
    page = rendered_card(text, "run", "finance")
    assert "<script" not in page and "<img" not in page and "href" not in page and "&lt;script&gt;" in page


def test_the_name_of_the_dag_is_the_one_that_is_authorized() -> None:
    from toolscale_ui.rejects import DAG_ID as SHOWN

    assert SHOWN == DAG_ID
