"""`toolscale serve`, with the MCP client of the SDK: one task over stdio, many over HTTP, and who is turned away."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from http_server import serving
from mcp import Client, StdioServerParameters

from toolscale.canonical import canonical_json
from toolscale.cli import main
from toolscale.exports.golden import golden_trajectories
from toolscale.pipeline import synthesize
from toolscale.records import Script, Task
from toolscale.session import Playable

pytestmark = pytest.mark.xdist_group("serving")  # one server for all

Scripts = dict[str, tuple[Task, Script]]


@pytest.fixture(scope="module")
def server(mock_dataset: Path) -> Iterator[httpx2.Client]:
    with serving(mock_dataset) as client:
        yield client


async def make(client: Client, script: Script, results: dict[int, Any] | None = None) -> None:
    """Make the calls of a script, and note what came back."""
    for place, call in enumerate(script.calls):
        result = await client.call_tool(call.name, call.arguments)
        assert not result.is_error
        if results is not None:
            results[place] = result.content[0].text  # type: ignore[union-attr]


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_two_clients_play_at_once_and_each_has_its_own_grade(
    server: httpx2.Client, mock_dataset: Path, golden_scripts: Scripts, tmp_path: Path, mode: Any
) -> None:
    task_id = next(id_ for id_, (task, _) in golden_scripts.items() if task.row_changes)
    task, script = golden_scripts[task_id]
    acting, idle = (server.post("/episodes", json={"task": task_id}).json() for _ in range(2))
    seen: dict[int, Any] = {}

    async def play() -> None:
        async with Client(acting["url"], mode=mode) as one, Client(idle["url"], mode=mode) as other:
            tools = (await one.list_tools()).tools
            assert [(each.name, each.input_schema) for each in tools] == [
                (each["function"]["name"], each["function"]["parameters"])
                for each in Playable(mock_dataset).domain(task).tools
            ]
            await make(one, script, seen)
            prompt = await other.get_prompt("task")
            assert [each.content.text for each in prompt.messages] == [  # type: ignore[union-attr]
                each["content"] for each in idle["messages"]
            ]
            policy = await other.read_resource("toolscale://policy")
            assert policy.contents[0].text == idle["messages"][0]["content"]  # type: ignore[union-attr]

    asyncio.run(play())
    assert list(seen.values()) == [canonical_json(call.result) for call in task.golden_calls]
    grades = {
        each["id"]: server.post(f"/episodes/{each['id']}/grade", json={"answer": script.answer}).json()
        for each in (acting, idle)
    }
    assert [grade["score"] for grade in grades.values()] == [1, 0]
    (tmp_path / "solution.json").write_text(server.get(f"/episodes/{acting['id']}/solution").text)
    assert main(["grade", str(mock_dataset), str(tmp_path / "solution.json")]) == 0
    for each in (acting, idle):
        assert server.delete(f"/episodes/{each['id']}").status_code == 204


def test_an_episode_is_graded_once(server: httpx2.Client, golden_scripts: Scripts) -> None:
    task_id, (_, script) = next((id_, each) for id_, each in golden_scripts.items() if each[0].row_changes)
    episode = server.post("/episodes", json={"task": task_id}).json()
    place = f"/episodes/{episode['id']}"
    before = server.get(f"{place}/solution").json()
    first, second = (server.post(f"{place}/grade", json={"answer": text}).json() for text in ("No.", script.answer))
    assert (episode["dialogue"], before) == (False, {"task": task_id, "calls": [], "answer": ""})
    assert first == second and first["score"] == 0
    assert server.get(f"{place}/solution").json() == before | {"answer": "No."}
    assert server.delete(place).status_code == 204


def test_a_dialogue_is_told_to_be_one_and_the_person_answers(tmp_path: Path) -> None:
    synthesize("mock", tmp_path / "mock", tasks=3, turns="dialogue", answer="message")
    with serving(tmp_path / "mock") as client:
        [task_id, *_] = client.get("/tasks").json()
        episode = client.post("/episodes", json={"task": task_id}).json()
        place = f"/episodes/{episode['id']}"
        said = ["Could you please tell me your date of birth?", "I am sorry, I cannot help you."]
        answered, ended = (client.post(f"{place}/say", json={"message": text}).json()["heard"] for text in said)
        assert (episode["dialogue"], isinstance(answered, str), ended) == (True, True, None)
        assert client.post(f"{place}/grade", json={}).json()["score"] == 0


def test_what_a_model_does_wrong_is_a_result_that_it_reads(server: httpx2.Client, golden_scripts: Scripts) -> None:
    task_id, (_, script) = next(iter(golden_scripts.items()))
    episode = server.post("/episodes", json={"task": task_id}).json()

    async def play() -> list[tuple[bool, str]]:
        async with Client(episode["url"]) as client:
            told = [await client.call_tool("fly", {}), await client.call_tool(script.calls[0].name, {})]
            server.post(f"/episodes/{episode['id']}/grade", json={"answer": "No."})
            told.append(await client.call_tool(script.calls[0].name, script.calls[0].arguments))
            return [(each.is_error, json.loads(each.content[0].text)["error"]) for each in told]  # type: ignore[union-attr]

    told = asyncio.run(play())
    server.delete(f"/episodes/{episode['id']}")
    assert [wrong for wrong, _ in told] == [True] * 3
    assert [text[:30] for _, text in told] == [
        "there is no tool 'fly'; the to",
        "invalid arguments: 'date_of_bi",
        "not made: the final answer was",
    ]


def test_what_cannot_be_answered_is_one_clear_error_and_the_server_goes_on(
    server: httpx2.Client, golden_scripts: Scripts
) -> None:
    task_id = next(iter(golden_scripts))
    episode = server.post("/episodes", json={"task": task_id}).json()["id"]
    told = {
        "unknown task": server.post("/episodes", json={"task": "zz"}),
        "no task": server.post("/episodes", json={"tusk": task_id}),
        "no JSON": server.post("/episodes", content=b"{"),
        "a key twice": server.post("/episodes", content=f'{{"task": "{task_id}", "task": "{task_id}"}}'.encode()),
        "unknown episode": server.post("/episodes/nothing/grade", json={"answer": "x"}),
        "MCP of an unknown episode": server.post("/episodes/nothing/mcp", json={}),
        "no answer": server.post(f"/episodes/{episode}/grade", json={}),
        "no dialogue": server.post(f"/episodes/{episode}/say", json={"message": "Who are you?"}),
        "10 MB": server.post(f"/episodes/{episode}/grade", content=b'{"answer":"' + b"x" * 10_000_000 + b'"}'),
        "10 MB over MCP": server.post(f"/episodes/{episode}/mcp", content=b"x" * 10_000_000),
        "another origin": server.get("/tasks", headers={"Origin": "https://evil.example"}),
        "another host": server.get("/tasks", headers={"Host": "evil.example"}),
        "unknown path": server.get("/nothing"),
    }
    assert {what: reply.status_code for what, reply in told.items()} == {
        "unknown task": 400,
        "no task": 400,
        "no JSON": 400,
        "a key twice": 400,
        "unknown episode": 404,
        "MCP of an unknown episode": 404,
        "no answer": 400,
        "no dialogue": 400,
        "10 MB": 413,
        "10 MB over MCP": 413,
        "another origin": 403,
        "another host": 403,
        "unknown path": 404,
    }
    assert told["no task"].json() == {"error": 'task: field required; send JSON such as {"task": "…"}'}
    assert told["unknown episode"].json()["error"].startswith("no session 'nothing' is open")
    assert server.delete(f"/episodes/{episode}").status_code == 204
    assert server.get("/health").json() == {"tasks": len(golden_scripts), "open": 0}


def test_with_a_token_whoever_has_it_comes_in(mock_dataset: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with serving(mock_dataset, "--most", "1", TOOLSCALE_SERVE_TOKEN="secret") as client:
        known = {"Authorization": "Bearer secret"}
        given = [{}, {"Authorization": "Bearer guess"}, known, {**known, "Host": "toolscale.example"}]
        assert [client.get("/health", headers=headers).status_code for headers in given] == [401, 401, 200, 200]
        [task_id, *_] = client.get("/tasks", headers=known).json()
        opened = [client.post("/episodes", json={"task": task_id}, headers=known) for _ in range(2)]
        assert [reply.status_code for reply in opened] == [201, 503]
        assert opened[1].json()["error"].startswith("1 sessions are open; close some")
    assert main(["serve", str(mock_dataset), "--http", "--host", "0.0.0.0"]) == 2
    assert capsys.readouterr().err == (
        "toolscale: --host 0.0.0.0 lets other machines in; set TOOLSCALE_SERVE_TOKEN to a secret, or leave --host out\n"
    )


def test_a_task_over_stdio_is_kept_in_a_folder_and_graded_by_play(
    mock_dataset: Path, golden_scripts: Scripts, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    task_id, (_, script) = next((id_, each) for id_, each in golden_scripts.items() if each[0].row_changes)
    folder = tmp_path / "session"
    arguments = ["-m", "toolscale", "serve", str(mock_dataset), task_id, "--session", str(folder)]

    async def play() -> None:
        async with Client(StdioServerParameters(command=sys.executable, args=arguments)) as client:
            await make(client, script)
            assert (await client.call_tool("fly", {})).is_error

    asyncio.run(play())
    assert main(["play", str(mock_dataset), "--session", str(folder), "--answer", script.answer]) == 0
    assert capsys.readouterr().out == "score 1: right\n"


def test_a_call_over_stdio_that_is_no_json_is_told_and_the_next_one_is_made(
    mock_dataset: Path, golden_scripts: Scripts, tmp_path: Path
) -> None:
    """Line by line, since the client of the SDK cannot send it."""
    task_id, (_, script) = next(iter(golden_scripts.items()))
    name, right = script.calls[0].name, json.dumps(script.calls[0].arguments)
    about = '{"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}'
    lines = [
        f'{{"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {about}}}',
        '{"jsonrpc": "2.0", "method": "notifications/initialized"}',
        *(
            f'{{"jsonrpc": "2.0", "id": {number}, "method": "tools/call", '
            f'"params": {{"name": "{name}", "arguments": {given}}}}}'
            for number, given in enumerate(('{"full_name": NaN}', right), 1)
        ),
    ]
    command = [sys.executable, "-m", "toolscale", "serve", mock_dataset, task_id, "--session", tmp_path / "session"]
    with subprocess.Popen([*map(str, command)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None and process.stdout is not None
        results = []
        for line in lines:
            process.stdin.write(f"{line}\n")
            process.stdin.flush()
            if '"id"' in line:
                results.append(json.loads(process.stdout.readline())["result"])
        process.stdin.close()
        assert process.wait(30) == 0
    told, made = ((each["isError"], each["content"][0]["text"]) for each in results[1:])
    assert told[0] and told[1].startswith('{"error":"The arguments are not JSON: NaN is not JSON.')
    assert not made[0] and len((tmp_path / "session" / "calls.jsonl").read_text().splitlines()) == 1


@pytest.mark.slow("tests/serving/test_serving.py")
def test_a_form_over_stdio_is_graded_when_it_is_filled_in(tmp_path: Path) -> None:
    dataset, folder = tmp_path / "mock", tmp_path / "session"
    synthesize("mock", dataset, tasks=6, turns="single")
    playable = Playable(dataset)
    task = playable.task(playable.ids[0])
    script = playable.domain(task).key(task).right
    playable.close()
    arguments = ["-m", "toolscale", "serve", str(dataset), task.id, "--session", str(folder)]

    async def play() -> list[str]:
        async with Client(StdioServerParameters(command=sys.executable, args=arguments)) as client:
            await make(client, script)
            told = [await client.call_tool("final_answer", given) for given in ({}, json.loads(script.answer))]
            return [each.content[0].text for each in told]  # type: ignore[union-attr]

    wrong, taken = asyncio.run(play())
    assert "'done' is a required" in wrong and taken == '{"taken":true}'
    assert json.loads((folder / "grade.json").read_text())["score"] == 1


def test_one_task_over_http_is_graded_for_whoever_has_the_token(tmp_path: Path) -> None:
    synthesize("mock", tmp_path / "mock", tasks=3, turns="dialogue")
    golden = next(golden_trajectories(tmp_path / "mock"))
    with serving(tmp_path / "mock", golden.task.id, TOOLSCALE_SERVE_TOKEN="secret") as desk:
        assert desk.get("/health").json() == {"task": golden.task.id}
        offered = desk.get("/tools").json()
        assert offered[:-1] == list(golden.tools) and offered[-1]["function"]["name"] == "say_to_person"

        async def listed() -> list[str]:
            async with Client(str(desk.base_url.join("/mcp"))) as client:
                return [tool.name for tool in (await client.list_tools()).tools]

        assert asyncio.run(listed()) == [tool["function"]["name"] for tool in offered]
        wrong = [{"name": "fly"}, {"name": "say_to_person"}, {"name": "say_to_person", "arguments": {"message": 1}}]
        told = [desk.post("/call", json=each).json()["error"][:23] for each in wrong]
        assert told == ["there is no tool 'fly';", *["say_to_person takes one"] * 2]
        assert desk.post("/call", content=b"{").status_code == 400
        refused = [desk.post("/grade", headers=each).status_code for each in ({}, {"Authorization": "Bearer x"})]
        assert refused == [401, 401]
        heard = []
        for message in golden.messages[len(golden.prompt) :]:
            for call in message.get("tool_calls", ()):
                made = {"name": call["function"]["name"], "arguments": json.loads(call["function"]["arguments"])}
                heard.append(canonical_json(desk.post("/call", json=made).json()["value"]))
            if message["role"] == "assistant" and message["content"] is not None:
                made = {"name": "say_to_person", "arguments": {"message": message["content"]}}
                heard.append(desk.post("/call", json=made).json()["value"]["heard"])
        *rest, taken = heard
        assert rest == [each["content"] for each in golden.messages if each["role"] in ("tool", "user")][1:]
        assert taken == '{"taken":true}'
        grades = [desk.post("/grade", headers={"Authorization": "Bearer secret"}).json() for _ in range(2)]
        assert [grade["score"] for grade in grades] == [1, 1]


@pytest.mark.parametrize(
    ("options", "token", "line"),
    [
        (
            ["ID", "--http"],
            None,
            "one task over HTTP is graded for whoever has TOOLSCALE_SERVE_TOKEN; set it to a secret",
        ),
        (
            ["ID", "--http", "--host", "0.0.0.0"],
            "secret",
            "--host 0.0.0.0: one task is served to this machine alone; leave --host out",
        ),
        (["--http", "--session", "s1"], None, "--http keeps no session folder; leave --session out"),
        (["nothing", "--http"], "secret", "no task of DATASET has an id that begins with 'nothing'; toolscale play "),
    ],
)
def test_one_task_over_http_that_cannot_be_served_is_one_line(
    mock_dataset: Path,
    options: list[str],
    token: str | None,
    line: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.delenv("TOOLSCALE_SERVE_TOKEN", raising=False)
    if token:
        monkeypatch.setenv("TOOLSCALE_SERVE_TOKEN", token)
    words = [Playable(mock_dataset).ids[0] if word == "ID" else word for word in options]
    assert main(["serve", str(mock_dataset), *words]) == 2
    told = capsys.readouterr().err
    assert told.startswith(f"toolscale: {line.replace('DATASET', str(mock_dataset))}") and told.count("\n") == 1
