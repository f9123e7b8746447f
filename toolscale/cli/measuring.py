"""The verb `report`, and what `stats` says of quality."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from toolscale.cli.output import as_json, bytes_text, echo_json, progress_bar, say
from toolscale.errors import UsageError

if TYPE_CHECKING:
    from toolscale.dataset.checking.measuring import Measurement
    from toolscale.dataset.checking.quality import Quality
    from toolscale.dataset.describing.reading import Reading

with_against = click.option(
    "--against",
    multiple=True,
    metavar="FILE",
    help="A file of texts to compare with (.json, .jsonl, .parquet, .txt), or FILE#path.to.the.text in its records; "
    "may be said several times.",
)


@click.command()
@click.argument("dataset", type=click.Path(path_type=Path))
@click.option(
    "--out", required=True, type=click.Path(path_type=Path), metavar="FILE", help="Where the page is written."
)
@with_against
@as_json
def report(dataset: Path, out: Path, against: tuple[str, ...], json_: bool) -> None:
    """Write a page on the quality of DATASET: figures by domain with what they mean, plots, the nearest requests. One
    HTML file that loads nothing."""
    from toolscale.dataset.checking.reporting import render_report
    from toolscale.dataset.describing.reading import read_dataset
    from toolscale.dataset.storage import write_file

    if out.suffix not in (".html", ".htm") or not out.parent.is_dir():
        problem = "there is no such folder" if not out.parent.is_dir() else "it does not end in .html"
        raise UsageError(f"--out {out}: {problem}; give a file such as report.html")
    reading = read_dataset(dataset)
    measurement, quality = measure(reading, against)
    write_file(out, render_report(reading.manifest.name, measurement, quality, reading.figures))
    if json_:
        return echo_json({"file": str(out), **quality_json(measurement, quality)})
    bounds = "every figure is within its bound" if quality.passed else f"out of bounds: {'; '.join(quality.reasons)}"
    say(f"{out}: {bytes_text(out.stat().st_size)}; {bounds}")


def measure(reading: Reading, against: tuple[str, ...]) -> tuple[Measurement, Quality]:
    """Measure a dataset beside files from outside, and compare the figures with their thresholds."""
    from toolscale.dataset.checking.measuring import measure_dataset
    from toolscale.dataset.checking.quality import check_measurement
    from toolscale.dataset.describing.outside import read_outside

    outsides = [read_outside(place) for place in against]
    with progress_bar() as progress:
        measurement = measure_dataset(reading, outsides, lambda done, total: progress("measuring tasks", done, total))
    return measurement, check_measurement(reading, measurement)


def quality_json(measurement: Measurement, quality: Quality) -> dict[str, Any]:
    """Return what was measured as JSON."""
    return {"measured": asdict(measurement), "check": {"passed": quality.passed, **asdict(quality)}}


def print_quality(measurement: Measurement) -> None:
    """Print the figures, a line each, with a column for each domain and file."""
    from toolscale.cli.terminal import print_wide_table
    from toolscale.dataset.checking.reporting import note_missing
    from toolscale.dataset.describing.told import tell_figures

    whole = [measurement.whole] if len(measurement.parts) > 1 else []
    columns = [*measurement.parts, *whole, *measurement.outside]
    rows = [(told.title, *(told.text(item) for item in columns)) for told in tell_figures(columns)]
    print_wide_table(("quality", *(item.name for item in columns)), rows)
    for line in note_missing(measurement):
        say(line)


def print_check(quality: Quality) -> None:
    """Print a line for each figure that is out of its bound, or one that says that none is."""
    for reason in quality.reasons:
        say(reason)
    if quality.passed:
        figures = ", ".join(f"{name} {value:g}" for name, value in quality.figures.items())
        say(f"every figure is within its bound: {figures}")
