"""For tau2-bench: domains with their policies, tools and tasks, a user without a model, and a launcher."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from toolscale.exports.format import SPLITS, Format, Options, Source, json_of, render
from toolscale.exports.golden import Golden
from toolscale.forbidden_names import TAU2

TESTED = "tau2-bench 1.0.1 (a2c0247)"

FILES = ("toolscale_tau2.py", "toolscale_tools.py", "toolscale_person.py", "toolscale_grade.py", "tau2_toolscale.py")

TOLD = (
    "You have written your request already, and it is all that you want. Answer in one or two short sentences what you "
    "are asked for. If it does not stand here, say that you do not know it. If something else is proposed, say that "
    "you want just what you asked for. When your request was answered, end the conversation."
)
"""What a model is told that plays the user."""


BEGIN = "begin"
"""What tau2 calls before a conversation: it says of which task the world is. No agent is offered it."""


def domain_of(golden: Golden) -> str:
    """Return the domain of tau2 that a task belongs to. There all tasks of a domain share policy and tools: so
    dialogues, whose policy says that one may ask, are a domain of their own."""
    return f"toolscale_{golden.task.domain}{'_dialogue' if golden.task.turns == 'dialogue' else ''}"


def tau2_task(golden: Golden) -> dict[str, Any]:
    """Return a task as tau2 writes it."""
    _, request = golden.prompt
    _, listed = golden.listed_prompt
    known = [f"{' / '.join(reply.words)}: {reply.says}" for reply in golden.task.candidate.replies]
    return {
        "id": golden.task.id,
        "description": {"purpose": f"{golden.task.intent_id}: {golden.task.outcome}"},
        "user_scenario": {
            "instructions": {
                "domain": golden.task.domain,
                "reason_for_call": request["content"],
                "known_info": "\n".join(known) or None,
                "task_instructions": TOLD,
            }
        },
        "initial_state": {
            "initialization_actions": [
                {"env_type": "assistant", "func_name": BEGIN, "arguments": {"task": golden.task.id}}
            ],
            "message_history": [{"role": "user", "content": listed["content"]}],
        },
        "evaluation_criteria": {
            "actions": [
                {"action_id": f"{call.name}_{number}", "name": call.name, "arguments": call.arguments}
                for number, call in enumerate(golden.task.golden_calls, 1)
            ],
            "reward_basis": ["DB"],
        },
    }


def _make(source: Source, _: Options) -> Iterator[tuple[str, str]]:
    source.check_names(TAU2)
    domains: dict[str, list[Golden]] = {}
    for golden in source.golden:
        domains.setdefault(domain_of(golden), []).append(golden)
    for name, tasks in domains.items():
        ids: dict[str, list[str]] = {split: [each.task.id for each in tasks if each.split == split] for split in SPLITS}
        yield f"domains/{name}/policy.md", str(tasks[0].prompt[0]["content"])
        yield f"domains/{name}/tools.json", json_of(tasks[0].domain_tools)
        yield f"domains/{name}/tasks.json", json_of([tau2_task(each) for each in tasks])
        yield f"domains/{name}/split_tasks.json", json_of({"base": [each.task.id for each in tasks]} | ids)
    for file in FILES:
        yield file, render(f"tau2-domain/{file}.jinja")


FORMATS = (
    Format(
        "tau2-domain",
        TESTED,
        "domains with policy, tools and tasks, a user who needs no model, and the command `tau2` that knows them",
        _make,
        plays=True,
        talks=True,
        cannot=(
            "that several end states are right: its reward compares a hash of the rows with that of the golden calls, "
            "so it is a second number beside the Verifier's grade",
            "facts with a type, or facts that must not be said: it looks for pieces of text, so no `communicate_info` "
            "is written, and a run that does nothing has its reward 1 where nothing was to be changed",
            "tools or a policy of one task: dialogues are a domain of their own, `final_answer` is the same for all "
            "tasks of a domain, and the first message lists what it takes",
            "a last message without words: an agent that says nothing ends with an error",
            "an agent without a user (`llm_agent_solo`): it has no last message to grade",
            "where its worker processes learn of a domain: run without `--workers`",
        ),
    ),
)
