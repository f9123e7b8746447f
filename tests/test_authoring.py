"""The pages for authors in docs/domains say what the code does."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
import yaml

from toolscale.config import SHARED_RUN_WORDS, SKELETON_LIMIT, STREAM_CANDIDATES
from toolscale.environment.builtins import BUILT_IN
from toolscale.environment.environment import load_environment
from toolscale.environment.registry import discover
from toolscale.language.render import FORMS, render
from toolscale.pipeline import admit_domain
from toolscale.pipeline.drafting import authoring_page
from toolscale.sql.macros import AGGREGATES, MACROS, RANKINGS, SCALARS
from toolscale.verify.yields import measure_yields

PAGE = authoring_page()
VALUES = {
    **dict.fromkeys(("money", "words", "dollars"), 124050), "clock": "14:05", "clock24": "14:05", "oclock": "14:30",
    **dict.fromkeys(("duration", "minutes", "hm"), 80), "number": 1240, "digits": "4711", "bool": True,
    **dict.fromkeys(("text", "lower", "plain"), "Old Oak"),
}  # fmt: skip


def test_every_function_of_the_subset_stands_there() -> None:
    functions = PAGE[PAGE.index("| functions | |") : PAGE.index("`pct_cents` takes")]
    assert set(re.findall(r"`([^`]+)`", functions)) - {"YYYY-MM-DD", "HH:MM", "YYYY-MM-DDTHH:MM:SS", "OVER"} == {
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


BLOCKS = [yaml.safe_load(block) for block in re.findall(r"```yaml\n(.+?)```", PAGE, re.DOTALL)]


def test_its_intents_are_those_of_the_smallest_domain_shortened() -> None:
    shown = {intent["id"]: intent for intent in BLOCKS[0]["intents"]}
    real = yaml.safe_load((discover()["mock"] / "intents.yaml").read_text(encoding="utf-8"))["intents"]
    for intent in real:
        if intent["id"] in shown:
            assert {key: shown[intent["id"]][key] for key in ("roles", "do")} == {
                key: intent[key] for key in ("roles", "do")
            }
    assert {intent["id"] for intent in real} > set(shown)


def test_its_branch_is_one_of_the_restaurants() -> None:
    intents = yaml.safe_load((discover()["restaurant"] / "intents.yaml").read_text(encoding="utf-8"))["intents"]
    assert BLOCKS[2]["do"] in [intent.get("do") for intent in intents]


def test_its_rule_and_its_hand_over_work_in_the_smallest_domain(tmp_path: Path) -> None:
    """Some call breaks the rule, and no case of a renewal does; the hand-over yields."""
    _, rules, _, intents = BLOCKS
    folder = Path(shutil.copytree(discover()["mock"], tmp_path / "mock"))
    for file, old, new in (
        ("toolset.yaml", "tools:\n", "lookups: {loans: [get]}\ntools:\n"),
        ("rules.yaml", "  desk_limit_cents: 4000\n", "  desk_limit_cents: 4000\n  most_renewals: 2\n"),
        ("language.yaml", "openings:", "enum_cues: {complaint: [complain, complaint]}\nopenings:"),
    ):
        text = (folder / file).read_text(encoding="utf-8")
        assert text.count(old) == 1
        (folder / file).write_text(text.replace(old, new), encoding="utf-8")
    for file, block in (("rules.yaml", rules), ("intents.yaml", intents)):
        ((section, entries),) = block.items()
        told = yaml.safe_load((folder / file).read_text(encoding="utf-8"))
        told[section] = [*told[section], *entries] if isinstance(entries, list) else {**told[section], **entries}
        (folder / file).write_text(yaml.safe_dump(told, sort_keys=False), encoding="utf-8")
    assert admit_domain(folder).environment_hash == load_environment(folder).hash
    found = {item.stream: item for item in measure_yields(load_environment(folder), 6)}
    assert found["complain_and_return"].accepted == found["renew_due_first"].accepted == 6
