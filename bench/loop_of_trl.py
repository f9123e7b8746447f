"""TRL's GRPOTrainer on tasks of a dataset, for `bench.loops`: seconds and rewards of each step into a file."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import deepspeed
import torch
from datasets import Dataset
from transformers import AutoModelForCausalLM, AutoTokenizer, TrainerCallback
from trl import GRPOConfig, GRPOTrainer
from trl.chat_template_utils import qwen3_template

from toolscale.canonical import canonical_json
from toolscale.exports.golden import golden_trajectories
from toolscale.session import Sessions

TOKENS_OF_TURN = 160
"""Of a turn with what its tool returns: TRL bounds all turns of a rollout together."""


class Episode:
    """One rollout at a time; the tools are methods that `factory_of` adds."""

    sessions: Sessions
    _session: str | None = None

    def reset(self, **row: Any) -> None:
        """Begin a rollout of a task."""
        if self._session is not None:
            self.sessions.close(self._session)
        self._session = self.sessions.open(row["id"])

    def _call(self, name: str, arguments: dict[str, Any]) -> str:
        result = self.sessions.call(str(self._session), name, arguments)
        return canonical_json(result.value if result.ok else {"error": result.error})


def factory_of(tools: list[dict[str, Any]], sessions: Sessions) -> type[Episode]:
    """An environment class with these tools."""

    def method(name: str, description: str) -> Any:
        def call(self: Episode, /, **arguments: Any) -> str:
            return self._call(name, arguments)

        call.__name__, call.__doc__ = name, description
        return call

    functions = [tool["function"] for tool in tools]
    methods = {each["name"]: method(each["name"], each["description"]) for each in functions}
    return type("Task", (Episode,), {**methods, "sessions": sessions})


def reward(completions: list[list[dict[str, Any]]], environments: list[Episode], **_: Any) -> list[float]:
    """The Verifier's grade of each rollout."""
    return [
        float(each.sessions.finish(str(each._session), str(talk[-1].get("content") or ""), last=True).score)
        for talk, each in zip(completions, environments, strict=True)
    ]


class Clock(TrainerCallback):
    """Seconds and mean reward of each step."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self.rewards: list[float] = []
        self._began = 0.0

    def on_step_begin(self, *_: Any, **__: Any) -> None:
        """A step begins."""
        self._began = time.perf_counter()

    def on_step_end(self, *_: Any, **__: Any) -> None:
        """A step ended."""
        self.seconds.append(round(time.perf_counter() - self._began, 3))

    def on_log(self, *_: Any, logs: dict[str, Any] | None = None, **__: Any) -> None:
        """Figures of a step."""
        if logs and "reward" in logs:
            self.rewards.append(logs["reward"])


def train(model: str, dataset: str, steps: int, prompts: int, samples: int, turns: int) -> dict[str, Any]:
    """Make the steps; return the figures."""
    torch.set_num_threads(2)
    deepspeed.ops.__compatible_ops__["deepspeed_shm_comm"] = False
    golden = list(golden_trajectories(Path(dataset), ("train",)))
    sessions = Sessions(Path(dataset))
    rows = [{"id": each.task.id, "prompt": list(each.prompt), "environment": each.task.id} for each in golden]
    tools = {each.task.id: list(each.tools) for each in golden}
    tokenizer = AutoTokenizer.from_pretrained(model)
    tokenizer.response_template = qwen3_template
    zero = json.loads(Path("training/deepspeed/zero2.json").read_text(encoding="utf-8"))
    settings = GRPOConfig(
        output_dir=str(Path(dataset).parent / "trl"),
        use_cpu=True,
        bf16=True,
        deepspeed=zero
        | {"bf16": {"enabled": True}, "train_micro_batch_size_per_gpu": "auto", "gradient_accumulation_steps": "auto"},
        per_device_train_batch_size=samples,
        gradient_accumulation_steps=prompts,
        generation_batch_size=prompts * samples,
        num_generations=samples,
        max_completion_length=turns * TOKENS_OF_TURN,
        max_tool_calling_iterations=turns,
        temperature=1.0,
        learning_rate=1e-5,
        lr_scheduler_type="constant",
        warmup_steps=3,
        max_steps=steps,
        logging_steps=1,
        save_strategy="no",
        report_to=[],
        gradient_checkpointing=False,
        seed=0,
    )
    clock = Clock()
    trainer = GRPOTrainer(
        model=AutoModelForCausalLM.from_pretrained(model, dtype=torch.bfloat16),
        args=settings,
        processing_class=tokenizer,
        train_dataset=Dataset.from_list(rows),
        environment_factory={name: factory_of(own, sessions) for name, own in tools.items()},
        reward_funcs=reward,
        callbacks=[clock],
    )
    trainer._env_tools = tools
    trainer.train()
    return {"seconds": clock.seconds, "rewards": clock.rewards, "log": trainer.state.log_history}


if __name__ == "__main__":
    wanted = json.loads(sys.argv[1])
    told = Path(wanted.pop("told"))
    figures = train(
        wanted["model"],
        wanted["dataset"],
        **{name: int(wanted[name]) for name in ("steps", "prompts", "samples", "turns")},
    )
    told.write_text(json.dumps(figures), encoding="utf-8")
