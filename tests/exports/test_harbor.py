"""The export for Harbor: which files it has, and what stands in them. tests/hosts lets Harbor's own runner play it."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest

from toolscale.cli import main
from toolscale.config import VERSION
from toolscale.exports.format import Source
from toolscale.exports.formats import FORMATS
from toolscale.exports.golden import Golden, golden_trajectories
from toolscale.exports.harbor import folder_of
from toolscale.exports.writing import export


@pytest.fixture(scope="module")
def trajectories(form_dataset: Path) -> list[Golden]:
    return list(golden_trajectories(form_dataset))


@pytest.fixture(scope="module")
def exported(form_dataset: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return export(form_dataset, "harbor", tmp_path_factory.mktemp("exports") / "harbor").out


def test_the_export_has_a_folder_for_each_task_and_an_image_for_all(exported: Path, trajectories: list[Golden]) -> None:
    files = {path.relative_to(exported).as_posix() for path in exported.rglob("*") if path.is_file()}
    parts = ("task.toml", "instruction.md", "environment/README.md", "tests/test.sh", "solution/solve.sh")
    image = ("Containerfile", "grade", "requirements.txt", "tool", "up")
    assert {path for path in files if not path.startswith("dataset/")} == {
        ".dockerignore", "README.md", "export.json",
        *(f"image/{name}" for name in image),
        *(f"{folder_of(each)}/{part}" for each in trajectories for part in parts),
    }  # fmt: skip
    for name in ("grade", "tool"):
        compile((exported / "image" / name).read_text(), name, "exec")
    for path in (exported / "image" / "up", *exported.glob("*/*/*.sh")):
        subprocess.run(["sh", "-n", path], check=True)


def test_a_task_says_what_it_is_and_who_may_do_what(exported: Path, trajectories: list[Golden]) -> None:
    manifest = json.loads((exported / "dataset" / "manifest.json").read_text())
    fingerprint = json.loads((exported / "export.json").read_text())["dataset"]["manifest"]
    for each in trajectories:
        task, name = each.task, folder_of(each)
        assert tomllib.loads((exported / name / "task.toml").read_text()) == {
            "schema_version": "1.4",
            "task": {"name": f"toolscale/{name}", "description": task.intent_id, "keywords": ["tool-use", "mock"]},
            "metadata": {
                "id": task.id,
                "domain": "mock",
                "split": each.split,
                "intent": task.intent_id,
                "outcome": task.outcome,
                "turns": task.turns,
                "difficulty": task.difficulty.tier,
                "license": " AND ".join({about["license"] for about in manifest["domains"].values()}),
                "environment_hash": task.environment_hash,
                "dataset": "toolscale-mock",
                "dataset_manifest": fingerprint,
            },
            "agent": {"user": "agent", "timeout_sec": 900.0},
            "verifier": {"user": "root", "timeout_sec": 120.0},
            "environment": {
                "docker_image": f"toolscale-mock:{fingerprint[:12]}",
                "workdir": "/home/agent",
                "network_mode": "no-network",
                "cpus": 1,
                "memory_mb": 1024,
                "storage_mb": 2048,
                "mcp_servers": [
                    {"name": "desk", "transport": "streamable-http", "url": "http://127.0.0.1:8765/mcp"}
                ],
                "healthcheck": {
                    "command": f"/desk/up {task.id}",
                    "interval_sec": 1.0,
                    "timeout_sec": 90.0,
                    "retries": 3,
                },
            },
        }  # fmt: skip


def test_only_the_solution_and_the_tests_know_the_solution(exported: Path, trajectories: list[Golden]) -> None:
    """A canary stands in both of a task, and nowhere else in the folder of any."""
    for each in trajectories:
        folder = exported / folder_of(each)
        [word] = {re.findall("canary ([0-9a-f]{32})", path.read_text())[0] for path in folder.glob("*/*.sh")}
        files = [path for path in exported.rglob("*") if path.is_file() and word.encode() in path.read_bytes()]
        assert {path.relative_to(exported).as_posix() for path in files} == {
            f"{folder.name}/tests/test.sh",
            f"{folder.name}/solution/solve.sh",
        }
        for call in each.task.golden_calls:
            assert json.dumps(call.arguments, separators=(",", ":")) not in (folder / "instruction.md").read_text()


def test_the_solution_makes_the_golden_calls_and_speaks_to_the_person(
    exported: Path, trajectories: list[Golden]
) -> None:
    for each in trajectories:
        script = (exported / folder_of(each) / "solution" / "solve.sh").read_text()
        made = [
            (words[1], json.loads(words[2]))
            for words in (shlex.split(line) for line in script.splitlines())
            if words and words[0] == "tool"
        ]
        functions = [call["function"] for message in each.messages for call in message.get("tool_calls", ())]
        called = [(function["name"], json.loads(function["arguments"])) for function in functions]
        said = [
            message["content"] for message in each.messages if message["role"] == "assistant" and message["content"]
        ]
        assert [call for call in made if call[0] != "say_to_person"] == called
        assert [arguments["message"] for name, arguments in made if name == "say_to_person"] == said
    assert any(each.task.turns == "dialogue" for each in trajectories)


def test_the_image_pins_what_is_installed_here(exported: Path) -> None:
    pins = dict(line.split("==") for line in (exported / "image" / "requirements.txt").read_text().split())
    assert pins.pop("toolscale") == VERSION
    assert {name: version(name) for name in pins} == pins
    assert {"duckdb", "mcp", "pyarrow", "starlette", "uvicorn"} <= set(pins)


def test_the_containerfile_is_one_that_the_linter_takes(exported: Path) -> None:
    hadolint = Path(sys.executable).with_name("hadolint")
    told = [hadolint, "--no-color", exported / "image" / "Containerfile"]
    done = subprocess.run(told, capture_output=True, text=True)
    assert (done.stdout, done.returncode) == ("", 0), done.stderr


def test_options_name_the_image_and_leave_the_mcp_server_out(
    form_dataset: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["export", str(form_dataset), "--to", "harbor", "--out", str(tmp_path / "out"), "-o"]
    assert [main([*command, "image=Two Words"]), main([*command, "mcp=maybe"])] == [2, 2]
    assert capsys.readouterr().err == (
        "toolscale: -o image='Two Words' is no name of an image; say such as registry.example/finance:1\n"
        "toolscale: -o mcp='maybe': say yes or no\n"
    )
    assert list(tmp_path.iterdir()) == []
    assert main([*command, "image=registry.example/me/finance:1", "-o", "mcp=no"]) == 0
    for path in tmp_path.glob("out/*/task.toml"):
        environment = tomllib.loads(path.read_text())["environment"]
        assert environment["docker_image"] == "registry.example/me/finance:1" and "mcp_servers" not in environment
        assert "MCP" not in (path.parent / "instruction.md").read_text().partition("# How you work here")[2]


def test_a_folder_that_jobs_may_read_is_not_replaced(
    form_dataset: Path, exported: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["export", str(form_dataset), "--to", "harbor", "--out", str(exported)]) == 2
    assert capsys.readouterr().err == (
        f"toolscale: {exported} is there, and jobs of harbor may read it; remove it, or choose a new folder for --out\n"
    )


def test_a_dataset_that_ends_in_messages_is_refused_in_one_line(
    mock_dataset: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["export", str(mock_dataset), "--to", "harbor", "--out", str(tmp_path / "out")]) == 2
    told = capsys.readouterr().err
    assert re.fullmatch(
        r"toolscale: toolscale-mock: 10 tasks, \w{12} the first, are answered by a message, which no judge reads in a "
        r"container; make the dataset with --answer form\n",
        told,
    )
    assert list(tmp_path.iterdir()) == []


def test_any_text_can_stand_in_a_task(trajectories: list[Golden]) -> None:
    odd = 'a "quoted" \\ line\nwith \x7f, \x1b, é and \U0001f4b6'
    source = Source("mine", "0" * 64, [trajectories[0]], odd)
    files = dict(FORMATS["harbor"].make(source, {"image": "", "mcp": "yes"}))
    told = files[f"{folder_of(trajectories[0])}/task.toml"]
    assert isinstance(told, str) and tomllib.loads(told)["metadata"]["license"] == odd
