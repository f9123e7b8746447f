"""A model behind a server words preferences, a file keeps them, and tasks draw from it."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml
from chat_server import Answer, chat_server, said

from toolscale.cli import main
from toolscale.errors import SpecError
from toolscale.preferences.worded import WordedPreferences
from toolscale.records import Preference
from toolscale.rollout.offering import ALIASES


@pytest.fixture(autouse=True)
def _here(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Replies are kept in the working folder."""
    monkeypatch.chdir(tmp_path_factory.mktemp("here"))


FILE = """\
{"split": "train", "instruction": "Be right.", "outcome": 1.0}
{"split": "train", "instruction": "Be right, and use expert-1.", "outcome": 1.0, "tools": {"expert-1": 1.0}}
{"split": "test", "instruction": "Be quick.", "outcome": 0.4, "latency": 1.0}
"""


def wording(body: dict[str, Any]) -> Answer:
    """A model that says weights as a list and reads them so. It never understands a lot of cost, and does not answer
    about much haste."""
    prompt = body["messages"][0]["content"]
    if "<instruction>" not in prompt:
        lines = re.findall(r"^- (.*): (\S+)", prompt, re.MULTILINE)
        weights = {
            name: 1.0 if weight == "use" else 0.0 if weight == "keep" else float(weight) for name, weight in lines
        }
        return said("") if weights["latency"] == 0.8 else said("I wish: " + json.dumps(weights))
    found = json.loads(prompt.split("I wish: ")[1].splitlines()[0])
    weights = {name: found.pop(name) for name in ("outcome", "cost", "latency")}
    weights["cost"] = 0 if weights["cost"] == 0.8 else weights["cost"]
    return said("As JSON: " + json.dumps(weights | {"tools": found}))


def test_a_file_of_words_that_were_read_as_meant(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "new" / "words.jsonl"
    with chat_server(reply=wording) as server:
        assert (
            main(
                [
                    "preferences",
                    "--out",
                    str(out),
                    "--endpoint",
                    server.base_url,
                    "--model",
                    "m",
                    "--count",
                    "60",
                    "--json",
                ]
            )
            == 0
        )
    told = json.loads(capsys.readouterr().out)
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    assert told["written"] == dict(Counter(line["split"] for line in lines))
    for counts in told["counts"].values():
        assert counts["asked"] == 60 == counts["silent"] + counts["unreadable"] + counts["mismatched"] + counts["kept"]
        assert counts["silent"] > 0 < counts["mismatched"] and counts["unreadable"] == 0
    assert told["repeated"] == sum(counts["kept"] for counts in told["counts"].values()) - len(lines)
    assert all(
        json.loads(line["instruction"].removeprefix("I wish: "))["cost"] == line["cost"] not in (0.8,) for line in lines
    )
    assert 0.2 < sum(bool(line["tools"]) for line in lines) / len(lines) < 0.9
    with chat_server(reply=wording) as server:
        assert (
            main(
                [
                    "preferences",
                    "--out",
                    str(tmp_path / "again.jsonl"),
                    "--endpoint",
                    server.base_url,
                    "--model",
                    "m",
                    "--count",
                    "60",
                ]
            )
            == 0
        )
    assert (tmp_path / "again.jsonl").read_bytes() == out.read_bytes()
    assert f"\n{tmp_path / 'again.jsonl'}: {len(lines)} preferences in the model's words (" in capsys.readouterr().out


def test_tasks_draw_what_fits_them(tmp_path: Path) -> None:
    path = tmp_path / "words.jsonl"
    path.write_text(FILE)
    words = WordedPreferences.read(path, ALIASES)
    plain, wish, quick = (
        Preference(**{name: value for name, value in json.loads(line).items() if name != "split"})
        for line in FILE.splitlines()
    )
    drawn = [words.draw(number, 0, "train", ("expert-1", "expert-2"), (), 0.5) for number in range(200)]
    assert drawn == [words.draw(number, 0, "train", ("expert-1", "expert-2"), (), 0.5) for number in range(200)]
    assert drawn.count(plain) + drawn.count(wish) == 200 and 70 < drawn.count(wish) < 130
    assert {words.draw(number, 0, "train", ("expert-2",), (), 1.0).instruction for number in range(20)} == {"Be right."}
    assert words.draw(0, 0, "test", ALIASES, (), 1.0) == quick


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (
            "nonsense",
            "line 4: invalid JSON: expected ident at line 1 column 2; write the file anew with `toolscale preferences`",
        ),
        ('{"split": "train"}', "line 4: instruction: field required; write"),
        (
            '{"split": "dev", "instruction": "x"}',
            "line 4: split: input should be 'train' or 'test' (value \"dev\"); write",
        ),
        (
            '{"split": "test", "instruction": "x", "cost": 2.0}',
            "line 4: cost: input should be less than or equal to 1 (value 2.0); write",
        ),
        (
            '{"split": "test", "instruction": "x", "tools": {"expert-1": -1.0}}',
            "line 4: tools.expert-1: -1.0 is not a weight; write a number from",
        ),
        (
            '{"split": "test", "instruction": "x", "tools": {"expert-9": 1.0}}',
            "line 4: tools: 'expert-9' is never offered; use expert-1, expert-2,",
        ),
        ('{"split": "test", "instruction": " "}', "line 4: instruction: it has 0 characters; write 1 to 600"),
        (
            '{"split": "test", "instruction": "Be  right."}',
            'line 4: instruction: "Be right." stands in line 1 already; remove one of them',
        ),
    ],
)
def test_a_line_that_is_wrong_is_named(line: str, told: str, tmp_path: Path) -> None:
    path = tmp_path / "words.jsonl"
    path.write_text(FILE + line)
    with pytest.raises(SpecError) as error:
        WordedPreferences.read(path, ALIASES)
    assert str(error.value).startswith(f"{path}: {told}") and "\n" not in str(error.value)


def test_a_file_that_is_none_or_lacks_a_split_is_named(tmp_path: Path) -> None:
    path, anew = tmp_path / "words.jsonl", "write the file anew with `toolscale preferences`"
    for content, told in (
        (None, "cannot be read (No such file or directory); name a file of `toolscale preferences`"),
        (b"\xff", f"byte 0: the file is not UTF-8; {anew}"),
        (FILE.splitlines()[0].encode(), f"no preference of the split 'test' is without wishes about tools; {anew}"),
    ):
        if content is not None:
            path.write_bytes(content)
        with pytest.raises(SpecError) as error:
            WordedPreferences.read(path, ALIASES)
        assert str(error.value) == f"{path}: {told}"


@pytest.mark.parametrize(
    ("answer", "arguments", "told"),
    [
        (
            said("It depends."),
            [],
            "{url}: no preference of the split 'train' without wishes about tools could be kept: "
            "asked 4, silent 0, unreadable 4,",
        ),
        (
            Answer(b"<html>"),
            ["--answer-deadline", "0.2"],
            "{url}: no preference of the split 'train' without wishes about tools could be kept: "
            "asked 4, silent 4, unreadable 0, mismatched 0, kept 0 (the last unusable reply: "
            "{url}: 1 replies to one request cannot be used: it is not JSON that can be read); "
            "ask for more with --count",
        ),
        (
            Answer(b"no such model", 404),
            [],
            "{url}: it refused (404: no such model); check the address, the key and the name of the model",
        ),
        (
            Answer(b"", 503),
            ["--answer-deadline", "0.2"],
            "{url}: no answer in 0.2 s: it answered 503; run it again later",
        ),
        (said("7"), ["--max-cost", "1"], "MAX_COST needs a price: set TOOLSCALE_MODEL_PRICE to dollars"),
    ],
)
def test_no_file_is_left_where_nothing_can_be_kept(
    answer: Answer, arguments: list[str], told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = ["--out", str(tmp_path / "words.jsonl")]
    with chat_server(answer) as server:
        assert main(
            ["preferences", *out, "--endpoint", server.base_url, "--model", "m", "--count", "4", *arguments]
        ) == (1 if "503" in told else 2)
    err = capsys.readouterr().err
    assert err.startswith(f"toolscale: {told.replace('{url}', server.base_url)}") and err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    with chat_server(reply=wording) as server:
        arguments = [
            "--out",
            str(tmp_path / "file" / "words.jsonl"),
            "--endpoint",
            server.base_url,
            "--model",
            "m",
            "--count",
            "20",
        ]
        assert main(["preferences", *arguments]) == 2
    assert capsys.readouterr().err.startswith(f"toolscale: cannot write {tmp_path / 'file' / 'words.jsonl'}: ")


def test_training_draws_from_the_file_and_from_the_catalogue_that_was_described(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from training.config import Config
    from training.config_file import read_config
    from training.data import open_work

    root = Path(__file__).parents[2]
    words, catalogue, config = tmp_path / "words.jsonl", tmp_path / "experts.yaml", tmp_path / "config.yaml"
    with chat_server(reply=wording) as server:
        assert (
            main(["preferences", "--out", str(words), "--endpoint", server.base_url, "--model", "m", "--count", "30"])
            == 0
        )
    with chat_server(said("It is good at sums.")) as server:
        assert (
            main(
                [
                    "describe",
                    str(root / "experts" / "paper.yaml"),
                    "--out",
                    str(catalogue),
                    "--endpoint",
                    server.base_url,
                    "--model",
                    "m",
                    "--tasks",
                    "1",
                ]
            )
            == 0
        )
    data = {"mixture": {"code": 1}, "preferences": str(words), "catalogue": str(catalogue)}
    config.write_text(yaml.safe_dump({"steps": 1, "model": {"path": "m"}, "data": data}))
    monkeypatch.chdir(root)
    settings: Config = read_config(config)
    work = open_work(settings.data)
    tasks = [work.tasks[number] for number in range(40)]
    work.held.close()
    lines = {line["instruction"]: line for line in map(json.loads, words.read_text().splitlines())}
    assert all(
        task.preference.model_dump() | {"split": "train"} == lines[task.preference.instruction] for task in tasks
    )
    assert all(
        task.preference.tools.keys() <= {offered.alias for offered in task.experts} | set(task.basic_tools)
        for task in tasks
    )
    assert all(offered.card.startswith("It is good at sums. It costs ") for task in tasks for offered in task.experts)
    config.write_text(yaml.safe_dump({"steps": 1, "model": {"path": "m", "codec": "tiny"}, "data": data}))
    with pytest.raises(SpecError) as error:
        read_config(config)
    assert str(error.value).startswith(
        f"{config}: data.preferences: the tiny codec does not know the words of {words}; remove the key, or use"
    )
    assert "\n" not in str(error.value)
