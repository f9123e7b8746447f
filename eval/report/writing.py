"""The report of a benchmark: report.html, which needs nothing else, and summary.md."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jinja2

from eval.benchmark import about
from eval.comparing import Comparison, compare, told
from eval.records import Header, Line
from eval.report.charts import draw_charts
from eval.report.examples import find_examples
from eval.report.kinship_words import kinship_rows, price_rows, told_of_names
from eval.report.published import NOTE, ROWS, SOURCE
from eval.report.tables import RIGHT, SPENT, failure_rows, group_rows, how, pass_rows, right_row, spent_row
from eval.storage import HEADER, read_results
from eval.summary import summarize
from toolscale.config import VERSION
from toolscale.dataset.storage import write_file
from toolscale.errors import UsageError
from toolscale.text_files import visible

HTML, MARKDOWN = "report.html", "summary.md"

ORDER = ("random", "strongest", "cheapest", "tools", "oracle", "idle", "golden")
"""At the end of each table."""


def write_report(folder: Path) -> tuple[Path, Path]:
    """Write the report on all policies in a folder, and return its files. UsageError if there is none."""
    folders = sorted(path.parent for path in folder.glob(f"*/{HEADER}"))
    if not folders:
        raise UsageError(
            f"{folder}: holds no results of policies; give the folder of a benchmark, such as var/eval/heldout"
        )
    read = sorted(((path, *read_results(path)) for path in folders), key=lambda each: _place(each[1]))
    results = [(header, lines) for _, header, lines in read]
    summaries = [summarize(header, lines) for header, lines in results]
    first = results[0][0]
    found = about(first.kind)
    shown: dict[str, Any] = {
        "title": first.benchmark,
        "version": VERSION,
        "header": first,
        "headers": [header for header, _ in results],
        "how": how(summaries),
        "right": [RIGHT, *map(right_row, summaries)],
        "spent": [SPENT, *map(spent_row, summaries)],
        "passes": pass_rows(summaries),
        "groups": group_rows(summaries),
        "failures": failure_rows(summaries),
        "calibrations": [(each.policy, each.calibration) for each in summaries if each.calibration is not None],
        "comparisons": [told(each) for each in _comparisons(results)],
        "kinship": kinship_rows(summaries),
        "kinship_price": price_rows(summaries),
        "kinship_told": told_of_names(summaries),
        "published": ROWS,
        "source": SOURCE,
        "note": NOTE,
        "simulated": first.simulated,
    }
    page = {
        **shown,
        "charts": draw_charts(summaries),
        "examples": [] if found.gated else find_examples([path for path, _, _ in read]),
        "gated": found.gated,
    }
    files = folder / HTML, folder / MARKDOWN
    write_file(files[0], _render("report.html.jinja", page, escape=True))
    write_file(files[1], _render("summary.md.jinja", shown, escape=False))
    return files


def _place(header: Header) -> tuple[int, str]:
    return (ORDER.index(header.policy) if header.policy in ORDER else -1, header.policy)


def _comparisons(results: Sequence[tuple[Header, Sequence[Line]]]) -> list[Comparison]:
    """Compare each policy that has a model with the untrained one, or else with the first."""
    models = [(header, lines) for header, lines in results if header.identity.get("kind") != "scripted"]
    base = next((each for each in models if each[0].policy == "untrained"), models[0] if models else None)
    if base is None:
        return []
    others = [each for each in models if each is not base]
    done = [each for each in others if _scored(each[1]) & _scored(base[1])]
    return [compare(*each, *base) for each in done]


def _scored(lines: Sequence[Line]) -> set[str]:
    return {line.task_hash for line in lines if line.score is not None}


def _render(template: str, values: dict[str, Any], *, escape: bool) -> bytes:
    environment = jinja2.Environment(
        loader=jinja2.ChoiceLoader(
            [jinja2.PackageLoader("eval.report", "."), jinja2.PackageLoader("toolscale.dataset.describing", ".")]
        ),
        undefined=jinja2.StrictUndefined,
        autoescape=escape,
        keep_trailing_newline=True,
        trim_blocks=not escape,
        lstrip_blocks=not escape,
        finalize=lambda value: visible(value) if type(value) is str else value,
    )
    return environment.get_template(template).render(values).encode()
