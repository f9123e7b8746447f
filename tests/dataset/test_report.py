"""`toolscale report` and what `toolscale stats` says of quality: the page in a browser, exit statuses, bad input."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from browser import chromium

from tests.dataset.test_quality import TASKS, change, said_again
from tests.installed import needs_browser
from toolscale.cli import main
from toolscale.cli.terminal import print_wide_table
from toolscale.dataset.arrow import TASK_SCHEMA
from toolscale.dataset.checking.measuring import measure_dataset
from toolscale.dataset.checking.reporting import note_missing
from toolscale.dataset.columns import Row
from toolscale.dataset.describing.embedding import missing_packages
from toolscale.dataset.describing.reading import read_dataset

pytestmark = pytest.mark.xdist_group("measured")  # the model of meanings is loaded once

EVIL = "<script>alert(1)</script><img src=x onerror=alert(1)>"


@pytest.fixture
def dataset(mock_dataset: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(mock_dataset, tmp_path / "mock"))


@pytest.fixture
def benchmark(tmp_path: Path) -> Path:
    file = tmp_path / "bench.txt"
    file.write_text("One text of more than eight words that nobody has said before.\n\nAnother one, shorter.")
    return file


@pytest.fixture
def pages() -> Iterator[tuple[object, list[str]]]:
    """A page of Chromium 400 pixels wide, and what it complained of or asked for."""
    heard: list[str] = []
    with chromium() as browser:
        page = browser.new_context(viewport={"width": 400, "height": 900}).new_page()
        page.on("console", lambda message: heard.append(message.text))
        page.on("pageerror", lambda error: heard.append(str(error)))
        page.on("dialog", lambda dialog: heard.append(dialog.message))
        page.on("request", lambda asked: heard.extend([asked.url] * (not asked.url.startswith(("file:", "data:")))))
        yield page, heard


@needs_browser
def test_the_page_opens_on_a_phone_without_complaint_and_loads_nothing(
    pages: tuple[object, list[str]], combined_dataset: Path, benchmark: Path, tmp_path: Path
) -> None:
    page, heard = pages
    out = tmp_path / "report.html"
    assert main(["report", str(combined_dataset), "--out", str(out), "--against", str(benchmark)]) == 0
    page.goto(out.as_uri())  # type: ignore[attr-defined]
    text = page.inner_text("body")  # type: ignore[attr-defined]
    for heading in ("Figures", "Each domain against the others", "Plots", "What the figures mean"):
        assert heading in text
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)  # type: ignore[attr-defined]
        assert page.evaluate("document.documentElement.scrollWidth") == 400  # type: ignore[attr-defined]
    assert page.locator("figure svg").count() == (3 if missing_packages() else 5)  # type: ignore[attr-defined]
    if missing_packages():
        assert missing_packages() in text
    assert heard == []


@needs_browser
def test_what_a_request_says_is_shown_and_not_obeyed(
    pages: tuple[object, list[str]], dataset: Path, tmp_path: Path
) -> None:
    page, heard = pages
    change(dataset, TASKS, lambda rows: [row.update(request=f"{EVIL} {row['request']}") for row in rows].clear())
    out = tmp_path / "report.html"
    assert main(["report", str(dataset), "--out", str(out)]) == 0
    page.goto(out.as_uri())  # type: ignore[attr-defined]
    assert heard == [] and EVIL not in out.read_text()
    assert (EVIL in page.inner_text("body")) == (missing_packages() is None)  # type: ignore[attr-defined]


def test_the_same_dataset_gives_the_same_page(mock_dataset: Path, tmp_path: Path) -> None:
    for name in ("a.html", "b.html"):
        assert main(["report", str(mock_dataset), "--out", str(tmp_path / name)]) == 0
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()


def test_stats_says_what_was_measured_and_the_json_has_it_all(
    mock_dataset: Path, benchmark: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["stats", str(mock_dataset), "--quality", "--against", str(benchmark)]) == 0
    printed = capsys.readouterr().out
    for title in ("distinct-2", "self-BLEU-4 of 50", "tools called", f"overlap with {benchmark.parent.name}/bench"):
        assert f"\n{title} " in printed
    assert (missing_packages() or "Vendi score") in printed.replace("\n", " ")
    assert main(["stats", str(mock_dataset), "--quality", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["counts"]["accepted"] == 10
    assert found["measured"]["whole"]["texts"]["count"] == 10


def test_a_check_exits_1_and_names_each_figure_that_is_out_of_its_bound(
    dataset: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    change(dataset, TASKS, said_again)
    assert main(["stats", str(dataset), "--check"]) == 1
    said = [line.split()[0] for line in capsys.readouterr().out.splitlines() if " is wanted " in line]
    assert said == (["self_bleu"] if missing_packages() else ["near_duplicates", "self_bleu"])
    assert main(["stats", str(dataset), "--check", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["check"]["passed"] is False


def test_a_dataset_of_one_task_is_measured(dataset: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def only_one(rows: list[Row]) -> None:
        del rows[1:]

    change(dataset, TASKS, only_one)
    change(dataset, ("mock", "test", TASK_SCHEMA), lambda rows: rows.clear())
    assert main(["report", str(dataset), "--out", str(tmp_path / "one.html")]) == 0
    page = (tmp_path / "one.html").read_text()
    assert (missing_packages() or "There is one request alone, so there is no pair.") in page
    capsys.readouterr()


def test_tools_and_intents_that_no_task_touches_are_named(dataset: Path, capsys: pytest.CaptureFixture[str]) -> None:
    change(dataset, TASKS, lambda rows: rows.__setitem__(slice(None), [rows[0]]))
    change(dataset, ("mock", "test", TASK_SCHEMA), lambda rows: rows.clear())
    main(["stats", str(dataset), "--check"])
    printed = capsys.readouterr().out
    assert "tools that are never called: list_loans, renew_loan, return_loan\n" in printed
    assert "intents without a task: renew_due_first, return_all, pay_over_desk_limit\n" in printed


def test_many_missing_names_stand_at_the_end_of_the_page_alone(dataset: Path) -> None:
    change(dataset, TASKS, lambda rows: rows.__setitem__(slice(None), [rows[0]]))
    change(dataset, ("mock", "test", TASK_SCHEMA), lambda rows: rows.clear())
    measurement = measure_dataset(read_dataset(dataset))
    assert list(note_missing(measurement, 2))[:2] == [
        "tools that are never called: 3, named below",
        "intents without a task: 3, named below",
    ]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--out", "{tmp}/a.html", "--against", "{tmp}/gone.json"], "gone.json cannot be read: No such file"),
        (["--out", "{tmp}/a.html", "--against", "{tmp}/short.txt"], "no text has 8 words"),
        (["--out", "{tmp}/a.pdf"], "a.pdf: it does not end in .html; give a file such as report.html"),
        (["--out", "{tmp}/no/a.html"], "a.html: there is no such folder; give a file such as report.html"),
    ],
)
def test_bad_input_is_told_in_one_line(
    mock_dataset: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], told: str
) -> None:
    (tmp_path / "short.txt").write_text("too short")
    assert main(["report", str(mock_dataset), *(part.format(tmp=tmp_path) for part in arguments)]) == 2
    error = capsys.readouterr().err
    assert told in error and error.count("\n") == 1
    assert not list(tmp_path.glob("*.html"))


def test_a_dataset_that_is_none_or_empty_is_refused(
    dataset: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", str(tmp_path / "gone"), "--out", str(tmp_path / "a.html")]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    for split in ("train", "test"):
        change(dataset, ("mock", split, TASK_SCHEMA), lambda rows: rows.clear())
    assert main(["stats", str(dataset), "--check"]) == 2
    assert capsys.readouterr().err == (
        f"toolscale: {dataset} has no tasks, so there is nothing to measure; make it with more\n"
    )


def test_more_columns_than_a_screen_has_room_for_come_in_several_tables(capsys: pytest.CaptureFixture[str]) -> None:
    names = ["quality", *(f"domain_{number:02}" for number in range(20))]
    rows = [["calls a task", *(f"{number}.5" for number in range(20))], ["tools", *["all"] * 20]]
    print_wide_table(names, rows)
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert [lines[0], lines[4]] == [names[:12], ["quality", *names[12:]]]
    assert lines[5] == ["calls", "a", "task", *(f"{number}.5" for number in range(11, 20))]
