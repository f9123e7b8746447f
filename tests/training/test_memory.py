"""The memory of a run: what is counted is what torch and DeepSpeed really keep, and a run that cannot fit is told what
would."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from tiny_qwen import make_model
from toy import make_toy, run_toy
from transformers import AutoConfig, AutoModelForCausalLM

from toolscale.errors import UsageError
from toolscale.records import TokenTrace
from training.batch import Sample, make_batch
from training.config import Config
from training.config_file import read_config
from training.engine import Engine
from training.memory import budget, check, command, read_any, remedies, shape_of, what_would_fit
from training.starting import run_command

pytestmark = pytest.mark.filterwarnings(
    "ignore:.torch.jit.script:DeprecationWarning",
    "ignore:.torch.distributed:FutureWarning",
    "ignore:.gradient_checkpointing_enable. is deprecated:FutureWarning",
)

ROOT = Path(__file__).parents[2]
CONFIGS = ROOT / "training" / "configs"
FITS = {
    "gpu_small": (1, 80),
    "qwen3_1p7b": (1, 80),
    "qwen3_8b": (8, 80),
    "sft_finance": (1, 80),
    "smollm2_sft": (1, 16),
    "smollm2_sft_gpu": (1, 40),
    "tiny_cpu": (2, 8),
}
"""Configuration -> GPUs (or processes on a CPU) and GB of each that it is made for."""
BEGUN_ELSEWHERE = {"smollm2_grpo", "smollm2_grpo_gpu"}
"""It begins with the model that another program leaves, and has its shape."""


@pytest.fixture(autouse=True)
def root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


@pytest.mark.parametrize(
    ("name", "all_of_them", "without_embeddings"),
    [("Qwen/Qwen3-0.6B", 0.6e9, 0.44e9), ("Qwen/Qwen3-1.7B", 1.7e9, 1.4e9), ("Qwen/Qwen3-8B", 8.2e9, 6.95e9)],
)
def test_shapes_are_those_of_the_model_cards(name: str, all_of_them: float, without_embeddings: float) -> None:
    shape = shape_of(name)
    assert shape.parameters == pytest.approx(all_of_them, rel=0.02)
    embeddings = 2 if name.endswith("8B") else 1
    assert shape.parameters - embeddings * shape.embedding == pytest.approx(without_embeddings, rel=0.02)


def kept_for_backward(config: Any, layers: int, tokens: int, checkpointing: bool) -> int:
    """Bytes that autograd really keeps of a forward pass, without the model's own."""
    config.num_hidden_layers, config.layer_types = layers, ["full_attention"] * layers
    model = AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16, attn_implementation="sdpa").train()
    if checkpointing:
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    own = {parameter.untyped_storage().data_ptr() for parameter in model.parameters()}
    kept: dict[int, int] = {}
    alive = []

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in own:
            kept[storage.data_ptr()] = storage.nbytes()
            alive.append(tensor)  # an address is not used again
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        model.base_model(input_ids=torch.arange(tokens)[None] % 100, use_cache=False)
    return sum(kept.values())


@pytest.mark.parametrize("sizes", [{}, {"hidden_size": 256, "num_attention_heads": 8, "intermediate_size": 1536}])
def test_activations_are_what_autograd_keeps(sizes: dict[str, int], tmp_path: Path) -> None:
    config = AutoConfig.from_pretrained(ROOT / "training" / "shapes" / "Qwen3-0.6B")
    for name, value in {"vocab_size": 100, "hidden_size": 512, **sizes}.items():
        setattr(config, name, value)
    config.save_pretrained(tmp_path)
    shape, tokens = shape_of(str(tmp_path)), 64
    found = (kept_for_backward(config, 3, tokens, False) - kept_for_backward(config, 1, tokens, False)) / 2
    assert found == pytest.approx(tokens * shape.layer_bytes(2), rel=0.02)
    found = (kept_for_backward(config, 3, tokens, True) - kept_for_backward(config, 1, tokens, True)) / 2
    assert found == pytest.approx(tokens * 2 * shape.width, rel=0.02)


@pytest.mark.parametrize("stage", ["zero2", "zero3"])
def test_the_optimizer_is_what_deepspeed_keeps(stage: str, tmp_path: Path) -> None:
    folder = make_model(tmp_path / "base", hidden_size=64, intermediate_size=256)
    model = {"path": str(folder), "dtype": "bfloat16"}
    config: Config = read_config(make_toy(tmp_path, model=model, deepspeed=f"training/deepspeed/{stage}.json"))
    engine = Engine(config)
    trace = TokenTrace(ids=(1, 2, 3), written=(False, True, True), logprobs=(0.0,) * 3)
    [part] = make_batch([Sample(trace, 1.0, 0)], 100, 0, correct=False).parts
    engine.deepspeed.backward(-engine.deepspeed(part.packed, part.wanted)[0].sum())
    engine.deepspeed.step()
    optimizer = engine.deepspeed.optimizer
    weights = optimizer.single_partition_of_fp32_groups if stage == "zero2" else optimizer.fp32_partitioned_groups_flat
    moments = [value for state in optimizer.optimizer.state.values() for value in state.values()]
    kept = sum(each.nbytes for each in [*weights, *moments])
    assert kept == pytest.approx(budget(config, shape_of(str(folder)), 1).always["optimizer"], rel=0.01)


def test_every_configuration_has_a_machine_that_it_is_made_for() -> None:
    assert sorted(FITS.keys() | BEGUN_ELSEWHERE) == sorted(path.stem for path in CONFIGS.glob("*.yaml"))


@pytest.mark.parametrize("name", FITS)
def test_every_configuration_fits_where_it_is_made_for(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    gpus, gigabytes = FITS[name]
    arguments = [str(CONFIGS / f"{name}.yaml"), "--gpus", str(gpus), "--gigabytes", str(gigabytes)]
    assert run_command(command, "memory", arguments) == 0
    assert " GB  at most\n" in capsys.readouterr().out


def test_a_run_that_cannot_fit_is_told_what_would(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(command, "memory", [str(CONFIGS / "qwen3_8b.yaml"), "--gpus", "1", "--gigabytes", "80"]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith("training: Qwen/Qwen3-8B: needs 194.7 GB: weights 16.4, ")
    assert line.endswith("each of 1 GPUs has 80.0: use deepspeed: training/deepspeed/zero3_offload.json or 8 GPUs")


@pytest.mark.parametrize(
    ("name", "gigabytes", "told"),
    [
        ("qwen3_1p7b", 48, "rollout.kept_tokens: 0 or deepspeed: training/deepspeed/zero3_offload.json or 2 GPUs"),
        ("gpu_small", 30, "rollout.batch_tokens: 16384 and rollout.kept_tokens: 0 or 8 GPUs"),
    ],
)
def test_what_is_said_to_make_it_fit_does(name: str, gigabytes: float, told: str) -> None:
    config = read_any(CONFIGS / f"{name}.yaml")
    shape = shape_of(config.model.path)
    with pytest.raises(UsageError, match=f"each of 1 GPUs has {gigabytes:.1f}: use "):
        check(config, shape, 1, gigabytes)
    assert what_would_fit(config, shape, 1, gigabytes) == told
    for way in told.split(" or "):
        changed, gpus = config, int(way.partition(" GPUs")[0]) if way.endswith("GPUs") else 1
        for remedy in remedies(config):
            changed = remedy.made(changed) if str(remedy) in way else changed
        check(changed, shape, gpus, gigabytes)


def test_a_run_says_what_it_takes_before_it_starts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_toy(make_toy(tmp_path, steps=1), tmp_path / "out")
    first = capsys.readouterr().err.splitlines()
    [line] = [line for line in first if line.startswith("memory of each of 1 processes, ")]
    assert " parameters: " in line and " GB: weights " in line
