"""verifiers: `vf-validate` on the taskset of the export, and `vf-eval` with a model that follows scripts."""

import asyncio
import importlib
import json
import subprocess
import sys
from pathlib import Path
from threading import Event

import verifiers
from endpoint import config_of, makes_call, serve, traces_of
from verifiers.v1.cli.eval.runner import run_eval
from verifiers.v1.clients import ModelContext
from verifiers.v1.utils.loaders import default_harness_id, load_environment

from toolscale.exports.golden import golden_trajectories

export = Path(sys.argv[1])
scripts = {each["task"]: each for each in json.loads(Path(sys.argv[2]).read_text())}
golden = {each.task.id: each for each in golden_trajectories(export / "dataset")}
by_prompt = {tuple(message["content"] for message in each.prompt): task for task, each in golden.items()}
assert len(by_prompt) == len(golden)
changing = next(task for task in scripts if scripts[task]["changes"])
[package] = (path.parent.name for path in export.glob("*/taskset.py"))
ID = package.replace("_", "-")
KINDS = [name for name, played in next(iter(scripts.values())).items() if isinstance(played, list)]
TAKEN = '{"taken":true}'
"""What comes of a form that fits."""
begun, both, called, answered = [], Event(), Event(), Event()


def says(request):
    """What the model says: which script it follows stands in its name, such as `mutant-2`."""
    messages = request["messages"]
    task = by_prompt[tuple(message["content"] for message in messages[:2])]
    results = [message["content"] for message in messages if message["role"] == "tool"]
    made = len(results)
    if request["model"] == "two-at-once":
        script, told = (scripts[task][kind][0] for kind in ("golden", "without_tools"))
        if results == [TAKEN] or not both_begin(made):
            called.wait()
            answered.set()
            return said(told, made)
        if made == len(script["calls"]):
            called.set()
            answered.wait()
    else:
        kind, _, number = request["model"].partition("-")
        script = scripts[task][kind][int(number)]
        if kind == "golden":
            known = golden[task]
            wanted = [message["content"] for message in known.messages if message["role"] == "tool"]
            assert results == [*wanted, TAKEN][:made], (results, wanted)
            assert request["tools"] == list(known.tools)
    return said(script, made)


def said(script, made):
    """What a script says after so many calls."""
    if made == len(script["calls"]):
        return {"content": script["answer"]}
    call = script["calls"][made]
    return makes_call(made, call["name"], json.dumps(call["arguments"]))


def both_begin(made):
    """Wait until two have begun; say whether this is the first one, which makes the calls."""
    if made:
        return True
    begun.append(made)
    first = len(begun) == 1
    if not first:
        both.set()
    both.wait()
    return first


async def play_all():
    """As `vf-eval` does it, but for many models beside one server of tools, which takes seconds to start."""
    env = load_environment(config_of(ID, url, "none", scripts).env)
    async with env.serving():
        for kind in KINDS:
            for number in range(max(len(scripts[task][kind]) for task in scripts)):
                config = config_of(
                    ID, url, f"{kind}-{number}", [task for task in scripts if number < len(scripts[task][kind])]
                )
                context = ModelContext(client=config.client, model=config.model, sampling=config.sampling)
                slots = [slot for task in env.taskset.select(config.select) for slot in env.slots(task)]
                for trace in traces_of(await asyncio.gather(*(env.run_slot(slot, context) for slot in slots))):
                    print(json.dumps({"task": trace.task.data.id, "kind": kind, "score": trace.reward}))


url = serve(says)
assert default_harness_id(ID) == ID
assert importlib.import_module(package).ToolScaleHarness.EXECUTES_CODE is False
flags = ["--taskset.split", "all", "--runtime.type", "subprocess", "--no-rich", "--run.name", "validate"]
done = subprocess.run([Path(sys.executable).with_name("vf-validate"), ID, *flags], stdout=sys.stderr)
assert done.returncode == 0
summary = json.loads(Path("outputs/validate/summary.json").read_text())
assert [summary["checks"][check]["valid"] for check in ("gold", "noop")] == [len(scripts)] * 2, summary

asyncio.run(play_all())
two = traces_of(asyncio.run(run_eval(config_of(ID, url, "two-at-once", [changing], 2))))
interleaved = [trace.reward for trace in sorted(two, key=lambda trace: -len(trace.tool_messages))]
print(json.dumps({"host": "verifiers", "version": verifiers.__version__, "interleaved": interleaved}))
