"""tau2: its orchestrator lets a scripted agent play, and its evaluator scores; then its command runs all golden ones.

The score of a line is the Verifier's, of the calls that tau2's environment made. How many trajectories tau2's own
EnvironmentEvaluator scores 1 is printed beside it.
"""

import contextlib
import io
import json
import runpy
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

from loguru import logger
from tau2.agent.base_agent import HalfDuplexAgent
from tau2.data_model.message import AssistantMessage, ToolCall
from tau2.data_model.simulation import TextRunConfig
from tau2.environment.toolkit import get_tool_types
from tau2.evaluator.evaluator import EvaluationType
from tau2.evaluator.evaluator_env import EnvironmentEvaluator
from tau2.registry import registry
from tau2.runner import build_environment, build_text_orchestrator, get_tasks, run_simulation
from toolscale_grade import grade_run
from toolscale_person import PERSON
from toolscale_tau2 import NAMES, PLAYABLE

from toolscale.canonical import canonical_json

NOTHING = "###STOP###"  # a message without words is an error in tau2: who has nothing to say stops
EXPORT, scripts = Path(sys.argv[1]), json.loads(Path(sys.argv[2]).read_text())
SCRIPTS = {each["task"]: each for each in scripts}
TASKS = {task.id: task for name in NAMES for task in get_tasks(name, "base")}
DOMAIN = {task.id: name for name in NAMES for task in get_tasks(name, "base")}
"""Id of a task -> its domain, as tau2 calls it."""
SHOWN = {name: json.loads((EXPORT / "domains" / name / "tools.json").read_text()) for name in NAMES}
TAKEN = canonical_json({"taken": True})


class Scripted(HalfDuplexAgent):
    """Makes the calls of a script, one in each message, and says its answer."""

    def __init__(self, tools, policy, script):
        super().__init__(tools, policy)
        self.script = script

    def set_seed(self, seed):
        pass

    def get_init_state(self, message_history=None):
        return 0

    def generate_next_message(self, message, state):
        if state == len(self.script["calls"]):
            return AssistantMessage(role="assistant", content=self.script["answer"] or NOTHING), state
        call = ToolCall(id=f"call_{state}", **self.script["calls"][state])
        return AssistantMessage(role="assistant", tool_calls=[call]), state + 1

    @classmethod
    def is_stop(cls, message):
        return message.content == NOTHING


def scripted(tools, domain_policy, task, llm_args, **_):
    """`llm_args` has the script; the golden one is played without."""
    assert [tool.openai_schema for tool in tools] == SHOWN[DOMAIN[task.id]]
    return Scripted(tools, domain_policy, llm_args.get("script") or SCRIPTS[task.id]["golden"][0])


registry.register_agent_factory(scripted, "scripted")


def begin(task, script):
    config = TextRunConfig(domain=DOMAIN[task], agent="scripted", user=PERSON, llm_args_agent={"script": script})
    return build_text_orchestrator(config, TASKS[task], seed=0)


def play(task, script):
    return run_simulation(begin(task, script), evaluation_type=EvaluationType.ALL)


def interleaved(task, one, other):
    """Play two scripts in turns, step by step, and return both scores."""
    both = [begin(task, script) for script in (one, other)]
    for each in both:
        each._run_start_time, each._run_start_perf = "2026-01-01T00:00:00", 0.0
        each.initialize()
    while not all(each.done for each in both):
        for each in both:
            if not each.done:
                each.step()
    return [float(grade_run(each._finalize()).score) for each in both]


def evaluated(run):
    """Return what tau2's EnvironmentEvaluator says, asked by itself."""
    constructor = registry.get_env_constructor(DOMAIN[run.task_id])
    return EnvironmentEvaluator.calculate_reward(constructor, TASKS[run.task_id], run.messages).reward


def results(task, script):
    """Return what the golden calls give, as the dataset has it, and what comes of the answer."""
    given = [canonical_json(call.result) for call in PLAYABLE.task(task).golden_calls]
    return [*given, TAKEN][: len(script["calls"])]


def command(*arguments):
    """Run the launcher of the export in this process, which knows the scripted agent, and return what it prints."""
    printed, sys.argv = io.StringIO(), ["tau2_toolscale.py", *arguments]
    with contextlib.redirect_stdout(printed):
        runpy.run_path(str(EXPORT / "tau2_toolscale.py"), run_name="__main__")
    return printed.getvalue()


logger.remove()
assert set(TASKS) == set(SCRIPTS)
for name in NAMES:
    assert len(get_tool_types(build_environment(name).tools)) == len(SHOWN[name])
theirs = {"golden": [], "idle": []}
for each in scripts:
    for kind in (name for name, played in each.items() if isinstance(played, list)):
        for script in each[kind]:
            try:
                run = play(each["task"], script)
            except ValueError as error:  # tau2 ends a run in which an agent says nothing
                assert not script["answer"].strip() and "must have either content or tool_calls" in str(error), error
                print(json.dumps({"task": each["task"], "kind": kind, "score": 0.0}))
                continue
            assert run.reward_info.reward == evaluated(run)
            if kind == "golden":
                told = [message for message in run.messages if message.role == "tool"]
                assert [message.content for message in told if not message.error] == results(each["task"], script)
            theirs.setdefault(kind, []).append(run.reward_info.reward)
            print(json.dumps({"task": each["task"], "kind": kind, "score": float(grade_run(run).score)}))
assert theirs["golden"] == [1.0] * sum(len(each["golden"]) for each in scripts)
with tempfile.TemporaryDirectory() as folder:
    for name in NAMES:
        to = f"{folder}/{name}"
        command("run", "--domain", name, "--agent", "scripted", "--agent-llm-args", "{}", "--save-to", to)
        *_, means = command("grade", to).splitlines()
        assert json.loads(means) == {"runs": len(get_tasks(name, "base")), "score": 1.0, "tau2": 1.0}
changing = next(each for each in scripts if each["changes"])
own = {kind: f"{sum(rewards):g} of {len(rewards)}" for kind, rewards in theirs.items()}
print(f"tau2's EnvironmentEvaluator scores 1: {own}", file=sys.stderr)
about = {"host": "tau2-bench", "version": version("tau2"), "tau2": own}
scores = interleaved(changing["task"], changing["golden"][0], changing["without_tools"][0])
print(json.dumps(about | {"interleaved": scores}))
