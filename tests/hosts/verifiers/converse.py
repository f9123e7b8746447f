"""verifiers: golden conversations, word by word, in which forms are filled in."""

import asyncio
import json
import sys
from pathlib import Path

from endpoint import config_of, makes_call, serve, traces_of
from verifiers.v1.cli.eval.runner import run_eval

from toolscale.exports.golden import golden_trajectories

export = Path(sys.argv[1])
golden = {each.task.id: each for each in golden_trajectories(export / "dataset")}
by_prompt = {tuple(message["content"] for message in each.prompt): each for each in golden.values()}
assert len(by_prompt) == len(golden)
[package] = (path.parent.name for path in export.glob("*/taskset.py"))
AFTER_A_FORM = {"content": "Done."}


def says(request):
    known = by_prompt[tuple(message["content"] for message in request["messages"][:2])]
    assert request["tools"] == list(known.tools)
    turns = [each for each in known.messages if each["role"] == "assistant"]
    made = sum(each["role"] == "assistant" for each in request["messages"])
    turn = [*turns, AFTER_A_FORM][made]
    if "tool_calls" not in turn:
        return {"content": turn["content"]}
    function = turn["tool_calls"][0]["function"]
    return makes_call(made, function["name"], function["arguments"])


for trace in traces_of(asyncio.run(run_eval(config_of(package.replace("_", "-"), serve(says), "golden", golden)))):
    known = golden[trace.task.data.id]
    said = [(each.role, each.content or "") for each in trace.messages]
    wanted = [(each["role"], each["content"] or "") for each in known.messages]
    filled = [("tool", '{"taken":true}'), ("assistant", "Done.")] if known.task.form else []
    about = {
        "turns": known.task.turns,
        "answer": known.task.answer,
        "score": trace.reward,
        "same": said == wanted + filled,
    }
    print(json.dumps(about))
