"""A toy that a model with random weights can learn: six tokens, of which one is the answer and one asks an expert.

    python toy.py CONFIG OUT

runs training.grpo on it in a process of its own.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

STOP, ASK, LETTERS = 0, 1, "abcd"


class ToyCodec:
    """Six tokens: 0 ends a turn, 1 asks the first expert, 2 to 5 are letters. A prompt is the first characters of the
    question."""

    end = STOP
    stop = frozenset({STOP})
    turn_tokens = None
    pointers = ()

    def first(self, messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]]) -> list[int]:
        text = messages[-1]["content"]
        self.expert = next(iter(tools))["function"]["parameters"]["properties"]["expert"]["enum"][0] if tools else None
        return [2 + ord(character) % 4 for character in text[:12]]

    def next(
        self, observations: Sequence[Mapping[str, Any]], conversation: Sequence[Mapping[str, Any]] = ()
    ) -> list[int]:
        return [2 + len(observations) % 4, 5, 2]

    def read(
        self,
        ids: Sequence[int],
        conversation: Sequence[Mapping[str, Any]] = (),
        tools: Sequence[Mapping[str, Any]] = (),
    ) -> tuple[dict[str, Any], str | None]:
        words = list(ids)
        if not words:
            return {"role": "assistant", "content": ""}, "Nothing was written."
        if words[0] != ASK:
            return {"role": "assistant", "content": LETTERS[words[0] - 2]}, None
        arguments = f'{{"expert": "{self.expert}", "question": "Which letter?"}}'
        return {"role": "assistant", "content": None, "tool_calls": [call(arguments)]}, None

    def write(self, message: Mapping[str, Any], tools: Sequence[Mapping[str, Any]] = ()) -> list[int]:
        return [ASK if message.get("tool_calls") else 2 + LETTERS.index(message["content"]), STOP]

    def save(self, folder: Path) -> None:
        (folder / "toy.txt").write_text(LETTERS)


def call(arguments: str) -> dict[str, Any]:
    return {"id": "", "type": "function", "function": {"name": "call_expert", "arguments": arguments}}


class ToyTasks:
    """Whatever the question says, the answer is `a`. With an expert at hand in every second task."""

    def __init__(self, stop_at: int | None = None):
        self._stop_at = stop_at

    def __getitem__(self, number: int) -> Any:
        from toolscale.records import Limits, OfferedExpert, Preference, Question, RolloutTask

        if number == self._stop_at:
            raise KeyboardInterrupt
        question = Question(
            id=f"q{number}",
            category="knowledge",
            text=f"{number * 7919 % 1000:03} Which letter?",
            answer="a",
            answer_kind="word",
            wrong=("b", "c"),
            source="toy",
        )
        experts = (
            OfferedExpert(alias="expert-1", expert="expert", input_price=1.0, output_price=1.0, card="It knows."),
        )
        preference = Preference(instruction="", outcome=1.0, cost=0.2)
        offered = experts if number % 2 else ()
        return RolloutTask(
            id=f"t{number}",
            category="knowledge",
            question=question,
            preference=preference,
            experts=offered,
            limits=Limits(turns=1 + number % 3),
        )


def toy_work(stop_at: int | None = None) -> Any:
    """The work of the toy; `stop_at`: a task whose making ends the run, as Ctrl-C does."""
    from toolscale.models.simulated import SimulatedExpert
    from toolscale.records import CATEGORIES, Effort, ExpertSpec, Price
    from toolscale.rollout.bench import Bench
    from training.data import Work

    spec = ExpertSpec(
        name="expert",
        title="Expert",
        price=Price(input=1.0, output=1.0),
        skills=dict.fromkeys(CATEGORIES, 0.9),
        effort=dict.fromkeys(CATEGORIES, Effort(output_tokens=100, latency_s=1.0)),
        source="toy",
    )
    return Work(ToyTasks(stop_at), Bench({"expert": SimulatedExpert(spec)}), {"expert": spec})


def make_toy(folder: Path, **changes: Any) -> Path:
    """Write a model with six words and a configuration into a folder; return the configuration's path."""
    import torch
    from transformers import Qwen3Config, Qwen3ForCausalLM

    torch.manual_seed(0)
    sizes: dict[str, Any] = {
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "num_key_value_heads": 1,
        "head_dim": 16,
        "tie_word_embeddings": True,
    }
    shape = Qwen3Config(vocab_size=6, max_position_embeddings=128, **(sizes | changes.pop("sizes", {})))
    Qwen3ForCausalLM(shape).save_pretrained(folder / "base")
    config: dict[str, Any] = {
        "steps": 6,
        "model": {"path": str(folder / "base")},
        "data": {"mixture": {"knowledge": 1}},
        "rollout": {"prompts": 8, "samples": 8, "max_new_tokens": 3, "context": 64},
        "reward": {"kind": "absolute", "least_std": 0.01},
        "optimizer": {"lr": 0.01},
        "checkpoint": {"every": 2},
        "metrics": {"plots": False},
    }
    for key, value in changes.items():
        config[key] = config.get(key, {}) | value if isinstance(value, dict) else value
    path = folder / "config.yaml"
    path.write_text(yaml.safe_dump(config))
    return path


def run_toy(config: Path, out: Path, stop_at: int | None = None) -> dict[str, Any]:
    """Run training.grpo on the toy in this process, on one thread: the same sums in the same order everywhere."""
    import torch

    from training.config_file import read_config
    from training.grpo import run
    from training.starting import write_done

    torch.set_num_threads(1)
    done = asyncio.run(run(read_config(config), out, toy_work(stop_at), ToyCodec()))
    if done:  # the first rank, as the command does
        write_done(out, done)
    return done


if __name__ == "__main__":
    run_toy(Path(sys.argv[1]), Path(sys.argv[2]))
