"""`toolscale export`: what a folder holds, and what cannot be exported."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from toolscale.cli import main
from toolscale.config import EXPORTS, VERSION
from toolscale.dataset.describing.reading import read_dataset
from toolscale.dataset.storage import file_hash
from toolscale.errors import UsageError
from toolscale.exports.format import Format, Source
from toolscale.exports.formats import FORMATS
from toolscale.exports.golden import Golden
from toolscale.exports.writing import export
from toolscale.pipeline import synthesize
from toolscale.session.playable import Playable

WIDEST = 132
"""Characters of a line of a file that runs in a host."""


def test_an_export_holds_its_rows_the_dataset_and_a_word_on_what_it_is(
    mock_dataset: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert main(["export", str(mock_dataset), "--to", "trl-grpo", "--out", str(out)]) == 0
    tasks = list(map(Playable(mock_dataset).task, Playable(mock_dataset).ids))
    talks = sum(task.turns == "dialogue" for task in tasks)
    left = f"; {talks} dialogues are left out, nobody answers there" if talks else ""
    assert capsys.readouterr().out == f"{out}: {len(tasks) - talks} tasks for trl-grpo{left}; read its README.md\n"
    assert sorted(path.name for path in out.iterdir()) == [
        "README.md",
        "dataset",
        "export.json",
        "test.jsonl",
        "tools.json",
        "toolscale_env.py",
        "train.jsonl",
    ]
    about = json.loads((out / "export.json").read_text())
    rows = [line for split in ("train", "test") for line in (out / f"{split}.jsonl").read_text().splitlines()]
    assert sum(about["tasks"].values()) == len(tasks) - talks == len(rows)
    assert about["environments"] == {"mock": tasks[0].environment_hash}
    assert about["dataset"] == {"name": "toolscale-mock", "manifest": file_hash(mock_dataset / "manifest.json")}
    assert Playable(out / "dataset").fingerprint == about["dataset"]["manifest"]


def test_an_export_is_written_again_over_itself_and_over_nothing_else(
    mock_dataset: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["export", str(mock_dataset), "--to", "trl-sft", "--out", str(tmp_path / "out")]
    assert [main(command) for _ in range(2)] == [0, 0]
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("mine")
    capsys.readouterr()
    assert main([*command[:-1], str(tmp_path / "mine")]) == 2
    assert capsys.readouterr().err == (
        f"toolscale: {tmp_path / 'mine'} is there and holds no export; choose a new folder for --out\n"
    )


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["--to", "parquet"], "there is no format 'parquet'; there are trl-sft, "),
        (["--to", "trl-grpo", "-o", "orders=2"], "trl-grpo has no option 'orders'; it has none"),
        (["--to", "trl-sft", "-o", "orders=0"], "trl-sft: orders is '0'; say a number from 1 to 10"),
        (["--to", "trl-sft", "-o", "orders"], "--option 'orders': say NAME=VALUE"),
        (["--to", "nemo-gym", "-o", "license=mine"], "NeMo Gym knows no license 'mine'; it knows TBD, "),
        ([], "say which dataset, and --to which format; toolscale export --list names the formats"),
    ],
)
def test_what_cannot_be_exported_is_told_in_one_line_and_nothing_is_written(
    mock_dataset: Path, tmp_path: Path, words: list[str], line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["export", str(mock_dataset), *words, "--out", str(tmp_path / "out")]) == 2
    told = capsys.readouterr().err
    assert told.startswith(f"toolscale: {line}") and told.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_dataset_that_changed_is_not_exported(
    mock_dataset: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(mock_dataset, tmp_path / "mock")
    with (tmp_path / "mock" / "README.md").open("a") as card:
        card.write("more")
    assert main(["export", str(tmp_path / "mock"), "--to", "trl-sft", "--out", str(tmp_path / "out")]) == 2
    assert "is not complete: README.md has changed" in capsys.readouterr().err


def test_a_split_without_tasks_has_no_file_and_no_command_names_it(tmp_path: Path) -> None:
    synthesize("mock", tmp_path / "mock", tasks=1, turns="single")
    [missing] = {"train", "test"} - {
        split for split, rows in read_dataset(tmp_path / "mock").rows.splits.items() if rows
    }
    for name in FORMATS:
        out = tmp_path / name
        export(tmp_path / "mock", name, out)
        files = {path.relative_to(out).as_posix(): path for path in out.rglob("*") if path.is_file()}
        assert {path for path, file in files.items() if not file.stat().st_size} <= {"server/__init__.py"}
        made = {path: file for path, file in files.items() if not path.startswith("dataset/")}
        assert not [path for path in made if Path(path).name in (f"{missing}.jsonl", f"{missing}.parquet")]
        commands = re.findall(r"^```.*?^```", files["README.md"].read_text(), re.MULTILINE | re.DOTALL)
        assert commands and not re.search(rf"(?<![\w.]){missing}(?!\w)", "".join(commands))


def test_dialogues_alone_are_not_exported_to_a_host_where_nobody_answers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    synthesize("mock", tmp_path / "mock", tasks=3, turns="dialogue", answer="message")
    command = ["export", str(tmp_path / "mock"), "--out", str(tmp_path / "out"), "--to"]
    assert main([*command, "trl-grpo"]) == 2
    assert "has dialogues alone, and trl-grpo has nobody who answers" in capsys.readouterr().err
    assert main([*command, "trl-sft"]) == 0


def test_the_commands_of_the_card_write_every_format(form_dataset: Path, tmp_path: Path) -> None:
    card = (form_dataset / "README.md").read_text()
    named = re.findall(r"^\| `([a-z0-9-]+)` \| ", card.partition("## Use it in other programs")[2], re.MULTILINE)
    [command] = re.findall(r"^    toolscale (export .*)$", card, re.MULTILINE)
    assert named == [*FORMATS] == [*EXPORTS]
    for name in named:
        out = tmp_path / name
        filled = command.replace("<the folder>", str(form_dataset)).replace("<a format>", name)
        assert main(filled.replace("<another folder>", str(out)).split()) == 0
        about = json.loads((out / "export.json").read_text())
        assert (about["format"], sum(about["tasks"].values()) + about["left_out"]) == (name, 10)
        assert (out / "dataset" / "manifest.json").exists() == FORMATS[name].plays
        check_readme(FORMATS[name], (out / "README.md").read_text())
        for path in (each for each in out.rglob("*.py") if "dataset" not in each.parts):
            lines = path.read_text().splitlines()
            compile(path.read_text(), path, "exec")
            assert len(lines) < 100 and max(map(len, lines), default=0) <= WIDEST, path


def check_readme(wanted: Format, readme: str) -> None:
    """It says where toolscale comes from, and what the host has no way to say."""
    assert (f"`dist/toolscale-{VERSION}-py3-none-any.whl`" in readme) == wanted.plays
    assert ("toolscale" in " ".join(re.findall(r"^pip install .*", readme, re.MULTILINE))) <= wanted.plays
    cannot = "".join(f"* {each[0].upper()}{each[1:]}.\n" for each in wanted.cannot)
    assert f"## Limitations\n\n{wanted.host.split()[0]} has no way to say:\n\n{cannot}" in readme
    assert "{{" not in readme and "{%" not in readme


def test_a_readme_says_that_messages_are_not_read_there(mock_dataset: Path, form_dataset: Path, tmp_path: Path) -> None:
    told = {}
    for dataset in (mock_dataset, form_dataset):
        out = tmp_path / dataset.parent.name
        export(dataset, "trl-grpo", out)
        told[dataset] = "end in a message, and no judge reads it here" in (out / "README.md").read_text()
    assert told == {mock_dataset: True, form_dataset: False}


def test_the_list_names_every_format(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", "--list"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines() if not line.startswith(" ")] == [*FORMATS]
    assert main(["export", "--list", "--json"]) == 0
    assert json.loads(capsys.readouterr().out).keys() == FORMATS.keys()


def offered(name: str, *parameters: str) -> dict[str, object]:
    schema = {"type": "object", "properties": {each: {"type": "string"} for each in parameters}}
    return {"type": "function", "function": {"name": name, "description": "", "parameters": schema}}


@pytest.mark.parametrize(
    ("to", "tool", "line"),
    [
        (
            "tau2-domain",
            offered("move", "to", "from"),
            "a parameter 'from', a word of Python, and tau2 makes signatures",
        ),
        ("tau2-domain", offered("move", "tool_name"), "a parameter 'tool_name', an argument of tau2 itself; give the "),
        ("trl-grpo", offered("reset"), "a tool 'reset', a method that TRL calls itself; give the tool another name"),
        ("trl-grpo", offered("_move"), "a tool '_move', which begins with _, and TRL offers no such method to a model"),
        ("openenv", offered("close"), "a tool 'close', a name that an OpenEnv server keeps for itself"),
        (
            "harbor",
            offered("say_to_person"),
            "a tool 'say_to_person', which is the tool by which the person ",
        ),
        ("nemo-gym", offered("stats"), "a tool 'stats', a route that a server of NeMo Gym keeps for itself"),
    ],
)
def test_a_name_that_the_host_refuses_is_one_line(
    to: str, tool: dict[str, object], line: str, golden: list[Golden]
) -> None:
    source = Source("mine", "0" * 64, [replace(golden[0], tools=(tool,))])
    with pytest.raises(UsageError) as raised:
        list(FORMATS[to].make(source, {"license": "TBD", "image": "", "mcp": "yes"}))
    assert str(raised.value).startswith(f"mock has {line}")


@pytest.mark.parametrize("to", ["trl-sft", "verl-agent", "verifiers", "inspect"])
def test_hosts_that_take_all_names_are_given_them(to: str, golden: list[Golden]) -> None:
    source = Source("mine", "0" * 64, [replace(golden[0], tools=(offered("reset", "from", "self"),))])
    assert dict(FORMATS[to].make(source, {}))
