"""`toolscale phrase`: a model that is scripted here writes whole messages over real HTTP, and reads them. Some of them
are wrong, and some replies are none."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from chat_server import Answer, ChatServer, chat_server, said
from scripted_model import use
from served_recording import served

from toolscale.cli import main
from toolscale.environment.environment import load_environment
from toolscale.environment.population import populate
from toolscale.environment.registry import discover
from toolscale.environment.world import World
from toolscale.tasks.binding import CandidateSource

USAGE = {"prompt_tokens": 1_000, "completion_tokens": 100}
GOOD = {
    "pay_over_desk_limit": ["Please take {amount_cents} off my fees, I can pay it all today."],
    "pay_some_fees": ["Could you take {amount_cents} off what I owe? And what is left of it then?"],
    "renew_due_first": ["Can you renew whichever of my open loans is due first? Which book is that, and until when?"],
    "return_all": ["All my open loans are back on your desk, please check them in. How many were they?"],
}
WHY = "people do not tie a renewal to what they owe"
BOUGHT = "All my open loans are back. How many were they? Also cancel my other membership please."


@dataclass
class Writer:
    """Writes what `first` has for a shape, then what GOOD has; nobody would come with any other shape. When it reads,
    it finds what says *also*."""

    first: dict[str, list[str]] = field(default_factory=dict)
    always: str | None = None
    told: list[str] = field(default_factory=list)
    """What it was told of its messages."""

    def __call__(self, body: dict[str, Any]) -> Answer:
        prompts = [message["content"] for message in body["messages"][1:]]
        if self.always is not None:
            return said(self.always, usage=USAGE)
        if "Messages:" in prompts[0]:
            listed = re.findall(r"^(\d+)\. (.*)$", prompts[0], re.MULTILINE)
            wrong = [{"number": int(n), "why": "it adds a wish"} for n, text in listed if "Also" in text]
            return said(json.dumps({"wrong": wrong}), usage=USAGE)
        (shape,) = re.findall(r"^## (.*)$", prompts[0], re.MULTILINE)
        self.told += prompts[1:][-1:] if len(prompts) > 1 else []
        messages = self.first.get(shape, GOOD.get(shape, [])) if len(prompts) == 1 else GOOD[shape]
        reply = {"messages": [{"text": "x", "say": say} for say in messages], "nobody": "" if messages else WHY}
        return said(json.dumps(reply), usage=USAGE)


@pytest.fixture
def writer() -> Writer:
    return Writer()


@pytest.fixture
def server(writer: Writer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[ChatServer]:
    monkeypatch.chdir(tmp_path)
    with chat_server(reply=writer) as running:
        use(monkeypatch, running.base_url)
        yield running


@pytest.fixture
def library(tmp_path: Path) -> Path:
    return Path(shutil.copytree(discover()["mock"], tmp_path / "mock"))


def phrased(capsys: pytest.CaptureFixture[str], library: Path, *options: str) -> dict[str, Any]:
    assert main(["phrase", str(library), "--json", *options]) in (0, 1)
    told: dict[str, Any] = json.loads(capsys.readouterr().out)
    return told


def frames_of(library: Path) -> dict[str, list[str]]:
    spec = load_environment(library).spec.frames
    return {each.shape: [request.say for request in each.say] for each in spec.frames}


def test_what_a_model_writes_is_kept_and_a_recording_of_it_gives_the_same_file(
    server: ChatServer, monkeypatch: pytest.MonkeyPatch, library: Path, tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    again = shutil.copytree(library, tmp_path / "again" / "mock")
    told = phrased(capsys, library, "--record", "replies.jsonl.gz")
    assert frames_of(library) == GOOD
    assert (told["added"], told["shapes"], told["stopped"]) == (4, 5, "")
    assert told["nobody"] == {"renew_due_first + constrain fees": WHY}
    assert len(server.asked) == 9  # five shapes, and four that are read
    with served(Path("replies.jsonl.gz")) as address:
        use(monkeypatch, address)
        phrased(capsys, again, "--replies", "others.sqlite")
    assert (again / "frames.yaml").read_bytes() == (library / "frames.yaml").read_bytes()


def test_what_fails_goes_back_to_the_writer_with_the_reason(
    server: ChatServer, writer: Writer, library: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    writer.first = {"return_all": ["All my open loans are back."], "pay_some_fees": ["Take {tip} off. What is left?"]}
    assert phrased(capsys, library)["added"] == 4 and frames_of(library) == GOOD
    told = sorted(line.partition("\n")[2].partition(" [")[0] for line in writer.told)
    assert [re.sub(r"number \d+", "number 2", line) for line in told] == [
        "- All my open loans are back.\n  grounded: the request asks nothing, and the number 2 must be told",
        "- Take {tip} off. What is left?\n  it has no place for amount_cents, tip, or the shape has none of that name",
    ]


def test_a_wish_that_no_gate_sees_is_read_by_the_model(
    server: ChatServer, writer: Writer, library: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    writer.first = {"return_all": [BOUGHT]}
    phrased(capsys, library, "--shape", "return_all")
    assert frames_of(library) == {"return_all": GOOD["return_all"]}
    assert writer.told == [f"These do not hold; write each anew, and only these:\n- {BOUGHT}\n  it adds a wish"]


RUBBISH = {
    "JSON that is cut": '{"messages": [{"text": "a", "say": "A',
    "brackets within brackets": "[" * 100_000,
    "a message that is too long": json.dumps({"messages": [{"text": "", "say": "x" * 9_000}], "nobody": ""}),
    "another object": '{"wrong": []}',
}


@pytest.mark.parametrize("what", RUBBISH)
def test_an_endpoint_that_answers_rubbish_is_one_line_and_changes_nothing(
    server: ChatServer, writer: Writer, library: Path, capsys: pytest.CaptureFixture[str], what: str
) -> None:
    writer.always = RUBBISH[what]
    assert main(["phrase", str(library), "--shape", "return_all", "--json"]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("toolscale: phrase: the model 'm' wrote what cannot be used, twice: ")
    assert not (library / "frames.yaml").exists()


def test_the_example_of_the_prompt_is_no_reason(
    server: ChatServer, writer: Writer, library: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    writer.always = json.dumps({"messages": [], "nobody": "why hardly anybody would come with this"})
    phrased(capsys, library, "--shape", "return_all")
    assert not (library / "frames.yaml").exists()


def test_a_cap_on_dollars_stops_it_and_a_second_call_goes_on(
    server: ChatServer, monkeypatch: pytest.MonkeyPatch, library: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TOOLSCALE_MODEL_AT_ONCE", "1")
    told = phrased(capsys, library, "--max-cost", "0.05")
    assert "MAX_COST" in told["stopped"] and sum(line["paid_usd"] for line in told["costs"]) <= 0.05
    phrased(capsys, library)
    assert frames_of(library) == GOOD


def test_without_a_model_it_says_so_in_one_line(
    monkeypatch: pytest.MonkeyPatch, library: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("TOOLSCALE_MODEL", raising=False)
    assert main(["phrase", str(library)]) == 2
    assert capsys.readouterr().err.startswith("toolscale: no model is named: set TOOLSCALE_MODEL")


def given(library: Path, *lines: dict[str, str]) -> str:
    path = library.parent / "given.jsonl"
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    return str(path)


def chains(library: Path) -> set[tuple[str, ...]]:
    environment = load_environment(library)
    with World(environment, populate(environment)) as world:
        source = CandidateSource(environment, world)
        return {chain for number in range(600) if (chain := source.chain(0, number)) is not None}


def test_a_shape_that_two_writers_retire_is_drawn_no_more(library: Path) -> None:
    line = given(library, {"shape": "renew_due_first + constrain fees", "nobody": WHY})
    assert main(["phrase", str(library), "--from", line, "--writer", "one"]) == 0
    assert ("constrain fees",) in chains(library)
    assert main(["phrase", str(library), "--from", line, "--writer", "one"]) == 0
    assert ("constrain fees",) in chains(library)  # it is still one writer
    assert main(["phrase", str(library), "--from", line, "--writer", "two"]) == 0
    assert ("constrain fees",) not in chains(library)


def test_admission_names_messages_of_a_retired_shape(library: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (library / "frames.yaml").write_text(
        "writers: {me: {model: hand, prompt: 0123456789abcdef}, you: {model: hand, prompt: 0123456789abcdef}}\n"
        "frames:\n"
        "  - {shape: return_all, by: me, say: ['All my open loans are back. How many were they?']}\n"
        "nobody:\n"
        "  - {shape: return_all, why: nobody does, by: [me, you]}\n"
        "  - {shape: pay_nothing, why: nobody does, by: [him]}\n",
        encoding="utf-8",
    )
    assert main(["admit", str(library)]) == 2
    told = [line.removeprefix("toolscale: ").strip() for line in capsys.readouterr().err.splitlines()]
    assert [line for line in told if "frames.yaml" in line] == [
        "frames.yaml: nobody[1].by: unknown writer 'him'; name one of writers",
        "frames.yaml: nobody[1].shape: there is no shape 'pay_nothing': 'pay_nothing'; leave it out",
        "frames.yaml: frames[0].shape: 'return_all' is retired: it stands under nobody; "
        "leave out its messages, or the entry under nobody",
    ]
