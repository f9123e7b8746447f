"""tau2: golden conversations, word by word. In dialogues the person is asked; a form is filled in by the tool that all
tasks of a domain share, and a call after it is not made."""

import json

from loguru import logger
from tau2.agent.base_agent import HalfDuplexAgent
from tau2.data_model.message import AssistantMessage, ToolCall
from tau2.data_model.simulation import TextRunConfig
from tau2.evaluator.evaluator import EvaluationType
from tau2.registry import registry
from tau2.runner import build_text_orchestrator, get_tasks, run_simulation
from toolscale_grade import grade_run
from toolscale_person import PERSON
from toolscale_tau2 import DATASET, NAMES

from toolscale.environment.builtins import FINAL_ANSWER
from toolscale.exports.golden import golden_trajectories
from toolscale.rollout.person import NOTED

GOLDEN = {each.task.id: each for each in golden_trajectories(DATASET)}
TAKEN, LATE = '{"taken":true}', '{"error":"not made: the final answer was given before"}'
DONE = "That is done."


def domain_form(function):
    """Return a golden call: the form as the tool of the domain takes it."""
    arguments = json.loads(function["arguments"])
    if function["name"] == FINAL_ANSWER:
        arguments = {"done": arguments.pop("done"), "reasons": arguments.pop("reasons"), "values": arguments}
    return {"name": function["name"], "arguments": arguments}


def turns(golden):
    """Return what the agent of a task says and calls. After a form it makes the call before it again, and ends
    twice."""
    made = [each for each in golden.messages if each["role"] == "assistant"]
    turns = [
        [domain_form(call["function"]) for call in each["tool_calls"]] if each["content"] is None else each["content"]
        for each in made
    ]
    calls = [turn for turn in turns if not isinstance(turn, str)]
    return [*turns, calls[-2], DONE, DONE] if golden.task.form else turns


class Golden(HalfDuplexAgent):
    """Follows the golden conversation of a task."""

    def __init__(self, tools, policy, golden):
        super().__init__(tools, policy)
        assert [tool.openai_schema for tool in tools] == golden.domain_tools
        assert policy == golden.prompt[0]["content"]
        self.turns = turns(golden)

    def set_seed(self, seed):
        pass

    def get_init_state(self, message_history=None):
        return 0

    def generate_next_message(self, message, state):
        turn = self.turns[state]
        if isinstance(turn, str):
            return AssistantMessage(role="assistant", content=turn), state + 1
        calls = [ToolCall(id=f"call_{state}", **call) for call in turn]
        return AssistantMessage(role="assistant", tool_calls=calls), state + 1


registry.register_agent_factory(
    lambda tools, domain_policy, task, **_: Golden(tools, domain_policy, GOLDEN[task.id]), "golden"
)
logger.remove()
for name in NAMES:
    for task in get_tasks(name, "base"):
        golden = GOLDEN[task.id]
        run = run_simulation(
            build_text_orchestrator(TextRunConfig(domain=name, agent="golden", user=PERSON), task, seed=0),
            evaluation_type=EvaluationType.ALL,
        )
        said = [(each.role, each.content or "") for each in run.messages]
        wanted = [(each["role"], each["content"] or "") for each in [*golden.listed_prompt, *golden.messages[2:]][1:]]
        late = [("tool", TAKEN), ("assistant", ""), ("tool", LATE), ("assistant", DONE)]
        ended = [*late, ("user", NOTED), ("assistant", DONE)] if golden.task.form else []
        about = {
            "turns": golden.task.turns,
            "answer": golden.task.answer,
            "score": grade_run(run).score * run.reward_info.reward,
            "same": said == [*wanted, *ended, ("user", "###STOP###")],
        }
        if not about["same"]:
            print(said, wanted, ended, sep="\n")
        print(json.dumps(about))
