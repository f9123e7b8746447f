"""TRL: the environments and the reward of the export, as GRPOTrainer calls them."""

import json
import sys
from pathlib import Path

import trl
from toolscale_env import environments, load, reward

scripts = json.loads(Path(sys.argv[2]).read_text())
ROWS = {row["id"]: row for split in ("train", "test") for row in load(split)}
FACTORIES = environments()
assert set(FACTORIES) == {row["environment"] for row in ROWS.values()}


def begin(task):
    row = dict(ROWS[task])
    environment = FACTORIES[row.pop("environment")]()
    environment.reset(**row)
    return environment


def act(environment, script):
    for call in script["calls"]:
        tool = getattr(environment, call["name"], None)  # of a tool that there is not, the trainer tells the model
        if tool is not None:
            tool(**call["arguments"])


def grade(environment, script):
    [score] = reward([[{"role": "assistant", "content": script["answer"]}]], [environment])
    return score


for each in scripts:
    for kind in (name for name, played in each.items() if isinstance(played, list)):
        for script in each[kind]:
            environment = begin(each["task"])
            act(environment, script)
            print(json.dumps({"task": each["task"], "kind": kind, "score": grade(environment, script)}))
changing = next(each for each in scripts if each["changes"])
both = [(begin(changing["task"]), changing[kind][0]) for kind in ("golden", "without_tools")]
for environment, script in both:
    act(environment, script)
print(json.dumps({"host": "trl", "version": trl.__version__, "interleaved": [grade(*each) for each in both]}))
