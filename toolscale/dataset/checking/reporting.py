"""The report on the quality of a dataset: one HTML file that needs nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jinja2

from toolscale.config import VERSION
from toolscale.dataset.checking.measuring import Measurement
from toolscale.dataset.checking.quality import Quality
from toolscale.dataset.describing.charts import draw_charts
from toolscale.dataset.describing.figures import Figures
from toolscale.dataset.describing.told import NONE, places, tell_figures
from toolscale.text_files import visible

UNTOUCHED = {
    "tools": "tools that are never called",
    "intents": "intents without a task",
    "guards": "guards of tools that are never called",
    "rules": "rules that no task meets",
    "refused": "rules that no task is refused by",
    "values": "values that no call passes",
}
"""Sort of coverage -> what its missing names are."""

MOST_LISTED = 12
"""Names in a line at the head of the page; if there are more, they stand at its end alone."""

LONGEST_SHOWN = 2_000
"""Characters of a request on the page."""


def render_report(title: str, measurement: Measurement, quality: Quality, figures: Figures) -> bytes:
    """Return the page. What comes from the data is escaped; it loads nothing and runs no script."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("toolscale.dataset.describing", "."),
        undefined=jinja2.StrictUndefined,
        autoescape=True,
        keep_trailing_newline=True,
        finalize=lambda value: visible(value[:LONGEST_SHOWN]) if type(value) is str else value,
    )
    whole = [measurement.whole] if len(measurement.parts) > 1 else []
    columns = [*measurement.parts, *whole, *measurement.outside]
    told = tell_figures(columns)
    text = environment.get_template("report.html.jinja").render(
        title=title,
        version=VERSION,
        measurement=measurement,
        quality=quality,
        notes=list(note_missing(measurement, MOST_LISTED)),
        columns=columns,
        rows=[
            {"title": row.title, "meaning": row.meaning, "cells": [row.text(item) for item in columns]} for row in told
        ],
        places=_places(measurement),
        charts=draw_charts(measurement.parts, measurement.outside, figures),
        missing=untouched(measurement),
    )
    return text.encode()


def untouched(measurement: Measurement) -> dict[str, tuple[str, ...]]:
    """Return what no task touches: in words what it is -> its names."""
    deeds = measurement.whole.deeds
    if deeds is None:
        return {}
    found = {title: getattr(deeds.coverage, sort).missing for sort, title in UNTOUCHED.items()}
    return {title: names for title, names in found.items() if names}


def note_missing(measurement: Measurement, most: int | None = None) -> Iterator[str]:
    """Yield a line for what is missing and no threshold forbids: tools and intents that no task touches, by name (by
    their number if there are more than `most`), and figures that were left out."""
    missing = untouched(measurement)
    for sort in ("tools", "intents"):
        if names := missing.get(UNTOUCHED[sort]):
            few = most is None or len(names) <= most
            yield f"{UNTOUCHED[sort]}: {', '.join(names) if few else f'{len(names)}, named below'}"
    if measurement.left_out:
        yield measurement.left_out


def _places(measurement: Measurement) -> list[dict[str, Any]]:
    """Return the place of each domain in each figure; nothing where there is one domain alone."""
    if len(measurement.parts) < 2:
        return []
    return [
        {
            "title": told.title,
            "best": told.best,
            "cells": [NONE if place is None else place for place in places(told, measurement.parts)],
        }
        for told in tell_figures(measurement.parts)
        if told.number is not None
    ]
