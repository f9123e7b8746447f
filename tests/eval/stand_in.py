"""A checkout of tau2-bench that is none: its Python and its `tau2` are small scripts. `tau2` takes the arguments that
the real one takes, keeps them with its environment, and writes results in the real form."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

PYTHON = """#!{python}
import json, os, sys
from pathlib import Path

if sys.argv[2] == "-c":  # what is it, and where is its tau2?
    print({says!r})
    raise SystemExit
home, (driver, domain, out, what, *ids) = Path(__file__).parents[2], sys.argv[2:]
with (home / "asked.jsonl").open("a") as file:
    file.write(json.dumps({{"argv": [what, *ids], "environ": dict(os.environ), "cwd": os.getcwd()}}) + "\\n")
parts = {{"DB": 0.0, "ENV_ASSERTION": 1.0}}
lines = [{{"kind": "idle", "id": each, "parts": parts}} for each in ids if each != "look"]
refused = [{{"kind": "idle", "id": each, "error": "ValueError: it cannot be graded"}} for each in ids if each == "look"]
Path(out).write_text("".join(json.dumps(line) + "\\n" for line in [*lines, *refused, {{"kind": "end"}}]))
"""

TAU2 = """#!{python}
import argparse, json, os, random, sys, time
from pathlib import Path

home = Path(__file__).parents[2]
with (home / "asked.jsonl").open("a") as file:
    file.write(json.dumps({{"argv": sys.argv[1:], "environ": dict(os.environ), "cwd": os.getcwd()}}) + "\\n")
parser = argparse.ArgumentParser(prog="tau2")
verbs = parser.add_subparsers(dest="verb", required=True)
run = verbs.add_parser("run")
for name in ("--domain", "--task-split-name", "--agent", "--agent-llm", "--user", "--user-llm", "--save-to"):
    run.add_argument(name, required=True)
for name in ("--num-trials", "--seed", "--max-concurrency"):
    run.add_argument(name, type=int, required=True)
for name in ("--agent-llm-args", "--user-llm-args"):
    run.add_argument(name, type=json.loads, required=True)
run.add_argument("--auto-resume", action="store_true")
run.add_argument("--task-ids", nargs="+", required=True)
asked = parser.parse_args()

data = Path(os.environ["TAU2_DATA_DIR"])
mood = (home / "mood").read_text() if (home / "mood").is_file() else ""
if mood == "failing":
    print("Key " + os.environ["OPENAI_API_KEY"] + " is refused")
    raise SystemExit("ValueError: no such luck\\n\\n----")
tasks = json.loads((data / "tau2" / "domains" / asked.domain / "tasks.json").read_text())
tasks = [each for each in tasks if each["id"] in asked.task_ids]
path = Path("/nowhere", asked.save_to, "results.json")
new = {{"info": {{"git_commit": "none", "num_trials": asked.num_trials, "seed": asked.seed,
        "agent_info": {{"implementation": asked.agent, "llm": asked.agent_llm, "llm_args": asked.agent_llm_args}},
        "user_info": {{"implementation": asked.user, "llm": asked.user_llm, "llm_args": asked.user_llm_args}}}},
       "tasks": tasks, "simulations": []}}
results = json.loads(path.read_text()) if path.is_file() and asked.auto_resume else new
results["tasks"] = tasks
random.seed(asked.seed)
seeds = [random.randint(0, 1000000) for trial in range(asked.num_trials)]
kept = [each for each in results["simulations"] if each["termination_reason"] != "infrastructure_error"]
done = {{(each["task_id"], each["trial"]) for each in kept}}
results["simulations"] = kept
for place, (trial, task) in enumerate((trial, task) for trial in range(asked.num_trials) for task in tasks):
    if (task["id"], trial) in done:
        continue
    broken = mood == "refused" or mood == "breaking" and place == 1
    calls = [{{"id": f"call_{{number}}", "name": each["name"], "arguments": each["arguments"]}}
             for number, each in enumerate((task.get("evaluation_criteria") or {{}}).get("actions") or ())]
    said = "It is 1500." if trial == 0 else "It is done."
    messages = [{{"role": "assistant", "content": "Hi! How can I help you today?", "tool_calls": None}},
                {{"role": "user", "content": "Please do it.", "tool_calls": None}},
                {{"role": "assistant", "content": None, "tool_calls": calls}},
                *({{"role": "tool", "id": each["id"], "content": "done", "error": False}} for each in calls),
                {{"role": "assistant", "content": said, "tool_calls": None}},
                {{"role": "user", "content": "###STOP###", "tool_calls": None}}]
    results["simulations"].append(
        {{"id": str(place), "task_id": task["id"], "trial": trial, "seed": seeds[trial], "duration": 2.0,
          "termination_reason": "infrastructure_error" if broken else "user_stop",
          "agent_cost": 0.01, "user_cost": 0.02, "messages": [] if broken else messages,
          "info": {{"error": "refused: " + os.environ["OPENAI_API_KEY"]}} if broken else None,
          "reward_info": None if broken else
          {{"reward": 1.0, "db_check": {{"db_match": True}}, "env_assertions": [{{"met": True}}]}}}})
    path.parent.mkdir(parents=True, exist_ok=True)
    (path.parent / ".results_half.json").write_text("{{")
    path.with_suffix(".new").write_text(json.dumps(results))
    path.with_suffix(".new").rename(path)
    print(f"Status: {{place + 1}}/{{len(tasks) * asked.num_trials}} complete.", flush=True)
    if mood == "slow":
        time.sleep(0.5)
    if mood == "hanging":
        time.sleep(60)
"""


def told(python: tuple[int, int] = (3, 12), tau2: str = "1.0.1", problem: str = "") -> str:
    """What a Python says of itself and of its tau2."""
    return json.dumps({"python": python, "tau2": tau2, "code": "tau2/__init__.py", "problem": problem})


def stand_in(folder: Path, domain: str = "desk", says: str = "") -> Path:
    """Make a checkout in a folder; `says`: what its Python says it is."""
    files = {
        ".venv/bin/python": PYTHON.format(python=sys.executable, says=says or told()),
        ".venv/bin/tau2": TAU2.format(python=sys.executable),
    }
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)
    code = folder / "src" / "tau2" / "domains" / domain / "environment.py"
    code.parent.mkdir(parents=True)
    code.write_text("")
    return folder


def asked_of(checkout: Path) -> list[dict[str, Any]]:
    """Return what its `tau2` was started with, each time."""
    path = checkout / "asked.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.is_file() else []
