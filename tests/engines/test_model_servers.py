"""What asks a model, against llama.cpp's real server: not for quality, but for what a server really says."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
import yaml
from asking import ORDER, VERDICT, asked, called, model_of, said
from engines import Engine
from llamacpp import llamacpp, needs_llamacpp

from toolscale.errors import UsageError
from toolscale.models.catalogue import load_catalogue
from toolscale.models.hidden_tools import hidden_tools
from toolscale.pipeline import synthesize
from toolscale.session.playable import Playable

pytestmark = [needs_llamacpp, pytest.mark.xdist_group("engines"), pytest.mark.slow("tests/models/test_chat_client.py")]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    with llamacpp(tmp_path_factory.mktemp("llamacpp")) as engine:
        yield engine


def test_a_call_comes_as_a_call_and_one_that_was_cut_as_a_problem(server: Engine, tmp_path: Path) -> None:
    whole = asked(server, tmp_path, lambda client: client.ask(said("Look up order A17.", tools=(ORDER,))))
    assert (called(whole), whole.content, whole.finish, whole.problem) == (
        [("get_order", {"order_id": "A17"})], "", "tool_calls", "",
    )  # fmt: skip
    for most in (12, 24):  # the beginning of a call as text; a call whose arguments are torn
        request = said("Look up order A17.", tools=(ORDER,), max_tokens=most)
        cut = asked(server, tmp_path, lambda client, request=request: client.ask(request))
        assert (cut.tool_calls, cut.finish, cut.problem) == ((), "length", "it was cut off before its end: write less")


def test_a_reply_fits_its_schema(server: Engine, tmp_path: Path) -> None:
    request = said("Is water wet? Reply in JSON.", schema=VERDICT)
    found = asked(server, tmp_path, lambda client: client.ask_json(request))
    assert found["verdict"] in ("yes", "no")


def test_a_request_that_is_too_long_says_so(server: Engine, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"exceeds the available context size.*start it with a longer context"):
        asked(server, tmp_path, lambda client: client.ask(said("word " * 9_000)))


def test_a_server_that_still_loads_is_waited_for(tmp_path: Path) -> None:
    with llamacpp(tmp_path, ready=False) as engine:
        assert asked(engine, tmp_path, lambda client: client.ask(said("Say hi."))).content


def test_a_template_without_tools_leaves_them_out(tmp_path: Path) -> None:
    """Nothing in the answer says so but the count of tokens; whoever asks the server for the prompt sees it."""
    with llamacpp(tmp_path, template=None) as engine:
        told = asyncio.run(hidden_tools(model_of(engine)))
        replies = [
            asked(engine, tmp_path, lambda client, tools=tools: client.ask(said("Look up order A17.", tools=tools)))
            for tools in ((), (ORDER,))
        ]
    assert replies[0].input_tokens == replies[1].input_tokens and not replies[1].tool_calls
    assert told.startswith(f"{engine.url}/v1: its chat template leaves tools out of the prompt")


def test_a_template_with_tools_is_not_told(server: Engine) -> None:
    assert asyncio.run(hidden_tools(model_of(server))) == ""


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data") / "mock"
    synthesize("mock", folder, tasks=20, seed=0)
    return folder


EVALUATE = ["--config", "training/configs/smollm2_grpo.yaml", "--policy", "model", "--no-baselines", "--turns", "3"]


@pytest.mark.parametrize(
    ("verb", "options"),
    [
        ("solve", ["{data}", "--tasks", "1", "--samples", "1", "--out", "{out}"]),
        ("evaluate", ["familiar", "--data", "{data}", *EVALUATE, "--tasks", "2", "--at-once", "1", "--out", "{out}"]),
    ],
)
def test_verbs_that_try_tasks(server: Engine, dataset: Path, tmp_path: Path, verb: str, options: list[str]) -> None:
    named = [each.format(data=dataset, out=tmp_path / "out") for each in options]
    ended = run_verb(server, verb, *named, "--replies", str(tmp_path / "replies"), tokens=32)
    assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stdout)
    assert httpx2.get(f"{server.url}/health").status_code == 200


def test_a_verb_says_at_once_that_a_template_leaves_tools_out(dataset: Path, tmp_path: Path) -> None:
    named = ["familiar", "--data", str(dataset), *EVALUATE[:-1], "1", "--tasks", "1", "--out", str(tmp_path / "out")]
    with llamacpp(tmp_path, template=None) as engine:
        ended = run_verb(engine, "evaluate", *named, "--replies", str(tmp_path / "replies"), tokens=8)
    assert ended.returncode == 0, ended.stderr
    told = [line for line in ended.stderr.splitlines() if "leaves tools out of the prompt" in line]
    assert [line.partition(": ")[0] for line in told] == [f"{engine.url}/v1"]


@pytest.mark.parametrize(
    ("verb", "options"),
    [
        ("draft", ["kennel", "--in", "{out}", "--rounds", "1", "--intents", "6"]),
        ("propose", ["mock", "--out", "{out}/mock", "--rounds", "1", "--intents", "1"]),
        ("phrase", ["{domain}"]),
        ("preferences", ["--out", "{out}", "--count", "1"]),
    ],
)
def test_verbs_that_have_a_model_write(server: Engine, tmp_path: Path, verb: str, options: list[str]) -> None:
    """A model as small as this writes nothing that can be kept: every request is answered, and the reason is a line."""
    domain = shutil.copytree("environments/mock", tmp_path / "mock")
    named = [each.format(domain=domain, out=tmp_path / "out") for each in options]
    ended = run_verb(server, verb, *named, "--replies", str(tmp_path / "replies"), tokens=64)
    total = json.loads(ended.stdout)["costs"][-1]
    assert (total["replies"] > 0, total["output_tokens"] > 0, total["failures"]) == (True, True, 0)
    assert ended.returncode in (0, 1, 2) and "Traceback" not in ended.stderr and "it refused" not in ended.stderr
    assert (ended.returncode == 0) or ended.stderr.splitlines()[-1].startswith("toolscale: ")
    assert ended.returncode == 0 or not (tmp_path / "out").exists()


def test_experts_are_asked_and_described(server: Engine, tmp_path: Path) -> None:
    """Of two experts one is simulated, and one is the server; whatever it writes of them is a description."""
    paper = yaml.safe_load(Path("experts/paper.yaml").read_text())
    two = [{name: each[name] for name in each if name != "description"} for each in paper["experts"][:2]]
    two[0] |= {"endpoint": {"base_url": f"{server.url}/v1", "model": server.model, "deadline_s": 300, "timeout_s": 300}}
    catalogue, out = tmp_path / "experts.yaml", tmp_path / "described.yaml"
    catalogue.write_text(yaml.safe_dump(paper | {"experts": two}))
    named = [str(catalogue), "--out", str(out), "--tasks", "1", "--replies", str(tmp_path / "replies")]
    ended = run_verb(server, "describe", *named, tokens=48)
    assert ended.returncode == 0, ended.stderr
    told = json.loads(ended.stdout)
    assert [*told["described"]] == [each["name"] for each in two] and all(told["described"].values())
    assert {line["stage"]: line["failures"] for line in told["costs"][:-1]} == {
        f"expert {two[0]['name']}": 0,
        "describe": 0,
    }
    assert {each.name: each.description for each in load_catalogue(out).experts} == told["described"]


def test_a_judge_that_gives_no_verdict_leaves_a_message_undecided(server: Engine, tmp_path: Path) -> None:
    folder = tmp_path / "messages"
    synthesize("mock", folder, tasks=20, seed=0, turns="single", answer="message")
    (tmp_path / "solutions").write_text(hedged(Playable(folder)))
    judge = ["--judge-endpoint", f"{server.url}/v1", "--judge-model", server.model, "--judge-deadline", "500"]
    named = [str(folder), str(tmp_path / "solutions"), *judge, "--judge-replies", str(tmp_path / "replies")]
    ended = run_verb(server, "grade", *named, tokens=64)
    [grade] = json.loads(ended.stdout)
    assert grade["undecided"] == ("the judge gave no verdict" in grade["finding"])
    assert ended.returncode == (1 if grade["undecided"] else 0), ended.stderr
    assert not grade["undecided"] or "wrote what cannot be used, twice" in grade["finding"]


def hedged(playable: Playable) -> str:
    """Return a solution whose message no rule can grade."""
    for task in map(playable.task, playable.ids):
        if task.row_changes and [fact.kind for fact in task.communicate if not fact.withheld] == ["money"]:
            right = playable.domain(task).key(task).right
            calls = [call.model_dump(mode="json") for call in right.calls]
            return json.dumps({"task": task.id, "calls": calls, "answer": f"I guess it may be so: {right.answer}"})
    raise AssertionError("no task of the mock domain asks for one amount")


def run_verb(server: Engine, verb: str, *options: str, tokens: int) -> subprocess.CompletedProcess[str]:
    """Run a verb whose model is `server`, with so many tokens a reply at most."""
    environ = os.environ | {
        "TOOLSCALE_MODEL": server.model,
        "OPENAI_BASE_URL": f"{server.url}/v1",
        "TOOLSCALE_MODEL_TOKENS": str(tokens),
    }
    command = [sys.executable, "-m", "toolscale", verb, *options, "--json"]
    return subprocess.run(command, env=environ, capture_output=True, text=True, timeout=600, check=False)
