"""Documents cannot lie: commands in them exist and take what they are given, links lead somewhere, generated pages are
those of the code, and the task that README.md shows is what is drawn."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from pkgutil import resolve_name

import click
import pytest
import yaml

from toolscale.cli import commands
from toolscale.cli.reference import render_pages, stale_pages
from toolscale.config import VERSION
from toolscale.environment.environment import load_environment
from toolscale.environment.population import populate
from toolscale.environment.world import World
from toolscale.records import GATES
from toolscale.tasks.binding import CandidateSource
from toolscale.verify.judge import Judge

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
README = (ROOT / "README.md").read_text(encoding="utf-8")
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
TARGETS = set(re.findall(r"^([a-z-]+):.*## ", MAKEFILE, re.MULTILINE))
WRITTEN = sorted(str(path.relative_to(ROOT)) for path in (*ROOT.glob("*.md"), *DOCS.glob("**/*.md")))
GUIDES = [name for name in WRITTEN if not name.startswith(("docs/decisions/", "docs/results/", "CHANGELOG"))]
"""Pages of which every command has to be right today."""
SITE = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))


def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def code_of(page: str) -> str:
    """The code of a page: fenced, indented and inline, a piece a line; lines that end in `\\` are one."""
    fenced = re.findall(r"^```\w*\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    rest = re.sub(r"^```.*?^```", "", page, flags=re.MULTILINE | re.DOTALL)
    indented = re.findall(r"^ {4}(.*)$", rest.replace("\\\n", ""), re.MULTILINE)
    inline = [" ".join(found.split()) for found in re.findall(r"(?<!`)`([^`]+)`(?!`)", rest)]
    return "\n".join([*fenced, *indented, *inline])


def commands_of(page: str) -> Iterator[list[str]]:
    """The commands `toolscale VERB …` in the code of a page, as words after `toolscale`."""
    for line in code_of(page).splitlines():
        for found in re.findall(r"(?:^|&& |\| |\$ |bin/|[A-Z_]+=\S+ )toolscale ([a-z].*)", line):
            told = re.split(r" && | \| | &$|   +", re.sub(r" # .*", "", found))[0]
            if "…" not in told and "[OPTIONS]" not in told:
                yield shlex.split(told)


def test_the_front_page_is_short() -> None:
    lines = README.splitlines()
    assert len(lines) <= 130 and max(map(len, lines)) <= 120


@pytest.fixture(scope="module")
def generated() -> dict[str, str]:
    """Page below docs/ -> what the code makes of it."""
    return render_pages(DOCS / "decisions")


def test_a_page_has_200_lines_at_most(generated: dict[str, str]) -> None:
    written = [name for name in GUIDES if name.removeprefix("docs/") not in generated]
    assert not [name for name in written if len(text_of(name).splitlines()) > 200]


def test_the_glossary_has_20_words_at_most() -> None:
    assert len(re.findall(r"^\| [a-z]", text_of("docs/glossary.md"), re.MULTILINE)) <= 20 + 1  # and the head


@pytest.mark.parametrize("verb", sorted(commands.commands))
def test_every_verb_has_help(verb: str) -> None:
    command = commands.commands[verb]
    assert command.help
    assert not [option.name for option in command.params if isinstance(option, click.Option) and not option.help]
    # serve prints nothing: what it says goes over MCP or HTTP, as JSON.
    assert verb == "serve" or "--json" in {name for option in command.params for name in option.opts}


def test_generated_pages_are_those_of_the_code(generated: dict[str, str]) -> None:
    assert not list(stale_pages(DOCS, generated)), "run `make schemas`"


@pytest.mark.parametrize("name", GUIDES)
def test_commands_of_a_page_take_what_they_are_given(name: str) -> None:
    for verb, *words in commands_of(text_of(name)):
        command = commands.commands[verb]
        command.make_parser(click.Context(command, **command.context_settings)).parse_args(words)


def test_targets_of_the_pages_exist() -> None:
    told = "\n".join(code_of(text_of(name)) for name in GUIDES)
    assert set(re.findall(r"(?:^|&& |`)make ([a-z-]+)\b", told, re.MULTILINE)) <= TARGETS


def test_every_target_is_explained_and_the_other_way_round() -> None:
    assert set(re.findall(r"^\| `make ([a-z-]+)", text_of("docs/reference/make.md"), re.MULTILINE)) == TARGETS


def test_every_gate_is_explained_in_order() -> None:
    table = text_of("docs/understand/gates.md").partition("## The gates")[2].partition("\n## ")[0]
    assert tuple(re.findall(r"^\| `([a-z_]+)` \|", table, re.MULTILINE)) == GATES


def anchors_of(path: Path) -> set[str]:
    """The anchors of the headings of a page, as GitHub and mkdocs make them of plain ones."""
    headings = re.findall(r"^#+ (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def test_links_lead_somewhere() -> None:
    links = [
        (name, (ROOT / name).parent / link if link else ROOT / name, anchor)
        for name in [*WRITTEN, "environments/README.md"]
        for link, anchor in re.findall(r"\]\((?!https?://)([^)#\s]*)(?:#([^)\s]+))?\)", text_of(name))
    ]
    assert not [(name, str(place)) for name, place, _ in links if not place.exists()]
    assert not [
        (name, str(place), anchor) for name, place, anchor in links if anchor and anchor not in anchors_of(place)
    ]


def test_every_page_is_on_the_site() -> None:
    told = set(re.findall(r"[\w/-]+\.md", json.dumps(SITE["nav"])))
    pages = {name.removeprefix("docs/") for name in WRITTEN if name.startswith("docs/")}
    assert {name for name in pages - told if not name.startswith(("decisions/0", "results/"))} == set()
    assert told <= pages


def test_every_setting_is_explained() -> None:
    code = [path for folder in ("toolscale", "dags", "plugins", "eval") for path in (ROOT / folder).rglob("*.py")]
    used = {name for path in code for name in re.findall(r"\bTOOLSCALE_[A-Z_]+\b", path.read_text(encoding="utf-8"))}
    assert used - set(re.findall(r"^\| `([A-Z_]+)`", text_of("docs/reference/settings.md"), re.MULTILINE)) == set()


def test_every_setting_of_a_cluster_is_explained_and_the_other_way_round() -> None:
    example = re.findall(r"^([A-Z_0-9]+)=", text_of("deploy/scale.env.example"), re.MULTILINE)
    table = re.findall(r"^\| (.*?) \|", text_of("docs/use/cluster.md"), re.MULTILINE)
    explained = re.findall(r"`([A-Z_0-9]+)`", "".join(table))
    assert sorted(set(explained) - {"HF_TOKEN"}) == sorted(example)


@pytest.mark.parametrize(
    "script", sorted(set(re.findall(r"scripts/[a-z-]+", MAKEFILE + text_of("docs/use/cluster.md"))))
)
def test_every_script_that_is_named_is_there_and_runs(script: str) -> None:
    assert os.access(ROOT / script, os.X_OK)


def test_it_is_cited_as_the_version_that_it_is() -> None:
    assert yaml.safe_load(text_of("CITATION.cff"))["version"] == VERSION


def test_the_task_of_the_front_page_is_what_is_drawn() -> None:
    """Candidate 201 of the dataset that README.md has made."""
    environment = load_environment("finance")
    rows = populate(environment)
    with World(environment, rows) as world:
        candidate = CandidateSource(environment, world).draw(0, 201, "mixed", "form")
    assert candidate is not None
    court = Judge(environment, rows, replica=False)
    try:
        task = court.judge(candidate).task
    finally:
        court.close()
    assert task is not None
    shown = " ".join(README.partition("## One task")[2].partition("\n## ")[0].split())
    calls = [
        f"{call.name}({', '.join(f'{name}={json.dumps(value)}' for name, value in sorted(call.arguments.items()))})"
        for call in task.golden_calls
    ]
    assert re.findall(r"\d\. (\w+\(.*?\))", shown) == calls
    assert f"[{candidate.context}] {candidate.request}" in shown
    assert f"{task.mutants_killed} of {task.mutants_killed} wrong trajectories" in shown
    assert f"toolscale show var/datasets/finance {task.id[:8]}" in shown


FIRST = [
    line
    for line in commands_of(text_of("docs/start/first-dataset.md"))
    if line[0] in {"show", "stats", "rejects", "verify"} and not {"--quality", "--check", "--search"} & {*line}
]
"""Commands that read a dataset, whatever is in it, and need nothing besides."""


@pytest.mark.parametrize("line", FIRST, ids=" ".join)
def test_a_command_for_a_first_dataset_runs(line: list[str], mock_dataset: Path, tmp_path: Path) -> None:
    (tmp_path / "var" / "datasets").mkdir(parents=True)
    (tmp_path / "var" / "datasets" / "finance").symlink_to(mock_dataset)
    done = subprocess.run(
        [sys.executable, "-m", "toolscale", *line],
        cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")


def test_the_plan_of_the_code_tells_of_every_folder() -> None:
    told = re.findall(r"^\| `(\w+)` \| ", text_of("docs/understand/architecture.md"), re.MULTILINE)
    assert sorted(told) == sorted(path.parent.name for path in ROOT.glob("toolscale/*/__init__.py"))


def test_the_plan_of_the_code_names_what_is_there() -> None:
    for named in set(re.findall(r"`([a-z_]+\.[a-z_]+)`", text_of("docs/understand/architecture.md"))):
        resolve_name(f"toolscale.{named}")
