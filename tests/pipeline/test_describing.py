"""A model behind a server describes the experts of a catalogue."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from chat_server import Answer, chat_server, said
from hypothesis import given
from hypothesis import strategies as st

from toolscale.cli import main
from toolscale.models.catalogue import load_catalogue, load_price_lists
from toolscale.models.descriptions import with_descriptions
from toolscale.rollout.offering import Offering, TaskSource

ROOT = Path(__file__).parents[2]
PAPER = ROOT / "experts" / "paper.yaml"


@pytest.fixture(autouse=True)
def _here(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Replies are kept in the working folder."""
    monkeypatch.chdir(tmp_path_factory.mktemp("here"))


SKILLS = "{arithmetic: 1, code: 1, lookup: 1, mathematics: 1, knowledge: 1, reasoning: 1, tools: 1}"
EFFORT = SKILLS.replace(": 1", ": {output_tokens: 1, latency_s: 1}")
OLD = ">-\n      Old words\n      on two lines."
TWO = f"""\
title: Two  # a comment
experts:
  - source: made for a test
    description: {OLD}

    # about the price
    price: {{input: 1, output: 2}}
    name: first
    title: First
    skills: {SKILLS}
    effort: {EFFORT}
  - {{name: second, title: Second, price: {{input: 1, output: 2}},\
 skills: {SKILLS}, effort: {EFFORT}, source: made for a test}}
"""


def describing(body: dict[str, Any]) -> Answer:
    """A model that says how often the expert was right."""
    runs = [json.loads(line) for line in body["messages"][0]["content"].splitlines() if line.startswith("{")]
    return said(f'Right in {sum(run["right"] for run in runs)} of {len(runs)}: "sums", it\'s #1.\nWeak: none.')


def test_a_catalogue_that_is_described_keeps_all_else_and_its_cards_say_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "new" / "described.yaml"
    with chat_server(reply=describing) as server:
        assert (
            main(
                [
                    "describe",
                    str(PAPER),
                    "--endpoint",
                    server.base_url,
                    "--model",
                    "m",
                    "--out",
                    str(out),
                    "--tasks",
                    "6",
                    "--json",
                ]
            )
            == 0
        )
    told = json.loads(capsys.readouterr().out)
    old, new = load_catalogue(PAPER), load_catalogue(out)
    assert told["described"] == {spec.name: spec.description for spec in new.experts}
    assert [(line["stage"], line["paid_usd"]) for line in told["costs"]] == [("describe", None)]
    assert [spec.model_copy(update={"description": None}) for spec in new.experts] == list(old.experts)
    assert set(PAPER.read_text().splitlines()) <= set(out.read_text().splitlines())
    assert all(
        spec.description and spec.description.endswith(' of 6: "sums", it\'s #1. Weak: none.') for spec in new.experts
    )
    assert {body["model"] for body in server.asked} == {"m"} and len(server.asked) == len(old.experts)
    task = TaskSource(Offering(new, load_price_lists(ROOT / "experts" / "prices")), "train", 0, {"arithmetic": 1})[0]
    assert all(offered.card.startswith("Right in ") for offered in task.experts)


def test_what_is_described_is_kept_unless_it_is_asked_for_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "two.yaml"
    path.write_text(TWO)
    with chat_server(said("Good.")) as server:
        assert main(["describe", str(path), "--endpoint", server.base_url, "--model", "m"]) == 0
        once = path.read_text()
        assert [spec.description for spec in load_catalogue(path).experts] == ["Old words on two lines.", "Good."]
        assert main(["describe", str(path), "--endpoint", server.base_url, "--model", "m", "--again"]) == 0
    assert [spec.description for spec in load_catalogue(path).experts] == ["Good.", "Good."]
    assert once == TWO.replace("title: Second, price", 'title: Second, description: "Good.", price')
    assert path.read_text() == once.replace(OLD, ">-\n      Good.")
    assert capsys.readouterr().out.splitlines()[-3:] == [
        "first: Good.",
        "second: Good.",
        f"{path}: 2 experts described",
    ]


@given(
    st.lists(st.text(st.characters(exclude_categories=("C", "Z")), min_size=1, max_size=200), min_size=1, max_size=40)
)
def test_whatever_words_are_written_are_read_again(words: list[str]) -> None:
    text = " ".join(words)
    for old in (TWO, TWO.replace(f" {OLD}", ""), TWO.replace(f" {OLD}", " ~")):
        found = yaml.safe_load(with_descriptions(old, {"first": text, "second": text}))
        assert [expert["description"] for expert in found["experts"]] == [text, text]


def test_an_expert_with_an_endpoint_is_asked_itself_and_with_tools_in_environment_tasks(
    mock_dataset: Path, tmp_path: Path
) -> None:
    path = tmp_path / "two.yaml"
    with chat_server(said("I do not know.")) as expert, chat_server(said("It knows little.")) as server:
        text = TWO.replace(
            "    title: First\n", f"    title: First\n    endpoint: {{base_url: '{expert.base_url}', model: one}}\n"
        )
        path.write_text(text)
        arguments = [
            "--endpoint",
            server.base_url,
            "--model",
            "m",
            "--again",
            "--tasks",
            "8",
            "--dataset",
            str(mock_dataset),
        ]
        assert main(["describe", str(path), *arguments]) == 0
    assert sorted(bool(body.get("tools")) for body in expert.asked) == [False] * 6 + [True] * 2
    first, second = (
        [json.loads(line) for line in body["messages"][0]["content"].splitlines() if line.startswith("{")]
        for body in server.asked
    )
    assert [(run["right"], json.loads(run["trajectory"])) for run in first] == [
        (False, [{"content": "I do not know.", "role": "assistant"}])
    ] * 8
    assert [run["right"] for run in second] == [True] * 8  # simulated, with skill 1
    assert "call_expert" not in second[-1]["trajectory"] and '"tool_calls"' in second[-1]["trajectory"]


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (
            Answer(b"<html>"),
            " replies to one request cannot be used: it is not JSON that can be read",
        ),
        (
            said(" \n"),
            "no description of 'second' was written: it has neither content nor calls; use a model that",
        ),
        (
            Answer(b'{"error": {"message": "bad key s3cret-key-1234"}}', 401),
            "it refused (401: bad key …); check the address, the key and the name of the model",
        ),
    ],
)
def test_nothing_is_written_where_the_writer_gives_nothing(
    answer: Answer, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WRITER_KEY", "s3cret-key-1234")
    path, out = tmp_path / "two.yaml", tmp_path / "out.yaml"
    path.write_text(TWO)
    with chat_server(answer) as server:
        arguments = ["--endpoint", server.base_url, "--model", "m", "--key-env", "WRITER_KEY", "--out", str(out)]
        arguments += ["--answer-deadline", "2"]  # a busy machine answers in it, too
        assert main(["describe", str(path), *arguments]) == (2 if answer.status == 401 else 1)
    captured = capsys.readouterr()
    assert captured.err.count("\n") == 1
    assert captured.err.startswith(f"toolscale: {server.base_url}: ") and told in captured.err
    assert server.headers[0]["authorization"] == "Bearer s3cret-key-1234"
    assert sorted(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("change", "arguments", "told"),
    [
        (
            {},
            ["--endpoint", "http://127.0.0.1:9/v1", "--answer-deadline", "0.2"],
            "toolscale: http://127.0.0.1:9/v1: no answer in 0.2 s: the connection failed",
        ),
        ({}, ["--key-env", "s3cret-key"], "toolscale: --key-env takes the name of an environment variable, not a key;"),
        ({}, ["--key-env", "NOT_SET_KEY"], "toolscale: the model 'm' needs a key, and NOT_SET_KEY is not set;"),
        (
            {},
            ["--endpoint", "http://me:s3cret-key@host/v1"],
            "toolscale: --endpoint holds a user, a password or a query;",
        ),
        ({"First": "[First"}, [], "toolscale: {path}: line "),
        ({"name: first": "name: First"}, [], "toolscale: {path}: experts[First].name: 'First' does not fit here;"),
        (
            {f"    description: {OLD}\n": "", "    price:": "    ? price\n    :"},
            [],
            "toolscale: {path}: experts: no description",
        ),
        (
            {
                "    title: First\n": (
                    "    title: First\n    endpoint: {base_url: 'http://127.0.0.1:9/v1', model: one, deadline_s: 0.2}\n"
                )
            },
            ["--again"],
            "toolscale: experts[first]: first gave no answer: no answer in 0.2 s: ",
        ),
        ({}, ["--max-cost", "1"], "toolscale: MAX_COST needs a price: set TOOLSCALE_MODEL_PRICE to dollars"),
        ({}, ["--dataset", "nowhere"], "toolscale: nowhere has no manifest.json"),
    ],
)
def test_what_cannot_work_is_one_line_and_the_file_stays(
    change: dict[str, str], arguments: list[str], told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, text = tmp_path / "two.yaml", TWO
    for old, new in change.items():
        assert old in text
        text = text.replace(old, new)
    path.write_text(text)
    with chat_server(said("Good.")) as server:
        assert main(["describe", str(path), "--endpoint", server.base_url, "--model", "m", *arguments]) in (1, 2)
    captured = capsys.readouterr()
    assert captured.err.startswith(told.replace("{path}", str(path))) and captured.err.count("\n") == 1
    assert "s3cret" not in captured.err and path.read_text() == text and list(tmp_path.iterdir()) == [path]
