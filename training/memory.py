"""What a run takes of the memory of each GPU, worked out from the shapes of its model before anything is loaded.

    python -m training.memory training/configs/qwen3_8b.yaml --gpus 8 --gigabytes 80

Exit status: 0 it fits, 2 it does not, and the line says what would make it fit. `training.grpo` and `training.sft`
print the same before they start, and refuse on GPUs that are too small.

1 GB is 10^9 bytes. What is counted (P parameters, R ranks, e bytes an element):
- weights: e P, under ZeRO-3 e P / R, and what is gathered of them at one time;
- gradients and AdamW: 4 P / R for sums in float32, 12 P / R for the float32 weights and two moments (Rajbhandari et al.
  2020, ZeRO: 16 bytes a parameter, of which 4 here are float32 instead of bfloat16);
- activations of the largest micro-batch: what autograd keeps of a layer, counted with transformers' Qwen3 and measured
  against it in tests/training/test_memory.py; with checkpointing the input of each layer, and all of one;
- logits of one chunk of the head; keys and values where the model samples in the training process.
Kernels, communication and what an allocator cannot use are a flat RESERVE, an estimate: training/LOG.md has what
one H100 took.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import torch
from transformers import AutoConfig, AutoModelForCausalLM

from toolscale.errors import UsageError
from training.config import Config, SftConfig
from training.config_file import read_any
from training.engine import read_deepspeed
from training.loading import loading
from training.processes import world_size_wanted
from training.starting import run_command

GB = 10**9
RESERVE = 4 * GB
"""Of each GPU: the context of CUDA, workspaces, buffers of NCCL, and gaps between blocks."""
SERVER_SHARE = 0.9
"""What a vLLM server takes of its GPU (--gpu-memory-utilization)."""
SHAPES = Path(__file__).with_name("shapes")
"""config.json of the models that the shipped configurations name, so that nothing is fetched to count their memory."""
FURTHER_GPUS = (2, 4, 8, 16, 32, 64)


@dataclass(frozen=True, slots=True)
class Shape:
    """The sizes of a model that memory depends on, in elements."""

    parameters: int
    embedding: int
    """Of one embedding: vocabulary times width."""
    layers: int
    width: int
    inner: int
    queries: int
    """Heads times their size."""
    keys: int
    """Heads of keys, or of values, times their size."""
    vocabulary: int

    @property
    def layer(self) -> int:
        """Parameters of one layer."""
        return (self.parameters - self.embedding) // self.layers

    def layer_bytes(self, element: int) -> int:
        """What autograd keeps of one layer for one token: inputs of norms in float32 and normalized, queries and keys
        with norms of their own, values, what attention gave, and four parts of the MLP."""
        norms = 2 * (4 + 2 * element) * self.width
        attention = (4 + 3 * element) * self.queries + (4 + 3 * element) * self.keys
        return norms + attention + 4 * element * self.inner

    def cache_bytes(self, element: int) -> int:
        """Keys and values of one token in all layers."""
        return 2 * self.layers * self.keys * element


def shape_of(path: str) -> Shape:
    """The shape of a model: a folder, a name on the Hub, or one of SHAPES. Raises UsageError."""
    known = SHAPES / path.rpartition("/")[2]
    with loading("configuration", path):
        config = AutoConfig.from_pretrained(path if Path(path).is_dir() or not known.is_dir() else known)
    with torch.device("meta"):  # shapes without memory
        model = AutoModelForCausalLM.from_config(config)
    heads = config.num_attention_heads
    size = getattr(config, "head_dim", None) or config.hidden_size // heads
    return Shape(
        parameters=sum(parameter.numel() for parameter in model.parameters()),
        embedding=config.vocab_size * config.hidden_size,
        layers=config.num_hidden_layers,
        width=config.hidden_size,
        inner=config.intermediate_size,
        queries=heads * size,
        keys=(getattr(config, "num_key_value_heads", None) or heads) * size,
        vocabulary=config.vocab_size,
    )


@dataclass(frozen=True, slots=True)
class Budget:
    """Bytes of one GPU: what is there all the time, and what is there in one phase of a step only."""

    always: Mapping[str, int]
    phases: Mapping[str, int]

    @property
    def total(self) -> int:
        """The most at one time."""
        return sum(self.always.values()) + max(self.phases.values())

    def told(self) -> str:
        """In one line."""
        parts = ", ".join(f"{name} {size / GB:.1f}" for name, size in self.always.items() if size)
        phases = ", ".join(f"{name} {size / GB:.1f}" for name, size in self.phases.items() if size)
        return f"{self.total / GB:.1f} GB: {parts}; then one of {phases}"


def budget(config: Config | SftConfig, shape: Shape, gpus: int) -> Budget:
    """What a run on so many GPUs takes of each."""
    zero = read_deepspeed(config)["zero_optimization"]
    element = 2 if config.model.dtype == "bfloat16" else 4
    partitioned, offloaded = zero["stage"] == 3, "offload_optimizer" in zero
    share = math.ceil(shape.parameters / gpus)
    on_gpu = 0 if offloaded else share
    samples_here = isinstance(config, Config) and config.vllm is None
    gathered = 2 * shape.layer + 2 * shape.embedding + int(zero.get("stage3_prefetch_bucket_size", 0))
    whole = element * shape.parameters
    always = {
        "weights": element * share if partitioned else whole,
        "gathered weights": element * min(gathered, shape.parameters) if partitioned else 0,
        "gradients": 4 * on_gpu,
        "gradients on their way": 2 * element * int(zero.get("reduce_bucket_size", 500_000_000)),
        "optimizer": 12 * on_gpu,
        "reference": whole if isinstance(config, Config) and config.loss.kl > 0 else 0,
        "copy that samples": whole if samples_here and partitioned else 0,
        "reserve": RESERVE,
    }
    stepped = min(on_gpu, int(zero.get("sub_group_size", 10**9))) if partitioned else on_gpu
    phases = {"passes": passes_bytes(config, shape, element), "the optimizer's step": 4 * stepped}
    if samples_here and isinstance(config, Config):
        phases["sampling"] = sampling_bytes(config, shape, element, gpus)
    return Budget(always, phases)


def longest(config: Config | SftConfig) -> int:
    """Tokens of the longest conversation."""
    return config.rollout.context if isinstance(config, Config) else config.most_tokens


def passes_bytes(config: Config | SftConfig, shape: Shape, element: int) -> int:
    """Activations of the largest micro-batch with the gradients that are under way, and the head."""
    tokens = max(config.loss.batch_tokens, longest(config))
    layer = tokens * shape.layer_bytes(element)
    layers = shape.layers * tokens * element * shape.width + layer if config.model.gradient_checkpointing else 0
    kept = layers or shape.layers * layer
    under_way = tokens * element * (3 * shape.inner + shape.width)
    chunk = min(config.loss.head_chunk, tokens) * shape.vocabulary * (4 * 4 + element)
    return kept + max(under_way, chunk + shape.embedding * (4 + element))


def sampling_bytes(config: Config, shape: Shape, element: int, gpus: int) -> int:
    """Keys and values of one batch of conversations with what they write, and of the prompts that are kept."""
    rollout = config.rollout
    prompts = math.ceil(rollout.prompts / gpus)
    at_once = min(prompts * rollout.samples, rollout.concurrency or prompts * rollout.samples)
    tokens = max(rollout.batch_tokens, rollout.context) + at_once * min(rollout.max_new_tokens, rollout.context)
    tokens += min(rollout.kept_tokens, prompts * rollout.context)
    return tokens * shape.cache_bytes(element) + at_once * shape.vocabulary * (3 * 8 + element)


def server_contexts(config: Config, shape: Shape, gigabytes: float) -> float:
    """How many conversations of the whole context a vLLM server on one GPU holds at once."""
    element = 2 if config.model.dtype == "bfloat16" else 4
    room = SERVER_SHARE * gigabytes * GB - element * shape.parameters - RESERVE / 2
    return room / (config.rollout.context * shape.cache_bytes(element))


@dataclass(frozen=True, slots=True)
class Remedy:
    """A change of a configuration that saves memory."""

    key: str
    value: Any

    def __str__(self) -> str:
        return f"{self.key}: {str(self.value).lower() if isinstance(self.value, bool) else self.value}"

    def made(self, config: Any) -> Any:
        """The configuration with it."""
        section, _, key = self.key.rpartition(".")
        if not section:
            return config.model_copy(update={key: self.value})
        return config.model_copy(update={section: getattr(config, section).model_copy(update={key: self.value})})


def remedies(config: Config | SftConfig) -> list[Remedy]:
    """What can be changed to save memory; what costs least first."""
    found = []
    if not config.model.gradient_checkpointing:
        found.append(Remedy("model.gradient_checkpointing", True))
    if config.model.dtype == "float32":
        found.append(Remedy("model.dtype", "bfloat16"))
    if config.loss.batch_tokens > longest(config):
        found.append(Remedy("loss.batch_tokens", longest(config)))
    if isinstance(config, Config) and config.vllm is None:
        if config.rollout.batch_tokens > config.rollout.context:
            found.append(Remedy("rollout.batch_tokens", config.rollout.context))
        if config.rollout.kept_tokens:
            found.append(Remedy("rollout.kept_tokens", 0))
    if isinstance(config, Config) and config.loss.kl:
        found.append(Remedy("loss.kl", 0))
    files = ("training/deepspeed/zero3.json", "training/deepspeed/zero3_offload.json")
    known = files.index(config.deepspeed) + 1 if config.deepspeed in files else 0
    return found + [Remedy("deepspeed", name) for name in files[known:]]


def what_would_fit(config: Config | SftConfig, shape: Shape, gpus: int, gigabytes: float) -> str:
    """In words: the changes each of which is enough, else those that are enough together; and how many GPUs are."""

    def fits(changes: list[Remedy], count: int) -> bool:
        changed = config
        for change in changes:
            changed = change.made(changed)
        return budget(changed, shape, count).total <= gigabytes * GB

    def gpus_enough(changes: list[Remedy]) -> list[str]:
        return [f"{count} GPUs" for count in FURTHER_GPUS if count > gpus and fits(changes, count)][:1]

    every = remedies(config)
    enough = [str(each) for each in every if fits([each], gpus)]
    if not enough and fits(every, gpus):
        for each in list(every):  # what is not needed beside the others is not named
            rest = [other for other in every if other is not each]
            every = rest if fits(rest, gpus) else every
        enough = [" and ".join(map(str, every))]
    enough += gpus_enough([])
    return " or ".join(enough) or " and ".join(
        [*map(str, every), *(gpus_enough(every) or ["a smaller model or a shorter context"])]
    )


def check(config: Config | SftConfig, shape: Shape, gpus: int, gigabytes: float) -> None:
    """Raise UsageError where a run does not fit on so many GPUs with so many GB each; the message says what would."""
    needed = budget(config, shape, gpus)
    if needed.total > gigabytes * GB:
        raise UsageError(
            f"{config.model.path}: needs {needed.told()}; each of {gpus} GPUs has {gigabytes:.1f}: "
            f"use {what_would_fit(config, shape, gpus, gigabytes)}"
        )


def announce(config: Config | SftConfig) -> None:
    """Print what a run takes before it starts, once for all processes. Raises UsageError where the GPU of this process
    has not so much free; without a GPU nothing is refused."""
    shape, processes = shape_of(config.model.path), world_size_wanted()
    if int(os.environ.get("RANK", "0")) == 0:
        told = budget(config, shape, processes).told()
        click.echo(f"memory of each of {processes} processes, {shape.parameters:,} parameters: {told}", err=True)
    if torch.cuda.is_available():
        free, _ = torch.cuda.mem_get_info(int(os.environ.get("LOCAL_RANK", "0")))
        check(config, shape, processes, free / GB)


@click.command(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120})
@click.argument("config", type=click.Path(path_type=Path))
@click.option("--gpus", type=click.IntRange(1), default=1, show_default=True, help="GPUs that train.")
@click.option(
    "--gigabytes", type=click.FloatRange(min=0, min_open=True), required=True, help="Of each GPU; 10^9 bytes."
)
def command(config: Path, gpus: int, gigabytes: float) -> None:
    """Work out what CONFIG (a YAML file of training/configs) takes of the memory of each GPU, and whether it fits."""
    settings = read_any(config)
    shape = shape_of(settings.model.path)
    check(settings, shape, gpus, gigabytes)
    click.echo(f"{shape.parameters:,} parameters on {gpus} GPUs of {gigabytes:g} GB take of each")
    needed = budget(settings, shape, gpus)
    for name, size in needed.always.items():
        click.echo(f"  {size / GB:6.1f} GB  {name}")
    for name, size in needed.phases.items():
        click.echo(f"  {size / GB:6.1f} GB  {name}, at a time of its own")
    click.echo(f"  {needed.total / GB:6.1f} GB  at most")
    if isinstance(settings, Config) and settings.vllm is not None:
        contexts = server_contexts(settings, shape, gigabytes)
        if contexts < 1:
            raise UsageError(
                f"rollout.context: a vLLM server on one GPU of {gigabytes:g} GB has no room for "
                f"{settings.rollout.context} tokens; give it more GPUs (--tensor-parallel-size), or shorten the context"
            )
        click.echo(f"A vLLM server on one more GPU holds {contexts:.1f} conversations of the whole context at once.")


if __name__ == "__main__":
    sys.exit(run_command(command, "python -m training.memory"))
