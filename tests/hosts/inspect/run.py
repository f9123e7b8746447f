"""Inspect: `eval` plays the task of the export with a model that follows scripts."""

import json
import sys
from pathlib import Path

import anyio
import inspect_ai
from inspect_ai import eval as run_eval
from inspect_ai import score as score_again
from inspect_ai.model import ChatMessageTool, ModelOutput, ModelUsage, get_model
from inspect_ai.solver._task_state import sample_state
from inspect_ai.util._json import json_schema_dump
from toolscale_inspect import HERE, toolscale, verdict

from toolscale.exports.golden import golden_trajectories

scripts = {each["task"]: each for each in json.loads(Path(sys.argv[2]).read_text())}
golden = {each.task.id: each for each in golden_trajectories(HERE / "dataset")}
KINDS = [name for name, played in next(iter(scripts.values())).items() if isinstance(played, list)]
TAKEN = '{"taken":true}'
"""What comes of a form that fits."""


def plays(task):
    """What is played on a task: an epoch each."""
    return [(kind, script) for kind in KINDS for script in scripts[task][kind]]


def said(script, made):
    """What the model says after so many calls. Its usage is told, else Inspect would count tokens with a file that it
    downloads."""
    if made < len(script["calls"]):
        call = script["calls"][made]
        output = ModelOutput.for_tool_call("mockllm/model", call["name"], call["arguments"])
    else:
        output = ModelOutput.from_content("mockllm/model", script["answer"])
    output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
    return output


def model(messages, tools, *_):
    state = sample_state()
    played = plays(state.sample_id)
    kind, script = played[min(state.epoch, len(played)) - 1]
    made = [message.text for message in messages if isinstance(message, ChatMessageTool)]
    if kind == "golden":
        known = golden[state.sample_id]
        results = [message["content"] for message in known.messages if message["role"] == "tool"]
        assert made == [*results, TAKEN][: len(made)]
        assert [as_function(tool) for tool in tools] == as_shown(known.tools)
    return said(script, len(made))


def as_shown(tools):
    """Tools without the one word of their schemas that Inspect does not know."""
    return json.loads(json.dumps(tools), object_hook=lambda part: {k: v for k, v in part.items() if k != "maxItems"})


def as_function(tool):
    parameters = json_schema_dump(tool.parameters)
    return {
        "type": "function",
        "function": {"name": tool.name, "description": tool.description, "parameters": parameters},
    }


def evaluate(tasks, model, epochs, **limits):
    logs = run_eval(
        tasks,
        model=get_model("mockllm/model", custom_outputs=model, memoize=False),
        epochs=epochs,
        display="none",
        log_dir="logs",
        **limits,
    )
    assert [log.status for log in logs] == ["success"] * len(logs), [log.error for log in logs]
    return logs


def scores(log):
    return {(sample.id, sample.epoch): sample.scores["verdict"].value for sample in log.samples}


logs = evaluate(
    [toolscale("train"), toolscale("test")], model, max(len(plays(task)) for task in scripts), max_samples=4
)
for log in logs:
    found = scores(log)
    assert scores(score_again(log, verdict(), action="overwrite", display="none")) == found
    for (task, epoch), value in found.items():
        if epoch <= len(plays(task)):
            kind = plays(task)[epoch - 1][0]
            print(json.dumps({"task": task, "kind": kind, "score": float(value == "C")}))

changing = next(task for task in scripts if scripts[task]["changes"])
[right, told] = [scripts[changing][kind][0] for kind in ("golden", "without_tools")]
begun, called, answered = [], anyio.Event(), anyio.Event()
both = anyio.Event()


async def two_at_once(messages, *_):
    """Both begin; the first makes all calls; the second answers without any; the first ends."""
    epoch = sample_state().epoch
    made = sum(isinstance(message, ChatMessageTool) for message in messages)
    if made == 0:
        begun.append(epoch)
        if len(begun) == 2:
            both.set()
        await both.wait()
    if epoch == 2:
        await called.wait()
        answered.set()
        return said(told, made)
    if made == len(right["calls"]):
        called.set()
        await answered.wait()
    return said(right, made)


[split] = [name for name in ("train", "test") if any(sample.id == changing for sample in toolscale(name).dataset)]
[log] = evaluate(toolscale(split), two_at_once, 2, max_samples=2, sample_id=changing)
interleaved = [float(scores(log)[changing, epoch] == "C") for epoch in (1, 2)]
print(json.dumps({"host": "inspect-ai", "version": inspect_ai.__version__, "interleaved": interleaved}))
