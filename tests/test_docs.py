"""Documents cannot lie: commands in the README exist, and every verb and target is told."""

from __future__ import annotations

import os
import re
from pathlib import Path

import click
import pytest

from toolscale.cli import commands
from toolscale.records import GATES

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
MAKEFILE = (ROOT / "Makefile").read_text()
TARGETS = set(re.findall(r"^([a-z]+):.*## ", MAKEFILE, re.MULTILINE))


@pytest.mark.parametrize("verb", sorted(commands.commands))
def test_every_verb_is_in_the_readme_and_has_help(verb: str) -> None:
    command = commands.commands[verb]
    assert f"toolscale {verb}" in README
    assert command.help
    assert not [option.name for option in command.params if isinstance(option, click.Option) and not option.help]
    # serve prints nothing: what it says goes over MCP or HTTP, as JSON.
    assert verb == "serve" or "--json" in {name for option in command.params for name in option.opts}


def test_every_verb_in_the_readme_exists() -> None:
    assert set(re.findall(r"(?:bin/|^|`|\$ )toolscale ([a-z]+)", README, re.MULTILINE)) <= commands.commands.keys()


def test_every_target_in_the_readme_exists_and_the_other_way_round() -> None:
    assert set(re.findall(r"make ([a-z]+)\b", README)) & TARGETS == TARGETS
    assert not set(re.findall(r"`make ([a-z]+)", README)) - TARGETS


def test_every_gate_is_explained_in_order() -> None:
    table = (ROOT / "docs" / "grading.md").read_text().partition("## The gates")[2].partition("\n## ")[0]
    assert tuple(re.findall(r"^\| `([a-z_]+)` \|", table, re.MULTILINE)) == GATES


@pytest.mark.parametrize(
    "path", sorted(str(path.relative_to(ROOT)) for path in (*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")))
)
def test_links_lead_somewhere(path: str) -> None:
    links = re.findall(r"\]\((?!https?://|#)([^)#]+)", (ROOT / path).read_text())
    assert not [link for link in links if not ((ROOT / path).parent / link).exists()]


def test_every_setting_of_a_cluster_is_explained_and_the_other_way_round() -> None:
    example = re.findall(r"^([A-Z_0-9]+)=", (ROOT / "deploy" / "scale.env.example").read_text(), re.MULTILINE)
    explained = re.findall(
        r"`([A-Z_0-9]+)`", "".join(re.findall(r"^\| (.*?) \|", (ROOT / "docs" / "scale.md").read_text(), re.MULTILINE))
    )
    assert sorted(set(explained) - {"HF_TOKEN"}) == sorted(example)


@pytest.mark.parametrize("script", re.findall(r"scripts/[a-z-]+", MAKEFILE + (ROOT / "docs" / "scale.md").read_text()))
def test_every_script_that_is_named_is_there_and_runs(script: str) -> None:
    assert os.access(ROOT / script, os.X_OK)
