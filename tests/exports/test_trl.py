"""TRL reads what is exported for it: its trainers, with a tiny model, and what they make of the rows."""

from __future__ import annotations

import importlib.util
import json
import re
import sys
from collections import Counter
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from domain_forms import of_domain
from tiny_qwen import make_model, make_tokenizer
from transformers import AutoModelForCausalLM

from toolscale.dataset.describing.reading import read_dataset
from toolscale.environment.builtins import FINAL_ANSWER
from toolscale.exports.golden import golden_trajectories
from toolscale.exports.writing import export
from toolscale.records import ToolCall
from toolscale.session.playable import Playable
from toolscale.session.sessions import MOST_TRIES
from toolscale.tasks.form import with_listing

pytestmark = [
    pytest.mark.filterwarnings("ignore"),  # of trainers that are not ours
    pytest.mark.xdist_group("trl"),
]


def module_of(path: Path) -> ModuleType:
    """Import a file of an export."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = made
    spec.loader.exec_module(made)
    return made


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nothing from the network, nothing left in the environment, a cache of its own."""
    for name, value in {
        "HF_HUB_OFFLINE": "1",
        "HF_DATASETS_CACHE": str(tmp_path / "cache"),
        "TRL_EXPERIMENTAL_SILENCE": "1",
        "ACCELERATE_USE_CPU": "1",
    }.items():
        monkeypatch.setenv(name, value)


def test_a_conversation_comes_through_load_py_as_it_is(
    mock_dataset: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    export(mock_dataset, "trl-sft", tmp_path / "out")
    load = module_of(tmp_path / "out" / "load.py").load
    tools = {row["id"]: json.loads(row["tools"]) for row in read_dataset(mock_dataset).rows.tasks}
    for split in ("train", "test"):
        golden = [each for each in golden_trajectories(mock_dataset) if each.split == split]
        rows = list(load(split))
        assert [row["id"] for row in rows] == [each.task.id for each in golden]
        for row, each in zip(rows, golden, strict=True):
            made = [call["function"] for message in row["messages"] for call in message.get("tool_calls") or ()]
            assert made == [{"name": call.name, "arguments": call.arguments} for call in each.task.golden_calls]
            assert row["tools"] == tools[row["id"]]
            assert [message["role"] for message in row["messages"]] == [each["role"] for each in each.messages]
            assert not [message for message in row["messages"] if None in message.values()]
    # the line of the README that shows what a template makes of a row
    [shown] = re.findall(r"python -c '(.*)'", (tmp_path / "out" / "README.md").read_text())
    make_tokenizer().save_pretrained(tmp_path / "model")
    capsys.readouterr()
    exec(shown.replace("Qwen/Qwen3-0.6B", str(tmp_path / "model")), {})
    (_, _, text), row = capsys.readouterr().out.partition("<|im_start|>user"), next(iter(load("train")))
    names = [call["function"]["name"] for message in row["messages"] for call in message.get("tool_calls", ())]
    assert [json.loads(call)["name"] for call in re.findall(r"<tool_call>\n({.*})\n</tool_call><", text)] == names


def test_other_orders_are_right_and_say_what_came_of_them(mock_dataset: Path) -> None:
    found = [golden for golden in golden_trajectories(mock_dataset, others=3) if golden.others]
    assert found  # some task has writes that commute
    playable = Playable(mock_dataset)
    for golden in found:
        first, *others = golden.versions
        domain = playable.domain(golden.task)
        for other in others:
            calls = [ToolCall(name=call.name, arguments=call.arguments) for call in other.task.golden_calls]
            assert other.task.golden_calls != first.task.golden_calls
            assert Counter(map(repr, calls)) == Counter(
                repr(ToolCall(name=call.name, arguments=call.arguments)) for call in first.task.golden_calls
            )
            assert domain.grade(golden.task, calls, golden.answer).score == 1
            with domain.episode() as episode:
                assert [episode.call(call).value for call in calls] == [one.result for one in other.task.golden_calls]
    playable.close()


def test_sft_trainer_trains_on_every_golden_call_once(mock_dataset: Path, tmp_path: Path) -> None:
    from trl import SFTConfig, SFTTrainer

    export(mock_dataset, "trl-sft", tmp_path / "out")
    rows = module_of(tmp_path / "out" / "load.py").load("train")
    options = SFTConfig(
        output_dir=str(tmp_path / "run"), max_steps=1, max_length=None, per_device_train_batch_size=1, use_cpu=True,
        bf16=False, report_to="none", gradient_checkpointing=False, dataloader_pin_memory=False, save_strategy="no",
    )  # fmt: skip
    tokenizer = make_tokenizer()
    model = AutoModelForCausalLM.from_pretrained(make_model(tmp_path / "model"))
    trainer = SFTTrainer(model, args=options, train_dataset=rows, processing_class=tokenizer)
    trainer.train()
    for row, read in zip(rows, trainer.train_dataset, strict=True):
        system, _, talk = tokenizer.decode(read["input_ids"]).partition("<|im_start|>user\n")
        shown = system.partition("<tools>\n")[2].partition("\n</tools>")[0]
        assert [json.loads(line) for line in shown.splitlines()] == row["tools"]
        written = re.findall(r"<tool_call>\n(.*?)\n</tool_call>", talk, re.DOTALL)
        made = [call["function"] for message in row["messages"] for call in message.get("tool_calls") or ()]
        assert [json.loads(text) for text in written] == made


def test_the_trainer_of_the_front_page_learns_what_the_agent_says_alone(form_dataset: Path, tmp_path: Path) -> None:
    from trl import SFTConfig, SFTTrainer
    from trl.chat_template_utils import qwen3_chat_template

    export(form_dataset, "trl-sft", tmp_path / "out")
    options = SFTConfig(
        output_dir=str(tmp_path / "run"), max_length=None, assistant_only_loss=True, use_cpu=True, bf16=False,
        report_to="none", gradient_checkpointing=False,
    )  # fmt: skip
    tokenizer = make_tokenizer()
    tokenizer.chat_template = qwen3_chat_template
    model = AutoModelForCausalLM.from_pretrained(make_model(tmp_path / "model"))
    rows = module_of(tmp_path / "out" / "load.py").load("train")
    trainer = SFTTrainer(model, args=options, train_dataset=rows, processing_class=tokenizer)
    for row, read in zip(rows, trainer.train_dataset, strict=True):
        learned = [token for token in read["labels"] if token != -100]
        said = [message for message in row["messages"] if message["role"] == "assistant"]
        assert tokenizer.decode(learned).count("</tool_call>") == sum(
            len(each.get("tool_calls") or ()) for each in said
        )
        assert row["messages"][1]["content"] not in tokenizer.decode(learned)


def test_grpo_trainer_takes_a_step_in_the_environments(form_dataset: Path, tmp_path: Path) -> None:
    from trl import GRPOConfig

    export(form_dataset, "trl-grpo", tmp_path / "out")
    made = module_of(tmp_path / "out" / "toolscale_env.py")
    options = GRPOConfig(
        output_dir=str(tmp_path / "run"), max_steps=1, max_completion_length=24, num_generations=2,
        per_device_train_batch_size=2, use_cpu=True, bf16=False, report_to="none", gradient_checkpointing=False,
        dataloader_pin_memory=False, save_strategy="no", logging_steps=1,
    )  # fmt: skip
    tokenizer: Any = make_tokenizer()
    tokenizer.response_template = {
        "defaults": {"role": "assistant"},
        "start_anchor": "<|im_start|>assistant\n",
        "fields": {"content": {"close_pattern": r"<\|im_end\|>\s*", "content": "text"}},
    }
    trainer = made.ToolScaleTrainer(
        model=AutoModelForCausalLM.from_pretrained(make_model(tmp_path / "model")),
        args=options, train_dataset=made.load("train"), processing_class=tokenizer,
    )  # fmt: skip
    trainer.train()
    assert trainer._env_tools == made.TOOLSETS
    [line] = [line for line in trainer.state.log_history if "reward" in line]
    assert line["reward"] == 0.0  # a model of random weights says nothing right
    made.SESSIONS.shut()


def test_an_argument_may_be_called_self(mock_dataset: Path, tmp_path: Path) -> None:
    made = module_of(export(mock_dataset, "trl-grpo", tmp_path / "out").out / "toolscale_env.py")

    class Environment(made.ToolScaleEnv):  # type: ignore[name-defined,misc]
        move = made._tool({"name": "move", "description": "Move it."})

        def _call(self, name: str, arguments: dict[str, Any]) -> str:
            return f"{name} {arguments}"

    assert Environment().move(self="a") == "move {'self': 'a'}"


def test_forms_of_a_domain_share_an_environment_in_which_right_ones_are_paid(
    form_dataset: Path, tmp_path: Path
) -> None:
    export(form_dataset, "trl-grpo", tmp_path / "out")
    made = module_of(tmp_path / "out" / "toolscale_env.py")
    golden = {each.task.id: each for each in golden_trajectories(form_dataset)}
    [(name, environment)] = made.environments().items()
    assert (name, made.TOOLSETS[name][-1]["function"]["name"]) == ("mock", FINAL_ANSWER)
    for row in (row for split in ("train", "test") for row in made.load(split)):
        task, answer = golden[row["id"]].task, of_domain(golden[row["id"]].answer)
        assert row["prompt"][-1]["content"] == with_listing(task.request, task.form)
        for tries, paid in ((0, 1.0), (MOST_TRIES - 1, 1.0), (MOST_TRIES, 0.0)):
            rollout = environment()
            rollout.reset(id=row["id"])
            for call in task.golden_calls:
                getattr(rollout, call.name)(**call.arguments)
            for _ in range(tries):
                told = json.loads(rollout.final_answer(done="all", values={"surprise": 1}))
                assert told["error"].startswith('values takes no "surprise"; what is asked for is ')
            rollout.final_answer(**answer)
            assert made.reward([[{"role": "assistant", "content": "Done."}]], [rollout]) == [paid]
    made.SESSIONS.shut()
