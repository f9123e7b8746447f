"""Every verb that makes something, killed before each of its changes on disk: the same command goes on, and ends with
the files that it would have made at once."""

from __future__ import annotations

import contextlib
import io
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
import scripted_model
from chat_server import chat_server
from scripted_model import use
from scripted_proposer import ScriptedProposer
from scripted_solver import Solver, known_of, tasks_of

from tests.killing import held, kills
from tests.pipeline.test_describing import TWO, describing
from tests.pipeline.test_wording import wording
from tests.publish.hub_server import serving
from tests.test_phrasing import Writer
from toolscale.cli import main
from toolscale.environment.registry import find_folder

KEPT = ("replies.sqlite", "drafts/", "proposals/")
"""What only whoever goes on needs: replies that are paid for, work folders with a transcript."""


@dataclass(frozen=True)
class Verb:
    """A verb, as it is called in a folder; what is there beforehand; and who answers if it asks a model."""

    command: Callable[[Path], list[str]]
    prepare: Callable[[Path, Path], object] = lambda place, dataset: None
    model: Callable[[Path], Callable[..., object]] | None = None
    every: int | None = 1
    """The quick test kills before each change whose number this divides; None: it takes too long for that."""
    slowly: int = 1
    """The slow test kills before those whose number this divides."""


def copied(place: Path, dataset: Path) -> None:
    shutil.copytree(dataset, place / "d")


def library(place: Path, dataset: Path) -> None:
    shutil.copytree(find_folder("mock"), place / "mock")


def catalogue(place: Path, dataset: Path) -> None:
    (place / "experts.yaml").write_text(TWO)


def asking(place: Path, *command: str) -> list[str]:
    return [*command, "--replies", str(place / "replies.sqlite")]


VERBS = {
    "synthesize": Verb(
        lambda place: ["synthesize", "mock", "--tasks", "4", "--out", str(place / "out")], every=None
    ),
    "synthesize again": Verb(
        lambda place: ["synthesize", "mock", "--tasks", "4", "--out", str(place / "d")], copied, every=None, slowly=3
    ),
    "report": Verb(lambda place: ["report", str(place / "d"), "--out", str(place / "page.html")], copied, every=None),
    "export": Verb(
        lambda place: ["export", str(place / "d"), "--to", "verifiers", "--out", str(place / "e")], copied, every=19
    ),
    "solve": Verb(
        lambda place: asking(place, "solve", str(place / "d"), "--samples", "1"),
        copied,
        lambda dataset: Solver(dict(known_of(dataset, tasks_of(dataset)))),
        every=None,
        slowly=3,
    ),
    "phrase": Verb(lambda place: asking(place, "phrase", str(place / "mock")), library, lambda _: Writer()),
    "draft": Verb(
        lambda place: asking(
            place, "draft", "Library!", "--intents", "6", "--rounds", "3", "--in", str(place / "in"), "--if-missing"
        ),
        model=lambda _: scripted_model.reply,
        every=None,
        slowly=7,
    ),
    "propose": Verb(
        lambda place: asking(
            place, "propose", "mock", "--intents", "3", "--rounds", "3", "--out", str(place / "in" / "mock"),
            "--if-missing",
        ),
        model=lambda _: ScriptedProposer(),
        every=None,
        slowly=5,
    ),
    "describe": Verb(
        lambda place: asking(place, "describe", str(place / "experts.yaml"), "--again", "--tasks", "2"),
        catalogue,
        lambda _: describing,
    ),
    "preferences": Verb(
        lambda place: asking(place, "preferences", "--out", str(place / "words.jsonl"), "--count", "8"),
        model=lambda _: wording,
    ),
    "admit": Verb(lambda place: ["admit", str(place / "mock"), "--write"], library, every=None),
    "schemas": Verb(lambda place: ["schemas", "--out", str(place / "schemas")], every=None),
}  # fmt: skip
QUICK = [name for name, verb in VERBS.items() if verb.every]
SLOW = [name for name, verb in VERBS.items() if verb.every != 1]


def made(place: Path) -> dict[str, bytes]:
    return {name: content for name, content in held(place).items() if not name.startswith(KEPT)}


def goes_on(verb: Verb, dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, every: int) -> int:
    """Kill the verb, and have it go on; return how often it was killed."""
    with contextlib.ExitStack() as held_open:
        if verb.model is not None:
            use(monkeypatch, held_open.enter_context(chat_server(reply=verb.model(dataset))).base_url)

        def prepare(name: object) -> Path:
            place = tmp_path / str(name)
            place.mkdir()
            verb.prepare(place, dataset)
            monkeypatch.chdir(place)
            return place

        def act(place: Path) -> None:
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                assert main(verb.command(place)) == 0

        whole = prepare("whole")
        act(whole)
        count = 0
        for place in kills(prepare, act, every):
            act(place)
            assert made(place) == made(whole)
            monkeypatch.chdir(tmp_path)
            shutil.rmtree(place)
            count += 1
        return count


@pytest.mark.parametrize("verb", QUICK)
def test_a_verb_that_was_killed_goes_on(
    verb: str, few_tasks: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert goes_on(VERBS[verb], few_tasks, tmp_path, monkeypatch, VERBS[verb].every or 1) >= 3


@pytest.mark.slow("tests/test_killed_verbs.py")
@pytest.mark.parametrize("verb", SLOW)
def test_a_verb_that_was_killed_before_any_of_its_changes_goes_on(
    verb: str, few_tasks: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert goes_on(VERBS[verb], few_tasks, tmp_path, monkeypatch, VERBS[verb].slowly) >= 3


def test_a_publication_that_was_killed_goes_on(
    few_tasks: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each into a repo of its own: what it changes on disk lies under the temporary folder."""
    monkeypatch.setenv("HF_TOKEN", "hf_write")
    monkeypatch.setattr("tempfile.tempdir", None)
    with serving() as (endpoint, _):

        def prepare(step: int) -> Path:
            (tmp_path / str(step)).mkdir()
            monkeypatch.setenv("TMPDIR", str(tmp_path / str(step)))
            return tmp_path / str(step)

        def push(place: Path) -> None:
            tempfile.tempdir = None
            command = ["publish", str(few_tasks), f"me/x{place.name}", "--push", "--endpoint", endpoint]
            with contextlib.redirect_stdout(io.StringIO()):
                assert main(command) == 0

        for place in kills(prepare, push, every=40):
            push(place)
            assert list(place.iterdir()) == []
            assert main(["pull", f"me/x{place.name}", "--out", str(place / "d"), "--endpoint", endpoint]) == 0
            assert held(place / "d").keys() >= held(few_tasks).keys()
    tempfile.tempdir = None
