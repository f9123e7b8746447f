"""OpenEnv: the server of the export under uvicorn, played by the host's client and checked by its validation."""

import json
import os
import socket
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path
from urllib.error import URLError
from urllib.request import Request, urlopen

from openenv.core import GenericEnvClient
from openenv.validation import Level, run_validation

from toolscale.canonical import canonical_json
from toolscale.session.playable import Playable

PACKAGE = Path(sys.argv[1])
DATASET = Playable(PACKAGE / "dataset")
SLOW_START_S = 300
PLACES = {
    row["id"]: {"split": split, "index": row["index"]}
    for split, rows in json.loads((PACKAGE / "tasks.json").read_text()).items()
    for row in rows
}


class Served:
    """The server as a process of this machine, which is what the host's validation starts where there is no Docker."""

    name, capabilities, supported_network_modes = "process", frozenset({"image_build"}), frozenset({"no-network"})

    def __init__(self):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.base_url = f"http://127.0.0.1:{self.port}"
        self.process = None

    def build(self, root, execution):
        assert root == PACKAGE and (root / execution.dockerfile).is_file()
        return "sha256:" + "0" * 64

    def start(self, spec=None):
        command = [sys.executable, "-m", "uvicorn", "server.app:app", "--port", str(self.port)]
        command += ["--log-level", "warning"]
        environment = os.environ | {"PYTHONDONTWRITEBYTECODE": "1"}
        self.process = subprocess.Popen(command, cwd=PACKAGE, stdout=subprocess.DEVNULL, env=environment)
        limit = time.monotonic() + SLOW_START_S
        while not self.healthy():
            assert self.process.poll() is None and time.monotonic() < limit, "the server does not come up"
            time.sleep(0.2)
        return self

    def healthy(self):
        try:
            return asked(self.base_url + "/health") == {"status": "healthy"}
        except URLError:
            return False

    def inspect(self):
        return {"pid": self.process.pid}

    def stop(self):
        self.process.terminate()
        self.process.wait(30)


def asked(url, body=None):
    told = None if body is None else json.dumps(body).encode()
    with urlopen(Request(url, told, {"Content-Type": "application/json"})) as response:
        return json.load(response)


def call(name, arguments):
    return {"type": "call_tool", "tool_name": name, "arguments": arguments}


def play(client, script):
    """Make the calls of a script, and say its answer unless a form was one: what they return, and the reward."""
    seen = [client.step(call(each["name"], each["arguments"])) for each in script["calls"]]
    assert not any(each.done for each in seen[:-1])
    last = seen[-1] if seen and seen[-1].done else client.step(call("respond", {"message": script["answer"]}))
    assert last.done
    return [each.observation["result"] for each in seen], last.reward


def golden_results(task):
    """What the golden calls of a task return, as the dataset has it, and what comes of a form."""
    return [*(canonical_json(each.result) for each in DATASET.task(task).golden_calls), '{"taken":true}']


def check_what_is_shown(server):
    """The Task API and the tools, beside what the dataset says."""
    base = f"{server.base_url}/{asked(server.base_url + '/metadata')['name']}"
    assert [each["name"] for each in asked(base + "/splits")] == ["train", "test"]
    for split in ("train", "test"):
        listed = asked(base + "/tasks", {"split": split})["tasks"]
        assert listed == json.loads((PACKAGE / "tasks.json").read_text())[split]
        assert asked(base + "/num_tasks", {"split": split}) == {"num_tasks": len(listed)}
    assert asked(base + "/task", {"split": "train", "index": 1})["task"]["index"] == 1
    listed = asked(server.base_url + "/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}})
    declared = [each["function"] for each in json.loads((PACKAGE / "tools.json").read_text())]
    assert listed["result"]["tools"] == [
        {"name": each["name"], "description": each["description"], "input_schema": each["parameters"]}
        for each in declared
    ]


def check_validation(server):
    """All that the host validates in this release, but the network, which takes Docker."""
    for told in ((PACKAGE, "--level", "static"), ("--url", server.base_url)):
        run_python("-m", "openenv.cli", "validate", *told)
    report = run_validation(PACKAGE, max_level=Level.SEMANTIC, provider=Served())
    found = {result.check_id: (result.status.value, result.evidence) for result in report.results}
    for check_id, (status, evidence) in found.items():
        skipped = status == "skip" and evidence[0].endswith(("not implemented in this build", "network_policy"))
        assert status == "pass" or skipped, (check_id, status, evidence)
    passed = [check_id for check_id, (status, _) in found.items() if status == "pass"]
    assert passed == [
        "static.manifest",
        "runtime.startup",
        "runtime.observation_schema",
        "runtime.reward_well_formed",
        "runtime.state_contract",
    ], passed
    run_python(PACKAGE / "validation" / "oracle.py", server.base_url)


def run_python(*arguments):
    subprocess.run([sys.executable, *arguments], check=True, stdout=sys.stderr)


def main():
    scripts = json.loads(Path(sys.argv[2]).read_text())
    server = Served().start()
    try:
        with GenericEnvClient(base_url=server.base_url).sync() as client:
            for each in scripts:
                for kind in (name for name, played in each.items() if isinstance(played, list)):
                    for script in each[kind]:
                        begun = client.reset(**PLACES[each["task"]])
                        assert begun.observation["task"] == each["task"] and not begun.done
                        seen, score = play(client, script)
                        assert kind != "golden" or seen == golden_results(each["task"])[: len(seen)]
                        print(json.dumps({"task": each["task"], "kind": kind, "score": score}))
        changing = next(each for each in scripts if each["changes"])
        one, other = (GenericEnvClient(base_url=server.base_url).sync() for _ in range(2))
        with one, other:
            for client in (one, other):
                client.reset(**PLACES[changing["task"]])
            *before, last = changing["golden"][0]["calls"]
            for each in before:
                one.step(call(each["name"], each["arguments"]))
            rest = {"calls": [last], "answer": changing["golden"][0]["answer"]}
            told = play(other, changing["without_tools"][0])[1]
            interleaved = [play(one, rest)[1], told]
        check_what_is_shown(server)
        check_validation(server)
    finally:
        server.stop()
    print(json.dumps({"host": "openenv", "version": version("openenv"), "interleaved": interleaved}))


main()
