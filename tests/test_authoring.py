"""docs/authoring.md says what the code does."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from toolscale.config import SHARED_RUN_WORDS, SKELETON_LIMIT
from toolscale.environment import discover
from toolscale.environment.builtins import BUILT_IN
from toolscale.language import FORMS, render
from toolscale.sql.macros import AGGREGATES, MACROS, RANKINGS, SCALARS
from toolscale.config import STREAM_CANDIDATES

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "authoring.md").read_text(encoding="utf-8")
VALUES = {
    **dict.fromkeys(("money", "words", "dollars"), 124050), "number": 1240, "digits": "4711", "bool": True,
    **dict.fromkeys(("text", "lower", "plain"), "Old Oak"),
}  # fmt: skip


def test_every_function_of_the_subset_stands_there() -> None:
    functions = PAGE[PAGE.index("| functions | |") : PAGE.index("`pct_cents` takes")]
    assert set(re.findall(r"`([^`]+)`", functions)) - {"YYYY-MM-DD", "OVER"} == {
        *SCALARS, *AGGREGATES, *RANKINGS, *(macro.signature for macro in MACROS.values())
    }  # fmt: skip


def test_every_form_stands_there_as_it_is_written() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \| (.+?) \| ", PAGE, re.MULTILINE))
    assert rows == {form: render(VALUES.get(form, "2026-03-20"), form, "2026-03-16") for form in FORMS}


@pytest.mark.parametrize("tool", BUILT_IN)
def test_the_tools_that_every_domain_has_are_named(tool: str) -> None:
    assert f"`{tool}`" in PAGE


def test_the_bounds_are_those_of_the_code() -> None:
    page = " ".join(PAGE.split())
    assert f"share {SHARED_RUN_WORDS} words in a row" in page
    assert SKELETON_LIMIT == 3 and "more than three share" in page and "carries three tasks" in page
    assert f"judges {STREAM_CANDIDATES} candidates of every intent" in page


def test_its_intents_are_those_of_the_smallest_domain_shortened() -> None:
    (block,) = re.findall(r"```yaml\n(.+?)```", PAGE, re.DOTALL)
    shown = {intent["id"]: intent for intent in yaml.safe_load(block)["intents"]}
    real = yaml.safe_load((discover()["mock"] / "intents.yaml").read_text(encoding="utf-8"))["intents"]
    for intent in real:
        if intent["id"] in shown:
            assert {key: shown[intent["id"]][key] for key in ("roles", "do")} == {
                key: intent[key] for key in ("roles", "do")
            }
    assert {intent["id"] for intent in real} > set(shown)
