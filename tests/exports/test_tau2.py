"""Tasks as domains of tau2: what an export holds. tests/hosts plays one in tau2 itself."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from toolscale.environment.builtins import FINAL_ANSWER
from toolscale.exports.golden import Golden, golden_trajectories
from toolscale.exports.tau2 import BEGIN, FILES, TOLD, domain_of, tau2_task
from toolscale.exports.writing import DATASET, export
from toolscale.records import Reply
from toolscale.tasks.form import with_listing


@pytest.fixture(scope="module")
def exported(mock_dataset: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return export(mock_dataset, "tau2-domain", tmp_path_factory.mktemp("exports") / "tau2").out


def held(folder: Path) -> set[str]:
    """The files of an export without its dataset."""
    paths = {path.relative_to(folder) for path in folder.rglob("*") if path.is_file()}
    return {str(path) for path in paths if path.parts[0] != DATASET}


def read(path: Path) -> Any:
    text = path.read_text()
    return json.loads(text) if path.suffix == ".json" else text


def in_dialogue(golden: Golden) -> Golden:
    """The task, if its person told the amount only when asked."""
    reply = Reply(about="amount", sort="value", kind="money", words=("amount", "sum"), says="It is $5.", held=True)
    candidate = golden.task.candidate.model_copy(update={"turns": "dialogue", "answer": "message", "replies": (reply,)})
    return replace(golden, task=golden.task.model_copy(update={"candidate": candidate, "turns": "dialogue"}))


def test_a_domain_holds_its_policy_its_tools_and_its_tasks(exported: Path, golden: list[Golden]) -> None:
    folder = "domains/toolscale_mock"
    ids = {split: [each.task.id for each in golden if each.split == split] for split in ("train", "test")}
    made = {
        f"{folder}/policy.md": golden[0].prompt[0]["content"],
        f"{folder}/tools.json": list(golden[0].tools),
        f"{folder}/tasks.json": [tau2_task(each) for each in golden],
        f"{folder}/split_tasks.json": {"base": [each.task.id for each in golden], **ids},
    }
    assert held(exported) == {"README.md", "export.json", *FILES, *made}
    assert {path: read(exported / path) for path in made} == made


def test_a_task_has_the_golden_calls_and_a_user_with_the_request(golden: list[Golden]) -> None:
    task = golden[0].task
    assert tau2_task(golden[0]) == {
        "id": task.id,
        "description": {"purpose": f"{task.intent_id}: {task.outcome}"},
        "user_scenario": {
            "instructions": {
                "domain": "mock",
                "reason_for_call": task.request,
                "known_info": None,
                "task_instructions": TOLD,
            }
        },
        "initial_state": {
            "initialization_actions": [{"env_type": "assistant", "func_name": BEGIN, "arguments": {"task": task.id}}],
            "message_history": [{"role": "user", "content": task.request}],
        },
        "evaluation_criteria": {
            "actions": [
                {"action_id": f"{call.name}_{number}", "name": call.name, "arguments": call.arguments}
                for number, call in enumerate(task.golden_calls, 1)
            ],
            "reward_basis": ["DB"],
        },
    }


def test_forms_share_a_domain_with_one_tool_and_each_first_message_lists_what_it_takes(
    form_dataset: Path, tmp_path: Path
) -> None:
    out = export(form_dataset, "tau2-domain", tmp_path / "out").out
    golden = {each.task.id: each for each in golden_trajectories(form_dataset)}
    domains = sorted({f"toolscale_mock{'_dialogue' * (each.task.turns == 'dialogue')}" for each in golden.values()})
    assert sorted(path.name for path in (out / "domains").iterdir()) == domains
    for domain in domains:
        *_, last = read(out / "domains" / domain / "tools.json")
        assert (last["function"]["name"], [*last["function"]["parameters"]["properties"]]) == (
            FINAL_ANSWER,
            ["done", "reasons", "values"],
        )
        for task in read(out / "domains" / domain / "tasks.json"):
            [said], own = task["initial_state"]["message_history"], golden[task["id"]].task
            assert said["content"] == with_listing(own.request, own.form)
            assert task["user_scenario"]["instructions"]["reason_for_call"] == own.request


def test_dialogues_are_a_domain_of_their_own_whose_user_knows_what_it_holds_back(golden: list[Golden]) -> None:
    single, dialogue = golden[0], in_dialogue(golden[0])
    assert [domain_of(each) for each in (single, dialogue)] == ["toolscale_mock", "toolscale_mock_dialogue"]
    expected = tau2_task(single)
    expected["user_scenario"]["instructions"]["known_info"] = "amount / sum: It is $5."
    assert tau2_task(dialogue) == expected
