"""NeMo Gym: what `gym env start` starts, with the server of the export, the host's agent and a scripted model; then its
rollout collection, and every response graded once more outside its session."""

import asyncio
import json
import os
import shutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

EXPORT, HERE, WORK = Path(sys.argv[1]), Path(__file__).parent, Path.cwd() / "gym"
SCRIPTS = json.loads(Path(sys.argv[2]).read_text())
PLAYS = [
    (each["task"], kind, script)
    for each in SCRIPTS
    for kind, played in each.items()
    if isinstance(played, list)
    for script in played
]
TAKEN = '{"taken":true}'
"""What comes of a form that fits."""
CHANGES = {each["task"]: each["changes"] for each in SCRIPTS}
[SERVER] = [path.name for path in (EXPORT / "resources_servers").iterdir()]
AGENT = f"{SERVER}_simple_agent"
MODEL = "scripted"


# The host and its servers print much; what is read of this program goes where its output went, theirs to the errors.
TOLD = os.fdopen(os.dup(sys.stdout.fileno()), "w")
os.dup2(sys.stderr.fileno(), sys.stdout.fileno())


def make_place():
    """What a user has: the folder of the export, here with a model server, and an environment for each server."""
    model = WORK / "responses_api_models" / MODEL
    model.mkdir(parents=True)
    shutil.copy(HERE / "scripted.py", model / "app.py")
    (model / "requirements.txt").touch()
    (WORK / "resources_servers").symlink_to(EXPORT / "resources_servers")
    for server in (f"resources_servers/{SERVER}", "responses_api_agents/simple_agent", f"responses_api_models/{MODEL}"):
        (WORK / "environments" / server).mkdir(parents=True)
        (WORK / "environments" / server / ".venv").symlink_to(sys.prefix)
    (WORK / "scripts.json").write_text(json.dumps([script for _, _, script in PLAYS]))
    os.environ |= {
        "SCRIPTED": str(WORK / "scripts.json"),
        "RAY_USAGE_STATS_ENABLED": "0",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    os.chdir(WORK)


make_place()

from nemo_gym.cli.env import RunHelper  # noqa: E402 - it takes the folder that it is imported in for its own
from nemo_gym.global_config import GlobalConfigDictParserConfig  # noqa: E402
from nemo_gym.rollout_collection import RolloutCollectionConfig, RolloutCollectionHelper  # noqa: E402
from nemo_gym.server_utils import ServerClient, get_response_json  # noqa: E402
from omegaconf import OmegaConf  # noqa: E402

from toolscale.canonical import canonical_json  # noqa: E402
from toolscale.session import Playable  # noqa: E402

CONFIG = {
    "config_paths": [f"resources_servers/{SERVER}/configs/{SERVER}.yaml"],
    "policy_model": {"responses_api_models": {MODEL: {"entrypoint": "app.py"}}},
    "uv_venv_dir": str(WORK / "environments"),
    "skip_venv_if_present": True,
}


def rows():
    """The rows of the export, by task."""
    data = EXPORT / "resources_servers" / SERVER / "data"
    lines = [line for split in ("train", "validation") for line in (data / f"{split}.jsonl").open()]
    return {row["id"]: row for row in map(json.loads, lines)}


def write_plays():
    """A row for each script: which one it is stands in the metadata, that the model gets."""
    found = rows()
    with (WORK / "plays.jsonl").open("w") as file:
        for number, (task, _, _) in enumerate(PLAYS):
            asked = found[task]["responses_create_params"] | {"metadata": {"script": str(number)}}
            file.write(json.dumps(found[task] | {"responses_create_params": asked}) + "\n")


async def collect():
    """Play all, and grade what was played once more."""
    config = RolloutCollectionConfig(input_jsonl_fpath="plays.jsonl", output_jsonl_fpath="rollouts.jsonl")
    done = await RolloutCollectionHelper().run_from_config(config)
    by_script = {int(each["responses_create_params"]["metadata"]["script"]): each for each in done}
    client = ServerClient.load_from_global_config()
    for each in by_script.values():
        again = await post(client, "/verify", {key: each[key] for key in ("id", "responses_create_params", "response")})
        assert again["reward"] == each["reward"] and again["finding"] == each["finding"]
    await check_that_calls_without_output_do_not_count(client, by_script)
    return by_script, await interleave(client)


async def check_that_calls_without_output_do_not_count(client, by_script):
    """A response that was cut off has calls that the agent did not make."""
    number = next(n for n, (task, kind, _) in enumerate(PLAYS) if kind == "golden" and CHANGES[task])
    row = {key: by_script[number][key] for key in ("id", "responses_create_params", "response")}
    made = [item for item in row["response"]["output"] if item["type"] != "function_call_output"]
    graded = await post(client, "/verify", row | {"response": row["response"] | {"output": made}})
    assert (by_script[number]["reward"], graded["reward"]) == (1.0, 0.0)


async def interleave(client):
    """Two rollouts of a task: all calls in one, the golden answer in both."""
    changing = next(each for each in SCRIPTS if each["changes"])
    scripts = [changing[kind][0] for kind in ("golden", "without_tools")]
    row, rewards = rows()[changing["task"]], []
    cookies = [(await client.post(SERVER, "/seed_session", json=row)).cookies for _ in range(2)]
    outputs = [[], []]
    for script, cookie, output in zip(scripts, cookies, outputs, strict=True):
        for number, call in enumerate(script["calls"]):
            told = {"type": "function_call", "call_id": str(number), "name": call["name"]}
            reply = await client.post(SERVER, f"/{call['name']}", json=call["arguments"], cookies=cookie)
            output += [
                told | {"arguments": json.dumps(call["arguments"])},
                {"type": "function_call_output", "call_id": str(number), "output": await reply.text()},
            ]
    for script, cookie, output in zip(scripts, cookies, outputs, strict=True):
        said = [{"type": "output_text", "text": script["answer"], "annotations": []}]
        message = {"type": "message", "id": "answer", "role": "assistant", "content": said}
        response = {"id": "response", "created_at": 0, "model": MODEL, "object": "response", "tools": []}
        response |= {"parallel_tool_calls": False, "tool_choice": "auto", "output": [*output, message]}
        rewards.append((await post(client, "/verify", row | {"response": response}, cookie))["reward"])
    return rewards


async def post(client, path, body, cookies=None):
    reply = await client.post(SERVER, path, json=body, cookies=cookies)
    assert reply.ok, await reply.text()
    return await get_response_json(reply)


def check_what_the_host_validates():
    """Paths, references and types of the configuration."""
    gym = Path(sys.executable).with_name("gym")
    subprocess.run([gym, "env", "validate", "--config", *CONFIG["config_paths"]], check=True, stdout=sys.stderr)


def main():
    write_plays()
    check_what_the_host_validates()
    started = RunHelper()
    started.start(
        GlobalConfigDictParserConfig(initial_global_config_dict=OmegaConf.create(CONFIG), skip_load_from_cli=True)
    )
    try:
        played, interleaved = asyncio.run(collect())
    finally:
        started.shutdown()
    dataset = Playable(EXPORT / "dataset")
    for number, (task, kind, script) in enumerate(PLAYS):
        result = played[number]
        items = [item for item in result["response"]["output"] if item["type"] == "function_call_output"]
        assert result["id"] == task and len(items) == len(script["calls"])
        if kind == "golden":
            results = [canonical_json(each.result) for each in dataset.task(task).golden_calls]
            assert [item["output"] for item in items] == [*results, TAKEN][: len(script["calls"])]
        print(json.dumps({"task": task, "kind": kind, "score": result["reward"]}), file=TOLD)
    print(json.dumps({"host": "nemo-gym", "version": version("nemo-gym"), "interleaved": interleaved}), file=TOLD)


main()
